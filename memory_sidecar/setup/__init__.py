"""Makes this program known to the coding agents of a user, and takes exactly that back.

`agents` is the table of where each of them keeps what, `editing` puts an entry into a file of
settings and leaves every other byte as it is, `edit` is one such entry, `notes` keeps what was put
where, `plan` says what is to change, does it and takes it back.
"""
