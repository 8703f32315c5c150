"""Types of options that are numbers, in words that a person reads in help and errors."""

from __future__ import annotations

from typing import Any

import click

MAX_COUNT = 1_000_000_000  # the sum of two fits into SQLite's integers


class Count(click.IntRange):
    """A number of things; the help shows its range unless only MAX_COUNT limits it."""

    name = "n"

    def __init__(self, least: int, most: int = MAX_COUNT) -> None:
        super().__init__(least, most)

    def convert(self, value: Any, param: Any, ctx: Any) -> int:  # noqa: ANN401  click's signature
        number = click.INT.convert(value, param, ctx)
        if number not in range(int(self.min or 0), int(self.max or 0) + 1):
            self.fail(f"{number} is not from {self.min:,} to {self.max:,}.", param, ctx)
        return int(number)

    def _describe_range(self) -> str:
        return f"{self.min} to {self.max}" if self.max != MAX_COUNT else ""


COUNT, AT_LEAST_ONE = Count(0), Count(1)


class _Fraction(click.FloatRange):
    """A number from 0 to 1, which "nan" is not."""

    name = "number"

    def _describe_range(self) -> str:
        return "0 to 1"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401  click's signature
        number = click.FLOAT.convert(value, param, ctx)
        return number if 0 <= number <= 1 else self.fail(f"{value} is not from 0 to 1.", param, ctx)


FRACTION = _Fraction(0, 1)
