"""`memory-sidecar doctor`: says what is wrong, and mends it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import click

from memory_sidecar.agents.checks import Check
from memory_sidecar.agents.doctor import examine, repair
from memory_sidecar.cli.call import Call, TextLine
from memory_sidecar.cli.form import Styled
from memory_sidecar.cli.options import with_call
from memory_sidecar.code.handlers import Codebase
from memory_sidecar.core.errors import PathRefused, SidecarError
from memory_sidecar.core.visible import visible_line

GOOD = Styled("ok  ", {"fg": "green"})
BAD = Styled("FAIL", {"fg": "red", "bold": True})


@click.command()
@click.option("--fix", is_flag=True, help="Repair what can be repaired without a decision.")
@with_call
def doctor(call: Call, fix: bool) -> list[Check]:
    """Check the installation, the model and the index. Exit status 1 when something is wrong."""
    try:
        codebase = call.services.codebase(call.db)
    except PathRefused as error:  # the data directory is a file
        return _report(call, [Check.failed("data directory", error.message, error.hint)])
    with suppress(SidecarError):  # a failed check reports a list of sources that cannot be read
        codebase.registry.warn_if_lost(call.reporter)
    checks = _examine(call, codebase)
    if fix and any(check.remedy for check in checks):
        repair(checks, call.services, codebase, reporter=call.reporter)
        checks = _examine(call, codebase)
    return _report(call, checks, can_fix=not fix)


def _report(call: Call, checks: list[Check], *, can_fix: bool = False) -> list[Check]:
    """Show `checks`. Raises SidecarError if something is wrong."""
    checks = call.mask(checks)
    call.show(checks, _lines(checks))
    wrong = [check for check in checks if not check.ok]
    if wrong:
        can_fix = can_fix and any(check.remedy for check in wrong)
        raise SidecarError(
            f"{len(wrong)} of {len(checks)} checks failed",
            hint="`memory-sidecar doctor --fix` repairs what it can" if can_fix else "",
        )
    return checks


def _examine(call: Call, codebase: Codebase) -> list[Check]:
    checks = examine(call.services, codebase, call.child_environ)
    return [replace(check, hint=call.hint(check.hint)) for check in checks]


def _lines(checks: list[Check]) -> Iterator[TextLine]:
    """Yield the failed checks first; a last line names the agents with no failed check."""
    told = [check for check in checks if not (check.ok and check.agent and not check.hint)]
    yield from map(_check_line, sorted(told, key=lambda check: check.ok))
    wrong = {check.agent for check in checks if not check.ok}
    if sound := dict.fromkeys(each.agent for each in checks if each.agent not in ("", *wrong)):
        yield GOOD, f" agents: nothing is wrong with {', '.join(sound)}"


def _check_line(check: Check) -> TextLine:
    hint = f"\n     {visible_line(check.hint)}" if check.hint else ""
    return GOOD if check.ok else BAD, f" {check.check}: {visible_line(check.text)}{hint}"
