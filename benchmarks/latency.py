"""Measures queries inside a process that has loaded the model and the vectors.

Embedding a whole large tree takes a quarter of an hour, so the chunks get random vectors, whose
scan costs the same. The real model embeds the questions.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from memory_sidecar.agents.services import Services
from memory_sidecar.code.store import CodeStore
from memory_sidecar.core.model import CodeQuery, SearchMode
from memory_sidecar.core.results import Silent
from memory_sidecar.core.times import system_clock
from memory_sidecar.index.embed import adopt_model, next_pending, put_vectors

_DIMENSION = 384
_ROUNDS = 3

QUESTIONS = (
    "how is a many to many relation saved",
    "where are cookies signed",
    "parse the multipart body of an upload",
    "retry when the database connection is lost",
    "convert a datetime to the user's time zone",
    "render a template with a context",
    "build the SQL of a join",
    "validate an email address",
    "hash a password with scrypt",
    "find tests by name and run them in parallel",
    "translate plural forms",
    "limit a queryset to some rows",
    "send mail with an attachment",
    "which middleware adds security headers",
    "serialize a model to JSON",
    "create an index in a migration",
    "resolve a URL to its view",
    "cache a view for some minutes",
    "escape HTML in a string",
    "check whether a user has a permission",
    "QuerySet.bulk_create",
    "get_or_create",
    "MigrationAutodetector",
    "def ready(self)",
    "django/db/models/query.py",
    "how to write a custom template tag",
    "where is the admin's search field handled",
    "split a list into pages",
    "the error when a form field is required",
    "import of a module by its dotted path",
)


def query_latency(data_dir: Path) -> dict[str, list[float]]:
    """Milliseconds of each query, by mode. Leaves random vectors in the data directory."""
    give_random_vectors(data_dir)
    services = Services.find(data_dir=data_dir, cwd=data_dir, environ=os.environ)
    codebase = services.codebase()
    latencies: dict[str, list[float]] = {}
    for mode in (SearchMode.HYBRID, SearchMode.VECTOR, SearchMode.KEYWORD):
        codebase.search(CodeQuery("warm up", mode=mode), reporter=Silent())
        taken = latencies.setdefault(mode.value, [])
        for question in QUESTIONS * _ROUNDS:
            started = time.perf_counter()
            codebase.search(CodeQuery(question, mode=mode), reporter=Silent())
            taken.append(1000 * (time.perf_counter() - started))
    services.close()
    return latencies


def give_random_vectors(data_dir: Path) -> None:
    """Give a random vector to every chunk that waits for one."""
    services = Services.find(data_dir=data_dir, cwd=data_dir, environ=os.environ)
    store = CodeStore(services.codebase().paths.db, clock=system_clock)
    adopt_model(store, services.models.files.sha256)
    random = np.random.default_rng(1)
    while waiting := next_pending(store, 1000):
        vectors = random.standard_normal((len(waiting), _DIMENSION)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        put_vectors(store, list(zip(waiting, vectors, strict=True)))
    store.close()
    services.close()
