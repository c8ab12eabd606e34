"""The engine for models behind an address, side by side with a bare httpx loop on the same server.

    python -m benchmarks.api [--calls 1024] [--delay 0.2] [--rounds 3]

First every call of a study is asked of a sound server that takes `--delay` seconds for an answer, 64 at once:
by loops of httpx that keep nothing, with one client for all or, which is the best use of httpx, 64 of one
connection each, and by gridc with its store on the disk, where every request is written down before it leaves
and every answer before it counts. The same requests, in turns, several times. Then the
study is asked of a server that fails in a dozen ways, under a budget in money, and everything is counted.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from gridc.compiler.compile import compile_spec
from gridc.compiler.inputs.prices import prices_of
from gridc.compiler.lock.lock import make_lock
from gridc.compiler.lowering.plan import Plan
from gridc.runtime.engines import open_engine
from gridc.runtime.engines.api import wire
from gridc.runtime.engines.api.engine import ApiEngine
from gridc.runtime.engines.api.session import Pace
from gridc.runtime.engines.protocol import Call, PendingBatch
from gridc.runtime.run import Meter
from gridc.runtime.stages import call_of
from gridc.runtime.store.write import Writer
from gridc.schema.spec import Budget
from tests.e2e.test_api import make_api_study
from tools.servers.faults import FaultServer
from tools.servers.http import Server

WIDE = 64
FAULTS = {
    "429": 0.02, "500": 0.02, "slow": 0.002, "cut": 0.01, "malformed": 0.01, "empty": 0.01,
    "other_model": 0.01, "wrong_usage": 0.01, "redirect": 0.005, "huge": 0.001, "not_json": 0.005,
    "no_choices": 0.005,
}  # fmt: skip


@contextmanager
def study(
    folder: Path, url: str, number: int, budget: Budget
) -> Iterator[tuple[ApiEngine, Writer, Meter, list[Call]]]:
    """An engine on a store with that many calls of one model, stamped and not yet asked."""
    folder.mkdir()
    spec = make_api_study(folder, url, items=4 * -(-number // 64))
    compiled = compile_spec(spec)
    plan = Plan(compiled.study)
    with Writer(folder / "store.sqlite") as store:
        store.ingest(plan, make_lock(compiled.study, spec))
        calls: dict[str, Call] = {}
        for cell in plan.cells():
            if cell.model == "qwen2":
                calls |= {each.id: call_of(each) for sample in plan.samples(cell) for each in sample.requests}
        engine = open_engine("qwen2", compiled.study.models["qwen2"], "fp32", compiled.spec)
        assert isinstance(engine, ApiEngine)
        meter = Meter(budget)
        engine.connect(store, meter, prices_of(compiled.spec)["qwen2"])
        yield engine, store, meter, list(calls.values())[:number]
        engine.close()


Took = tuple[float, float]
"""Seconds, and CPU seconds of this process."""


def through_gridc(folder: Path, url: str, number: int, slow_start: bool) -> Took:
    """What all calls take, answers on the disk."""
    with study(folder, url, number, Budget()) as (engine, store, _, calls):
        if not slow_start:
            engine.pace = Pace(WIDE, WIDE)
        tasks = [PendingBatch(batch, frozenset(batch.calls)) for batch in engine.batches(calls)]
        begun, spent = time.perf_counter(), time.process_time()
        for done in engine.answers(tasks, lambda task: True):
            if done.answers:
                store.answer(done.answers, done.spending)
        store.flush()
        return time.perf_counter() - begun, time.process_time() - spent


def through_httpx(folder: Path, url: str, number: int, clients: int) -> Took:
    """What the same requests take by a bare loop with so many clients."""
    with study(folder, url, number, Budget()) as (_, _, _, calls):
        bodies = [
            wire.generation_body(
                "one",
                each.prompt,
                wire.asked_parameters(each.id, each.prompt, each.parameters, "openai"),
                "openai",
                frozenset(),
            )[1]
            for each in calls
        ]

    async def loop() -> Took:
        lanes = WIDE // clients
        limits = httpx.Limits(max_connections=lanes, max_keepalive_connections=lanes)
        free: asyncio.Queue[httpx.AsyncClient] = asyncio.Queue()
        async with AsyncExitStack() as stack:
            for _ in range(clients):
                client = await stack.enter_async_context(httpx.AsyncClient(limits=limits, timeout=None))
                for _ in range(lanes):
                    free.put_nowait(client)

            async def one(body: dict[str, Any]) -> str:
                client = await free.get()
                response = await client.post(f"{url}/chat/completions", json=body)
                text: str = response.json()["choices"][0]["message"]["content"]
                free.put_nowait(client)
                return text

            begun, spent = time.perf_counter(), time.process_time()
            await asyncio.gather(*map(one, bodies))
            return time.perf_counter() - begun, time.process_time() - spent

    return asyncio.run(loop())


@contextmanager
def apart(delay: float) -> Iterator[str]:
    """A sound server in a process of its own."""
    command = [sys.executable, "-m", "tools.servers.faults", "--delay", str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def under_faults(folder: Path, number: int) -> dict[str, Any]:
    """What comes of the calls on a server that fails in a dozen ways, and whether everything adds up."""
    handler = FaultServer(FAULTS, delay=0.05, slow=60.0, seed=1, retry_after="0.2", huge=9 * 2**20)
    budget = Budget(usd=5_000.0)
    with (
        Server(handler) as server,
        study(folder, server.url, number, budget) as (engine, store, meter, calls),
    ):
        engine.pace = Pace(WIDE, WIDE)
        tasks = [PendingBatch(batch, frozenset(batch.calls)) for batch in engine.batches(calls)]
        begun, seen = time.perf_counter(), 0
        for done in engine.answers(tasks, lambda task: True):
            if done.answers:  # none while nothing may be sent
                store.answer(done.answers, done.spending)
            seen += len(done.answers)
        store.flush()
        seconds = time.perf_counter() - begun
        held = store.answers_of(call.id for call in calls)
        failed = sum("error" in json.loads(each) for each in held.values())
        return {
            "calls": number,
            "answers_stored": len(held),
            "stored_twice": seen - len(held),
            "failed_for_good": failed,
            "requests_seen_by_the_server": sum(handler.seen.values()),
            "requests_written_down": sum(1 for _ in store.attempts()),
            "most_open_at_once": handler.most,
            "faults_met": {name: n for name, n in handler.met.items() if name != "none"},
            "usd": round(store.paid_usd(), 2),
            "cap_usd": budget.usd,
            "cap_reached": meter.reached,
            "seconds": round(seconds, 2),
        }


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--calls", type=int, default=1024)
    parser.add_argument("--delay", type=float, default=0.2)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    took: dict[str, list[Took]] = {}
    with tempfile.TemporaryDirectory() as name, apart(given.delay) as url:
        root = Path(name)
        for turn in range(given.rounds):
            ways = {
                "httpx, 64 clients": partial(through_httpx, clients=WIDE),
                "httpx, one client": partial(through_httpx, clients=1),
                "gridc": partial(through_gridc, slow_start=False),
                "gridc with slow start": partial(through_gridc, slow_start=True),
            }
            for number, (way, work) in enumerate(ways.items()):
                took.setdefault(way, []).append(work(root / f"{number}-{turn}", url, given.calls))
        best = [statistics.median(column) for column in zip(*took["httpx, 64 clients"], strict=True)]
        for way, times in took.items():
            middle = [statistics.median(column) for column in zip(*times, strict=True)]
            wall, cpu = (1000 * seconds / given.calls for seconds in middle)
            ratios = [one / other for one, other in zip(middle, best, strict=True)]
            print(f"{way}: {wall:.2f} ms a call, {cpu:.2f} of the processor", end=" ")
            print(f"({ratios[0]:.2f} and {ratios[1]:.2f} x 64 clients of httpx)", flush=True)
        print(json.dumps(under_faults(root / "faults", given.calls), indent=1))


if __name__ == "__main__":
    main()
