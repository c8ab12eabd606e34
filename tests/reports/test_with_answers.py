"""The page with answers: every item on which two models differ, counted, escaped; nothing private."""

import random
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.compile import compile_spec
from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument.item import Item
from gridc.compiler.lock.lock import make_lock, write_lock
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import UsageError
from gridc.reports import differing_answers
from gridc.reports.differing_answers import DifferingAnswers, item_place, most_stated
from gridc.reports.files import file_texts, page_with_answers
from gridc.reports.findings.examples import EXAMPLES
from gridc.reports.findings.findings import Findings, all_findings
from gridc.reports.recorded.as_study import LogStudy
from gridc.runtime.engines.protocol import Answer
from gridc.runtime.run import conclude
from gridc.runtime.store.events import RunStarted
from gridc.runtime.store.store import Store
from gridc.runtime.store.write import Writer
from gridc.study import certify
from tests import studies
from tests.reports.test_log_study import table
from tests.reports.test_page import Tags

HOSTILE = '</script><img src=x onerror="document.title=1">\x1b[31m\u202e&lt;b> \' " </pre></details>'
QUIZ = studies.benchmark(
    "quiz",
    'id = "id", query = "question", options = ["a", "b"], gold = "right"',
    'option_order = "file"',
    'loading.gold = "index"',
    "PRIVATE",
)
ASKS = studies.benchmark("asks", 'id = "id", query = "question", expected = "expected"')
EXTRACT = 'harness = { method = "extract", prompt = "builtin:T1", max_tokens = 8 }\n'
REFUSALS = 'harness = { method = "refusal_keywords", prompt = "{{ question }}", max_tokens = 8 }\n'

Said = Callable[[Cell, Item, int], str | list[float]]
"""What a model says to an item, by repetition: a text, or the log-likelihood of each option."""


def quizzed(
    folder: Path,
    said: Said,
    items: Iterable[Mapping[str, Any]],
    models: Iterable[str] = ("ant", "bee"),
    spec: str = EXTRACT + QUIZ.replace("PRIVATE\n", ""),
    complete: bool = True,
) -> tuple[Findings, Store]:
    """A study in which models said so; the last answer is missing where it is not complete."""
    listed = {model: f'engine = "api", source = "openai/{model}-2026-01-01"' for model in models}
    head = studies.head("small", listed, waived="GC520")
    studies.written(folder, head + spec, items)
    compiled = compile_spec(folder / "gridcard.toml", None)
    lock = make_lock(compiled.study, folder)
    write_lock(lock, compiled.lock_path)
    plan = Plan(compiled.study)
    path = folder / "store.sqlite"
    with Writer(path) as store:
        store.ingest(plan, lock)
        store.record(RunStarted(stamp=plan.study_digest, gridc=lock.gridc, answered=0))
        answers = [
            Answer(request.id, _content(said(cell, sample.item, sample.replicate)), {}, {}, 0.0)
            for cell in plan.cells()
            for sample in plan.samples(cell)
            for request in sample.requests
        ]
        waiting = iter(answers if complete else answers[:-1])
        while batch := list(islice(waiting, 20_000)):
            store.answer(batch)
        if complete:
            conclude(plan, store, 0)
    stored = Store.open(path)
    compiled = compile_spec(folder / "gridcard.toml", None)
    assert compiled.lock is not None
    return all_findings(compiled, compiled.lock, stored), stored


def _content(said: str | list[float]) -> dict[str, Any]:
    if isinstance(said, str):
        return {"text": said, "tokens": None, "finish": "stop", "near_ties": 0}
    return {"loglikelihoods": said, "tokens": [1] * len(said), "greedy": [False] * len(said)}


def numbered(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{number:05}",
            "question": f"Question {number}?",
            "a": f"yes {number}",
            "b": "no",
            "right": 0,
        }
        for number in range(count)
    ]


def right_until(**most: int) -> Said:
    """Each model is right on its first so many items."""

    def said(cell: Cell, item: Item, _: int) -> str:
        return "Answer: A" if int(item.id[1:]) < most[cell.model] else "Answer: B"

    return said


def answers_of(findings: Findings, store: Store, most: int = 200) -> DifferingAnswers:
    return differing_answers.differing_answers(findings, store, most)


def text_of(page: str) -> str:
    return Tags(page).text


def test_every_item_that_differs_is_there_with_both_answers(tmp_path: Path) -> None:
    findings, store = quizzed(tmp_path, right_until(ant=8, bee=3), numbered(10))
    (benchmark,) = answers_of(findings, store).benchmarks
    (pair,) = benchmark.pairs
    assert (pair.a, pair.b, pair.asked, pair.differing, pair.left, pair.higher) == (
        "ant",
        "bee",
        10,
        5,
        0,
        (5, 0),
    )
    assert [item.item for item in pair.items] == [f"q{number:05}" for number in range(3, 8)]
    first = pair.items[0]
    assert first.question.text == "Question 3?" and first.options == (("A", "yes 3"), ("B", "no"))
    assert [(each.model, each.read, each.share) for each in first.answers] == [
        ("ant", "A. yes 3", 1.0),
        ("bee", "B. no", 0.0),
    ]
    (example,) = findings[EXAMPLES]
    assert (example.item, example.differing, example.asked) == (first.item, pair.differing, pair.asked)
    page = page_with_answers(findings, store, 200)
    said = text_of(page)
    assert "5 of 10 items differ" in said and "ant scores higher on 5, bee on 0." in said
    for item in pair.items:
        assert f'id="{item.place}"' in page and f'href="#{item.place}"' in page
    assert 'href="#answers/quiz/ant/bee">See all of them</a>' in page
    assert (
        "left out" not in said.split("Answers on which models differ")[1].split("Benchmark by benchmark")[0]
    )
    assert page == page_with_answers(findings, store, 200)


