"""What a page of `gridc view` costs on a store of 519,084 samples, beside plain SQL that answers the same.

    python -m benchmarks.view FOLDER [ITEMS]     # or: make bench-view
    python -m benchmarks.view --home FOLDER [ITEMS]

With `--home` the study has 2 models, 2 configurations and one benchmark, of 50,000 items or ITEMS. Only the
first page is asked for, three times in a new process: cold, where all samples are counted and all templates
compiled, and then again.

FOLDER is filled by `benchmarks.synthetic` where it holds no study yet, with ITEMS a benchmark. Times are CPU
milliseconds, because a busy machine stretches the clock, of the application without a network: the median and
the worst of several requests, each for another cell or item. The plain SQL is what one would type into
`sqlite3`, on its own connection. All samples are counted once before the first page, and the search index is
made at the first search: both stand in lines of their own, by the clock.
"""

import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import httpx

from benchmarks.synthetic import fill, make, write_spec
from gridc.compiler.compile import compile_spec
from gridc.reports import page_links
from gridc.viewer.lists import ListPosition
from gridc.viewer.pages import Viewer
from gridc.viewer.server import app
from gridc.viewer.view import OpenStore

LIMIT_MS = 300.0
"""No page may take longer."""

TIMES = 15
Get = Callable[[str], str]
Query = tuple[str, list[Any]]

_ROWS = """
SELECT s.item, s.replicate, choice, score, (SELECT json_extract(answer, '$.text') FROM trace t
  JOIN call ON call.id = t.call WHERE t.cell = s.cell AND t.item = s.item AND t.replicate = s.replicate
  ORDER BY step DESC LIMIT 1)
FROM sample s WHERE {} LIMIT 50
"""
_SCORES = "SELECT cell, count(*), count(choice), sum(score) FROM sample GROUP BY cell"
_PAIR = """
SELECT a.item, sum(a.score), sum(b.score) FROM sample a JOIN sample b USING (item, replicate)
WHERE a.cell = ? AND b.cell = ? GROUP BY a.item HAVING sum(a.score) <> sum(b.score) LIMIT 50
"""
_SAMPLE = """
SELECT choice, score, evidence, content, request, answer FROM sample JOIN trace USING (cell, item, replicate)
JOIN call ON call.id = call JOIN prompt ON prompt.id = prompt
WHERE cell = ? AND item = ? AND replicate = 0
"""


def pages(path: Path, stamp: str) -> Iterator[tuple[str, list[tuple[str, Query]]]]:
    """Kinds of pages, each with several addresses and the plain SQL for each."""
    draw = random.Random(42)
    db = sqlite3.connect(path)
    cells = db.execute("SELECT id, key, model, benchmark, configuration FROM cell").fetchall()
    items = dict(db.execute("SELECT benchmark, json_group_array(item) FROM item GROUP BY 1"))
    by_place = {(model, benchmark, where): number for number, _, model, benchmark, where in cells}
    models: list[str] = list(dict.fromkeys(model for _, _, model, *_ in cells))
    db.close()
    some = [draw.choice(cells) for _ in range(TIMES)]
    item = {number: draw.choice(_names(items[benchmark])) for number, _, _, benchmark, _ in some}

    def listed(**filters: str) -> str:
        return page_links.samples(stamp, "", **filters)

    def other(model: str) -> str:
        return models[models.index(model) - 1]

    yield "study, all surfaces", [(page_links.study(stamp), (_SCORES, []))] * 5
    yield (
        "surface of a pair",
        [(page_links.surface(stamp, b, m, other(m)), (_SCORES, [])) for _, _, m, b, _ in some],
    )
    scored = "SELECT item, avg(score) FROM sample WHERE cell = ? GROUP BY item ORDER BY 2 LIMIT 50"
    yield (
        "questions, hardest first",
        [(page_links.questions(stamp, "", benchmark=b, model=m, sort="hard"), (scored, [n]))
         for n, _, m, b, _ in some],
    )  # fmt: skip
    yield "cell", [(page_links.cell(stamp, key), (_ROWS.format("s.cell = ?"), [n])) for n, key, *_ in some]
    yield (
        "items that differ",
        [
            (page_links.pair_link(stamp, b, where, m, other(m)), (_PAIR, [n, by_place[other(m), b, where]]))
            for n, _, m, b, where in some
        ],
    )
    yield (
        "item",
        [
            (
                page_links.item_link(stamp, b, item[n]),
                (_ROWS.format("s.item = ? AND s.cell IN (SELECT id FROM cell)"), [item[n]]),
            )
            for n, _, _, b, _ in some
        ],
    )
    yield (
        "sample",
        [(page_links.sample_link(stamp, key, item[n]), (_SAMPLE, [n, item[n]])) for n, key, *_ in some],
    )
    yield (
        "side by side",
        [
            (
                page_links.side_by_side(stamp, key, f"{other(m)}/{b}/{where}", item[n]),
                (_SAMPLE, [n, item[n]]),
            )
            for n, key, m, b, where in some
        ],
    )
    yield "samples", [(listed(model=m), (_ROWS.format("s.cell = ?"), [n])) for n, _, m, *_ in some]
    yield (
        "samples, deep",
        [
            (
                listed(after=ListPosition(n, item[n], 0).text()),
                (_ROWS.format("(s.cell, s.item, s.replicate) > (?, ?, 0)"), [n, item[n]]),
            )
            for n, *_ in some
        ],
    )
    where = 'response contains "not" and score < 1'
    yield (
        "samples, condition",
        [(listed(model=m, where=where), (_ROWS.format("score = 0"), [])) for _, _, m, *_ in some],
    )
    unread = _ROWS.format("choice IS NULL AND score IS NOT NULL")
    yield "samples, unreadable", [(listed(read="unreadable", benchmark=b), (unread, [])) for *_, b, _ in some]
    waiting = _ROWS.format("score IS NULL")
    yield (
        "samples, none passes",
        [(listed(outcome="waiting", model=m), (waiting, [])) for _, _, m, *_ in some],
    )
    yield (
        "samples of one item",
        [
            (
                listed(benchmark=b, item=item[n], outcome="nothing"),
                (_ROWS.format("s.item = ? AND score = 0"), [item[n]]),
            )
            for n, _, _, b, _ in some
        ],
    )
    yield (
        "samples by item",
        [
            (listed(benchmark=b, model=m, sort="item", read="unreadable"), (unread + "", []))
            for _, _, m, b, _ in some
        ],
    )
    for words in ("answer", "rather not say", "neither", '"which is number 17"'):
        like = "SELECT id FROM call WHERE json_extract(answer, '$.text') LIKE ? LIMIT 50"
        yield f"search {words}", [(listed(q=words), (like, [f"%{words}%"]))] * 5


