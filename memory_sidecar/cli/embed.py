"""`memory-sidecar embed`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import with_call
from memory_sidecar.embedding.embedder import Vectors
from memory_sidecar.errors import UsageError


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
    embedder = call.services.models.embedder
    if texts != ("-",):
        text = " ".join(texts)
        call.print_json(_numbers(embedder.embed_query(text) if as_query else _one(call, text)))
        return
    for line in call.text("-").split("\n"):
        if text := line.rstrip("\r"):
            call.print_json(_numbers(embedder.embed_query(text) if as_query else _one(call, text)))


def _one(call: Call, text: str) -> Vectors:
    vector: Vectors = call.services.models.embedder.embed_passages([text])[0]
    return vector


def _numbers(vector: Vectors) -> list[float]:
    return [round(float(number), 8) for number in vector]
