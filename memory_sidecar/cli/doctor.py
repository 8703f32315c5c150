"""`memory-sidecar doctor`"""

from __future__ import annotations

import click

from memory_sidecar.agents.doctor import examine, repair
from memory_sidecar.agents.doctor_check import Finding
from memory_sidecar.agents.qmd import examine_qmd
from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import with_call
from memory_sidecar.core.errors import SidecarError
from memory_sidecar.outputs import upkeep as out


@click.command()
@click.option("--fix", is_flag=True, help="Repair what can be repaired without a decision.")
@with_call
def doctor(call: Call, fix: bool) -> None:
    """Check the installation, the model and the index. Exit status 1 when something is wrong."""
    findings = _examine(call)
    if fix and any(finding.remedy for finding in findings):
        repair(findings, call.services, call.codebase, reporter=call.reporter)
        call.reporter.close()
        findings = _examine(call)
    if call.wants_json:
        call.print_json([_finding_json(call, finding) for finding in findings])
    else:
        for finding in findings:
            mark = "ok  " if finding.ok else "FAIL"
            call.print(f"{mark} {finding.check}: {finding.text}")
            if finding.hint:
                call.print(f"     {call.hint(finding.hint)}")
    wrong = [finding for finding in findings if not finding.ok]
    if wrong:
        can_fix = not fix and any(finding.remedy for finding in wrong)
        raise SidecarError(
            f"{len(wrong)} of {len(findings)} checks failed",
            hint="`memory-sidecar doctor --fix` repairs what it can" if can_fix else "",
        )


def _examine(call: Call) -> list[Finding]:
    return [*examine(call.services, call.codebase), examine_qmd(call.child_environ)]


def _finding_json(call: Call, finding: Finding) -> out.Finding:
    return {
        "check": finding.check,
        "ok": finding.ok,
        "text": finding.text,
        "hint": call.hint(finding.hint),
        "agent": finding.agent,
    }
