"""Bundles that somebody edited, with a manifest that was made to fit."""

import json
import os
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from _pytest.monkeypatch import MonkeyPatch

import gridc
from gridc.reports import evidence, exchange, verification
from gridc.reports.exchange import bundle, recorded_study
from gridc.schema.canonical import digest_bytes
from tests.adversary.attack import attack, instead, nothing
from tests.adversary.rooms.stores import UNCOMPARED, codes, edit, reseal, studied, without_records

SENDER = "whoever hands over a bundle"


def bundled(folder: Path) -> Path:
    study = folder / "study"
    studied(study)
    made = folder / "bundle"
    gridc.open(study / "gridcard.toml").bundle(made)
    return made


@cache
def sent() -> Path:
    """The bundle of the finished study. Copied before anything is changed in it."""
    return bundled(Path(mkdtemp(prefix="gridc-adversary-")))


def copied(folder: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(sent(), folder / "bundle"))


def listed(made: Path, *names: str) -> None:
    """Write files into the manifest, as a forger does."""
    path = made / exchange.MANIFEST
    lines = {line.partition("  ")[2]: line.partition("  ")[0] for line in path.read_text().splitlines()}
    lines |= {name: bundle._digest_of(made / name) for name in names}
    path.write_text("".join(f"{value}  {name}\n" for name, value in sorted(lines.items())))


class _Anything(set[str]):
    def __contains__(self, _: object) -> bool:
        return True


@attack(SENDER, "a file is added and listed in the manifest", "GC701",
        instead((bundle, "_KNOWN", _Anything())))  # fmt: skip
def file_more(folder: Path, _: MonkeyPatch) -> set[str]:
    made = bundled(folder)
    (made / "conftest.py").write_text("print('run me')")
    crate = json.loads((made / bundle.CRATE).read_text())
    whole = next(node for node in crate["@graph"] if node["@id"] == "./")
    whole["hasPart"] = sorted([*whole["hasPart"], {"@id": "conftest.py"}], key=lambda part: str(part["@id"]))
    others = [node for node in crate["@graph"] if node.get("@type") != "File"]
    names = [str(part["@id"]) for part in whole["hasPart"]]
    files = [{"@id": name, "@type": "File", "name": Path(name).name} for name in names]
    crate["@graph"] = [*others, *files]
    (made / bundle.CRATE).write_bytes(recorded_study.json_bytes(crate))
    listed(made, "conftest.py", bundle.CRATE)
    return codes(made)


def as_other_code(
    made: Path, name: str, before: str, after: str, version: str = "0.1.0", count: int = -1
) -> set[str]:
    """Edit a report, say in the events that other code wrote it, and list it."""
    path = made / "results" / name
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after, count), "utf-8")
    written = digest_bytes(path.read_bytes())

    def change(kind: str, body: dict[str, Any]) -> dict[str, Any]:
        if kind != "report":
            return body
        return {**body, "gridc": version, "code": "0" * 64, "files": {**body["files"], name: written}}

    reseal(made / "results", change)
    listed(made, f"results/{name}", "results/store.sqlite")
    return codes(made)


SAME = instead((evidence, "compare_document", lambda *_: evidence.ComparedEvidence()))
UNSEEN = instead((verification, "NAMES", {}))


@attack(
    SENDER, "a score is changed in the estimates, which other code is said to have written", "GC707", SAME
)
def score_of_other_code(folder: Path, _: MonkeyPatch) -> set[str]:
    made = copied(folder)
    name = "estimates.json"
    score = next(
        each
        for each in json.loads((made / "results" / name).read_text())["estimates"]
        if each["kind"] == "score"
    )
    return as_other_code(made, name, f'"estimate": {score["estimate"]}', '"estimate": 0.987')


FORGED_TEXTS = (
    ("page_of_other_code", "a score is added to the page", "report.html", "</h1>",
     "</h1><p>The best scores 98.7 %.</p>"),
    ("exchanged_headline", "the models change places in the headline", "report.html", "qwen", "yi"),
    ("style_of_other_code", "a style hides the answer and shows another", "report.html", "</head>",
     "<style>h1{display:none}</style></head>"),
    ("script_of_other_code", "a script stands in the page", "report.html", "</head>",
     "<script>alert(1)</script></head>"),
    ("text_of_other_code", "the scorecard says certified", "scorecard.md", "#", "# Certified\n\n#"),
)  # fmt: skip


def forged_text(edit: tuple[str, str, str]) -> Callable[[Path, MonkeyPatch], set[str]]:
    def seen(folder: Path, _: MonkeyPatch) -> set[str]:
        return as_other_code(copied(folder), *edit, "99.0.0", 1)

    return seen


