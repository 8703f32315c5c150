"""Turns MCP calls into calls of handlers, and their results into structured content and text.

The official SDK takes a second to import: callers import from here when a client asks for
a conversation, and not before.
"""
