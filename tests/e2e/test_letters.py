"""Files whose options bring letters along, from `gridc init` to the page, on a server that knows only
prompts.

The reader finds the right answer's text in a prompt and says the label in front of it, in plain Python. So
whatever a file looks like, it has everything right, or the study is refused before a call.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.diagnostics.errors import GridcError
from tests import studies
from tests.e2e.conftest import command
from tests.studies import Finished, Messages, Script, Scripted
from tools.servers.http import Asked, Reply, Server
from tools.servers.judges import completion

QUESTIONS = {
    "Which metal melts in a warm hand?": ("gallium", "tungsten", "nickel"),
    "Which bird cannot fly?": ("kiwi", "swift", "gull"),
    "Which planet has the shortest year?": ("Mercury", "Mars", "Neptune"),
    "Which gas do plants take in by day?": ("carbon dioxide", "argon", "helium"),
    "Which river runs through Budapest?": ("Danube", "Elbe", "Loire"),
    "Which tree loses its needles in winter?": ("larch", "oak", "spruce"),
}
"""Each with its right answer first."""
ROWS = [
    (question, [texts[(place - number) % 3] for place in range(3)], number % 3)
    for number, (question, texts) in enumerate(QUESTIONS.items())
]
"""Question, options and the place of the right one."""


def reader(model: str, messages: Messages) -> str:
    """The label in front of the right answer's text, in the last question of a prompt."""
    prompt = messages[-1]["content"]
    question = max(QUESTIONS, key=prompt.rfind)
    asked = prompt[max(prompt.rfind(question), 0) :]
    labels = re.findall(rf"(\w+)[.):]*\s+{re.escape(QUESTIONS[question][0])}\b", asked)
    return labels[0] if labels else "?"


class Served(Scripted):
    """The reader behind a server that honours temperatures, as a probe sees."""

    async def __call__(self, asked: Asked) -> Reply:
        body = asked.document
        if any(question in body["messages"][-1]["content"] for question in QUESTIONS):
            return await super().__call__(asked)
        self.asked.append((body["model"], body["messages"]))
        drawn = body.get("seed") if body.get("temperature") else "none"
        return Reply.json(completion(body, f"Drawn {drawn}", "stop"))

    def questions(self) -> list[str]:
        """The prompts that ask one of the questions."""
        return [prompt for prompt in self.prompts() if any(question in prompt for question in QUESTIONS)]


def listed(question: str, options: Iterable[str], form: str = "\n{}. {}") -> str:
    return question + "".join(form.format(label, text) for label, text in zip("ABC", options, strict=True))


Make = Callable[[], Sequence[Mapping[str, Any]]]
READ: dict[str, tuple[Make, tuple[str, ...]]] = {
    "lm-eval's document form": (
        lambda: [
            {"query": f"{listed(q, o)}\nAnswer:", "choices": ["A", "B", "C"], "gold": g} for q, o, g in ROWS
        ],
        (),
    ),
    "the same within a line, in brackets": (
        lambda: [
            {
                "question": listed(q, o, " ({}) {}"),
                "choices": ["(A)", "(B)", "(C)"],
                "answer": f"({'ABC'[g]})",
            }
            for q, o, g in ROWS
        ],
        (),
    ),
    "letters as a constant": (
        lambda: [{"question": listed(q, o), "answer": "ABC"[g]} for q, o, g in ROWS],
        ("--constant", "options=A,B,C"),
    ),
    "labels, and gold by letter": (
        lambda: [
            {"question": q, "choices": [f"{'ABC'[n]}) {t}" for n, t in enumerate(o)], "answer": "ABC"[g]}
            for q, o, g in ROWS
        ],
        (),
    ),
    "labels, and gold by the whole text": (
        lambda: [
            {
                "question": q,
                **{x: f"{x}) {t}" for x, t in zip("abc", o, strict=True)},
                "answer": f"{'abc'[g]}) {o[g]}",
            }
            for q, o, g in ROWS
        ],
        (),
    ),
    "numbers, and gold by the bare text": (
        lambda: [
            {"question": q, "choices": [f"{n}. {t}" for n, t in enumerate(o, 1)], "answer": o[g]}
            for q, o, g in ROWS
        ],
        (),
    ),
    "labels in another order": (
        lambda: [
            {"question": q, "choices": [f"C) {o[2]}", f"A) {o[0]}", f"B) {o[1]}"], "answer": "ABC"[g]}
            for q, o, g in ROWS
        ],
        (),
    ),
}  # fmt: skip


