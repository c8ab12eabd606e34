"""OpenAI's /v1/files and /v1/batches around any other of these servers, with all that can go wrong there.

A batch is carried out by asking the server inside each of its lines, after `delay` seconds. What goes wrong
is stated by name, so that a test says which batch meets it.
"""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any

from tools.servers.http import Asked, Handler, Reply

FAULTS = (
    "shuffled", "twice", "unknown", "missing", "malformed", "half_failed", "expired", "cancelled", "failed",
    "full", "upload_429", "upload_500", "create_429", "create_500", "create_500_accepted", "create_cut",
    "create_slow", "look_500", "list_500", "results_cut",
)  # fmt: skip
"""Lines out of order, one twice, one of nobody's, one left out, one that is not JSON; every second request
answered with a 500; a batch that expires, is cancelled, is refused, or finds the queue full; an upload that
is refused or fails; a batch that is refused, fails, or fails, is cut off or late though it was taken; a look
or a list that fails; results that break off."""


@dataclass(slots=True)
class BatchServer:
    """`faults` are met by one batch or upload each, in order. `unlisted`: batches cannot be listed. `room`:
    so many requests wait here at most, and a batch that has no room fails.
    `accepted` counts the requests of accepted batches by their body, `met` the faults, `seen` requests by
    method and the first part of the path, `sizes` the requests of each accepted batch."""

    inside: Handler
    faults: list[str] = field(default_factory=list)
    delay: float = 0.05
    unlisted: bool = False
    most_requests: int = 50_000
    room: int = 50_000
    accepted: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __call__(self, asked: Asked) -> Reply:
        path, _, query = asked.path.partition("?")
        self.seen[f"{asked.method} {path.split('/')[2]}"] += 1
        match asked.method, path.strip("/").split("/")[1:]:
            case "POST", ["files"]:
                return self._upload(asked)
            case "POST", ["batches"]:
                return await self._create(asked)
            case "GET", ["batches"] if self._meets("list_500"):
                key = asked.headers.get("authorization", "")
                return Reply.json({"error": {"message": f"something broke {key}"}}, 500)
            case "GET", ["batches"] if not self.unlisted:
                return self._list(query)
            case "GET", ["batches", name] if name in self.batches:
                return self._look(name, asked.headers.get("authorization", ""))
            case "POST", ["batches", name, "cancel"] if name in self.batches:
                self.batches[name]["status"] = "cancelled"
                return Reply.json(self.batches[name])
            case "GET", ["files", name, "content"] if name in self.files:
                return Reply(200, self.files[name], cut=40 if self._meets("results_cut") else None)
            case _, [("files" | "batches"), *_]:
                return Reply.json({"error": {"message": f"no such path: {path}"}}, 404)
        return await self.inside(asked)

    def _meets(self, *faults: str) -> str | None:
        """The next fault, if it is one of these: it is then met."""
        if not self.faults or self.faults[0] not in faults:
            return None
        self.met[self.faults[0]] += 1
        return self.faults.pop(0)

    def _upload(self, asked: Asked) -> Reply:
        fault = self._meets("upload_429", "upload_500")
        if fault == "upload_429":
            return Reply.json({"error": {"message": "slow down"}}, 429, **{"retry-after": "0.05"})
        if fault == "upload_500":
            key = asked.headers.get("authorization", "")
            return Reply.json({"error": {"message": f"something broke {key}"}}, 500)
        fields = _form(asked)
        if fields["purpose"] != b"batch":
            return Reply.json({"error": {"message": "the purpose of a file of requests is `batch`"}}, 400)
        return Reply.json({"id": self._keep(fields["file"]), "object": "file", "purpose": "batch"})

    def _keep(self, data: bytes) -> str:
        name = f"file-{len(self.files)}"
        self.files[name] = data
        return name

    async def _create(self, asked: Asked) -> Reply:
        body, key = asked.document, asked.headers.get("authorization", "")
        fault = self._meets("create_429", "create_500", "create_500_accepted", "create_cut", "create_slow")
        if fault == "create_429":
            return Reply.json({"error": {"message": "slow down"}}, 429, **{"retry-after": "0.05"})
        if fault == "create_500":
            return Reply.json({"error": {"message": "something broke"}}, 500)
        lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        problem = _problem(lines, body, self.most_requests)
        if problem:
            return Reply.json({"error": {"message": problem}}, 400)
        name = f"batch_{len(self.batches)}"
        batch = {
            "id": name, "object": "batch", "endpoint": body["endpoint"], "status": "in_progress",
            "metadata": body.get("metadata"), "created_at": int(time.time()), "errors": None,
            "output_file_id": None, "error_file_id": None,
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
        }  # fmt: skip
        self.batches[name] = batch
        waiting = [each for each in self.batches.values() if each["status"] == "in_progress"]
        full = sum(each["request_counts"]["total"] for each in waiting) > self.room
        ends = "full" if full else self._meets("failed", "full")
        if ends:
            code = "token_limit_exceeded" if ends == "full" else "invalid_request"
            batch |= {
                "status": "failed",
                "errors": {"data": [{"code": code, "message": f"it is {ends} {key}"}]},
            }
        else:
            self.sizes.append(len(lines))
            self.accepted.update(json.dumps(line["body"], sort_keys=True) for line in lines)
            task = asyncio.create_task(self._carry_out(batch, lines, key))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if fault == "create_slow":
            await asyncio.sleep(1.0)
        if fault == "create_500_accepted":
            return Reply.json({"error": {"message": "something broke"}}, 500)
        return Reply(200, json.dumps(batch).encode(), cut=10 if fault == "create_cut" else None)

    def _list(self, query: str) -> Reply:
        """Two to a page, so that there are pages."""
        after = dict(part.split("=") for part in query.split("&") if part).get("after")
        names = list(self.batches)[::-1]
        names = names[names.index(after) + 1 :] if after else names
        page = [self.batches[name] for name in names[:2]]
        return Reply.json({"object": "list", "data": page, "has_more": len(names) > 2})

    def _look(self, name: str, key: str) -> Reply:
        if self._meets("look_500"):
            return Reply.json({"error": {"message": f"something broke {key}"}}, 500)
        return Reply.json(self.batches[name])

    async def _carry_out(self, batch: dict[str, Any], lines: list[dict[str, Any]], key: str) -> None:
        await asyncio.sleep(self.delay)
        fault = self._meets(
            "shuffled", "twice", "unknown", "missing", "malformed", "half_failed", "expired", "cancelled"
        )
        whole = fault not in ("expired", "cancelled")
        asked = lines if whole else lines[: len(lines) // 2]
        done = await asyncio.gather(*(self._answer(line) for line in asked))
        good: list[dict[str, Any]] = []
        bad = [_row(line["custom_id"], None, f"batch_{fault}") for line in lines[len(asked) :]]
        for number, (line, (status, body)) in enumerate(zip(asked, done, strict=True)):
            if fault == "half_failed" and number % 2:
                status, body = 500, {"error": {"message": f"something broke {key}"}}
            (good if status == 200 else bad).append(_row(line["custom_id"], (status, body)))
        batch["request_counts"] |= {"completed": len(good), "failed": len(bad)}
        for key, rows in (("output_file_id", good), ("error_file_id", bad)):
            if rows:
                batch[key] = self._keep(b"".join(_odd(rows, fault if rows is good else None)))
        batch["status"] = "completed" if whole else fault

    async def _answer(self, line: Mapping[str, Any]) -> tuple[int, Any]:
        body = json.dumps(line["body"]).encode()
        reply = await self.inside(Asked(line["method"], line["url"], {}, body))
        return reply.status, json.loads(reply.body)


def _row(name: str, response: tuple[int, Any] | None, code: str | None = None) -> dict[str, Any]:
    said = None if response is None else {"status_code": response[0], "request_id": "", "body": response[1]}
    error = None if code is None else {"code": code, "message": "this request was not asked"}
    return {"id": f"row-{name}", "custom_id": name, "response": said, "error": error}


def _odd(rows: list[dict[str, Any]], fault: str | None) -> Iterable[bytes]:
    """The lines of a file, with what is wrong with them."""
    match fault:
        case "shuffled":
            rows = random.Random(0).sample(rows, len(rows))
        case "twice":
            other = json.loads(json.dumps(rows[0]))
            other["response"]["body"]["choices"][0]["message"]["content"] = "something else"
            rows = [*rows, other]
        case "unknown":
            rows = [*rows, {**rows[0], "custom_id": "nobody-asked-0"}]
        case "missing":
            rows = rows[1:]
    lines = [json.dumps(row).encode() + b"\n" for row in rows]
    return [lines[0][:30] + b"\n", *lines[1:]] if fault == "malformed" else lines


def _problem(lines: list[dict[str, Any]], body: Mapping[str, Any], most: int) -> str | None:
    """What is wrong with a file of requests, as OpenAI checks it."""
    names = [line["custom_id"] for line in lines]
    if len(lines) > most:
        return f"a batch has at most {most} requests"
    if len(set(names)) != len(names):
        return "custom ids are given once"
    if any(line["url"] != body["endpoint"] for line in lines):
        return "every request of a batch goes to its endpoint"
    return None if body.get("completion_window") == "24h" else "the completion window is 24h"


def _form(asked: Asked) -> dict[str, bytes]:
    """The fields of a multipart form."""
    head = f"content-type: {asked.headers['content-type']}\r\n\r\n".encode()
    parsed: Message = BytesParser(policy=HTTP).parsebytes(head + asked.body)
    found = {}
    for part in parsed.walk():
        if not part.is_multipart():
            name = str(part.get_param("name", header="content-disposition"))
            data = part.get_payload(decode=True)
            found[name] = data if isinstance(data, bytes) else b""
    return found
