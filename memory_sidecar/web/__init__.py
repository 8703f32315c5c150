"""The page that shows a data directory in a browser: its views, changes, and who may open it."""