def begun(folder: Path, rows: Sequence[Mapping[str, Any]], *stated: str) -> Path:
    (folder / "items.jsonl").write_text(studies.lines(rows), "utf-8")
    done = command(
        "init", "--yes", "--benchmark", "items.jsonl", "--model", "served-2026-01-01", *stated, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return folder / "gridcard.toml"


def divided(model: str, messages: Messages) -> str:
    return '["part one", "part two"]'


def asked(spec: Path, *changes: tuple[str, str], script: Script = reader) -> tuple[Finished, Served]:
    """The study after its run and report, and the server that it asked."""
    said = Served(script)
    with Server(said) as server:
        text = spec.read_text("utf-8")
        source = 'source = "served-2026-01-01"\n'
        for old, new in ((source, f'{source}base_url = "{server.url}"\n'), *changes):
            assert text.count(old) == 1
            text = text.replace(old, new)
        spec.write_text(text, "utf-8")
        return studies.carried_out(gridc.open(spec)), said


@pytest.mark.parametrize("name", READ)
def test_a_reader_of_prompts_has_everything_right(name: str, tmp_path: Path) -> None:
    make, stated = READ[name]
    done, said = asked(begun(tmp_path, make(), *stated))
    scores = done.scores("items", "served-2026-01-01")
    assert scores and set(scores.values()) == {1.0}
    for prompt in said.questions():
        question = next(question for question in QUESTIONS if question in prompt)
        assert [prompt.count(text) for text in QUESTIONS[question]] == [1, 1, 1]
    page = (done.results / "report.html").read_text("utf-8")
    assert "100.0" in page


def test_exemplars_and_workers_see_the_options_of_the_question(tmp_path: Path) -> None:
    rows, _ = READ["lm-eval's document form"]
    spec = begun(tmp_path, rows())
    done, said = asked(
        spec,
        (
            'option_order = "file"',
            'option_order = "file"\nexemplars = { pool = "rest", seed = 1 }\nsample = { n = 3, seed = 1 }',
        ),
        ("max_tokens = 512", "max_tokens = 512\nshots = 2"),
    )
    assert set(done.scores("items", "served-2026-01-01").values()) == {1.0}
    right = {f"Answer: {'ABC'[g]}" for _, _, g in ROWS}
    for prompt in said.questions():
        shown = re.findall(r"Answer: ?[A-C]\b", prompt)  # the request for a form has another word
        assert len(shown) == 2
        assert set(shown) <= right


def test_every_worker_of_a_divided_task_has_the_options_of_the_question(tmp_path: Path) -> None:
    rows, _ = READ["lm-eval's document form"]
    scaffold = 'max_tokens = 512\nscaffold = { kind = "map_reduce_options", workers = 2 }'
    said = asked(begun(tmp_path, rows()), ("max_tokens = 512", scaffold), script=divided)[1]
    workers = [prompt for prompt in said.prompts() if prompt.startswith("part ")]
    assert len(workers) >= 2 * len(ROWS)
    assert all(re.search(r"A\. \w.*\nB\. \w.*\nC\. \w", prompt) for prompt in workers)


REFUSED: dict[str, tuple[Make, tuple[str, ...], tuple[tuple[str, str], ...], str]] = {
    "letters that no question explains": (
        lambda: [{"question": q, "answer": "ABC"[g]} for q, _, g in ROWS],
        ("--constant", "options=A,B,C"),
        (),
        'options = { constant = ["A", "B", "C"] }',
    ),
    "a list in the question, and the same options in another order": (
        lambda: [{"question": listed(q, o), "choices": o, "answer": "ABC"[g]} for q, o, g in ROWS],
        (),
        (),
        '"shuffled:42"',
    ),
    "labels that are kept, in another order": (
        lambda: READ["labels, and gold by letter"][0](),
        ("--option-labels", "keep"),
        (),
        '"shuffled:42"',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_prompt_contradicts_is_refused_at_its_place(name: str, tmp_path: Path) -> None:
    make, stated, changes, place = REFUSED[name]
    spec = begun(tmp_path, make(), *stated)
    with pytest.raises(GridcError) as found:
        asked(spec, *changes)
    (code,) = {each.code for each in found.value.diagnostics}
    assert code == "GC547"
    for each in found.value.diagnostics:
        assert each.line is not None
        assert place in each.line
    if "shuffled" in place:  # the way out
        text = spec.read_text("utf-8").replace("shuffled:42", "file")
        spec.write_text(re.sub('base_url = ".*"\n', "", text), "utf-8")
        assert set(asked(spec)[0].scores("items", "served-2026-01-01").values()) == {1.0}


def test_an_order_that_changes_nothing_is_no_axis(tmp_path: Path) -> None:
    rows, _ = READ["lm-eval's document form"]
    spec = begun(tmp_path, rows())
    levels = {"one": 'option_order = "file"', "two": 'option_order = "reversed"'}
    text = spec.read_text("utf-8").replace('option_order = "file"    # its', "# its")
    here = (
        ('engine = "api"', 'engine = "hf"'),
        ('source = "served-2026-01-01"', 'source = "builtin:pocket-llama"'),
    )
    for old, new in here:
        text = text.replace(old, new)
    spec.write_text(text + studies.axis("order", levels), "utf-8")
    (found,) = json.loads(command("validate", "--check", "--json", cwd=tmp_path).stdout)["diagnostics"]
    assert found["code"] == "GC331"
    assert found["line"] == 'option_order = "reversed"'
    spec.write_text(text + studies.axis("order", {"one": 'option_order = "gold_at:A"'}), "utf-8")
    (found,) = json.loads(command("validate", "--check", "--json", cwd=tmp_path).stdout)["diagnostics"]
    assert found["code"] == "GC331"


def test_a_file_with_some_labels_is_refused_with_ways_out_that_work(tmp_path: Path) -> None:
    rows = [dict(row) for row in READ["labels, and gold by letter"][0]()]
    rows[3]["choices"] = list(ROWS[3][1])
    (tmp_path / "items.jsonl").write_text(studies.lines(rows), "utf-8")
    arguments = ("init", "--yes", "--benchmark", "items.jsonl", "--model", "served-2026-01-01")
    done = command(*arguments, cwd=tmp_path)
    assert done.returncode == 3
    assert "5 rows have labels" in done.stderr
    assert "1 row has none" in done.stderr
    assert "--option-labels remove" in done.stderr
    done_, _ = asked(begun(tmp_path, rows, "--option-labels", "remove"))
    assert set(done_.scores("items", "served-2026-01-01").values()) == {1.0}
