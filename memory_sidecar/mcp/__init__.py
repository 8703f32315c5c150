"""Turns MCP calls into calls of handlers, and their results into structured content and text.

The official SDK takes a second to import: whoever imports from here does it when a client asks for
a conversation, and not before.
"""
