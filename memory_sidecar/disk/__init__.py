"""The disk: registered sources, walking, watching and reading their files, and ignore rules."""
