"""The background process of each data directory, and how clients reach it. Knows no command."""
