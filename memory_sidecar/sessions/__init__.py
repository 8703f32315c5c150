"""Sessions: conversations as JSON files, the rows and searches derived from them, and imports."""
