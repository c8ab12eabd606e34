"""Small stores with rows of every kind, written with plain SQL into tables that gridc made."""

import json
import random
import sqlite3
from collections.abc import Sequence
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

from gridc.runtime.store.opening import open_to_write
from gridc.schema.canonical import digest

CONTENT = {"spec": {"study": {"id": "hand-made", "title": "A study made by hand"}}}
STAMP = digest(CONTENT)
MODELS, SHOTS, SCORING = ("ant", "bee", "cat"), ("0", "3"), ("text", "rank", "tree")
HOSTILE = (
    "<script>document.title='changed'</script>",
    "</pre></main><h1 id=planted>PLANTED</h1><img src=x onerror=\"document.title='changed'\">",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 bell",
    "\u202egnp.exe right to left \u2066isolate \u200fmark עברית",
    'javascript:alert(1) "onfocus="alert(1)" autofocus x=\'',
    "{{ 7 * 7 }} {% raw %} ${7*7} <!-- --> ]]> &lt;b&gt;",
    "null\x00byte \r carriage \x9b31m C1",
)


def question(benchmark: str, number: int) -> str:
    return f"Question {number} of {benchmark}: which is it?"


def options(number: int) -> tuple[str, str, str]:
    return f"one of {number}", f"two of {number}", f"three of {number}"


