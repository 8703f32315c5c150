"""Memories: Markdown files that agents write, and the rows and searches derived from them."""
