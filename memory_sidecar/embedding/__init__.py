"""Text → vectors: where the model comes from, what runs it, and what remembers its answers."""
