"""One process that lives on for each data directory, and how to reach it. Knows no command."""
