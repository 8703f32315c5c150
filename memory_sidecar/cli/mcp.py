"""`memory-sidecar mcp`: an MCP server on standard input and output."""

from __future__ import annotations

from dataclasses import replace

import click

from memory_sidecar.cli.call import IMPORTING, Call
from memory_sidecar.cli.options import with_agent_name, with_data_dir
from memory_sidecar.core.errors import UsageError
from memory_sidecar.memories.names import check_agent


@click.command()
@click.option(
    "--tools",
    default="code,memories,sessions",
    metavar="LIST",
    show_default=True,
    help="Any of these, `context` for a dense-context root, and `names` for who uses what.",
)
@click.option("--read-only", is_flag=True, help="Offer no tool that changes anything.")
@click.option(
    "--output-schemas", is_flag=True, help="Results as structured content too, with their schemas."
)
@with_data_dir
@with_agent_name
def mcp(call: Call, *, agent: str, tools: str, read_only: bool, output_schemas: bool) -> None:
    """Serve the client that started this over MCP, on standard input and output.

    A coding agent's configuration names this command; `memory-sidecar --mcp` is the same. These
    options decide what the client may see; the agent cannot.
    """
    with IMPORTING:  # the import takes a second, so other commands do without it
        from memory_sidecar.mcp.caller import Caller, Toolset
        from memory_sidecar.mcp.conversation import McpConversation

    chosen = [name.strip() for name in tools.split(",") if name.strip()]
    for name in chosen or [tools]:
        if name not in {*Toolset}:
            raise UsageError(f"there are no tools {name!r}", hint=f"any of {','.join(Toolset)}")
    if call.hints:  # --agent says who asks, not which data the commands in hints are about
        named = {"--data-dir": str(call.data_dir)} if call.data_dir else {}
        call.hints = replace(call.hints, given=named)
    caller = Caller(
        services=call.services,
        cwd=call.cwd,
        agent=check_agent(agent),
        toolsets=frozenset(map(Toolset, chosen)),
        is_read_only=read_only,
        is_structured=output_schemas,
        environ=call.child_environ,
        complete=call.hint,
    )
    call.hold(McpConversation(caller))
