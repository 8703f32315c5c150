"""The one MCP server of this process: the SDK's, serving every conversation.

Each request brings the `Caller` of its conversation, as the SDK's lifespan context, so nothing that
one client may see lies where another one could reach it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError, model_serializer

from memory_sidecar import __version__
from memory_sidecar.core.credentials import count_masks, mask_credentials, mask_document
from memory_sidecar.core.errors import Conflict, SidecarError, as_sidecar_error, one_line
from memory_sidecar.core.results import pluralize, to_builtins
from memory_sidecar.core.visible import abridge, visible
from memory_sidecar.mcp.arguments import Arguments
from memory_sidecar.mcp.budget import within
from memory_sidecar.mcp.caller import Caller, Workspace
from memory_sidecar.mcp.report import CallReport
from memory_sidecar.mcp.resources import TEMPLATES, list_resources, read_resource
from memory_sidecar.mcp.status import instructions
from memory_sidecar.mcp.tool import Answer, Tool
from memory_sidecar.mcp.tools import TOOLS, for_agent, in_tools
from memory_sidecar.mcp.uris import plain_path

T = TypeVar("T")

THREADS = 16  # calls at a time; further ones wait
ROOTS_WITHIN_S = 5.0

Context = ServerRequestContext[Caller]

_log = logging.getLogger(__name__)
_threads = ThreadPoolExecutor(THREADS, thread_name_prefix="mcp")

MASKED = "masked {}: do not write these lines back as they are"

# An agent that is told to index again does so endlessly, so these hints say what helps instead.
_HINTS = {
    "store": "tell the user to run `memory-sidecar doctor`; neither calling again nor indexing "
    "again helps",
    "store_busy": "call again in a moment",
    "store_read_only": "tell the user to check its permissions; calling again does not help",
    "secret_refused": "leave it out; pass allow_secrets only if the user wants it stored",
    "model": "tell the user; keyword search works without a model",
}


async def _discover(context: Context, _params: types.RequestParams | None) -> types.DiscoverResult:
    """Answer what `initialize` would, for clients that speak the protocol without a handshake."""
    caller = context.lifespan_context
    text = await asyncio.get_running_loop().run_in_executor(_threads, instructions, caller)
    return types.DiscoverResult(
        supported_versions=list(MODERN_PROTOCOL_VERSIONS),
        capabilities=SERVER.get_capabilities(protocol_version=context.protocol_version),
        instructions=text,
    )


async def _list_tools(
    context: Context, _params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    caller = context.lifespan_context
    listed = [
        tool.listing_with_output if caller.is_structured else tool.listing
        for tool in TOOLS.values()
        if tool.is_offered(caller)
    ]
    return types.ListToolsResult(tools=listed)


async def _call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    caller = context.lifespan_context
    await _learn_roots(context)
    tool = TOOLS.get(params.name)
    if tool is None or not tool.is_offered(caller):
        names = ", ".join(each.name for each in TOOLS.values() if each.is_offered(caller))
        message = f"there is no tool {params.name!r} here; there is {names}"
        raise MCPError(types.INVALID_PARAMS, message)
    report = CallReport(context.session.report_progress, word=lambda text: for_agent(text, caller))
    try:
        asked = tool.parse_arguments(params.arguments)
        result = await _in_thread(tool, caller, asked, report)
    except SidecarError as error:
        return _failed(error, report.notices, caller)
    except Exception as error:
        return _failed(_internal(error, tool.name), [], caller)
    text = _with_notices(within(visible(result.text()), asked.max_tokens), result.notices)
    blocks: list[types.ContentBlock] = [types.TextContent(text=text)]
    if not caller.is_structured:  # a host that gets both shows its model only the structured one
        return types.CallToolResult(content=blocks)
    return types.CallToolResult(content=blocks, structured_content=to_builtins(result))


async def _learn_roots(context: Context) -> None:
    """Ask the client once which folders it has open, if it can tell."""
    workspace = context.lifespan_context.workspace
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.roots is None or not context.session.can_send_request:
        return
    async with workspace.learning:
        if not workspace.is_known:
            await _ask_for_roots(context, workspace)


async def _ask_for_roots(context: Context, workspace: Workspace) -> None:
    workspace.is_known = True  # a client that does not answer is not asked again
    try:
        with anyio.fail_after(ROOTS_WITHIN_S):
            asked = cast("types.ServerRequest", _AskForRoots())
            listed = await context.session.send_request(asked, _Roots)
    except (MCPError, TimeoutError, ValidationError) as error:
        _log.info("the client does not tell its roots: %s", error)
        return
    except asyncio.CancelledError:  # of this call: the next call asks again
        workspace.is_known = False
        raise
    named = (root.get("uri") if isinstance(root, dict) else None for root in listed.roots)
    workspace.roots = tuple(path for uri in named if (path := _folder_of(uri)) is not None)


class _AskForRoots(types.Request[None, str]):
    """The request `roots/list` under another name: else the SDK refuses all if one is no file."""

    method: str = "roots/list, answered by any"
    params: None = None

    @model_serializer
    def _as_sent(self) -> dict[str, str]:
        return {"method": "roots/list"}


class _Roots(types.Result):
    roots: list[Any]


def _folder_of(uri: object) -> Path | None:
    """The absolute path on this machine that a `file:` URI stands for; None for anything else.

    A `#` or `?` belongs to the path, as clients that escape too little mean it.
    """
    path = Path(plain_path(uri)) if isinstance(uri, str) else None
    is_here = path is not None and path.is_absolute() and "\0" not in str(path)
    return path if is_here else None


async def _roots_changed(context: Context, _params: types.NotificationParams) -> None:
    context.lifespan_context.workspace.is_known = False


async def _list_resources(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourcesResult:
    cursor = (params and params.cursor) or ""
    return await _answered(list_resources, context.lifespan_context, cursor)


async def _list_templates(
    context: Context, _params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    toolsets = context.lifespan_context.toolsets
    offered = [each for toolset, each in TEMPLATES.items() if toolset in toolsets]
    return types.ListResourceTemplatesResult(resource_templates=offered)


async def _read_resource(
    context: Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    return await _answered(read_resource, context.lifespan_context, params.uri)


async def _answered(answer: Callable[[Caller, str], T], caller: Caller, asked: str) -> T:
    """Run `answer` in a thread; its errors become errors of the protocol."""
    working = asyncio.get_running_loop().run_in_executor(_threads, answer, caller, asked)
    try:
        return await working
    except SidecarError as error:
        raise MCPError(types.INVALID_PARAMS, _error_text(error, caller)) from error
    except Exception as error:
        text = _error_text(_internal(error, asked), caller)
        raise MCPError(types.INTERNAL_ERROR, text) from error


async def _in_thread(tool: Tool, caller: Caller, asked: Arguments, report: CallReport) -> Answer:
    """Run `tool` in a thread. If the client cancels, the thread is told to stop, not waited for."""

    def work() -> Answer:
        report.begin()
        result = tool.run(caller, asked, report)
        notices = [*result.notices, *report.notices]
        answer = mask_document(replace(result, notices=tuple(notices)))
        if count := count_masks(answer):  # before an agent, and so its provider, gets to read it
            answer = replace(
                answer, notices=(*answer.notices, MASKED.format(pluralize(count, "likely secret")))
            )
        return answer

    working = asyncio.get_running_loop().run_in_executor(_threads, work)
    working.add_done_callback(_retrieve)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        report.cancel()
        raise


def _retrieve(finished: asyncio.Future[Answer]) -> None:
    """Retrieve the result of a cancelled call, so that asyncio does not log it."""
    if not finished.cancelled():
        finished.exception()


def _internal(error: Exception, what: str) -> SidecarError:
    """Log an internal `error`, and make the one for the client. For use in an `except` clause."""
    _log.exception("failed: %s", what)
    return as_sidecar_error(error, hint="see the daemon's log")


def _failed(error: SidecarError, notices: list[str], caller: Caller) -> types.CallToolResult:
    text = mask_credentials(_with_notices(_error_text(error, caller), notices))
    return types.CallToolResult(content=[types.TextContent(text=visible(text))], is_error=True)


def _error_text(error: SidecarError, caller: Caller) -> str:
    kind = error.code.partition("_")[0]
    named = _HINTS.get(error.code) or _HINTS.get(kind)
    hint = caller.complete(named) if named else for_agent(error.hint, caller)
    if isinstance(error, Conflict) and error.current:
        hint = "get_memory reads what it says now, and its hash"
    message = mask_credentials(in_tools(error.message, caller))
    return f"{error.code}: {abridge(message)}" + (f" — {hint}" if hint else "")


def _with_notices(text: str, notices: Sequence[str]) -> str:
    return "\n".join([*(f"note: {one_line(notice)}" for notice in notices), text])


SERVER: Server[Caller] = Server(
    "memory-sidecar",
    version=__version__,
    title="Memory Sidecar",
    on_list_tools=_list_tools,
    on_call_tool=_call_tool,
    on_list_resources=_list_resources,
    on_list_resource_templates=_list_templates,
    on_read_resource=_read_resource,
)
SERVER.add_request_handler("server/discover", types.RequestParams, _discover)
# The protocol is to do without roots from 2026-07-28 on. Clients have nothing else yet.
SERVER.add_notification_handler(
    "notifications/roots/list_changed", types.NotificationParams, _roots_changed
)
SERVER.middleware.clear()  # one of them would report every message to OpenTelemetry
