"""Models that do not run every benchmark: the others' numbers there are those of a study without them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import command
from tests.studies import Finished, axis, carried_out, head, pocket, written

AXES = (
    axis("template", {"T1": 'prompt = "builtin:T1"', "T4": 'prompt = "builtin:T4"'}),
    axis("few_shot", {"0": "shots = 0", "2": "shots = 2"}, ["2"]),
)
BENCHMARKS = {
    "bbq": 'loader = "bbq", source = "builtin:pocket_bbq.jsonl", direction = "higher_is_better", '
    'sample = { n = 8, seed = 1 }',
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
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the certificate prints of the second benchmark, of a study of the other models on it alone."""
    marks = '[harness]\nmethod = "loglikelihood"\n[engine]\nnoise_sample = 4\n'
    stated = spec(("m1", "m2"), ("truth",), marks)
    return carried_out(written(tmp_path_factory.mktemp("alone") / "study", stated)).certificate()


WHOLE_STUDY = ("evidence", "tests", "ordering_claims", "noise", "rows")
"""What is corrected over all claims of a study, and what names its cells."""


def own(value: Any) -> Any:
    """What a certificate prints of a benchmark, without what depends on the rest of the study."""
    if isinstance(value, dict):
        return {key: own(each) for key, each in value.items() if key not in WHOLE_STUDY}
    return [own(each) for each in value] if isinstance(value, list) else value


def test_a_benchmark_has_the_numbers_of_a_study_of_its_roster(
    finished: Finished, alone: dict[str, Any]
) -> None:
    found = finished.certificate("truth")
    assert own(found) == own(alone)
