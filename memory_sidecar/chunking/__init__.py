"""Cuts texts into chunks of whole lines, at the boundaries of the document. Reads no files."""