def make(
    path: Path, seed: int = 1, items: int = 70, hostile: bool = False, waits: bool = True,
    models: Sequence[str] = MODELS,
) -> Path:  # fmt: skip
    """A store with one study: three models, or these, two benchmarks, six configurations; some samples wait,
    some are not readable, one kind of cell has a scaffold, one asks twice. Texts are harmless, or
    `HOSTILE`."""
    db = open_to_write(path)
    connection = db.conn
    connection.isolation_level = None
    connection.execute("BEGIN")
    draw = random.Random(seed)
    connection.execute("INSERT INTO study VALUES (?, '2026-01-01', ?)", [STAMP, json.dumps(CONTENT)])
    for benchmark in ("facts", "views"):
        connection.execute(
            "INSERT INTO benchmark VALUES (?, ?, 'higher_is_better', 'item')", [STAMP, benchmark]
        )
        for number in range(items):
            name = f"{benchmark}/{number}"
            row = [STAMP, benchmark, name, name, f"family {number // 3}", None, f"topic {number % 4}"]
            connection.execute("INSERT INTO item VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            shown = [STAMP, benchmark, name, "file", "d", 3, json.dumps([number % 3]), number % 3]
            connection.execute("INSERT INTO shown VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL)", shown)
            told = sha256(question(benchmark, number).encode()).hexdigest()[:32]
            connection.execute("INSERT INTO question VALUES (?, ?, ?, ?, NULL, NULL)", [*row[:3], told])
    cells = product(models, ("facts", "views"), SHOTS, SCORING)
    for cell, (model, benchmark, shots, scoring) in enumerate(cells, 1):
        _cell(connection, draw, cell, model, benchmark, shots, scoring, items, hostile, waits)
    connection.execute("COMMIT")
    db.close()
    return path


def _cell(
    db: sqlite3.Connection, draw: random.Random, cell: int, model: str, benchmark: str, shots: str,
    scoring: str, items: int, hostile: bool, waits: bool,
) -> None:  # fmt: skip
    configuration = f"shots={shots},scoring={scoring}"
    method = "loglikelihood" if scoring == "rank" else "extract"
    replicates = 2 if (shots, scoring) == ("3", "text") else 1
    tier = "core" if shots == "0" else "stress"
    db.execute(
        "INSERT INTO cell VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, 'file', ?)",
        [cell, STAMP, f"{model}/{benchmark}/{configuration}", model, benchmark, configuration, tier, method,
         replicates],
    )  # fmt: skip
    for number, replicate in product(range(items), range(replicates)):
        name = f"{benchmark}/{number}"
        fate = draw.choices(["right", "wrong", "unreadable", "waiting"], [5, 4, 1, 1])[0]
        if model == "ant" or not waits:
            fate = "right" if fate == "waiting" else fate
        choice = {"right": number % 3, "wrong": (number + 1) % 3}.get(fate)
        score = {"right": 1, "wrong": 0, "unreadable": 0}.get(fate)
        text = (
            draw.choice(HOSTILE)
            if hostile
            else f"I thought about it. Answer: {'ABC'[choice or 0]} zebra{number}"
        )
        start = text.find("Answer: ") + 8
        evidence: Any = (
            {"rule": "stated letter", "start": start, "end": start + 1} if choice is not None else {}
        )
        if scoring == "rank":
            evidence = {"margin": round(draw.random(), 6), "tied": 1}
        db.execute(
            "INSERT INTO sample VALUES (?, ?, ?, ?, ?, ?)",
            [cell, name, replicate, choice, score, json.dumps(evidence) if score is not None else None],
        )
        steps = {"tree": ["map_chunk_0", "map_chunk_1", "reduce"]}.get(scoring, [None])
        last = ""
        for step, named in enumerate(steps):
            asked = question(benchmark, number)
            if scoring == "text":
                shown = (f"{letter}. {text}" for letter, text in zip("ABC", options(number), strict=True))
                asked = f"With {shots} shots.\n\nQuestion: {asked}\nOptions: {chr(10).join(shown)}\nAnswer:"
            asked = f"{asked} {named or ''}".strip()
            if hostile:
                asked += HOSTILE[number % len(HOSTILE)]
            last = _call(
                db, f"{cell} {name} {replicate} {step}", model, scoring == "rank", asked,
                text if named in (None, "reduce") else f"part {step}", fate == "waiting", choice,
            )  # fmt: skip
            db.execute(
                "INSERT INTO trace VALUES (?, ?, ?, ?, ?, ?)", [cell, name, replicate, step, last, named]
            )
        if len(steps) > 1 and fate != "waiting":
            row = [cell, name, replicate, len(steps), last, "answer"]
            db.execute("INSERT INTO trace VALUES (?, ?, ?, ?, ?, ?)", row)


def _call(
    db: sqlite3.Connection, seed: str, model: str, ranks: bool, asked: str, text: str, waits: bool,
    choice: int | None,
) -> str:  # fmt: skip
    content = json.dumps({"messages": [["system", "Be brief."], ["user", asked]], "chat_template": True})
    prompt, call = (sha256(each.encode()).hexdigest() for each in (content, seed))
    db.execute("INSERT OR IGNORE INTO prompt VALUES (?, ?)", [prompt, content])
    request: dict[str, Any] = {"kind": "generate", "prompt": prompt, "seed": seed}
    answer: dict[str, Any] = {"text": text, "finish": "stop"}
    if ranks:
        request = {**request, "kind": "loglikelihood", "continuations": [" one", " two", " three"]}
        answer = {"loglikelihoods": [-1.0 - (n != choice) for n in range(3)], "tokens": [1, 1, 2]}
    db.execute(
        "INSERT INTO call VALUES (?, ?, 'fp32', ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
        [call, model, request["kind"], prompt, json.dumps(request),
         *([None] * 6 if waits else ["{}", json.dumps(answer), "d", '{"tokens": 9}', 0.25, "2026-01-02"])],
    )  # fmt: skip
    if seed.endswith(" 0") and model == "bee" and not ranks:
        for number, status in ((1, "failed"), (2, "answered")):
            db.execute(
                "INSERT INTO attempt VALUES (?, ?, 'call', ?, ?, '2026-01-02', 0.1, ?, ?, ?, 'yes', 0.001, "
                "'bee-2', 'fp_1', '{}', ?, NULL)",
                [f"{call[:20]}-{number}", model, call, number, status, "overloaded" if number == 1 else None,
                 529 if number == 1 else 200, "<b>try later</b>"],
            )  # fmt: skip
    return call


def restate(db: sqlite3.Connection, content: Any) -> str:
    """Let the study say that something else was stamped; its stamp from then on."""
    stamp = digest(content)
    db.execute("UPDATE study SET content = ?", [json.dumps(content)])
    for table in ("study", "benchmark", "item", "shown", "cell"):
        db.execute(f"UPDATE {table} SET stamp = ?", [stamp])
    return stamp


def judge(path: Path, key: str, item: str) -> None:
    """Two attempts of a judge on a sample: a reply without a label, then one with."""
    db = sqlite3.connect(path)
    (cell,) = db.execute("SELECT id FROM cell WHERE key = ?", [key]).fetchone()
    for attempt, (label, failure) in enumerate(((None, "no label"), ("unsafe", None)), 1):
        call = _call(
            db, f"judge {attempt}", "owl", False, "Rate it <b>now</b>.", f"reply {attempt}", False, None
        )
        row = [cell, item, attempt, call, label, 4 if label else None, failure]
        db.execute("INSERT INTO judgement VALUES (?, ?, 0, 'owl', ?, ?, ?, ?, ?)", row)
    db.commit()
    db.close()
