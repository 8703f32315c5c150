"""Where handlers and what calls them find the reporter."""

from memory_sidecar.index.reporter import Reporter, Silent

__all__ = ["Reporter", "Silent"]
