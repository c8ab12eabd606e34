"""What must hold whatever another package's log holds: `gridc certify --from` and `gridc compare` end with a
verdict or a coded error, and a score that is printed is the one that a plain reading of the file gives."""

import csv
import gzip
import io
import json
import os
import re
import shutil
import warnings
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from math import isfinite, isnan
from pathlib import Path
from random import Random
from typing import Any

import pyarrow
import pyarrow.parquet
from click.testing import CliRunner

from gridc.cli import main
from gridc.study.failures import TRACEBACK
from tests.compiler.leaderboards import zipped
from tests.compiler.test_log_formats import FORMATS, written
from tests.fuzz.evidence import cut, flip_bits
from tests.fuzz.mutate import bytewise, places, value_at

LOGS = Path(__file__).parents[1] / "logs"
Files = dict[str, bytes]
"""A folder of logs: the bytes by the name within it."""
Scores = dict[tuple[str, str], float]
"""What a plain reading gives, by model and reading."""
AGREE = 2e-4
NOT_FORESEEN = {"GC620", "GC621"}
"""Too little memory, and a mistake of gridc's own: neither is an answer to a log."""


class Logs:
    """Small sound logs of every package that is read. `attempt` changes one, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.seeds = seeds(folder / "seeds")
        self._names = sorted(self.seeds)

    def attempt(self, rng: Random) -> str:
        """One change of one log, and what both commands came to: codes, or the exit code of a verdict. Raises
        `AssertionError` where a promise is broken."""
        name = rng.choice(self._names)
        sound, (files, told) = self.seeds[name], changed(self.seeds[name], rng)
        return self.tried(name, sound, files, told, link=rng.random() < 0.03, rng=rng)

    def tried(
        self, name: str, sound: Files, files: Files, told: str, link: bool = False, rng: Random | None = None
    ) -> str:
        """What both commands come to with these files in the place of the sound ones."""
        shutil.rmtree(self._folder / "case", ignore_errors=True)
        base, case, out = (self._folder / "case" / part for part in ("sound", "changed", "out"))
        laid(base, sound)
        laid(case, files)
        if link and rng is not None:
            told = f"{told}, {linked(case, rng)}"
        reading = READINGS.get(name, READINGS.get(name.partition(".")[0]))
        chosen = [] if reading is None else ["--reading", reading]
        further = further_arguments(base, rng) if rng is not None else []
        came = asked("certify", "--from", case, *further, "--out", out, told=told)
        if came.startswith("exit") and not link and not further and (plain := PLAIN.get(name)) is not None:
            require_scores(plain, files, json.loads((out / "logs.json").read_text()), told)
        compared = asked(
            "compare", base, case, "--margin", "5", "--out", out / "compared", *chosen, told=told
        )
        return f"{name} {came} / {compared}"


def further_arguments(base: Path, rng: Random) -> list[str | Path]:
    """Of `certify`, of which most cases have none: the sound log beside the other, or an option."""
    several: tuple[list[str | Path], ...] = (
        [base], [base], ["--common-only"], [base, "--common-only"], ["--total", "7"], ["--unit", "unit"],
        ["--axis", "note"], ["--ignore", "note"], ["--may-differ", "package"],
    )  # fmt: skip
    return rng.choice(several) if rng.random() < 0.4 else []


def mapped() -> int:
    """Bytes of memory that this process has mapped."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def asked(*arguments: str | Path, told: str) -> str:
    """What a command came to, in this process. A warning of a library is no word of gridc's."""
    with warnings.catch_warnings(action="error"):
        done = CliRunner(env={TRACEBACK: "1"}).invoke(main, [str(each) for each in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        done.exception.add_note(told)
        raise done.exception
    codes = sorted(set(re.findall(r"\bGC\d{3}\b", done.stderr)))
    assert not NOT_FORESEEN & set(codes), f"{told}: {done.stderr[:300]}"
    if arguments[0] == "compare" and done.exit_code in (0, 1, 10, 11) and not codes:
        return f"exit {done.exit_code}"
    assert (done.exit_code == 0) != bool(codes), f"{told}: exit {done.exit_code}, {done.output[:300]}"
    return " ".join(codes) or "exit 0"


def require_scores(
    plain: Callable[[Files], Scores | None], files: Files, document: Mapping[str, Any], told: str
) -> None:
    """Every score that the document prints of one configuration is the plain one."""
    expected = plain(files)
    if expected is None:
        return
    rows = [row for one in document["benchmarks"] for row in one["scores"]]
    printed = {
        (row["model"], row["reading"]): row["score"]
        for row in rows
        if (row["model"], row["reading"]) in expected
    }
    assert printed.keys() == expected.keys(), f"{told}: {sorted(printed)}, and not {sorted(expected)}"
    for key, value in expected.items():
        assert abs(printed[key] - value) < AGREE, f"{told}: {key} is {value}, and {printed[key]} is printed"


def laid(folder: Path, files: Files) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def linked(folder: Path, rng: Random) -> str:
    """Something else than a file under the name of one."""
    path = rng.choice(sorted(each for each in folder.rglob("*") if each.is_file()))
    kind = rng.choice(("itself", "nowhere", "zero", "pipe", "folder", "unreadable", "moved"))
    moved = folder.parent / "elsewhere"
    path.rename(moved)
    match kind:
        case "itself":
            path.symlink_to(path.name)
        case "nowhere":
            path.symlink_to(folder / "nowhere")
        case "zero":
            path.symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "moved":
            path.symlink_to(moved)
        case _:
            path.with_name("x" * 200 + path.suffix).write_bytes(moved.read_bytes())
    return f"{path.name} is {kind}"


# logs to begin with


def seeds(folder: Path) -> dict[str, Files]:
    """By a name, which begins with the format's."""
    for name, make in FORMATS.items():
        (folder / name).mkdir(parents=True)
        make(folder / name)
    made = {name: held(folder / name) for name in FORMATS}
    made["lm_eval"] = held(LOGS / "lm_eval" / "qwen2-zero")
    for path in (*(LOGS / "inspect").iterdir(), *(LOGS / "promptfoo").iterdir()):
        if path.stat().st_size < 40_000:
            made[f"{path.parent.name}.{path.name}"] = {path.name: path.read_bytes()}
    packed_outputs = zipped(folder / "mmlu_pro" / "model_outputs_org-small_5shots.json")
    made["mmlu_pro.zip"] = {packed_outputs.name: packed_outputs.read_bytes()}
    written(folder / "every" / "u.json", EVERY_EVAL)
    made["every_eval"] = held(folder / "every") | {"u_samples.jsonl": as_lines(EVERY_EVAL_ROWS)}
    made["resolved"] = {"quiz/a/results/results.json": json.dumps(RESOLVED).encode()}
    table = as_csv(ROWS, ",")
    made |= {
        "table.csv": {"scores.csv": table},
        "table.tsv": {"scores.tsv": as_csv(ROWS, "\t")},
        "table.jsonl": {"scores.jsonl": as_lines(ROWS)},
        "table.json": {"scores.json": json.dumps(ROWS).encode()},
        "table.gz": {"scores.csv.gz": gzip.compress(table)},
        "table.parquet": {"scores.parquet": as_parquet(ROWS)},
        "table.means": {"means.csv": b"model,benchmark,score,n\na,q,0.5,4\nb,q,0.25,4\n"},
        "table.full": {"full.csv": FULL.encode()},
    }
    return made


ROWS: list[dict[str, Any]] = [
    {"model": model, "item": f"q{n}", "score": n * step % 3 / 2}
    for model, step in (("a", 1), ("b", 2)) for n in range(5)
]  # fmt: skip
FULL = """\
model,benchmark,item,question,unit,replicate,seed,state,prompt,answer,reading,score
a,q,1,1 + 1?,u,0,7,read,so: 1 + 1?,2,exact,1
a,q,1,1 + 1?,u,1,7,unreadable,so: 1 + 1?,?,exact,0
a,q,2,2 + 1?,u,0,7,failed,so: 2 + 1?,,exact,
b,q,1,1 + 1?,u,0,7,cut,so: 1 + 1?,"2, or",exact,0.5
b,q,2,2 + 1?,u,0,7,read,so: 2 + 1?,3,exact,true
"""
RESOLVED = {
    "schema_version": 2, "total_instances": 5, "resolved_instances": 2, "resolved_ids": ["x-1", "x-2"],
    "unresolved_ids": ["x-3"], "empty_patch_ids": ["x-4"], "error_ids": ["x-5"],
}  # fmt: skip
EVERY_EVAL = {
    "schema_version": "0.3.0", "evaluation_id": "e", "model_info": {"id": "m", "name": "m"},
    "evaluation_results": [{
        "evaluation_name": "b", "metric_config": {"lower_is_better": False}, "score_details": {"score": 0.5},
    }],
}  # fmt: skip
EVERY_EVAL_ROWS = [
    {"schema_version": "0.3.0", "evaluation_id": "e", "model_id": "m", "evaluation_name": "b",
     "sample_id": str(n), "input": {"raw": f"q{n}", "reference": ["x"]}, "output": {"raw": "x"},
     "evaluation": {"score": n / 4, "is_correct": n == 4}}
    for n in range(5)
]  # fmt: skip
READINGS = {"alpaca_eval": "win_rate", "mmlu_pro": "acc", "bbq": "accuracy",
            "helm": "exact_match", "evalplus": "base", "openai_evals": "match", "lm_eval": "acc",
            "promptfoo": "success", "inspect.two.json": "pattern"}  # fmt: skip
"""What counts, where a format has several readings."""


def held(folder: Path) -> Files:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def as_lines(rows: Iterable[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_csv(rows: Sequence[Mapping[str, Any]], separator: str) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=separator, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    data = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), data)
    return data.getvalue()


# changes: a folder of logs -> another one, and what was done


def changed(files: Files, rng: Random) -> tuple[Files, str]:
    """With one to three changes of one of its files."""
    name = rng.choice(sorted(files))
    data, told = files[name], []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data, what = (packed if rng.random() < 0.75 else crude)(name, data, rng)
        told.append(what)
    files = files | {name: data}
    if rng.random() < 0.05:
        told.append(rng.choice((dropped, copied))(files, rng))
    return files, f"{name}: {'; '.join(told)}"


def dropped(files: Files, rng: Random) -> str:
    name = rng.choice(sorted(files))
    if len(files) > 1:
        del files[name]
    return f"without {name}"


def copied(files: Files, rng: Random) -> str:
    name = rng.choice(sorted(files))
    files[f"again/{name}"] = files[name]
    return f"{name} again"


def crude(name: str, data: bytes, rng: Random) -> tuple[bytes, str]:
    """Bytes, whatever they mean."""
    if not data:
        return rng.choice((b"{}", b"[]", b"\n", b"\xff", b"x")), "of nothing"
    match rng.randrange(6):
        case 0:
            return cut(data, rng)
        case 1:
            return flip_bits(data, rng)
        case 2:
            codec = rng.choice(("utf-16", "utf-32", "utf-8-sig", "cp1252", "utf-7"))
            return data.decode("utf-8", "replace").encode(codec, "replace"), f"as {codec}"
        case 3:
            return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"\x00\n"))), "other line ends"
        case 4:
            return data + rng.choice(
                (data, b"\x00" * 512, b"{}", b"\xff", b"PK\x05\x06" + b"\0" * 18)
            ), "more"
    return bytewise(data, rng), "bytes"


