"""A local memory for coding agents: code search, long-term memories and sessions.

Importing this package imports nothing else, so that the thin client stays thin.
"""

__version__ = "0.4.0"
