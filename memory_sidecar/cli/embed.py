"""`memory-sidecar embed`"""

from __future__ import annotations

from collections.abc import Iterable

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import joined, with_call
from memory_sidecar.core.errors import UsageError
from memory_sidecar.embedding.embedder import Vectors


@click.command()
@click.argument("texts", nargs=-1, metavar="TEXT|-")
@click.option("--query", "as_query", is_flag=True, help="Embed questions, not passages.")
@with_call
def embed(call: Call, texts: tuple[str, ...], as_query: bool) -> None:
    """Print the vector of TEXT, 384 numbers as a JSON array.

    With `-`, one array for each line of standard input, one a line.
    """
    if not texts:
        raise UsageError("no TEXT to embed", hint="name one, or `-` for standard input")
    text = joined(call, texts)
    lines = _lines(text) if texts == ("-",) else [text]
    embedder = call.services.models.embedder
    vectors: Iterable[Vectors] = (
        map(embedder.embed_query, lines) if as_query else embedder.embed_passages(lines)
    )
    for vector in vectors:
        call.print_json([round(float(number), 8) for number in vector])


def _lines(text: str) -> list[str]:
    """Every line, blank ones too: the n-th array belongs to the n-th line."""
    if not text:
        raise UsageError("standard input is empty", hint="one text a line")
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
