"""Point scores as `.eval_results/*.yaml` of a model's repository on the Hugging Face hub, a file a model, by
huggingface_hub's own classes. The format names a data set of the hub: no other benchmark has an entry.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gridc.compiler.compile import Compiled
from gridc.compiler.inputs.dataset_hub import hub_repository
from gridc.compiler.lock.lock import Lock
from gridc.diagnostics.errors import Diagnostic, UnavailableError, UsageError
from gridc.numbers import asked_items
from gridc.reports.exchange import new_folder
from gridc.reports.files import read_deck
from gridc.schema.card import CardDeck
from gridc.schema.spec import Benchmark

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry


def export(compiled: Compiled, lock: Lock, results: Path, target: Path) -> Path:
    """Write a file for each model into a new folder, which appears whole or not at all.

    Raises `UsageError` (GC000) when the target exists or no benchmark is of the hub, `FileError` without a
    report, `UnavailableError` without huggingface_hub."""
    by_model = entries(read_deck(results), compiled.checked.spec.benchmark)
    if not by_model:
        message = 'no benchmark that has a score is a data set of the hub (`source = "hf:..."`)'
        help = "`gridc card attach` writes scores of any benchmark into a model card"
        raise UsageError([Diagnostic("GC000", message, help=help)])
    import yaml
    from huggingface_hub import eval_result_entries_to_yaml

    with new_folder(target) as draft:
        for model, some in by_model.items():
            text = yaml.safe_dump(eval_result_entries_to_yaml(some), sort_keys=False, allow_unicode=True)
            (draft / f"{model}.yaml").write_text(text, "utf-8")
    return target


def entries(deck: CardDeck, benchmarks: Iterable[Benchmark]) -> dict[str, "list[EvalResultEntry]"]:
    """By model, of cells that are measured. The value is a share; the task is the benchmark's id."""
    try:
        from huggingface_hub import EvalResultEntry
    except ImportError:
        message = ".eval_results needs huggingface_hub, which is not installed"
        raise UnavailableError([Diagnostic("GC604", message, help="pip install 'gridc[hub]'")]) from None
    places = {one.id: place for one in benchmarks if (place := hub_repository(one.source)) is not None}
    by_model: dict[str, list[EvalResultEntry]] = {}
    for card in deck.cards:
        if card.benchmark in places and card.point_score.score is not None:
            repository, revision = places[card.benchmark]
            under = ", ".join(f"{axis}={level}" for axis, level in card.axis_receipt.configuration.items())
            entry = EvalResultEntry(
                dataset_id=repository,
                task_id=card.benchmark,
                value=round(card.point_score.score, 6),
                dataset_revision=revision,
                notes=f"gridc study {deck.study}, stamp {deck.stamp[:12]}, "
                f"{asked_items(card.items, card.held, card.distinct)}; {under}",
            )
            by_model.setdefault(card.model, []).append(entry)
    return by_model
