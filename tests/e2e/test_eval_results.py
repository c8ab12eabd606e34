"""`.eval_results` of a model's repository: huggingface_hub reads back what the cards say, of benchmarks of
the hub alone."""

from pathlib import Path

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

import gridc
from gridc.adapters.exports import eval_results
from gridc.diagnostics.errors import UsageError
from gridc.reports.files import read_deck

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_the_hub_reads_what_the_cards_say(study: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no benchmark that has a score is a data set of the hub"):
        gridc.open(study).export("eval-results", tmp_path / "none")
    assert not (tmp_path / "none").exists()
    deck = read_deck(study / "results" / "small")
    compiled = gridc.open(study)._place.compiled()
    (benchmark,) = compiled.checked.spec.benchmark
    for source, revision in ((f"hf:owner/bbq@{COMMIT}/x.jsonl", COMMIT), ("hf:owner/bbq@main/x.jsonl", None)):
        hosted = benchmark.model_copy(update={"source": source})
        by_model = eval_results.entries(deck, [hosted])
        assert {model: [entry.value for entry in some] for model, some in by_model.items()} == {
            card.model: [pytest.approx(card.point_score.score)] for card in deck.cards
        }
        assert {
            (entry.dataset_id, entry.dataset_revision) for some in by_model.values() for entry in some
        } == {("owner/bbq", revision)}
    spec = compiled.checked.spec.model_copy(update={"benchmark": (hosted,)})
    object.__setattr__(compiled.checked, "spec", spec)
    assert compiled.lock is not None
    made = eval_results.export(compiled, compiled.lock, study / "results" / "small", tmp_path / "made")
    for model, some in by_model.items():
        assert parse_eval_result_entries(yaml.safe_load((made / f"{model}.yaml").read_text("utf-8"))) == some
