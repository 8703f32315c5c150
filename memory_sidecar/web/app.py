"""The page as an ASGI application: its routes, and a stream that says when a view changed."""

from __future__ import annotations

import asyncio
import json
import logging
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from memory_sidecar import __version__
from memory_sidecar.agents.services import Services
from memory_sidecar.core.credentials import mask_credentials, mask_document
from memory_sidecar.core.errors import (
    Conflict,
    NotFound,
    SidecarError,
    UsageError,
    as_sidecar_error,
)
from memory_sidecar.core.results import to_builtins
from memory_sidecar.web import bulk, context, growth, index, memories, memory, search, sessions
from memory_sidecar.web.guard import Visitor, is_own_form
from memory_sidecar.web.rendering import FOLDER, sentence, templates
from memory_sidecar.web.visit import Done, Section, View, Visit, Words, address

LOOK_S = 1.0  # between two checks whether a view has changed
MAX_FIELDS = 5_000
LIVE = "/live"  # the path of the streams that say when a view changed

# In the order of the navigation; the first is the start page.
VIEWS: dict[str, Section] = {
    "/memories": Section(memories.show, "Memories", memories.version),
    "/search": Section(search.show, "Search"),
    "/index": Section(index.show, "Index", index.version),
    "/sessions": Section(sessions.show, "Sessions", memories.version),
    "/growth": Section(growth.show, "Growth", growth.version),
    "/context": Section(context.show, "Context", context.version),
    "/sessions/one": Section(sessions.show_one),
    "/index/source": Section(index.source),
    "/index/checks": Section(index.checks),
    "/index/log": Section(index.log, version=index.log_version),
    "/memories/one": Section(memory.show, version=memories.version),
    "/memories/edit": Section(memory.edit),
    "/memories/duplicates": Section(memories.duplicates),
}

# By the path of a change: makes the view that shows a refused form again, as it was filled in.
FORMS: dict[str, Callable[[Visit, str, int], View]] = {
    "/memories/save": memory.edit_again,
    "/memories/pin": memory.show_again,
    "/memories/move": memory.show_again,
    "/memories/share": memory.show_again,
    "/memories/archive": memory.show_again,
}

# A change that returns a view needs a decision: about a conflict, or a plan to confirm.
CHANGES: dict[str, Callable[[Visit], Done | View]] = {
    "/search/right": search.mark_right,
    "/search/wrong": search.unmark_right,
    "/context/fix": context.fix,
    "/sessions/promote": sessions.promote,
    "/index/fix": index.fix,
    "/index/rescan": index.rescan,
    "/memories/save": memory.save,
    "/memories/pin": memory.pin,
    "/memories/move": memory.move,
    "/memories/share": memory.share,
    "/memories/supersede": memory.supersede,
    "/memories/archive": memory.archive,
    "/memories/restore": memory.restore,
    "/memories/bulk": bulk.plan,
    "/memories/bulk/change": bulk.change,
    "/memories/bulk/undo": bulk.undo,
}

