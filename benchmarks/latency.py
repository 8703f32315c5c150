"""Measures queries inside a process that has loaded the model and the vectors.

Embedding a whole large tree takes a quarter of an hour, so the chunks get random vectors, whose
scan costs the same. The real model embeds the questions.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from figures import times_ms
from vectors import give_codebase_random_vectors

from memory_sidecar.agents.services import Services
from memory_sidecar.code.model import CodeQuery
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.results import Silent

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
    give_codebase_random_vectors(data_dir)
    services = Services.find(data_dir=data_dir, cwd=data_dir, environ=os.environ)
    codebase = services.codebase()
    latencies: dict[str, list[float]] = {}
    for mode in (SearchMode.HYBRID, SearchMode.VECTOR, SearchMode.KEYWORD):
        codebase.search(CodeQuery("warm up", mode=mode), reporter=Silent())
        latencies[mode.value] = times_ms(
            partial(codebase.search, CodeQuery(question, mode=mode), reporter=Silent())
            for question in QUESTIONS * _ROUNDS
        )
    services.close()
    return latencies
