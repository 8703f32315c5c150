"""Cuts texts into chunks of whole lines, at the boundaries of the document. Reads no files."""

import os

# Before CocoIndex is imported, whose splitter cuts texts: it would log, and report its use.
os.environ.setdefault("COCOINDEX_DISABLE_USAGE_TRACKING", "1")
os.environ.setdefault("RUST_LOG", "off")
