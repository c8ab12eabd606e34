"""The viewer's pages: served only to browsers on this machine, or written as files.

The server reads stores and writes only what people say of answers (`viewer.labels`). A page elsewhere on the
web can send requests here, and can give a name of its own the address 127.0.0.1 (DNS rebinding). So a request
must name this server in its Host header, one that a browser says comes from another site is answered only
where it opens a page that nothing else can read, and a form is taken only where its origin is this server.

As files, the same pages are linked to each other by their names and work without the server. They are written
in the order in which links lead to them, so that those near the start are there however few are written; a
link to a page that was left out is plain text.
"""

import errno
import socket
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from gridc.diagnostics.errors import Diagnostic, GridcError, UnavailableError, UsageError
from gridc.reports.exchange import new_folder
from gridc.reports.page_links import HOST, server
from gridc.viewer.lists import generated
from gridc.viewer.pages import Viewer
from gridc.viewer.store import absent
from gridc.viewer.view import ASSETS, PageRequest, asset

if TYPE_CHECKING:
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response


POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)
"""No inline script or style, nothing from elsewhere, no frame around a page."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Without any referrer a browser would call the origin of its own forms "null".
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}

TABLE = ".csv"
"""What the address of a page ends on where its table is meant."""

WRITES = ("/label",)
"""What a form of a page of this server may be sent to."""

MOST_FORM = 2**16
"""Bytes of a form."""

AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]


def require_packages() -> None:
    """Raise `UnavailableError` (GC604) where the packages of the extra `view` are not installed."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        message = "`gridc view` needs starlette and uvicorn, which are not installed"
        raise UnavailableError([Diagnostic("GC604", message, help="pip install 'gridc[view]'")]) from None


def listen(port: int) -> socket.socket:
    """A socket that listens on this machine's own address; port 0 lets the system choose. Raises `UsageError`
    (GC616) where the port is taken or may not be used."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(64)
    except OSError as error:
        listener.close()
        taken = error.errno == errno.EADDRINUSE
        message = f"port {port} {'is taken' if taken else f'cannot be used: {error.strerror}'}"
        help = "`--port 0` takes one that is free; another `gridc view` may still be running"
        raise UsageError([Diagnostic("GC616", message, help=help)]) from None
    return listener


def app(viewer: Viewer, port: int) -> "Guard":
    """The application that answers for a viewer which listens on this port."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
    from starlette.routing import Route

    def text(request: "HttpRequest") -> "Response":
        """The whole text of a response, to be saved."""
        try:
            number = 1 if request.query_params.get("store") == "2" and len(viewer.sources) > 1 else 0
            call = request.query_params.get("call", "")
            with viewer.sources[number].reader.moment() as moment:
                row = moment.row("SELECT answer FROM call WHERE id = ?", [call])
            answer = generated(row[0]) if row else None
            if answer is None:
                raise absent(f"call `{call[:80]}` generated no text")
        except GridcError as error:
            return failed(error)
        return PlainTextResponse(
            answer, headers={"Content-Disposition": 'attachment; filename="response.txt"'}
        )

    def page(request: "HttpRequest") -> "Response":
        name = request.url.path.removeprefix("/")
        if name in ASSETS:
            return Response(asset(name), media_type=ASSETS[name])
        if name == "text":
            return text(request)
        try:
            query = dict(request.query_params)
            if name.endswith(TABLE):
                of = PageRequest(name.removesuffix(TABLE), query, lambda path: path, live=True)
                table = viewer.table(of)
                given = {"Content-Disposition": f'attachment; filename="{of.page}{TABLE}"'}
                return Response(table, media_type="text/csv; charset=utf-8", headers=given)
            return HTMLResponse(viewer.page(PageRequest(name, query, lambda path: path, live=True)))
        except GridcError as error:
            return failed(error)

    def failed(error: GridcError) -> "Response":
        status = 404 if error.diagnostics[0].code == "GC615" else 500
        return HTMLResponse(viewer.failed(error, lambda path: path), status)

    async def label(request: "HttpRequest") -> "Response":
        """Keep a label, then lead on: to the next answer, or back to this one."""
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MOST_FORM:
                return PlainTextResponse("The form is too large.\n", 413)
        return await run_in_threadpool(labelled, bytes(body))

    def labelled(body: bytes) -> "Response":
        try:
            form = dict(parse_qsl(body.decode(), keep_blank_values=True))
            onward = viewer.label(form)
        except UnicodeDecodeError:
            return PlainTextResponse("The form is not UTF-8.\n", 400)
        except GridcError as error:
            return failed(error)
        if onward.page is not None:
            return HTMLResponse(onward.page, 409)
        return RedirectResponse(onward.to, 303)

    routes = [Route("/label", label, methods=["POST"]), Route("/{page:path}", page, methods=["GET"])]
    return Guard(Starlette(routes=routes), port)


