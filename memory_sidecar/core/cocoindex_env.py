"""Import before cocoindex: on import it would log to standard output and report its use."""

import os

os.environ.setdefault("COCOINDEX_DISABLE_USAGE_TRACKING", "1")
os.environ.setdefault("RUST_LOG", "off")
