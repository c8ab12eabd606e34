"""A stand-in for the program `vllm`: takes its arguments, and serves with transformers.

    GRIDC_VLLM="python -m tools.servers.vllm" gridc run

VLLM_STAND_IN names a file into which it writes what it was started with. VLLM_DIES_AFTER is how many prompts
it answers before it ends, as where the machine has no memory left. VLLM_ROOM is how long a context it has.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from tools.servers.http import Asked, Reply, Server
from tools.servers.tokens import TokenServer


class StandIn(TokenServer):
    """A server of tokens that ends after so many prompts (None: never)."""

    def __init__(self, folder: str, last: int | None) -> None:
        super().__init__("vllm", folder)
        self._last = last

    async def __call__(self, asked: Asked) -> Reply:
        if asked.path == "/v1/models":
            room = int(os.environ.get("VLLM_ROOM", self.longest))
            return Reply.json({"data": [{"id": self.model, "max_model_len": room}]})
        if self._last is not None and len(self.paths) >= self._last:
            print("ValueError: no room for the keys and values\nanother line\nthe end", flush=True)
            os._exit(3)
        return await super().__call__(asked)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["serve"])
    parser.add_argument("folder")
    parser.add_argument("--port", type=int, required=True)
    given, _ = parser.parse_known_args()
    if notes := os.environ.get("VLLM_STAND_IN"):
        with Path(notes).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"pid": os.getpid(), "arguments": sys.argv[1:]}) + "\n")
    last = os.environ.get("VLLM_DIES_AFTER")
    with Server(StandIn(given.folder, int(last) if last else None), given.port) as server:
        server.wait()


if __name__ == "__main__":
    main()