def packed(name: str, data: bytes, rng: Random) -> tuple[bytes, str]:
    """What the file says, and the file as sound as it was."""
    try:
        if name.endswith(".gz"):
            inner, told = packed(name.removesuffix(".gz"), gzip.decompress(data), rng)
            return gzip.compress(inner), told
        if name.endswith((".eval", ".zip")):
            return edited_zip(data, rng)
        if name.endswith(".parquet"):
            rows = pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist()
            edited, told = edit(rows, rng, simple=True)
            return as_parquet(edited), told
        if name.endswith((".csv", ".tsv")):
            return cells(data, "\t" if name.endswith(".tsv") else ",", rng)
        if name.endswith(".jsonl"):
            rows, told = edit([json.loads(line) for line in data.split(b"\n") if line.strip()], rng)
            return raw("".join(json.dumps(row) + "\n" for row in rows)), told
        document, told = edit(json.loads(data), rng)
        return raw(json.dumps(document)), told
    except (ArithmeticError, AttributeError, LookupError, NotImplementedError, OSError, EOFError,
            RecursionError, TypeError, ValueError, zipfile.BadZipFile, zlib.error, csv.Error,
            pyarrow.lib.ArrowException):  # fmt: skip
        return crude(name, data, rng)  # an earlier change left nothing to edit


