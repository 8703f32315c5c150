"""Puts an agent's database together, opens a data directory for a command, reports and repairs."""
