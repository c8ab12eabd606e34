"""What a study costs through `engine = "vllm"`, beside vLLM's own offline engine on the same tokens.

    python -m benchmarks.served [--calls 64 256] [--tokens 16] [--rounds 5] [--kv-mib 1024]

vLLM is the one of GRIDC_VLLM, else that of `gridc serve --install`. Greedy calls of a study (four wordings,
with and without eight exemplars) go through gridc's engine, with its store on the disk, in the order of the
plan and in a random one, each on an empty prefix cache. How many tokens that cache saved, the server's
/metrics say. The same tokens are sent to that server by 64 bare httpx clients, and given to vLLM's offline
engine, which has neither HTTP nor a store.
"""

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import tempfile
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from gridc.compiler.compile import Compiled, compile_spec
from gridc.compiler.lock.lock import make_lock
from gridc.compiler.lowering.plan import Plan
from gridc.runtime.engines import open_engine
from gridc.runtime.engines.api.attempts import Terms
from gridc.runtime.engines.api.scoring import asked_forms
from gridc.runtime.engines.protocol import Call, PendingBatch
from gridc.runtime.engines.vllm import environment
from gridc.runtime.engines.vllm.engine import VllmEngine, arguments
from gridc.runtime.run import Meter
from gridc.runtime.stages import call_of
from gridc.runtime.store.write import Writer
from gridc.schema.spec import Budget

WIDE = 64
SPEC = """\
gridcard = 1

[study]
id = "served"
title = "Greedy answers"
purpose = "descriptive"
not_varied = ["everything else"]

[[model]]
id = "m"
engine = "vllm"
source = "builtin:{model}"

[[benchmark]]
id = "bbq"
loader = "bbq"
source = "builtin:pocket_bbq.jsonl"
direction = "higher_is_better"
sample = {{ n = 48, seed = 1 }}
option_order = "file"
exemplars = {{ pool = "rest", seed = 1 }}

[harness]
max_tokens = {tokens}
temperature = 0
method = "extract"

[engine]
kv_mib = {kv_mib}

{axes}
"""
AXES = {
    "wording": [f'prompt = "builtin:T{number}"' for number in (1, 2, 3, 4)],
    "few_shot": ["shots = 0", "shots = 8"],
}
LEVEL = '[[axis.level]]\nid = "{}-{}"\ntier = "core"\nprovenance = "a benchmark"\n{}\n'

OFFLINE = """
import json, sys, time
from vllm import LLM, SamplingParams

if __name__ == "__main__":
    given = json.load(open(sys.argv[1]))
    model = LLM(**given["options"])
    asked = [{"prompt_token_ids": ids} for ids in given["prompts"]]
    sampling = SamplingParams(temperature=0.0, max_tokens=given["tokens"])
    print("READY", flush=True)
    for number in map(int, sys.stdin):
        model.reset_prefix_cache()
        begun = time.perf_counter()
        done = model.generate(asked[:number], sampling, use_tqdm=False)
        seconds = time.perf_counter() - begun
        written = sum(len(each.outputs[0].token_ids) for each in done)
        print("MEASURED", json.dumps({"calls": number, "seconds": seconds, "written": written}), flush=True)
"""


def spec_text(model: str, tokens: int, kv_mib: int) -> str:
    axes = (
        f'[[axis]]\nid = "{axis}"\n'
        + "".join(LEVEL.format(axis, number, level) for number, level in enumerate(levels))
        for axis, levels in AXES.items()
    )
    return SPEC.format(model=model, tokens=tokens, kv_mib=kv_mib, axes="\n".join(axes))


def calls_of(compiled: Compiled) -> list[Call]:
    plan = Plan(compiled.study)
    every = (
        call_of(each) for cell in plan.cells() for sample in plan.samples(cell) for each in sample.requests
    )
    return list({call.id: call for call in every}.values())


def counters(root: str) -> dict[str, float]:
    """What the server has counted so far, by name."""
    with urllib.request.urlopen(f"{root}/metrics") as response:
        text = response.read().decode()
    found = re.findall(r"^vllm:(\w+_total)\{[^}]*\} (\S+)$", text, re.M)
    return {name: sum(float(value) for other, value in found if other == name) for name, _ in found}


def through_gridc(
    engine: VllmEngine, compiled: Compiled, folder: Path, calls: Sequence[Call], shuffled: bool
) -> dict[str, Any]:
    """What these calls take, answers on the disk, with what the server counted meanwhile."""
    assert engine._started is not None
    root = _emptied(engine._started.url)
    plan = Plan(compiled.study)
    with Writer(folder / "store.sqlite") as store:
        store.ingest(plan, make_lock(compiled.study, compiled.source.path))
        engine.connect(store, Meter(Budget()), None, Terms(folder=folder))
        tasks = [PendingBatch(batch, frozenset(batch.calls)) for batch in engine.batches(calls)]
        if shuffled:
            random.Random(1).shuffle(tasks)
        before, begun, spent = counters(root), time.perf_counter(), time.process_time()
        for done in engine.answers(tasks, lambda task: True):
            if done.answers:
                store.answer(done.answers, done.spending)
        store.flush()
        seconds, here = time.perf_counter() - begun, time.process_time() - spent
    return _took(root, before, len(calls), seconds, here)