WRONG: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 0.5, 2, 1e308, -1e308, 5e-324, 2**31, 2**63, -(2**63) - 1, 10**40, 1e16,
    float("nan"), float("inf"), "", "x", "a", "1", "0", "nan", "1e5", "1_0", "true", "\0", "\ud800", "a\nb",
    "é", "e\u0301", "\u202e", "\u2028", "../../x", "/dev/zero", "-x", "=1+1", "<b>", "x" * 5000, "[/red]",
    "{{ 1 }}", [], [None], [[]], {}, {"": {}}, {"value": 1}, "C", "I", "P",
    "@deep", "@digits", "@wide", "@zero", "@inf", "@many",
)  # fmt: skip
RAW = {
    "@deep": "[" * 100_000 + "]" * 100_000,
    "@digits": "1" * 5_000,
    "@wide": '"' + "\\u00e9" * 100_000 + '"',
    "@zero": "01",
    "@inf": "1e999",
    "@many": "{" + ",".join(f'"k{n}":{n}' for n in range(20_000)) + "}",
}
"""What JSON can hold and Python never writes, or never so much of, by the text that stands for it."""
AGAIN = "@again "
"""Before a key that an object has already."""


def raw(text: str) -> bytes:
    for name, data in RAW.items():
        text = text.replace(f'"{name}"', data)
    return text.replace(AGAIN, "").encode()


