"""Real answers to XSTest through the whole study: read by phrases, then labelled by the people who labelled
them when they were published."""

import csv
import json
import os
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

import gridc
from tests.e2e.conftest import command
from tools.servers.faults import answer_to
from tools.servers.http import Asked, Reply, Server

REAL = os.environ.get("GRIDC_REAL")
pytestmark = pytest.mark.skipif(not REAL, reason="GRIDC_REAL names no folder of real answers")
MODELS = ("gpt4", "llama2new", "mistralguard")
LABELLED = 100


def rows() -> list[dict[str, Any]]:
    text = (Path(str(REAL)) / "xstest_labelled.jsonl").read_text("utf-8")
    return [row for row in map(json.loads, text.splitlines()) if row["model"] in MODELS]


def complies(row: dict[str, Any]) -> bool:
    return bool(row["people"].startswith("1"))


def share(some: list[dict[str, Any]], expected: str, does: bool) -> float:
    """How many responses to prompts of a kind comply, or do not, as people say."""
    of_kind = [complies(row) is does for row in some if row["expected"] == expected]
    return sum(of_kind) / len(of_kind)


def served_study(folder: Path, url: str, answers: list[dict[str, Any]]) -> gridc.OpenStudy:
    prompts = list(dict.fromkeys((row["prompt"], row["expected"]) for row in answers))
    with (folder / "prompts.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("prompt", "expected"), *prompts])
    made = command("init", "--benchmark", "prompts.csv", "--field", "query=prompt", "--yes", cwd=folder)
    assert made.returncode == 0, made.stderr
    spec = (folder / "gridcard.toml").read_text("utf-8")
    models = "\n".join(
        f'[[model]]\nid = "{name}"\nengine = "api"\nsource = "openai/{name}-2023-08-02"\nbase_url = "{url}"\n'
        'price = { input = 0, output = 0, as_of = "2023-08-02" }\n'
        for name in MODELS
    )
    level = '{ id = "bare", tier = "core", provenance = "its authors", prompt = "{{ question }}" }'
    spec = spec[: spec.index("# Who is compared")] + models + spec[spec.index("# What is asked") :]
    spec = spec[: spec.index("# The harness choices")] + f'[[axis]]\nid = "frame"\nlevel = [{level}]\n'
    spec = re.sub(r"sample = \{ n = 40.*\n", "", spec).replace("[harness]\n", "[harness]\ntemperature = 0\n")
    (folder / "gridcard.toml").write_text(re.sub(r"max_tokens = \d+", "max_tokens = 1024", spec), "utf-8")
    study = gridc.open(folder / "gridcard.toml")
    study.stamp()
    study.run()
    return study


def test_labels_of_real_answers_correct_what_phrases_read(tmp_path: Path) -> None:
    answers = rows()
    by_text = {(row["model"], row["prompt"].strip()): row["response"] for row in answers}

    async def answered(asked: Asked) -> Reply:
        body = asked.document
        name = body["model"].split("/")[-1].split("-")[0]
        sound = answer_to(body)
        text = by_text.get((name, body["messages"][-1]["content"].strip()), "Hello.")
        sound["choices"][0]["message"]["content"] = text
        return Reply.json(sound)

    with Server(answered) as server:
        study = served_study(tmp_path, server.url, answers)
    with (tmp_path / "prompts.csv").open(encoding="utf-8", newline="") as file:
        names = {row[0]: f"prompts-{place + 1:05}" for place, row in enumerate(csv.reader(file)) if place}
    some = set(Random(5).sample(sorted(names), LABELLED))
    for about, prompts in (("part", some), ("rest", set(names) - some)):
        with (tmp_path / f"{about}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["item", "model", "label", "annotator"])
            writer.writerows(
                (names[row["prompt"]], row["model"], "comply" if complies(row) else "refuse", about)
                for row in answers
                if row["prompt"] in prompts
            )
    study.audit_read(tmp_path / "part.csv")
    study.report()
    audit = certificate(tmp_path)["audit"]
    assert audit["given"] and len(audit["values"]) >= 4 * len(MODELS)
    found = {(value["what"], value["model"]): value for value in audit["values"]}
    guard = found["unsafe_compliance", "mistralguard"]
    assert guard["corrected"]["new"][1] < guard["machine"], "phrases miss most of its refusals"
    for model in MODELS:
        own = [row for row in answers if row["model"] == model]
        for what, truth in (
            ("unsafe_compliance", share(own, "refuse", True)),
            ("over_refusal", share(own, "comply", False)),
        ):
            value = found[what, model]["corrected"]
            low, high = value["here"]
            assert low <= truth <= high and low <= value["value"] <= high, "the draw is fixed"
    done = command("audit", "read", "part.csv", cwd=tmp_path)
    assert done.returncode == 6 and "GC665" in done.stderr, "what was read once is locked"
    assert study.verify().complete


def certificate(folder: Path) -> Any:
    (path,) = folder.glob("results/*/certificate.json")
    (benchmark,) = json.loads(path.read_text("utf-8"))["benchmarks"]
    return benchmark
