"""The page as an ASGI application: views, changes, and a stream that says when to look again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from memory_sidecar import __version__
from memory_sidecar.agents.services import Services
from memory_sidecar.agents.status import DaemonStatus
from memory_sidecar.core.credentials import mask_document
from memory_sidecar.core.errors import Conflict, NotFound, SidecarError, UsageError
from memory_sidecar.core.results import plain
from memory_sidecar.web.guard import Visitor, is_own_form
from memory_sidecar.web.rendering import FOLDER, templates
from memory_sidecar.web.views import CHANGES, VIEWS
from memory_sidecar.web.visit import View, Visit, Words

LOOK_S = 1.0  # between two looks at whether a view would be another one
MAX_FIELDS = 5_000
HOME = next(iter(VIEWS))
_STATUS = ((NotFound, 404), (Conflict, 409), (UsageError, 400))

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WebApp:
    """What all requests share."""

    services: Services
    environ: Mapping[str, str]
    daemon: Callable[[], DaemonStatus | None]
    is_ending: Callable[[], bool]

    def asgi(self) -> Starlette:
        """Behind a `Guard`, which lets in and gives each request its visitor."""
        templates()
        viewing = [Route(path, self._view, methods=["GET"]) for path in VIEWS]
        changing = [Route(path, self._change, methods=["POST"]) for path in CHANGES]
        return Starlette(
            routes=[
                Route("/", lambda _request: RedirectResponse(HOME, 303)),
                *viewing,
                *changing,
                Route("/live", self._live),
                Mount("/static", StaticFiles(directory=FOLDER / "static")),
            ]
        )

    def _visit(self, path: str, words: Words) -> Visit:
        return Visit(path, words, self.services, self.environ, self.daemon)

    # Views

    async def _view(self, request: Request) -> Response:
        visit = self._visit(request.url.path, request.query_params.multi_items())
        return await run_in_threadpool(self._shown, visit, request)

    def _shown(self, visit: Visit, request: Request) -> Response:
        try:
            view = VIEWS[visit.path].show(visit)
        except SidecarError as error:
            return self._failed(visit, error, request)
        except Exception as error:
            _log.exception("%s cannot be shown", visit.path)
            return self._failed(visit, SidecarError(f"internal error: {error!r}"), request)
        return self._rendered(visit, view, request)

    def _failed(self, visit: Visit, error: SidecarError, request: Request) -> Response:
        status = next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
        view = View(
            template="problem.html", title=error.message, data=error.as_json(), status=status
        )
        return self._rendered(visit, view, request)

    def _rendered(self, visit: Visit, view: View, request: Request) -> Response:
        data, _ = mask_document(view.data)
        if visit.text("json"):
            return JSONResponse(plain(data), view.status, {"cache-control": "no-store"})
        visitor: Visitor = request.state.visitor
        section = VIEWS.get(visit.path)
        text = templates().get_template(view.template).render(
            view.more,
            visit=visit,
            data=data,
            title=view.title,
            addresses=VIEWS,
            sections=[(path, each.label) for path, each in VIEWS.items() if each.label],
            agents=_agents(visit),
            live=_live_address(visit) if section and section.version else "",
            told=visitor.hear(),
            form_token=visitor.form_token,
            version=__version__,
        )  # fmt: skip
        return HTMLResponse(text, view.status, {"cache-control": "no-store"})

    # Changes

    async def _change(self, request: Request) -> Response:
        async with request.form(max_files=0, max_fields=MAX_FIELDS) as form:
            words = [(name, str(value)) for name, value in form.multi_items()]
        visitor: Visitor = request.state.visitor
        if not is_own_form(visitor, dict(words).get("form_token", "")):
            return PlainTextResponse("this form is not from here: load the page again\n", 403)
        visit = self._visit(request.url.path, words)
        return await run_in_threadpool(self._changed, visit, request, visitor)

    def _changed(self, visit: Visit, request: Request, visitor: Visitor) -> Response:
        try:
            done = CHANGES[visit.path](visit)
        except SidecarError as error:
            return self._failed(visit, error, request)
        if isinstance(done, View):
            return self._rendered(visit, done, request)
        if done.told is not None:
            visitor.tell(done.told)
        return RedirectResponse(done.to, 303)

    # Live

    async def _live(self, request: Request) -> Response:
        words = request.query_params.multi_items()
        path = dict(words).get("view", "")
        section = VIEWS.get(path)
        if section is None or section.version is None:
            return PlainTextResponse("no such view\n", 404)
        asked = [each for each in words if each[0] != "view"]
        # Each look is a visit of its own: who may be seen may have changed since.
        stream = self._looks(lambda: self._visit(path, asked), section.version, request)
        return StreamingResponse(
            stream, media_type="text/event-stream", headers={"cache-control": "no-store"}
        )

    async def _looks(
        self, visit: Callable[[], Visit], version: Callable[[Visit], object], request: Request
    ) -> AsyncIterator[str]:
        """A word whenever the view would be another one, until the browser leaves."""
        before: object = None
        while not (self.is_ending() or await request.is_disconnected()):
            try:
                now = await run_in_threadpool(version, visit())
            except SidecarError as error:
                now = error.message
            if before is not None and now != before:
                yield "event: changed\ndata:\n\n"
            else:
                yield ": still here\n\n"
            before = now
            await asyncio.sleep(LOOK_S)


def _agents(visit: Visit) -> list[str]:
    try:
        return visit.services.agent_names()
    except (SidecarError, OSError):
        return []


def _live_address(visit: Visit) -> str:
    return "/live?" + urlencode([("view", visit.path), *visit.words])