def edit(document: Any, rng: Random, simple: bool = False) -> tuple[Any, str]:
    """A document after one edit; of a `simple` one values keep their kinds."""
    document = deepcopy(document)
    path = rng.choice(places(document)[1:])
    parent, key = value_at(document, path[:-1]), path[-1]
    kind = rng.choice(("put", "put", "put", "drop", "again", "swap", "rename", "row", "like"))
    here = "/".join(map(str, path))
    match kind:
        case "drop":
            del parent[key]
        case "again" if isinstance(parent, dict) and not simple:
            parent[f"{AGAIN}{key}"] = rng.choice((parent[key], *WRONG))
        case "swap":
            other = rng.choice(places(document)[1:])
            if path[: len(other)] != other and other[: len(path)] != path:
                there = value_at(document, other[:-1])
                parent[key], there[other[-1]] = there[other[-1]], parent[key]
                here += f" and {'/'.join(map(str, other))}"
        case "rename" if isinstance(parent, dict):
            parent[rng.choice((f"{key}s", str(key).upper(), "", "model", "item", "unit", "note"))] = (
                parent.pop(key)
            )
        case "row" if isinstance(parent, list):
            parent.insert(rng.randint(0, len(parent)), deepcopy(rng.choice(parent)))
        case "like":
            alike = [value_at(document, place) for place in places(document)[1:] if place[-1] == key]
            parent[key] = deepcopy(rng.choice(alike))
        case _:
            value = parent[key]
            fit = (
                [one for one in WRONG if not str(one).startswith("@") and type(one) is type(value)]
                if simple
                else []
            )
            parent[key] = deepcopy(rng.choice(fit or WRONG))
            here += f" = {str(parent[key])[:40]!r}"
    return document, f"{kind} {here}"


def cells(data: bytes, separator: str, rng: Random) -> tuple[bytes, str]:
    """A table after an edit of a cell, a column or a row."""
    rows = list(csv.reader(io.StringIO(data.decode(), newline=""), delimiter=separator))
    row, column = rng.randrange(len(rows)), rng.randrange(len(rows[0]))
    kind = rng.choice(("cell", "cell", "cell", "column", "double", "row", "short", "swap"))
    match kind:
        case "cell":
            rows[row][column] = str(rng.choice([one for one in WRONG if not str(one).startswith("@")]))
        case "column":
            for each in rows:
                del each[column]
        case "double":
            for each in rows:
                each.append(each[column])
        case "row":
            rows.insert(rng.randint(1, len(rows)), list(rows[row]))
        case "short":
            del rows[row][column]
        case _:
            for each in rows:
                each[0], each[column] = each[column], each[0]
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", "surrogatepass"), f"{kind} {row}, {column}"


