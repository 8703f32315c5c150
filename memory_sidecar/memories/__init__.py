"""Changes of memory files, one operation a module. The database follows the files on its own."""
