"""`memory-sidecar grep`: finds code by its structure."""

from __future__ import annotations

from pathlib import Path

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.form import title
from memory_sidecar.cli.numbers import AT_LEAST_ONE
from memory_sidecar.cli.options import with_call
from memory_sidecar.cli.within import with_globs, with_language
from memory_sidecar.core.language import known_language
from memory_sidecar.core.opening import real_path
from memory_sidecar.core.projects import expand_home
from memory_sidecar.disk.globs import relative_globs
from memory_sidecar.grep import handlers as handler
from memory_sidecar.grep.handlers import FoundCode


@click.command()
@click.argument("pattern")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@with_language
@with_globs
@click.option(
    "-n", "--limit", type=AT_LEAST_ONE, default=1000, show_default=True, help="At most N."
)
@with_call
def grep(
    call: Call,
    *,
    pattern: str,
    paths: tuple[str, ...],
    languages: tuple[str, ...],
    globs: tuple[str, ...],
    limit: int,
) -> list[FoundCode]:
    """Find code by its structure, in the files as they are now. Needs no index.

    PATTERN is code in which `$X` stands for any one node (the same name again for the same text),
    `$_` for any and `$$$` for any number of neighbours: 'open($FILE, $$$)', 'def $F($$$): $$$'.
    The code may have more than it mentions: comments, types, modifiers, decorators, base
    classes. In parentheses it may also be a tree-sitter query: '(try_statement) @match'.

    Looks below the working directory, or at each PATH.
    """
    ground = handler.Ground(call.cwd, call.codebase.registry, call.services.settings.max_file_bytes)
    chosen = [call.path(path) for path in paths] or [call.cwd]
    bases = {path: ground.base_of(path) for path in (*chosen, call.cwd)}
    from_home = [expand_home(each, call.environ) for each in globs]
    roots = {base: str(base) for base in bases.values()}
    path_globs, inside = relative_globs(from_home, roots, Path(real_path(call.cwd)))
    found = handler.grep(
        handler.GrepQuery(
            pattern=call.text(pattern),
            languages=tuple(map(known_language, languages)),
            path_globs=path_globs,
            limit=limit,
        ),
        [path for path in chosen if not inside or str(bases[path]) in inside],
        ground,
        call.reporter,
    )
    hits = call.mask(found)
    lines = (
        (title(f"{hit.found.filename}:{hit.head[0]}:{hit.head[1]}"), f": {hit.line.rstrip()}")
        for hit in hits
    )
    return call.show([hit.found for hit in hits], lines, nothing="no hits")
