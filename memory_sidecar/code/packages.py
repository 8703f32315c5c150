"""Tells from which packages a file of Java, Kotlin or PHP imports a name, by their last parts."""

from __future__ import annotations

import re
from functools import partial

from memory_sidecar.code.document import Place
from memory_sidecar.code.graph import Defined, Graph, NamedFile
from memory_sidecar.core.cached_method import cached_method
from memory_sidecar.core.sqlite import column

_DECLARED = re.compile(
    r"(?:^|<\?php|[;}])[ \t]*(?:package|namespace)"
    r"(?:[ \t]+(?:[\w`]+[.\\])*`?(\w+)`?)?[ \t]*(?:[;{/]|$)",
    re.MULTILINE,
)


class PackageFinder:
    """Finds packages, and caches them for one answer."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def imported(self, name: str, at: NamedFile, place: Place) -> frozenset[str]:
        """Return the packages from which a file imports `name`; "" is the global one of PHP.

        If it does not, PHP looks in its own namespace and in the global one, or in that which
        stands before the name.
        """
        if place.how == "import":
            return self._named(name, at, place)
        if place.receiver:
            return frozenset({place.receiver})
        if not self._graph.imports(at, [name]):
            own = self._declared(at) if at.scoping.namespace_first else frozenset()
            return own and own | {""}
        return self._named(name, at)

    @cached_method
    def _named(self, name: str, at: NamedFile, place: Place | None = None) -> frozenset[str]:
        places = [place] if place else self._graph.imports_in(at, name)
        line = partial(self._graph.code_at, at)  # and not of `use Shop\{Cart, Rate};`
        known = (p for p in places if p.receiver or line(p.line).startswith(f"use {name};"))
        return frozenset(each.receiver for each in known)

    def may_be_of(self, packages: frozenset[str], defined: Defined) -> bool:
        """Whether a definition may be imported from one of `packages`. Any member may."""
        if not defined.scope:
            own = self._declared(defined.at)
        elif defined.at.scoping.namespace_first and not self._graph.kind_around(defined):
            own = frozenset({defined.owner.rpartition("\\")[2]})  # `namespace Shop\Cart { … }`
        else:
            return True
        return not (own and own.isdisjoint(packages))

    @cached_method
    def _declared(self, at: NamedFile) -> frozenset[str]:
        """Return the packages that a file declares; "" if none, nothing if its text is not there.

        In PHP, a file may have several.
        """
        asked = "SELECT code FROM code_chunks WHERE (source, filename) = (?, ?)"
        codes = column(self._graph.connection, asked, (at.file.source, at.file.path))
        found = {name for code in codes for name in _DECLARED.findall(code)}
        return frozenset(found or {""} if codes else ())
