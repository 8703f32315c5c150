"""Turns off the logging and usage reports of CocoIndex. Import this before cocoindex."""

import os

os.environ.setdefault("COCOINDEX_DISABLE_USAGE_TRACKING", "1")
os.environ.setdefault("RUST_LOG", "off")
