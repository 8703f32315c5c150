"""One database for a team, in PostgreSQL: what its machines share, and who may write it."""
