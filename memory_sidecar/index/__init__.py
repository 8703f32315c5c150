"""What every database derived from files shares: its owner, its rows, its words and vectors."""
