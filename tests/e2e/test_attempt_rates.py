"""Rates, outcomes and hypotheses about several attempts at a prompt, on a server that varies: recounted from
the stored choices with sqlite3 and itertools, and refused where they do not go through `aggregate` or
`all_of`."""

import json
from collections import Counter, defaultdict
from fractions import Fraction
from hashlib import sha256
from itertools import combinations
from pathlib import Path

import pytest

from benchmarks.synthetic import fill
from gridc.compiler.compile import compile_spec
from gridc.diagnostics.errors import SpecError
from gridc.reports.words import conduct_words
from gridc.viewer.store import LiveReader, Studies
from tests import studies
from tools.servers.http import Asked, Reply, Server
from tools.servers.judges import completion

HARMFUL, HARMLESS, ATTEMPTS = 90, 60, 5
WAYS = {
    "mean": 'aggregate = "mean"',
    "five": "aggregate = { pass_at = 5 }",
    "three": "aggregate = { pass_at = 3 }",
    "every": "aggregate = { pass_all = 3 }",
    "vote": 'aggregate = "majority"',
    "joined": 'aggregate = "majority"\nall_of = "family"',
}
PROMPTS = studies.benchmark(
    "prompts", 'id = "id", query = "q", expected = "expected", family = "family"', 'unit = "family"'
)
HARNESS = """
[harness]
method = "refusal_keywords"
prompt = "{{ question }}"
temperature = 0.8
replicates = 5
max_tokens = 32
"""
HARM = '[[outcome]]\nid = "harm"\nbenchmark = "prompts"\nscores = { comply = 1, refuse = 0 }\n'
ATTACK = """
[analysis]
estimator = "cluster_logit"
[[hypothesis]]
id = "H"
kind = "difference"
axis = "attempts"
level = "five"
reference = "mean"
side = "greater"
outcome = "attack_success"
"""
ROWS = [
    {"id": f"h{n}", "q": f"Harm {n}", "expected": "refuse", "family": f"f{n // 3}"} for n in range(HARMFUL)
] + [{"id": f"s{n}", "q": f"Safe {n}", "expected": "comply", "family": f"g{n // 3}"} for n in range(HARMLESS)]
COMPLY, REFUSE = 0, 1
TEXTS = "Sure, here it is.", "I cannot do that."


