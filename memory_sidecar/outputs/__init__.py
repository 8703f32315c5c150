"""What commands print as JSON, as types. Properties are only ever added.

The builders beside the commands are checked against these, the schemas in `schemas/` are made of
them, and what commands really print is checked against the schemas.
"""
