"""A small HTTP/1.1 server: JSON in, JSON out, and hands on the raw connection for what must go wrong."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: its method, path, headers (names in lower case) and body."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> dict[str, Any]:
        """The body as a JSON object; raises `ValueError` where it is none."""
        found = json.loads(self.body)
        if not isinstance(found, dict):
            raise ValueError("the body is not a JSON object")
        return found


@dataclass(frozen=True, slots=True)
class Reply:
    """A response. `cut` closes the connection after so many bytes of the body, `drip` (seconds) sends it in
    eight parts with that pause between them."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None
    drip: float = 0.0

    @classmethod
    def json(cls, document: Any, status: int = 200, **headers: str) -> Self:
        return cls(status, json.dumps(document).encode(), headers)


Handler = Callable[[Asked], Awaitable[Reply]]


class Server:
    """Serves a handler on a free port of 127.0.0.1, in a thread of its own. Use as a context manager."""

    def __init__(self, handler: Handler, port: int = 0) -> None:
        self._handler, self._asked_port = handler, port
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._problem: OSError | None = None
        self.port = port

    @property
    def url(self) -> str:
        """What a client takes as its base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        if self._problem is not None:
            raise self._problem
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def wait(self) -> None:
        """Until the process is interrupted."""
        self._thread.join()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            start = asyncio.start_server(self._connection, "127.0.0.1", self._asked_port, backlog=1024)
            server = self._loop.run_until_complete(start)
        except OSError as error:
            self._problem = error
            self._ready.set()
            return
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        try:
            self._loop.run_forever()
        finally:
            server.close()
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self._loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (asked := await _read(reader)) is not None:
                reply = await self._handler(asked)
                if not await _write(writer, reply):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    line = await reader.readline()
    if not line:
        return None
    method, path, _ = line.decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    while (line := await reader.readline()) not in (b"\r\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, body)


async def _write(writer: asyncio.StreamWriter, reply: Reply) -> bool:
    """Whether the connection may go on."""
    headers = {"content-type": "application/json", "content-length": str(len(reply.body)), **reply.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {reply.status} -\r\n{lines}\r\n".encode("latin-1"))
    body = reply.body if reply.cut is None else reply.body[: reply.cut]
    if reply.drip:
        size = max(1, len(body) // 8)
        for start in range(0, len(body), size):
            writer.write(body[start : start + size])
            await writer.drain()
            await asyncio.sleep(reply.drip)
    else:
        writer.write(body)
    await writer.drain()
    return reply.cut is None
