"""Where handlers and what calls them find the models."""

from memory_sidecar.index.models import Models

__all__ = ["Models"]