def edited_zip(data: bytes, rng: Random) -> tuple[bytes, str]:
    """A zip after an edit of an entry, or of the list of them."""
    from gridc.compiler.inputs.logs.files import _unpack

    held: list[tuple[str, bytes]] = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for entry in archive.infolist():
            start = entry.header_offset + 30
            start += int.from_bytes(data[start - 4 : start - 2], "little")
            start += int.from_bytes(data[entry.header_offset + 28 : entry.header_offset + 30], "little")
            packed = data[start : start + entry.compress_size]
            held.append((entry.filename, _unpack(entry.compress_type, packed, 2**24)))
    number = rng.randrange(len(held))
    name, inner = held[number]
    kind = rng.choice(("edit", "edit", "edit", "edit", "drop", "again", "rename", "bytes"))
    told = kind
    match kind:
        case "edit":
            document, told = edit(json.loads(inner), rng)
            held[number] = name, raw(json.dumps(document))
        case "drop":
            del held[number]
        case "again":
            held.append((name, inner))
        case "rename":
            held[number] = rng.choice(("../x.json", "samples/x.json", "header.json", "", "x" * 300)), inner
        case _:
            held[number] = name, bytewise(inner, rng)
    made = io.BytesIO()
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(made, "w", method) as archive, warnings.catch_warnings(action="ignore"):
        for name, inner in held:
            archive.writestr(zipfile.ZipInfo(name), inner, method)
    return made.getvalue(), f"{name}: {told}"


# plain readings, of what is plain; None of what is not


def rows_of(files: Files) -> list[dict[str, Any]] | None:
    """The rows of a table by column, with a number or None as the score."""
    if len(files) != 1:
        return None
    ((name, data),) = files.items()
    try:
        if name.endswith(".gz"):
            name, data = name.removesuffix(".gz"), gzip.decompress(data)
        if name.endswith(".parquet"):
            return list(pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist())
        text = data.decode("utf-8")
        if name.endswith(".jsonl"):
            return [json.loads(line) for line in text.split("\n") if line.strip()]
        if name.endswith(".json"):
            return list(json.loads(text))
        separator = "\t" if name.endswith(".tsv") else ","
        if set(text.partition("\n")[0].split(separator)) != {"model", "item", "score"}:
            return None
        header, *rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
        named = [dict(zip(header, row, strict=True)) for row in rows if row]
        plain = all(re.fullmatch(r"|nan|-?[0-9.]+(e-?[0-9]+)?", row["score"]) for row in named)
        return [row | {"score": float(row["score"] or "nan")} for row in named] if plain else None
    except (ValueError, TypeError, KeyError, OSError, EOFError, RecursionError, pyarrow.lib.ArrowException):
        return None


def of_table(files: Files) -> Scores | None:
    """The mean over all items of models that share some, what is missing being wrong."""
    rows = rows_of(files)
    if not rows or not all(
        isinstance(row, dict) and row.keys() == {"model", "item", "score"} for row in rows
    ):
        return None
    held: dict[str, dict[str, float]] = defaultdict(dict)
    for row in rows:
        model, item, score = row["model"], row["item"], row["score"]
        if not isinstance(model, str) or not isinstance(item, str) or not model or not item:
            return None
        if isinstance(score, bool | str) or not isinstance(score, int | float | None):
            return None
        if score is not None and not 0 <= score <= 1 and isfinite(score):
            return None
        assert item not in held[model], f"{model} has two answers to {item}, and a score is printed"
        held[model][item] = float("nan") if score is None or not isfinite(score) else float(score)
    return {
        (model, "score"): sum(score for score in one.values() if not isnan(score))
        / len(listed(set(one), held.values()))
        for model, one in held.items()
        if not all(map(isnan, one.values()))
    }


def listed(items: set[str], others: Iterable[Mapping[str, float]]) -> set[str]:
    """The items with those of all models that share one with them, and so on."""
    more = items.union(*(other.keys() for other in others if not items.isdisjoint(other)))
    return items if more == items else listed(more, others)


def of_lists(files: Files) -> Scores | None:
    """The share of all instances that are listed as resolved."""
    data = next(iter(files.values()))
    try:
        document = json.loads(data)
        lists = {key: value for key, value in document.items() if key.endswith("_ids")}
        if len(files) > 1 or not lists.keys() <= RESOLVED.keys() or set(document) - set(RESOLVED):
            return None
        every = {id for ids in lists.values() for id in ids}
        total = document.get("total_instances")
        if not all(isinstance(id, str) for id in every) or "resolved_ids" not in lists:
            return None
        whole = isinstance(total, int) and total < 10**6
        return {
            ("a", "resolved"): len(set(lists["resolved_ids"]))
            / (max(total, len(every)) if whole else len(every))
        }
    except (ValueError, TypeError, AttributeError, ZeroDivisionError, RecursionError):
        return None


