"""Text → vectors: where the model comes from, what runs it, and what remembers its answers."""

import os

# Before ONNX Runtime is imported: it would report its use to its maker, and keep a database of what
# it could not send in the user's cache.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
