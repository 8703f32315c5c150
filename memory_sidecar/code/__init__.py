"""Source code: from a file to its chunks, from a question to its hits."""