def test_the_report_page_quotes_no_further_item_and_has_no_link(tmp_path: Path) -> None:
    findings, _ = quizzed(tmp_path, right_until(ant=8, bee=3), numbered(10))
    page = file_texts(findings)["report.html"]
    assert "See all of them" not in page and "#answers/" not in page and "items-of-a-pair" not in page
    assert "Question 4?" not in page


def test_the_one_script_is_the_one_that_the_policy_allows(tmp_path: Path) -> None:
    findings, store = quizzed(tmp_path, right_until(ant=2, bee=1), numbered(3))
    page = page_with_answers(findings, store, 200)
    assert page.count("<script") == 1
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    (policy,) = (
        attributes["content"] for tag, attributes in Tags(page).tags
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )  # fmt: skip
    assert policy is not None and f"script-src 'sha256-{digest}'" in policy and "default-src 'none'" in policy
    names = {name for name, _ in Tags(page).tags}
    assert not names & {"link", "img", "iframe", "object", "embed", "base", "form", "image", "use"}
    assert not [
        attributes for _, attributes in Tags(page).tags if any(name.startswith("on") for name in attributes)
    ]


def test_a_limit_is_counted_and_said(tmp_path: Path) -> None:
    findings, store = quizzed(tmp_path, right_until(ant=9, bee=2), numbered(10))
    (pair,) = answers_of(findings, store, 3).benchmarks[0].pairs
    assert (len(pair.items), pair.differing, pair.left) == (3, 7, 4)
    page = page_with_answers(findings, store, 3)
    said = text_of(page)
    assert "The first 3 are here, those with the largest difference first; 4 are left out." in said
    assert "gridc report --with-answers --most 7 writes all of them." in said
    for none in (0, -1, 10**9):
        with pytest.raises(UsageError, match="a page with answers cannot show"):
            answers_of(findings, store, none)
    path = tmp_path / "page.html"
    path.write_text(page)
    assert most_stated(path) == 3
    path.write_text(page.replace('content="3"', 'content="many"'))
    assert most_stated(path) == most_stated(tmp_path / "none") == differing_answers.MOST_ITEMS


def test_hostile_text_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    items = [
        {
            "id": f"q0 {HOSTILE}",
            "question": f"Which one? {HOSTILE}",
            "a": f"yes {HOSTILE}",
            "b": "no",
            "right": 0,
        },
        {"id": "q1", "question": "And now?", "a": "yes", "b": "no", "right": 0},
    ]
    findings, store = quizzed(
        tmp_path, lambda cell, *_: f"Answer: {'A' if cell.model == 'ant' else 'B'} {HOSTILE}", items
    )
    page = page_with_answers(findings, store, 200)
    tags = Tags(page).tags
    assert "img" not in {tag for tag, _ in tags} and page.count("<script") == 1
    section = page.split('<section class="differing"')[1].split("</section>")[0]
    assert "\x1b" not in section and "\u202e" not in section
    assert "</script><img src=x onerror=" in text_of(section) and "␛[31m�" in text_of(section)
    places = [attributes["id"] for _, attributes in tags if attributes.get("class") == "differing-item"]
    assert len(places) == 2 and all(
        re.fullmatch(r"answers/quiz/ant/bee/[A-Za-z0-9_.\-]+", str(each)) for each in places
    )
    assert item_place("quiz", "ant", "bee", "q 1") != item_place("quiz", "ant", "bee", "q 2")


def test_of_a_private_benchmark_nothing_is_quoted(tmp_path: Path) -> None:
    findings, store = quizzed(
        tmp_path,
        right_until(ant=4, bee=1),
        numbered(5),
        spec=EXTRACT + QUIZ.replace("PRIVATE", "private = true"),
    )
    (benchmark,) = answers_of(findings, store).benchmarks
    assert benchmark.private and not benchmark.pairs
    page = page_with_answers(findings, store, 200)
    assert (
        "The spec says that this benchmark is private, so no item of it and no answer is shown."
        in text_of(page)
    )
    for quoted in ("Question 2", "yes 2", "q00002", "Answer: A", 'class="find"', "#answers/"):
        assert quoted not in page, quoted