class Guard:
    """Lets pass what asks for a page of this server, and gives every answer its headers."""

    def __init__(self, app: Callable[..., Awaitable[None]], port: int) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}" for name in (HOST, "localhost")}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: AsgiMessage, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)

        async def answered(message: AsgiMessage) -> None:
            if message["type"] == "http.response.start":
                own = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *own]
            await send(message)

        status = self._refused(scope["method"], scope["path"], headers)
        if status is None:
            await self._app(scope, receive, answered)
            return
        code, why = status
        allow = [(b"allow", b"GET, HEAD, POST" if scope["path"] in WRITES else b"GET, HEAD")]
        allow = allow if code == 405 else []
        start = {"type": "http.response.start", "status": code}
        await answered({**start, "headers": [(b"content-type", b"text/plain; charset=utf-8"), *allow]})
        await answered({"type": "http.response.body", "body": why.encode()})

    def _refused(self, method: str, path: str, headers: dict[bytes, list[bytes]]) -> tuple[int, str] | None:
        """The status and the reason of a request that is not answered."""

        def one(name: bytes) -> str | None:
            values = headers.get(name, [])
            return values[0].decode("latin-1") if len(values) == 1 else ("several" if values else None)

        writes = method == "POST" and path in WRITES
        if method not in ("GET", "HEAD") and not writes:
            return 405, "This server only shows.\n"
        host = one(b"host")
        if host is None or host.lower() not in self._hosts:
            return 421, "This server answers to 127.0.0.1 alone.\n"
        origin = one(b"origin")
        if origin is not None and origin.lower() not in self._origins:
            return 403, "Another site asked.\n"
        if writes and origin is None:
            return 403, "A page of this server must ask.\n"
        site, opens = one(b"sec-fetch-site"), one(b"sec-fetch-dest") == "document" and not writes
        if site not in (None, "same-origin", "none") and not opens:
            return 403, "Another site asked.\n"
        return None


def serve_viewer(viewer: Viewer, listener: socket.socket, ready: Callable[[str], None]) -> None:
    """Answer until Ctrl-C. `ready` is told the address once."""
    import uvicorn

    port = int(listener.getsockname()[1])
    config = uvicorn.Config(
        app(viewer, port),
        log_level="error",
        access_log=False,
        server_header=False,
        date_header=False,
        lifespan="off",
        loop="asyncio",
        http="h11",
        timeout_graceful_shutdown=2,
    )
    ready(f"{server(port)}/")
    try:
        uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:
        return
    finally:
        listener.close()


MOST_PAGES = 5_000


@dataclass(frozen=True, slots=True)
class ExportedPages:
    """What was written: the folder, how many pages, and how many further pages links would lead to."""

    folder: Path
    pages: int
    left_out: int


def export_pages(viewer: Viewer, folder: Path, most: int, progress: Callable[[int], None]) -> ExportedPages:
    """Write pages into a new folder; it appears whole or not at all. `progress` is told how many are written.

    Raises `UsageError` (GC000) where the folder exists.
    """
    with new_folder(folder) as draft:
        start = "/compare" if len(viewer.sources) > 1 else "/study"
        names, waiting, left_out = {start: "index.html"}, deque([start]), set[str]()

        def to(path: str) -> str | None:
            if path not in names:
                if len(names) >= most:
                    left_out.add(path)
                    return None
                names[path] = _name(path)
                waiting.append(path)
            return names[path]

        pages = 0
        while waiting:
            path = waiting.popleft()
            parts = urlsplit(path)
            request = PageRequest(parts.path.removeprefix("/"), dict(parse_qsl(parts.query)), to, live=False)
            (draft / names[path]).write_text(viewer.page(request), "utf-8")
            pages += 1
            progress(pages)
        for name in ASSETS:
            (draft / name).write_bytes(asset(name))
    return ExportedPages(folder, pages, len(left_out))


def _name(path: str) -> str:
    """A file name for a page: what it is, and a digest of its address, which may hold anything."""
    return f"{urlsplit(path).path.strip('/')}-{sha256(path.encode()).hexdigest()[:16]}.html"