def through_httpx(url: str, model: str, prompts: Sequence[Sequence[int]], tokens: int) -> dict[str, Any]:
    """What the same tokens take by a bare loop with 64 clients."""
    root = _emptied(url)

    async def loop() -> None:
        left = list(reversed(prompts))

        async def lane() -> None:
            async with httpx.AsyncClient(timeout=None, verify=False) as client:
                while left:
                    body = {"model": model, "prompt": left.pop(), "max_tokens": tokens, "temperature": 0.0}
                    (await client.post(f"{url}/completions", json=body)).raise_for_status()

        await asyncio.gather(*(lane() for _ in range(WIDE)))

    before, begun, spent = counters(root), time.perf_counter(), time.process_time()
    asyncio.run(loop())
    return _took(root, before, len(prompts), time.perf_counter() - begun, time.process_time() - spent)


def _emptied(url: str) -> str:
    """The server's own address, once it has forgotten every prefix."""
    root = url.removesuffix("/v1")
    urllib.request.urlopen(urllib.request.Request(f"{root}/reset_prefix_cache", method="POST")).close()
    return root


def _took(root: str, before: Mapping[str, float], calls: int, seconds: float, here: float) -> dict[str, Any]:
    took = {name: value - before.get(name, 0.0) for name, value in counters(root).items()}
    return {
        "calls": calls, "seconds": seconds, "here": here, "read": took["prompt_tokens_total"],
        "written": took["generation_tokens_total"], "saved": took["prefix_cache_hits_total"],
    }  # fmt: skip


@contextmanager
def offline(prompts: Sequence[Sequence[int]], told: Mapping[str, Any], tokens: int, folder: Path
) -> Iterator[Callable[[int], dict[str, Any]]]:  # fmt: skip
    """vLLM's offline engine: what it takes for so many of the same tokens."""
    (folder / "offline.py").write_text(OFFLINE, "utf-8")
    given = {"options": told, "prompts": prompts, "tokens": tokens}
    (folder / "given.json").write_text(json.dumps(given), "utf-8")
    python = Path(environment.program()[0]).parent / "python"
    words = [str(python), str(folder / "offline.py"), str(folder / "given.json")]
    with (folder / "offline.log").open("w+") as log, subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
    ) as process:  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        said = process.stdout

        def heard(word: str) -> str:
            line = next((line for line in said if line.startswith(word)), None)
            if line is None:
                raise SystemExit(f"vLLM's offline engine ended: {Path(log.name).read_text()[-2_000:]}")
            return line.removeprefix(word)

        def measured(number: int) -> dict[str, Any]:
            print(number, file=process.stdin, flush=True)
            found: dict[str, Any] = json.loads(heard("MEASURED "))
            return found

        heard("READY")
        yield measured


def middle(rounds: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The round that took neither long nor short."""
    return sorted(rounds, key=lambda took: float(took["seconds"]))[len(rounds) // 2]


def row(way: str, took: Mapping[str, Any]) -> str:
    seconds = took["seconds"]
    here = f"{1_000 * took['here'] / took['calls']:.2f}" if "here" in took else ""
    cells = [
        way, str(took["calls"]), f"{took['calls'] / seconds:.1f}", f"{took['read'] / seconds:,.0f}",
        f"{took['written'] / seconds:,.0f}", f"{took['saved'] / took['read']:.0%}" if "saved" in took else "",
        here,
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--model", default="pocket-qwen2")
    parser.add_argument("--calls", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kv-mib", type=int, default=1024)
    given = parser.parse_args()
    os.environ["VLLM_SERVER_DEV_MODE"] = "1"  # without it a server forgets no prefixes when it is told to
    print("| way | calls | calls/s | read/s | written/s | from the cache | ms of our processor a call |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "gridcard.toml").write_text(spec_text(given.model, given.tokens, given.kv_mib), "utf-8")
        compiled = compile_spec(folder / "gridcard.toml")
        identity = compiled.study.models["m"]
        engine = open_engine("m", identity, "fp32", compiled.spec)
        assert isinstance(engine, VllmEngine)
        every = calls_of(compiled)
        ordered = [batch.work for batch in engine.batches(every)]
        try:
            engine.effective()
            assert engine._prompts is not None and engine._started is not None
            prompts = [list(asked_forms(engine._prompts, call)[0].ids) for call in ordered]
            # an untimed pass first: the first requests warm the server up
            through_gridc(engine, compiled, _made(folder / "warm"), ordered[-64:], False)
            assert identity.folder is not None
            words = arguments("", identity.folder, "float32", "http://127.0.0.1:1/v1", compiled.spec.engine)
            url = engine._started.url
            with offline(prompts, _options(words), given.tokens, folder) as alone:
                for number in given.calls:
                    rounds = defaultdict[str, list[Mapping[str, Any]]](list)
                    for each in range(given.rounds):
                        for way, shuffled in (
                            ("gridc, in the plan's order", False),
                            ("gridc, in a random order", True),
                        ):
                            place = _made(folder / f"{number}-{each}-{shuffled}")
                            took = through_gridc(engine, compiled, place, ordered[:number], shuffled)
                            rounds[way].append(took)
                        bare = through_httpx(url, identity.source, prompts[:number], given.tokens)
                        rounds["64 bare clients, in the plan's order"].append(bare)
                        rounds["vLLM's offline engine"].append(alone(number) | {"read": bare["read"]})
                    for way, found in rounds.items():
                        print(row(way, middle(found)), flush=True)
        finally:
            engine.close()


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _options(words: Sequence[str]) -> dict[str, Any]:
    """The arguments of the server as the offline engine takes them."""
    told: dict[str, Any] = {"model": words[1]}
    for word, value in zip(words[2:], [*words[3:], "--"], strict=True):
        if word.startswith("--") and word not in (
            "--host",
            "--port",
            "--served-model-name",
            "--max-model-len",
        ):
            key = word.removeprefix("--").replace("-", "_")
            told[key] = True if value.startswith("--") else int(value) if value.isdecimal() else value
    return told


if __name__ == "__main__":
    main()
