"""Finds code by its structure: a pattern is code with holes, compared with syntax trees."""
