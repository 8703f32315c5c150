"""What is on disk: registered folders, the files they hold, what a page of text says."""