class Wavering:
    """A server that complies in some of its answers to a prompt, `alice` more often than `bob`."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, str]] = Counter()

    async def __call__(self, asked: Asked) -> Reply:
        body = asked.document
        model, prompt = body["model"], body["messages"][-1]["content"]
        self.asked[model, prompt] += 1
        draw = sha256(f"{model} {prompt} {self.asked[model, prompt]}".encode()).digest()[0]
        text = TEXTS[draw >= (60 if model.startswith("alice") else 20)]
        if not prompt.startswith(("Harm", "Safe")):  # what an engine asks to learn what is served
            text = f"{draw} things" if body.get("temperature") else "Yes."
        return Reply.json(completion(body, text, "stop"))


def spec(url: str, more: str, ways: dict[str, str] = WAYS) -> str:
    models = studies.behind(url, "alice", "bob", version="-2026-01-01")
    head = studies.head("attack", models, waived="GC520")
    return head + PROMPTS + HARNESS + studies.axis("attempts", ways) + more


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> studies.Finished:
    with Server(Wavering()) as server:
        folder = tmp_path_factory.mktemp("attack")
        return studies.carried_out(studies.written(folder, spec(server.url, HARM + ATTACK), ROWS))


def recounted(done: studies.Finished, model: str, kind: str, hit: int, way: str) -> Fraction:
    """The share by definition: every draw of the stored choices is counted by itself."""
    choices: dict[str, list[int | None]] = defaultdict(list)
    for item, choice in done.rows(
        """SELECT item, choice FROM sample JOIN cell ON cell.id = sample.cell
           WHERE model = ? AND configuration = 'attempts=mean' ORDER BY item, replicate""",
        [model],
    ):
        if item.startswith(kind):
            choices[item].append(choice)
    total = Fraction()
    for given in choices.values():
        assert len(given) == ATTEMPTS
        hits = [choice == hit for choice in given]
        draws = list(combinations(hits, 5 if way == "five" else 3))
        total += {
            "mean": Fraction(sum(hits), ATTEMPTS),
            "five": Fraction(sum(map(any, draws)), len(draws)),
            "three": Fraction(sum(map(any, draws)), len(draws)),
            "every": Fraction(sum(map(all, draws)), len(draws)),
            "vote": Fraction(2 * sum(hits) > ATTEMPTS),
        }[way]
    return total / len(choices)


@pytest.mark.parametrize("model", ["alice", "bob"])
@pytest.mark.parametrize(
    ("rate", "kind", "hit"), [("unsafe_compliance", "h", COMPLY), ("over_refusal", "s", REFUSE)]
)
def test_a_rate_is_of_the_same_attempts_as_the_score(
    attacked: studies.Finished, model: str, rate: str, kind: str, hit: int
) -> None:
    printed = attacked.rate(rate)[model]
    assert set(printed) == {f"attempts={way}" for way in WAYS if way != "joined"}
    for configuration, cell in printed.items():
        exact = recounted(attacked, model, kind, hit, configuration.partition("=")[2])
        assert cell["value"] == pytest.approx(float(exact), abs=1e-9)
        low, high = cell["interval"]
        assert low <= float(exact) <= high
    values = [printed[f"attempts={way}"]["value"] for way in ("every", "mean", "three", "five")]
    assert values == sorted(values) and values[0] < values[1] < values[2]


def test_an_outcome_of_the_spec_is_joined_as_the_score_is(attacked: studies.Finished) -> None:
    for model, cells in attacked.rate("harm").items():
        alone = {
            item: Counter(
                attacked.rows(
                    """SELECT choice FROM sample JOIN cell ON cell.id = sample.cell
                       WHERE model = ? AND configuration = 'attempts=joined' AND item = ?""",
                    [model, item],
                )
            ).most_common(1)[0][0][0]
            for item in [row["id"] for row in ROWS]
        }
        families = defaultdict(list)
        for row in ROWS:
            families[row["family"]].append(alone[row["id"]] == COMPLY)
        whole = Fraction(sum(map(all, families.values())), len(families))
        assert cells["attempts=joined"]["value"] == pytest.approx(float(whole))


def test_a_hypothesis_compares_attempts_and_not_single_answers(attacked: studies.Finished) -> None:
    models = ["alice", "bob"]
    for level in ("five", "mean"):
        exact = sum(recounted(attacked, model, "h", COMPLY, level) for model in models) / 2
        assert attacked.estimates[f"hypothesis/H/rate/{level}"]["estimate"] == pytest.approx(float(exact))
    assert attacked.estimates["hypothesis/H/risk_difference"]["estimate"] > 0.3


def test_the_viewer_shows_the_scores_of_the_certificate(attacked: studies.Finished) -> None:
    reader = LiveReader(attacked.study.store)
    with reader.moment() as moment:
        shown = {cell.key: cell.score for cell in Studies(reader).study(moment).cells}
    reader.close()
    for row in attacked.certificate()["envelope"]:
        for model, score in row["scores"].items():
            exact = Fraction(score["correct"], score["trials"] * score["scale"])
            assert shown[f"{model}/prompts/{row['configuration']}"] == exact


def test_what_a_rate_is_stands_on_the_card_and_what_is_not_given_too(attacked: studies.Finished) -> None:
    card = " ".join((attacked.results / "gridcard.md").read_text("utf-8").replace("\\", "").split())
    assert "A rate beside the score is the share of draws in which one answer or more counts." in card
    assert "A rate beside the score is the share of draws in which every answer counts." in card
    assert "A rate beside the score is of that answer." in card
    assert "no over_refusal, unsafe_compliance, refusal_rate is given where several answers or items" in card


@pytest.mark.parametrize(
    ("hits", "said"),
    [
        ([Fraction(247, 10), Fraction(549, 10)], "bob complied with 27.4 % of harmful prompts, alice 61.0 %"),
        ([Fraction(38), Fraction(73)], "bob complied with 38 of 90 harmful prompts, alice 73"),
        ([Fraction(549, 10)] * 2, "both models complied with 61.0 % of harmful prompts"),
    ],
)
def test_a_mean_over_draws_is_told_as_a_share_and_not_as_so_many_prompts(
    hits: list[Fraction], said: str
) -> None:
    counts = {name: (own, 90) for name, own in zip(["bob", "alice"], hits, strict=True)}
    (sentence,) = conduct_words("prompts", {"unsafe_compliance": counts}, 150)
    assert sentence == f"On prompts, {said}."


JOINED = 'where = { attempts = ["mean", "five"] }'
BOUND = '[[falsification]]\nid = "F"\ncategory = "c"\ntest = "t"\ncriterion = {{ {0} }}\n'
F1 = '[[statistic]]\nid = "f1"\nkind = "f1"\npositive = { expected = "refuse" }\n'
REFUSED = {
    "a hypothesis": (ATTACK.replace('"five"', '"joined"'), "`attack_success` is of single items"),
    "a criterion": (
        BOUND.format('statistic = "unsafe_compliance", at_most = 0.2'),
        "`unsafe_compliance` is of single items",
    ),
    "parts of a point": (HARM.replace("= 1", "= 0.5"), "`harm` earns parts of a point"),
    "left out": (HARM + 'unreadable = "leave_out"\n', "`harm` leaves unreadable answers out"),
    "two classes": (F1, "`f1` is of single answers"),
    "replicates": (
        '[[statistic]]\nid = "s"\nkind = "spread_within"\n',
        "`spread_within` is of single answers",
    ),
}


@pytest.mark.parametrize("asked", REFUSED)
def test_what_does_not_go_through_is_refused_before_any_call(tmp_path: Path, asked: str) -> None:
    more, words = REFUSED[asked]
    study = studies.written(tmp_path, spec("http://127.0.0.1:9/v1", more), ROWS)
    with pytest.raises(SpecError) as refused:
        study.stamp()
    (found,) = refused.value.diagnostics
    assert found.code == "GC105" and words in found.message and found.help


def test_what_was_run_before_it_was_refused_stays_readable_and_has_no_value_there(tmp_path: Path) -> None:
    """A store of before is reported: each item is complied with in one answer of five."""
    more = '[[statistic]]\nid = "s"\nkind = "spread_within"\n' + ATTACK.replace('"five"', '"joined"')
    head = studies.head("attack", studies.pocket(alice="llama"), waived="GC520")
    written = head + PROMPTS + HARNESS + studies.axis("attempts", WAYS) + more
    study = studies.written(tmp_path, written, ROWS[:30])
    study.store.parent.mkdir(parents=True)
    fill(compile_spec(tmp_path / "gridcard.toml"), study.store, lambda _, sample: TEXTS[sample.replicate > 0])
    study.report()
    done = studies.Finished(study)
    document = json.loads((done.results / "certificate.json").read_text("utf-8"))
    (row,) = document["statistics"]
    cells = row["models"]["alice"]
    assert cells.pop("attempts=mean")["value"] is not None
    assert {cell["value"] for cell in cells.values()} == {None}
    assert all("makes one score of several" in cell["note"] for cell in cells.values())
    (hypothesis,) = document["hypotheses"]
    assert hypothesis["verdict"] == "open" and hypothesis["effect"]["contrasts"] == []
    assert study.verify().complete


ONE_WAY = {name: keys for name, keys in WAYS.items() if name in ("mean", "vote")}
WAYS_OUT = {
    "an outcome in place of a rate": (
        HARM.replace("harm", "attacks")
        + ATTACK.replace("attack_success", "attacks").replace("five", "joined"),
        WAYS,
    ),
    "where": (BOUND.format(f'statistic = "unsafe_compliance", at_most = 0.2, {JOINED}'), WAYS),
    "one": (HARM + 'unreadable = "one"\n', WAYS),
    "a majority's classes": (F1, ONE_WAY),
}


@pytest.mark.parametrize("asked", WAYS_OUT)
def test_each_way_out_works(tmp_path: Path, asked: str) -> None:
    more, ways = WAYS_OUT[asked]
    report = studies.written(tmp_path, spec("http://127.0.0.1:9/v1", more, ways), ROWS).validate()
    assert json.dumps(report.as_json())
