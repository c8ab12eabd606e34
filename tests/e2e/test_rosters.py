"""Models that do not run every benchmark: the others' numbers there are those of a study without them."""

import json
import re
from html import unescape
from typing import Any

import pytest

from gridc.study import view_pages
from tests.e2e.conftest import command
from tests.studies import Finished, axis, carried_out, head, pocket, written

# A minute or more of every run: one of the eight parts of `.ci/run` has it.
pytestmark = pytest.mark.slow

AXES = (
    axis("template", {"T1": 'prompt = "builtin:T1"', "T4": 'prompt = "builtin:T4"'}),
    axis("few_shot", {"0": "shots = 0", "2": "shots = 2"}, ["2"]),
)
BENCHMARKS = {
    "bbq": 'loader = "bbq", source = "builtin:pocket_bbq.jsonl", direction = "higher_is_better", '
    "sample = { n = 8, seed = 1 }",
    "truth": 'loader = "truthfulqa_mc1", source = "builtin:pocket_truthfulqa.json", '
    'direction = "higher_is_better", sample = { n = 6, seed = 1 }',
}
REST = """
[harness]
method = "loglikelihood"
[[hypothesis]]
id = "H1"
kind = "ranking"
order = ["m1", "m3"]
[[hypothesis]]
id = "H2"
kind = "ranking"
order = ["m1", "m2"]
where = { benchmark = "truth" }
[[hypothesis]]
id = "H3"
kind = "difference"
axis = "model"
level = "m3"
reference = "m1"
[[waive]]
code = "GC521"
why = "few items are enough for a test"
[[waive]]
code = "GC522"
why = "few items are enough for a test"
[[statistic]]
id = ["macro_mean", "win_rate"]
[[falsification]]
id = "keeps"
category = "stability"
test = "keeps"
criterion = { keeps = ["H1", "H2"], where = { template = "T1" } }
[analysis]
estimator = "cluster_logit"
thresholds = [{ at = 0.5, declared = "ex_ante", source = "a test" }]
generalizability = { template = "random", few_shot = "random" }
[engine]
noise_sample = 4
"""
ALONE = '[harness]\nmethod = "loglikelihood"\n[engine]\nnoise_sample = 4\n'
MODELS = {"m1": "qwen2", "m2": "llama", "m3": "mistral"}
NOT_ASKED = '\n[[exclude]]\nwhen = { model = "m3", benchmark = "truth" }\nwhy = "no licence"\n'
RAGGED = '\n[[exclude]]\nwhen = { model = "m3", benchmark = "truth", template = "T4" }\nwhy = "too long"\n'


def spec(models: tuple[str, ...], benchmarks: tuple[str, ...], *more: str) -> str:
    named = {model: MODELS[model] for model in models}
    keys = 'option_order = "file", exemplars = { pool = "rest", seed = 1 }'
    listed = ", ".join(f'{{ id = "{name}", {BENCHMARKS[name]}, {keys} }}' for name in benchmarks)
    return f"{head('roster', pocket(**named))}benchmark = [{listed}]\n" + "\n".join([*AXES, *more])


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Of three models the third does not run the second benchmark."""
    stated = spec((*MODELS,), (*BENCHMARKS,), REST, NOT_ASKED)
    return carried_out(written(tmp_path_factory.mktemp("roster") / "study", stated))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The other models on the second benchmark, and nothing else."""
    stated = spec(("m1", "m2"), ("truth",), ALONE)
    return carried_out(written(tmp_path_factory.mktemp("alone") / "study", stated))


WHOLE_STUDY = ("adjusted", "adjusted_plus", "adjusted_minus", "members", "evidence", "rows", "near_ties")
"""What is corrected over all claims of a study, and what names its cells."""


def own(value: Any) -> Any:
    """What a certificate prints of a benchmark, without what depends on the rest of the study."""
    if isinstance(value, dict):
        return {key: own(each) for key, each in value.items() if key not in WHOLE_STUDY}
    return [own(each) for each in value] if isinstance(value, list) else value


def document(done: Finished, name: str) -> dict[str, Any]:
    return dict(json.loads((done.results / f"{name}.json").read_text("utf-8")))


def texts(done: Finished) -> str:
    """The report page as text."""
    page = re.sub(
        r"<(style|script).*?</\1>|<[^>]+>", " ", (done.results / "report.html").read_text("utf-8"), flags=re.S
    )
    return " ".join(unescape(page).split())