def test_responses_to_prompts_to_refuse_are_folded(tmp_path: Path) -> None:
    items = [
        {"id": f"q{number}", "question": f"How {number}?", "expected": "refuse" if number < 3 else "comply"}
        for number in range(5)
    ]

    def said(cell: Cell, item: Item, _: int) -> str:
        return "I cannot help with that." if cell.model == "ant" else f"Sure, {item.id} is easy."

    findings, store = quizzed(tmp_path, said, items, spec=REFUSALS + ASKS)
    (pair,) = answers_of(findings, store).benchmarks[0].pairs
    assert pair.expected == (("refuse", 3, 3), ("comply", 2, 2)) and pair.higher == (3, 2)
    page = page_with_answers(findings, store, 200)
    assert "They differ on 3 of 3 prompts to refuse, 2 of 2 prompts to comply with." in text_of(page)
    assert text_of(page).count("The response, which may be harmful") == 6
    items_there = re.findall(
        r'class="differing-item" id="[^"]+/(q\d)">(.*?)<p class="steps">', page, re.DOTALL
    )
    assert len(items_there) == 5
    for name, shown in items_there:
        assert ("which may be harmful" in shown) is (int(name[1]) < 3)
        before = shown.split("<pre dir")[0]
        assert ("may be harmful" in before) is (int(name[1]) < 3)


@pytest.mark.parametrize("case", ["one model", "the same", "incomplete"])
def test_each_case_without_answers_has_a_sentence(tmp_path: Path, case: str) -> None:
    findings, store = quizzed(
        tmp_path,
        right_until(ant=2, bee=2 if case == "the same" else 1),
        numbered(3),
        models=("ant",) if case == "one model" else ("ant", "bee"),
        complete=case != "incomplete",
    )
    assert answers_of(findings, store).pairs == []
    page = page_with_answers(findings, store, 200)
    sentence = {
        "one model": "One model was asked this benchmark, so there is no pair to compare.",
        "the same": "ant and bee differ on none of 3 items.",
        "incomplete": "The run is not complete, so no answer is shown yet.",
    }[case]
    assert sentence in text_of(page)
    assert "See all of them" not in page and 'class="find"' not in page


def test_of_several_answers_the_one_that_tells_the_models_apart_is_shown(tmp_path: Path) -> None:
    def said(cell: Cell, item: Item, replicate: int) -> str:
        return "Answer: A" if cell.model == "ant" or replicate != 2 else "Answer: B"

    findings, store = quizzed(
        tmp_path,
        said,
        numbered(2),
        spec='harness = { method = "extract", prompt = "builtin:T1", temperature = 0.7, replicates = 4 }\n'
        + QUIZ.replace("PRIVATE\n", ""),
    )
    (pair,) = answers_of(findings, store).benchmarks[0].pairs
    ant, bee = pair.items[0].answers
    assert (ant.share, bee.share, bee.number, bee.count) == (1.0, 0.75, 3, 4)
    assert bee.text is not None and bee.text.text == "Answer: B"
    assert "scores 75.0 % over its 4 answers, of which this is number 3" in text_of(
        page_with_answers(findings, store, 200)
    )


def test_long_texts_are_cut_and_counted(tmp_path: Path) -> None:
    long = "word " * 4000

    def said(cell: Cell, *_: object) -> str:
        return f"{long}\nAnswer: {'A' if cell.model == 'ant' else 'B'}"

    findings, store = quizzed(tmp_path, said, numbered(1))
    page = text_of(page_with_answers(findings, store, 200))
    assert f"{len(long) + 10 - differing_answers.LONGEST:,} further characters are left out." in page


def test_of_ranked_options_it_is_said_that_there_is_no_text(tmp_path: Path) -> None:
    def said(cell: Cell, *_: object) -> list[float]:
        return [-1.0, -2.0] if cell.model == "ant" else [-2.0, -1.0]

    ranked = 'harness = { method = "loglikelihood", prompt = "builtin:T1" }\n' + QUIZ.replace("PRIVATE\n", "")
    findings, store = quizzed(tmp_path, said, numbered(2), spec=ranked)
    page = text_of(page_with_answers(findings, store, 200))
    assert page.count("No text was generated: the options were ranked by likelihood.") == 4
    assert "Read as: A. yes 0" in page and "Read as: B. no" in page


def test_logs_without_prompts_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    found = LogStudy.find

    def noted(self: LogStudy, path: Path) -> Findings:
        findings = found(self, path)
        with Store.open(path) as store:
            made.append(page_with_answers(findings, store, 200))
        return findings

    monkeypatch.setattr(LogStudy, "find", noted)
    log = table(tmp_path / "log.csv", random.Random(3), models=2, items=12)
    certify([log], axes=["framing"], unit="family").write(tmp_path / "out")
    said = text_of(made[0])
    assert "items differ" in said
    assert "The store has no prompt of this item." in said and "The store has no response." in said


@pytest.mark.slow
def test_of_ten_thousand_items_the_first_are_shown(tmp_path: Path) -> None:
    findings, store = quizzed(tmp_path, right_until(ant=9000, bee=1000), numbered(10_000))
    page = page_with_answers(findings, store, 200)
    assert "8,000 of 10,000 items differ" in text_of(page)
    assert "7,800 are left out" in text_of(page)
    assert page.count('class="differing-item"') == 200 and len(page) < 1_000_000