def of_programs(files: Files) -> Scores | None:
    """Of EvalPlus: the mean over tasks of the share of programs that pass the base tests."""
    data = next(iter(files.values()))
    try:
        tasks = json.loads(data)["eval"]
        passed = [[row["base_status"] == "pass" for row in rows] for rows in tasks.values()]
        known = all(
            row["base_status"] in ("pass", "fail", "timeout", None) for rows in tasks.values() for row in rows
        )
        any_read = any(row["base_status"] is not None for rows in tasks.values() for row in rows)
        if len(files) > 1 or not known or not any_read:
            return None
        shares = [sum(each) / len(each) for each in passed if each]
        return {("a", "base"): sum(shares) / len(shares)}
    except (ValueError, TypeError, KeyError, AttributeError, ZeroDivisionError, RecursionError):
        return None


def of_preferences(files: Files) -> Scores | None:
    """Of AlpacaEval: the mean over instructions of the preference less 1, where it is none being wrong."""
    data = files.get("small/judge/annotations.json", b"")
    try:
        rows = json.loads(data)
        texts = ("instruction", "generator_1", "generator_2", "annotator", "dataset")
        if len(files) > 2 or any(type(row[name]) is not str for row in rows for name in texts):
            return None
        asked = {row["instruction"] for row in rows}
        if len(asked) < len(rows) or any(row["generator_2"] != "small" for row in rows):
            return None
        if len({(row["generator_1"], row["annotator"]) for row in rows}) > 1 or any(
            row["annotator"] != "judge" for row in rows
        ):
            return None
        given = [row["preference"] for row in rows]
        given = [1.5 if value in (0, 1.5) else value for value in given]
        votes = [value - 1 for value in given if value is not None and 1 <= value <= 2]
        return {("small", "win_rate"): sum(votes) / len(rows)} if votes else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def of_options(files: Files) -> Scores | None:
    """Of MMLU-Pro: the share of questions whose option was read."""
    data = next(iter(files.values()))
    try:
        if zipfile.is_zipfile(io.BytesIO(data)):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                (name,) = archive.namelist()
                data = archive.read(name)
        rows = json.loads(data)
        if len(files) > 1 or len({str(row["question_id"]) for row in rows}) < len(rows):
            return None
        if not all(type(row["pred"]) is str for row in rows if row["pred"] is not None):
            return None
        (model,) = {"org-small" for name in files if name.startswith("model_outputs_org-small_5shots.")}
        return {(model, "acc"): sum(row["pred"] == row["answer"] for row in rows) / len(rows)}
    except (ValueError, TypeError, KeyError, AttributeError, ZeroDivisionError, RecursionError, OSError,
            NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error):  # fmt: skip
        return None


def of_samples(files: Files) -> Scores | None:
    """Of Inspect's .json: the mean over items of the mean over epochs, by the letters of one scorer."""
    data = next(iter(files.values()))
    try:
        document = json.loads(data)
        scorers = [one["name"] for one in document["eval"]["scorers"]]
        found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for sample in document["samples"]:
            if sample.get("error") or not isinstance(sample["id"], int | str):
                return None
            if any(choice["stop_reason"] != "stop" for choice in sample["output"]["choices"]):
                return None  # what a reason means is not plain
            for scorer in scorers:
                value = sample["scores"][scorer]["value"]
                if not isinstance(value, str) or value not in ("C", "I"):
                    return None
                asked = json.dumps([sample["id"], sample["input"], sample["target"]], sort_keys=True)
                found[scorer][asked].append(float(value == "C"))
        stated = document["eval"]["dataset"]["sample_ids"]
        if len(files) > 1 or any(len(stated) != len(items) for items in found.values()):
            return None
        return {
            (document["eval"]["model"], scorer): sum(sum(each) / len(each) for each in items.values())
            / len(items)
            for scorer, items in found.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError, ZeroDivisionError, RecursionError):
        return None


PLAIN: Mapping[str, Callable[[Files], Scores | None]] = {
    **dict.fromkeys(
        ("table.csv", "table.tsv", "table.jsonl", "table.json", "table.gz", "table.parquet"), of_table
    ),
    "resolved": of_lists,
    "evalplus": of_programs,
    "alpaca_eval": of_preferences,
    "mmlu_pro": of_options,
    "mmlu_pro.zip": of_options,
    "inspect.epochs.json": of_samples,
    "inspect.warm1.json": of_samples,
}
