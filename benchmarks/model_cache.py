"""Models whose vectors are kept between runs, so that only the first one embeds for minutes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from memory_sidecar.core.settings import Settings
from memory_sidecar.embedding.models import Models


@contextmanager
def cached_models(cache: Path) -> Iterator[Models]:
    """Open the models of a machine without settings; the folder `cache` keeps their vectors."""
    with closing(models_in(cache, Settings())) as models:
        yield models


def models_in(cache: Path, settings: Settings) -> Models:
    """Return the models of `settings`; the folder `cache` keeps their vectors."""
    cache.mkdir(parents=True, exist_ok=True)
    return Models(settings, cache=cache / "embeddings.sqlite")
