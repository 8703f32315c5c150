"""What is decided about sessions: how they are saved, summed up, promoted, imported and let go."""