HOME = """
[harness]
prompt = "builtin:T1"
method = "extract"

[[axis]]
id = "decoding"
[[axis.level]]
id = "greedy"
tier = "core"
temperature = 0
provenance = "deterministic"
[[axis.level]]
id = "moderate"
tier = "core"
temperature = 0.3
provenance = "sampled"

[sampling]
seed = 42
"""
HOME_MODELS, HOME_BENCHMARKS, HOME_ITEMS = 2, 1, 50_000


def home(folder: Path, items: int | None) -> None:
    """The first page of a study with many items, cold and again, three times."""
    path = folder / "results" / "synthetic" / "store.sqlite"
    if not path.exists():
        parts = HOME_MODELS, HOME_BENCHMARKS
        fill(compile_spec(write_spec(folder, items or HOME_ITEMS, HOME, *parts)), path)
    for _ in range(3):
        subprocess.run([sys.executable, "-c", _HOME, str(path)], check=True)


_HOME = """
import sys, time
from pathlib import Path
from gridc.viewer.lists import ListPosition
from gridc.viewer.pages import Viewer
from gridc.viewer.view import OpenStore, PageRequest
viewer = Viewer([OpenStore(Path(sys.argv[1]))])
took = []
for _ in range(4):
    started = time.process_time()
    viewer.page(PageRequest("", {}, str, live=True))
    took.append(1000 * (time.process_time() - started))
print(f"first page: {took[0]:.0f} ms of CPU, again: {sorted(took[1:])[1]:.0f} ms")
viewer.close()
"""


def main(folder: Path, items: int | None) -> None:
    if not (folder / "gridcard.toml").exists():
        make(folder, items)
    path = folder / "results" / "synthetic" / "store.sqlite"
    with tempfile.TemporaryDirectory() as cache:
        os.environ["GRIDC_CACHE"] = cache
        with closing(Viewer([OpenStore(path)])) as viewer:
            ok = anyio.run(_measured, viewer, path)
    if not ok:
        sys.exit(f"a page took longer than {LIMIT_MS:.0f} ms")


async def _measured(viewer: Viewer, path: Path) -> bool:
    transport = httpx.ASGITransport(app=app(viewer, page_links.PORT))
    async with httpx.AsyncClient(transport=transport, base_url=page_links.server()) as client:

        async def get(address: str) -> float:
            started = time.process_time()
            answer = await client.get(address)
            assert answer.status_code == 200, answer.text[-500:]
            return 1000 * (time.process_time() - started)

        started = time.perf_counter()
        with viewer.sources[0].reader.moment() as moment:
            study = viewer.sources[0].studies.study(moment)
        counted = 1000 * (time.perf_counter() - started)
        await get("/")  # templates are compiled once
        print(f"{study.trials:,} samples in {len(study.cells)} cells, counted in {counted:.0f} ms")
        started = time.perf_counter()
        during = []
        while (progress := viewer.sources[0].index.ensure(0)).running:
            began = time.perf_counter()
            await get(page_links.cell(study.stamp, study.cells[0].key))
            during.append(1000 * (time.perf_counter() - began))
            await anyio.sleep(0.2)
        size = viewer.sources[0].index._path.stat().st_size / 2**20
        print(
            f"search index of {progress.done:,} calls: {time.perf_counter() - started:.0f} s, {size:.0f} MB; "
            f"a page meanwhile: median {statistics.median(during):.0f} ms, worst {max(during):.0f} ms"
        )
        print(f"{'page':<28} median ms   worst ms   plain SQL ms")
        worst = 0.0
        with closing(sqlite3.connect(path)) as db:
            for name, asked in pages(path, study.stamp):
                times = [await get(address) for address, _ in asked]
                plain = [_timed(db, *query) for _, query in asked]
                worst = max(worst, *times)
                own = f"{statistics.median(times):9.1f} {max(times):10.1f}"
                print(f"{name:<28} {own} {statistics.median(plain):14.1f}", flush=True)
    return worst <= LIMIT_MS


def _names(text: str) -> list[str]:
    names: list[str] = json.loads(text)
    return names


def _timed(db: sqlite3.Connection, statement: str, values: list[Any]) -> float:
    started = time.process_time()
    db.execute(statement, values).fetchall()
    return 1000 * (time.process_time() - started)


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if argument != "--home"]
    ask = main if given == sys.argv[1:] else home
    ask(Path(given[0]), int(given[1]) if len(given) > 1 else None)
