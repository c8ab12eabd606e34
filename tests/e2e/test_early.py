"""A run stops where most of the first answers cannot be read, says so, and goes on when it is run again."""

import json
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import studies
from tests.e2e.conftest import command
from tools.servers.http import Asked, Reply, Server
from tools.servers.judges import completion

DATED = "-2026-01-01"
ROWS = [
    {"id": f"q{n:03}", "ask": f"What is city number {n}?", "a": f"Aby{n}", "b": f"Bow{n}", "gold": "a"}
    for n in range(120)
]
SAID = {
    "plain": "The answer is (A).",
    "vague": "Both have their charm, and nobody can say.",
    "refusing": "I'm sorry, but I can't help with that.",
    "empty": "",
    "cut": "Both have their charm, and",
}


@dataclass
class Cities:
    """The server: what each model says, by its name. `asked` counts the questions by model."""

    asked: dict[str, int] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=lambda: dict(SAID))

    async def __call__(self, asked: Asked) -> Reply:
        body = asked.document
        model = body["model"].removesuffix(DATED)
        if "city number" not in body["messages"][-1]["content"]:
            return Reply.json(completion(body, "One two three four.", "stop"))
        self.asked[model] = self.asked.get(model, 0) + 1
        return Reply.json(completion(body, self.said[model], "length" if model == "cut" else "stop"))


def study(folder: Path, url: str, *models: str, **more: Any) -> None:
    fields = 'query = "ask", options = ["a", "b"], gold = "gold", id = "id"'
    spec = (
        studies.head("early", studies.behind(url, *models, version=DATED), "descriptive", waived="GC529")
        + studies.benchmark("cities", fields, 'option_order = "shuffled:7"')
        + '[harness]\nmethod = "extract"\nmax_tokens = 64\n'
        + studies.axis("prompt", {"T1": 'prompt = "builtin:T1"', "T2": 'prompt = "builtin:T2"'})
        + "[engine]\nnoise_sample = 0\nconcurrency = 4\n"
    )
    studies.written(folder, spec, ROWS)
    assert command("stamp", cwd=folder).returncode == 0


def stored(folder: Path) -> int:
    with sqlite3.connect(folder / "results" / "early" / "store.sqlite") as db:
        ((count,),) = db.execute("SELECT count(*) FROM call WHERE answer IS NOT NULL")
    return int(count)


def test_it_stops_within_a_few_more_than_fifty_answers_and_goes_on_when_run_again(tmp_path: Path) -> None:
    with Server(cities := Cities()) as served:
        study(tmp_path, served.url, "vague")
        stopped = command("run", cwd=tmp_path)
        said = " ".join(stopped.stderr.split())
        assert stopped.returncode == 12, stopped.stderr
        assert "GC623" in said and "of the first" in said and "answers of `vague` that are neither" in said
        assert said.count("no answer: Both have their charm") == 5
        assert 50 <= cities.asked["vague"] < 70
        assert stored(tmp_path) == cities.asked["vague"], "what was answered is kept"
        again = command("run", cwd=tmp_path)
        assert again.returncode == 0, again.stderr
        assert cities.asked["vague"] == stored(tmp_path) == 240, "nothing is asked twice"


def test_it_does_not_stop_if_it_is_told_to_go_on(tmp_path: Path) -> None:
    with Server(Cities()) as served:
        study(tmp_path, served.url, "vague")
        done = command("run", "--go-on", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert stored(tmp_path) == 240


@pytest.mark.parametrize("model", ["plain", "refusing", "empty", "cut"])
def test_answers_that_say_nothing_of_reading_do_not_count(model: str, tmp_path: Path) -> None:
    with Server(Cities()) as served:
        study(tmp_path, served.url, model)
        done = command("run", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert stored(tmp_path) == 240


def test_one_model_stops_the_run_and_names_itself(tmp_path: Path) -> None:
    with Server(Cities()) as served:
        study(tmp_path, served.url, "plain", "vague")
        stopped = command("run", "--json", cwd=tmp_path)
        assert stopped.returncode == 12
        assert "`vague`" in stopped.stderr and "answers of `plain`" not in stopped.stderr


def test_a_judge_whose_replies_cannot_be_read_stops_the_run(tmp_path: Path) -> None:
    """The judge writes prose; its study reads JSON."""
    with Server(cities := Cities(said={**SAID, "judge": "A fine response, I think, and true."})) as served:
        models = studies.behind(served.url, "plain", version=DATED)
        judge = (
            f'[judge]\nid = "judge"\nengine = "api"\nsource = "judge{DATED}"\nbase_url = "{served.url}"\n'
            'labels = ["good", "bad"]\nrubric = "Is it good? {{ stem }}"\n'
        )
        spec = (
            studies.head("early", models, "descriptive", waived="GC529")
            + studies.benchmark("cities", 'query = "ask", references = ["a"], id = "id"')
            + '[harness]\nmethod = "judge"\nscores = { good = 1, bad = 0 }\noptions = "none"\n'
            + studies.axis("prompt", {"T1": 'prompt = "builtin:T1"', "T2": 'prompt = "builtin:T2"'})
            + judge
            + "[engine]\nnoise_sample = 0\nconcurrency = 4\n"
        )
        studies.written(tmp_path, spec, ROWS)
        stamped = command("stamp", cwd=tmp_path)
        assert stamped.returncode == 0, stamped.stderr
        stopped = command("run", cwd=tmp_path)
        assert stopped.returncode == 12, stopped.stderr
        assert "answers of `judge.judge` that are neither" in stopped.stderr and "prose" in stopped.stderr
        assert 50 <= cities.asked["judge"] < 100
        document = json.loads(command("status", "--json", cwd=tmp_path).stdout)
        assert document["answered"] >= 240
