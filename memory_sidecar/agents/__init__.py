"""What an agent has: its database of memories and sessions, and what a command asks of them."""
