"""The small numbers that people write out."""

NUMBERS = "zero one two three four five six seven eight nine ten".split()
