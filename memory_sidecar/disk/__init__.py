"""How files are reached: what is opened, what is refused, and what is written whole."""
