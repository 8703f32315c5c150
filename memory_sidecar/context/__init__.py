"""Dense-context roots: findings as files, their indexes, their use and their health."""
