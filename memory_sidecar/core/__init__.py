"""What everything shares, and the one way to open files and databases."""
