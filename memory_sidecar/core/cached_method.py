"""A decorator for methods whose results their object keeps.

`functools.cache` would keep the objects as well, with all databases that they read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")


def cached_method(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Call `method` once for each of its arguments, which are hashable, as long as `self` lives."""
    name = f"_results_of_{method.__name__}"

    @wraps(method)
    def from_cache(self: S, /, *args: P.args, **options: P.kwargs) -> R:
        results: dict[object, R] = self.__dict__.setdefault(name, {})
        key = (*args, *options.items()) if options else args
        if key not in results:
            results[key] = method(self, *args, **options)
        return results[key]

    return from_cache