HOME = next(iter(VIEWS))
_STATUS = ((NotFound, 404), (Conflict, 409), (UsageError, 400))
_REFUSED = {
    403: ("the form is not one that this browser was shown", "load the page again"),
    404: ("there is no such page", "the views are above"),
    405: ("this address takes a form", "the views are above"),
}

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WebApp:
    """The application of one open data directory; all requests share its fields."""

    services: Services
    environ: Mapping[str, str]
    daemon_log: str  # "" outside the daemon
    is_ending: Callable[[], bool]

    def asgi(self) -> Starlette:
        """Build the application, to run behind a `Guard`, which gives each request its visitor."""
        templates()
        viewing = [Route(path, self._view, methods=["GET"]) for path in VIEWS]
        changing = [Route(path, self._change, methods=["POST"]) for path in CHANGES]
        return Starlette(
            routes=[
                Route("/", lambda _request: RedirectResponse(HOME, 303)),
                *viewing,
                *changing,
                Route(LIVE, self._live),
                Mount("/static", StaticFiles(directory=FOLDER / "static")),
            ],
            exception_handlers={
                HTTPException: self._refuse,
                ClientDisconnect: lambda *_: PlainTextResponse("the form breaks off\n", 400),
            },
        )

    def _visit(self, path: str, words: Words) -> Visit:
        return Visit(path, words, self.services, self.environ, self.daemon_log)

    # Views

    async def _view(self, request: Request) -> Response:
        visit = self._visit(request.url.path, request.query_params.multi_items())
        return await run_in_threadpool(self._respond, visit, request, VIEWS[visit.path].show)

    def _respond(
        self, visit: Visit, request: Request, answer: Callable[[Visit], View | Done]
    ) -> Response:
        """Render the view that `answer` returns, its error, or the redirect after a change."""
        try:
            live = _live_address(visit, request)  # first: then no change during `answer` is missed
            answered = answer(visit)
            if isinstance(answered, View):
                return self._render(visit, answered, request, live)
        except SidecarError as error:
            return self._render_error(visit, error, request)
        except Exception as error:
            _log.exception("%s %s failed", request.method, visit.path)
            named = as_sidecar_error(error, hint="the daemon's log says where")
            return self._render_error(visit, named, request)
        if answered.flash is not None:
            request.state.visitor.flashes.append(answered.flash)
        return RedirectResponse(answered.to, 303)

    async def _refuse(self, request: Request, error: Exception) -> Response:
        """Render the error of an unknown address, or of a form that Starlette does not take."""
        assert isinstance(error, HTTPException)
        message, hint = _REFUSED.get(error.status_code, (error.detail, "load the page again"))
        visit = self._visit(request.url.path, request.query_params.multi_items())
        refused = SidecarError(message, hint=hint)
        return await run_in_threadpool(
            self._render_error, visit, refused, request, error.status_code
        )

    def _render_error(
        self, visit: Visit, error: SidecarError, request: Request, status: int = 0
    ) -> Response:
        """Render `error` in one line: as a view, or as text for a request of htmx, which shows it.

        A form that was refused is shown again. `status` 0: the one that fits the error.
        """
        status = status or next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
        data = mask_document(error.as_json())
        text = " — ".join(filter(None, (data["error"]["message"], data["error"]["hint"])))
        if visit.path in FORMS and request.method == "POST":
            with suppress(SidecarError):  # the memory is gone, or cannot be read either
                return self._render(visit, FORMS[visit.path](visit, text, status), request)
        if "hx-request" in request.headers:
            return _answer(text, status, "text/plain")
        live = _live_address(visit, request)  # "" for a form: its address cannot be loaded again
        around = _view_around(visit.path)
        back = visit.came_from if visit.path in CHANGES else visit.to(around)
        if visit.path not in VIEWS:  # the address of a form, or an unknown one
            kept = [(name, value) for name, value in visit.words if name in ("as", "json")]
            visit = self._visit(around, kept)
        view = View(
            template="problem.html",
            title=sentence(data["error"]["message"]),
            data=data,
            more={"links": [(VIEWS[around].label, back)], "is_problem": True},
            status=status,
        )
        return self._render(visit, view, request, live)

    def _render(self, visit: Visit, view: View, request: Request, live: str = "") -> Response:
        data = mask_document(view.data)
        if visit.text("json"):
            return _answer(
                json.dumps(to_builtins(data), ensure_ascii=False, allow_nan=False),
                view.status,
                "application/json",
            )
        visitor: Visitor = request.state.visitor
        text = templates().get_template(view.template).render(
            view.more,
            visit=visit,
            data=data,
            title=mask_credentials(view.title),
            addresses=VIEWS,
            sections=[(path, each.label) for path, each in VIEWS.items() if each.label],
            agents=_agents(visit),
            live=live,
            # htmx takes a part of the page, without the flashes.
            flashes=[] if "hx-request" in request.headers else visitor.take_flashes(),
            form_token=visitor.form_token,
            version=__version__,
        )  # fmt: skip
        return _answer(text, view.status, "text/html")

    # Changes

    async def _change(self, request: Request) -> Response:
        async with request.form(max_files=0, max_fields=MAX_FIELDS) as form:
            words = [(name, str(value)) for name, value in form.multi_items()]
        visit = self._visit(request.url.path, words)
        if not is_own_form(request.state.visitor, dict(words).get("form_token", "")):
            refused = SidecarError(_REFUSED[403][0], hint=_REFUSED[403][1])
            return await run_in_threadpool(self._render_error, visit, refused, request, 403)
        return await run_in_threadpool(self._respond, visit, request, CHANGES[visit.path])

    # Live

    async def _live(self, request: Request) -> Response:
        words = request.query_params.multi_items()
        path = dict(words).get("view", "")
        section = VIEWS.get(path)
        if section is None or section.version is None:
            return PlainTextResponse("no such view\n", 404)
        asked = [each for each in words if each[0] not in ("view", "since")]
        # Each check makes a new visit, because the agents that may be seen can change.
        stream = self._events(lambda: self._visit(path, asked), section.version, request)
        return StreamingResponse(
            stream, media_type="text/event-stream", headers={"cache-control": "no-store"}
        )

    async def _events(
        self, visit: Callable[[], Visit], version: Callable[[Visit], object], request: Request
    ) -> AsyncIterator[str]:
        """Yield an event whenever the view has changed, until the browser leaves."""
        before = request.query_params.get("since")
        while not (self.is_ending() or await request.is_disconnected()):
            now = await run_in_threadpool(_stamp, version, visit())
            if before is not None and now != before:
                yield "event: changed\ndata:\n\n"
            else:
                yield ": still here\n\n"
            before = now
            await asyncio.sleep(LOOK_S)


def _answer(text: str, status: int, media_type: str) -> Response:
    """Return `text` in UTF-8, with surrogates, as file names may have them, escaped as in JSON."""
    content = text.encode("utf-8", "backslashreplace")
    return Response(content, status, {"cache-control": "no-store"}, media_type)


def _live_address(visit: Visit, request: Request) -> str:
    """Return the address of the stream of a view's changes from now on.

    Returns "" for a view without one, for JSON and for a part of a page.
    """
    section = VIEWS.get(visit.path)
    is_page = "hx-request" not in request.headers and not visit.text("json")
    if section is None or section.version is None or not is_page:
        return ""
    since = _stamp(section.version, visit)
    return address(LIVE, [("view", visit.path), ("since", since), *visit.words])


def _stamp(version: Callable[[Visit], object], visit: Visit) -> str:
    """Return a short text that differs when the version of the view does."""
    try:
        now = version(visit)
    except (SidecarError, OSError) as error:
        now = str(error)
    return f"{zlib.crc32(repr(now).encode()):08x}"


def _agents(visit: Visit) -> list[str]:
    """Return the agents for *View as*; one that is chosen but has nothing yet comes first."""
    chosen, names = visit.text("as"), list[str]()
    with suppress(SidecarError, OSError):
        names = visit.services.agent_names()
    return names if chosen in ("", *names) else [chosen, *names]


def _view_around(path: str) -> str:
    """Return the path of the view in the navigation that `path` is below, else of the first."""
    return next((each for each in VIEWS if VIEWS[each].label and path.startswith(each)), HOME)
