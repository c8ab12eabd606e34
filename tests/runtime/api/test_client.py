"""What leaves gridc, one connection for each request that is open at once."""

import asyncio
from asyncio import StreamReader, StreamWriter

from gridc.runtime.engines.api.client import make_client, post


class Counted:
    """A server that counts its connections and the requests that are open at once. `/slow` never ends."""

    def __init__(self) -> None:
        self.connections = self.open = self.most = 0

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.open += 1
                self.most = max(self.most, self.open)
                await asyncio.sleep(3600 if b"/slow" in head else 0.02)
                writer.write(b"HTTP/1.1 200 -\r\ncontent-length: 2\r\n\r\n{}")
                self.open -= 1
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


def test_a_request_takes_over_the_connection_of_one_that_ended() -> None:
    async def asked() -> tuple[Counted, list[bytes]]:
        counted = Counted()
        server = await asyncio.start_server(counted.serve, "127.0.0.1")
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server, make_client(url) as client:
            got = [
                body
                for _ in range(3)
                for body in await asyncio.gather(*(post(client, url, b"", {}) for _ in range(20)))
            ]
        return counted, got

    counted, got = asyncio.run(asked())
    assert got == [b"{}"] * 60
    assert counted.connections == counted.most == 20


def test_a_request_that_is_given_up_leaves_room_for_the_next() -> None:
    async def asked() -> tuple[Counted, list[bytes]]:
        counted = Counted()
        server = await asyncio.start_server(counted.serve, "127.0.0.1")
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with make_client(url) as client:
            slow = [asyncio.ensure_future(post(client, f"{url}/slow", b"", {})) for _ in range(5)]
            while counted.open < 5:
                await asyncio.sleep(0.01)
            for task in slow:
                task.cancel()
            await asyncio.gather(*slow, return_exceptions=True)
            got = await asyncio.wait_for(asyncio.gather(*(post(client, url, b"", {}) for _ in range(5))), 10)
        server.close()
        return counted, got

    counted, got = asyncio.run(asked())
    assert got == [b"{}"] * 5
    assert counted.connections == 10
