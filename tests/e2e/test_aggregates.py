"""Several answers to an item that become one score, on a server of known answers: recounted with sqlite3."""

from collections import Counter, defaultdict
from fractions import Fraction
from hashlib import sha256
from itertools import combinations
from pathlib import Path

import pytest

from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.falsifiability import prospects
from tests import studies
from tests.e2e.conftest import command
from tools.servers.http import Asked, Reply, Server
from tools.servers.judges import completion

ITEMS, ANSWERS, DRAWS = 24, 5, 3
WAYS = {
    "mean": 'aggregate = "mean"',
    "vote": 'aggregate = "majority"',
    "some": f"aggregate = {{ pass_at = {DRAWS} }}",
    "every": f"aggregate = {{ pass_all = {DRAWS} }}",
}
FIELDS = 'id = "id", query = "question", references = ["answer"]'
IN_PAIRS = studies.benchmark("sums", f'{FIELDS}, family = "pair"', 'unit = "family"')
HARNESS = """
[harness]
method = "match"
match = { as = "number" }
prompt = "{{ question }}"
temperature = 0.8
replicates = 5
"""
ROWS = [
    {"id": f"q{n:02}", "question": f"What is {n} plus 1?", "answer": str(n + 1), "pair": f"p{n // 2}"}
    for n in range(ITEMS)
]


def head(url: str) -> str:
    return studies.head("several", studies.behind(url, "strong", "weak", version="-2026-01-01"))


class Guesser:
    """A server whose answers vary: the right number, more often for `strong`, a wrong one, or none."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, str]] = Counter()

    async def __call__(self, asked: Asked) -> Reply:
        body = asked.document
        prompt = body["messages"][-1]["content"]
        if not body.get("temperature"):
            return Reply.json(completion(body, "Yes.", "stop"))
        self.asked[body["model"], prompt] += 1
        number = int(prompt.split()[2]) if prompt.startswith("What is") else 0
        key = f"{body['model']} {prompt} {self.asked[body['model'], prompt]}"
        draw = sha256(key.encode()).digest()[0]
        limit = 130 if body["model"].startswith("strong") else 90
        texts = {0: f"It is {number + 1}.", 1: f"{number + 2}", 2: f"{number + 3}", 3: "Who knows?"}
        return Reply.json(completion(body, texts[0 if draw < limit else 1 + draw % 3], "stop"))


def carried_out(folder: Path) -> studies.Finished:
    with Server(Guesser()) as server:
        spec = head(server.url) + IN_PAIRS + HARNESS + studies.axis("of", WAYS)
        return studies.carried_out(studies.written(folder, spec, ROWS))


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> studies.Finished:
    return carried_out(tmp_path_factory.mktemp("several"))


def recounted(done: studies.Finished, model: str) -> tuple[dict[str, Fraction], dict[str, int]]:
    """The score by each way, and how many items have no readable answer, from the stored texts alone."""
    texts = defaultdict(list)
    for name, configuration, item, text in done.texts():
        if (name, configuration) == (model, "of=mean"):
            texts[item].append("".join(letter for letter in text if letter.isdigit()))
    total: dict[str, Fraction] = defaultdict(Fraction)
    for item, numbers in texts.items():
        assert len(numbers) == ANSWERS
        right = [number == str(int(item[1:]) + 1) for number in numbers]
        draws = list(combinations(right, DRAWS))
        total["mean"] += Fraction(sum(right), ANSWERS)
        total["some"] += Fraction(sum(map(any, draws)), len(draws))
        total["every"] += Fraction(sum(map(all, draws)), len(draws))
        counts = Counter(number for number in numbers if number)
        most = [number for number, count in counts.items() if count == max(counts.values())]
        total["vote"] += bool(most) and all(number == str(int(item[1:]) + 1) for number in most)
    readable = sum(bool(number) for numbers in texts.values() for number in numbers)
    with_one = sum(any(numbers) for numbers in texts.values())
    parsed = {name: readable if name == "mean" else with_one for name in WAYS}
    return {name: value / ITEMS for name, value in total.items()}, parsed


@pytest.mark.parametrize("model", ["strong", "weak"])
def test_each_score_is_what_every_draw_counted_alone_gives(several: studies.Finished, model: str) -> None:
    scores, parsed = recounted(several, model)
    assert len(set(scores.values())) == len(WAYS), "the four ways differ here"
    for row in several.certificate()["envelope"]:
        name, score = row["configuration"].removeprefix("of="), row["scores"][model]
        assert Fraction(score["correct"], score["trials"] * score["scale"]) == scores[name]
        assert score["trials"] == score["scored"] == (ITEMS * ANSWERS if name == "mean" else ITEMS)
        assert score["parsed"] == parsed[name]


@pytest.mark.parametrize(("aggregate", "test"), [("vote", "McNemar"), ("some", "bets")])
def test_a_plan_names_the_test_that_the_scores_allow(tmp_path: Path, aggregate: str, test: str) -> None:
    """A share of draws is no right and wrong answer."""
    rows = [{"id": f"q{n}", "question": f"What is {n} plus 1?", "answer": str(n + 1)} for n in range(30)]
    spec = head("http://127.0.0.1:9/v1") + studies.benchmark("sums", FIELDS) + HARNESS
    spec += studies.axis("of", {"one": WAYS[aggregate]})
    spec += '[[hypothesis]]\nid = "H"\nkind = "ranking"\norder = ["strong", "weak"]\n'
    studies.written(tmp_path, spec, rows)
    (prospect,) = prospects(Plan(compile_spec(tmp_path / "gridcard.toml").study))
    assert test in prospect.power.test


def test_the_same_answers_are_shared_by_every_way(several: studies.Finished) -> None:
    assert several.rows("SELECT count(*) FROM call") == [(2 * ITEMS * ANSWERS,)], (
        "what only scores differently asks nothing again"
    )


def test_the_card_says_what_the_answers_become(several: studies.Finished) -> None:
    card = " ".join((several.results / "gridcard.md").read_text("utf-8").split())
    assert "5 answers to an item become one score: that of the answer that was given most often." in card
    assert "the share of draws of 3 of them in which one is right or more" in card
    assert "the share of draws of 3 of them in which every one is right" in card


def test_rules_for_several_answers_are_not_told_as_readers_of_one(several: studies.Finished) -> None:
    assert several.certificate()["agreements"] == []


def test_it_verifies_and_what_reads_single_answers_refuses(several: studies.Finished) -> None:
    assert several.study.verify().complete
    folder = several.folder
    compared = command("compare", "results/several", "results/several", cwd=folder)
    assert "GC754" in compared.stderr and compared.returncode != 0, compared.stdout
    raced = command("certify", "--until-decided", cwd=folder)
    assert raced.returncode == 2, raced.stderr