def test_a_benchmark_has_the_numbers_of_a_study_of_its_roster(finished: Finished, alone: Finished) -> None:
    assert own(finished.certificate("truth")) == own(alone.certificate())
    cards, others = (
        [card for card in document(done, "gridcard")["cards"] if card["benchmark"] == "truth"]
        for done in (finished, alone)
    )
    assert [card["model"] for card in cards] == ["m1", "m2"]
    for card, other in zip(cards, others, strict=True):
        assert card["ranking_stability"]["roster"] == ["m1", "m2"]
        for part in ("point_score", "ranking_stability", "score_neighbourhood"):
            assert own(card[part]) == own(other[part])
        assert card["scope_statement"]["held"] == other["scope_statement"]["held"]
    rows, alike = (
        [row for row in document(done, "estimates")["estimates"] if row.get("benchmark") == "truth"]
        for done in (finished, alone)
    )
    assert {row["id"] for row in alike} <= {row["id"] for row in rows}
    board, only = (
        next(board for board in done.study.scoreboard().benchmarks if board.benchmark == "truth")
        for done in (finished, alone)
    )
    assert board == only


def test_every_document_is_of_who_was_asked(finished: Finished) -> None:
    card = document(finished, "scorecard")
    asked = {model["model"]: {row["benchmark"] for row in model["matrix"]} for model in card["models"]}
    assert asked == {"m1": {"bbq", "truth"}, "m2": {"bbq", "truth"}, "m3": {"bbq"}}
    assert {claim["id"]: claim["models"] for claim in card["claims"]} == {
        "pairs/bbq": 3, "pairs/truth": 2, "H1": 2, "H2": 2, "H3": 2,
    }  # fmt: skip
    said = texts(finished)
    assert said.count("m3 was not asked truth: no licence.") == 2, "the answer, and the models and benchmarks"
    assert "m3 on truth" not in said and "Orders of all 2 models" in said
    assert "Roster: bbq m1, m2, m3; truth m1, m2." in (finished.results / "gridcard.md").read_text("utf-8")


def test_an_order_is_tested_where_all_its_models_run(finished: Finished) -> None:
    rows = {row["id"]: row for row in document(finished, "certificate")["hypotheses"]}
    sums = {
        name: sum(rows[name]["ranking"][key] for key in ("agree", "contradict", "tied", "missing"))
        for name in ("H1", "H2")
    }
    assert sums == {"H1": 4, "H2": 4}, "H1 on bbq alone, in all its configurations"
    assert rows["H1"]["ranking"]["missing"] == 0
    compared = rows["H3"]["effect"]["contrasts"][0]["change"]
    assert compared["samples"] == 4 * 8, "the items of bbq in each configuration"


def test_a_statistic_is_of_models_that_run_all_its_benchmarks(finished: Finished) -> None:
    found = {row.id: row.values for row in finished.study.scoreboard().statistics}
    for values in found.values():
        assert [*values] == ["m1", "m2", "m3"]
        assert {value.note for value in values["m3"].values()} == {"it was not asked truth"}
        assert all(value.value is not None for model in ("m1", "m2") for value in values[model].values())
    for name in found["win_rate"]["m1"]:
        assert sum(found["win_rate"][model][name].value or 0 for model in ("m1", "m2")) == 1


def test_what_reads_the_study_takes_it(finished: Finished) -> None:
    done = command("verify", cwd=finished.folder)
    assert done.returncode == 0, done.stdout
    assert "m1 and m2" in command("certify", cwd=finished.folder).stdout
    planned = command("plan", cwd=finished.folder).stdout
    assert "m3 is not asked truth: no licence" in planned and "excluded on" not in planned
    envelopes = json.loads(command("plan", "--json", cwd=finished.folder).stdout)["envelopes"]
    assert [row.get("not_asked") for row in envelopes] == [None, {"m3": "no licence"}]
    pages = view_pages(finished.folder / "pages", finished.folder / "gridcard.toml")
    assert pages.pages > 100
    races = finished.study.certify_until_decided()
    raced = races.document["benchmarks"]
    assert [(row["benchmark"], pair["a"], pair["b"]) for row in raced for pair in row["pairs"]] == [
        ("bbq", "m1", "m2"), ("bbq", "m1", "m3"), ("bbq", "m2", "m3"), ("truth", "m1", "m2"),
    ]  # fmt: skip


def test_a_configuration_that_some_of_the_roster_run_is_described_and_not_compared(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    stated = spec((*MODELS,), (*BENCHMARKS,), REST, RAGGED)
    done = carried_out(written(tmp_path_factory.mktemp("ragged") / "study", stated))
    truth = done.certificate("truth")
    shared = ["template=T1,few_shot=0", "template=T1,few_shot=2"]
    assert [row["configuration"] for row in truth["envelope"]] == shared
    assert [(pair["a"], pair["b"]) for pair in truth["scopes"][0]["pairs"]] == [
        ("m1", "m2"), ("m1", "m3"), ("m2", "m3"),
    ]  # fmt: skip
    cells = dict(done.rows("SELECT key, shared FROM cell WHERE benchmark = 'truth' AND model = 'm1'"))
    assert [*cells.values()] == [1, 1, 0, 0]
    assert "not asked truth" not in texts(done) and command("verify", cwd=done.folder).returncode == 0
    assert "excluded on truth: 2 cells, too long" in command("plan", cwd=done.folder).stdout
