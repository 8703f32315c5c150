"""What is on disk: which folders are registered, which files they hold, what a file says."""
