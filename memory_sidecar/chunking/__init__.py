"""Text in, chunks out: whole lines, cut where the document itself is cut. Reads no files."""