for text_name, text_done, *of_text in FORGED_TEXTS:
    file, before, after = of_text
    forged = forged_text((file, before, after))
    forged.__name__ = text_name
    attack(SENDER, f"{text_done}, and its event says that gridc 99.0.0 wrote it", UNCOMPARED, UNSEEN)(forged)


@attack(SENDER, "the scorecard's answer is another, and its event says that other code wrote it", UNCOMPARED,
        SAME)  # fmt: skip
def answer_of_other_code(folder: Path, _: MonkeyPatch) -> set[str]:
    return as_other_code(copied(folder), "scorecard.json", '"answer": "', '"answer": "All are certified. ')


ANY_KEYS = instead((bundle, "_reads_in_one_way", lambda _: True), (evidence, "each_key_once", dict))


@attack(SENDER, "a second `benchmarks` key stands before the true one", "GC701", ANY_KEYS)
def benchmarks_twice(folder: Path, _: MonkeyPatch) -> set[str]:
    twice = '"benchmarks": [], "benchmarks": ['
    return as_other_code(copied(folder), "certificate.json", '"benchmarks": [', twice)


@attack(SENDER, "the certificate has a format that is still to come", "GC707", SAME)
def format_to_come(folder: Path, _: MonkeyPatch) -> set[str]:
    return as_other_code(copied(folder), "certificate.json", "gridc-certificate/3", "gridc-certificate/4")


class _Like(str):
    """A text that no other differs from."""

    def __ne__(self, _: object) -> bool:
        return False

    __hash__ = str.__hash__


_written = bundle._manifest


@attack(SENDER, "the manifest lists every file twice, first with a wrong digest", "GC701",
        instead((bundle, "_manifest", lambda listed: _Like(_written(listed)))))  # fmt: skip
def listed_twice(folder: Path, _: MonkeyPatch) -> set[str]:
    study = folder / "study"
    shutil.copytree(sent(), study)
    path = study / exchange.MANIFEST
    text = path.read_text()
    path.write_text("".join(f"{'0' * 64}{line[64:]}" for line in text.splitlines(True)) + text)
    return codes(study)


@attack(SENDER, "its spec has a grid that nobody could walk", "GC318",
        instead((recorded_study, "countable", nothing)))  # fmt: skip
def bundle_without_end(folder: Path, patch: MonkeyPatch) -> set[str]:
    """As many cells as verification walks before it finds that the spec is another one; the real attack has
    10^10."""
    study = folder / "study"
    shutil.copytree(sent(), study)
    level = '[[axis.level]]\nid = "{0}"\ntier = "core"\nprovenance = "x"\nmax_tokens = {0}\n'
    levels = "".join(level.format(number) for number in range(1, 11))
    spec = study / "gridcard.toml"
    spec.write_text(f'{spec.read_text()}\n[[axis]]\nid = "more"\n{levels}')
    listed(study, "gridcard.toml")
    patch.setenv("GRIDC_MAX_CELLS", "500")
    return codes(study)


@attack(SENDER, "a pipe lies in the bundle", "GC701",
        instead((bundle, "files_below", lambda folder: (str(path.relative_to(folder))
                 for path in folder.rglob("*") if path.is_file()))))  # fmt: skip
def pipe(folder: Path, _: MonkeyPatch) -> set[str]:
    made = bundled(folder)
    os.mkfifo(made / "results" / "finish.json.doi")
    return codes(made)


@attack(SENDER, "the evidence of an outcome is changed, and the manifest with it", "GC706", without_records)
def evidence_changed(folder: Path, _: MonkeyPatch) -> set[str]:
    made = bundled(folder)
    edit(made / "results", "UPDATE sample SET evidence = '{\"rule\":null}' WHERE cell = 1")
    listed(made, "results/store.sqlite")
    return codes(made)


@attack(SENDER, "the manifest of items says more than anything reads", "GC701",
        instead((recorded_study, "unread", nothing)))  # fmt: skip
def items_with_a_claim(folder: Path, _: MonkeyPatch) -> set[str]:
    study = folder / "study"
    shutil.copytree(sent(), study)
    manifests = json.loads((study / recorded_study.ITEMS).read_text())
    for each in manifests.values():
        each["checked_by"] = "an independent laboratory"
    (study / recorded_study.ITEMS).write_bytes(recorded_study.json_bytes(manifests))
    listed(study, recorded_study.ITEMS)
    return codes(study)


@attack(SENDER, "the manifest of items is empty", "GC701",
        instead((bundle, "of_description", nothing), (bundle, "_named", nothing)))  # fmt: skip
def items_empty(folder: Path, _: MonkeyPatch) -> set[str]:
    made = bundled(folder)
    (made / recorded_study.ITEMS).write_text("{}")
    listed(made, recorded_study.ITEMS)
    return codes(made)
