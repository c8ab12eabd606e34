"""Finds responses whose first paragraph alone reads as another option than the whole.

The whole response counts. Where the two readings differ, the whole is wrong far more often than elsewhere: of
105 readings of MMLU-Pro's published outputs that differ from the publisher's 25 are of this kind, and 8 of
1,668 others. So these responses are counted by model, for a person to look at.
"""

from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.readers import FORMS
from gridc.compiler.instrument.score import score_sample
from gridc.compiler.instrument.thoughts import answer_begins
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.schema.certificate import DoubtfulRow

PARAGRAPH = "\n\n"


def first_paragraph(response: str) -> str | None:
    """The first paragraph behind any thought, where others follow; None of any other response."""
    begin = answer_begins(response)
    own = "" if begin is None else response[begin:].strip()
    first, _, rest = own.partition(PARAGRAPH)
    return first if rest.strip() else None


def _row(record: RunRecord, cell: Cell) -> DoubtfulRow | None:
    """What a cell has of these responses; None where it has none."""
    items = {item.id: item for item in record.plan.items(cell)}
    several, doubtful = 0, dict[str, None]()
    for item, _, choice, _, _, _, text in record.store.sample_rows(record.plan.study_digest, cell.key):
        first = None if choice is None or text is None else first_paragraph(text)
        if first is None:
            continue
        several += 1
        alone = score_sample(cell.setting, items[item], [{"text": first}]).choice
        if alone is not None and alone != choice:
            doubtful[item] = None
    if not doubtful:
        return None
    return DoubtfulRow(
        model=cell.model, configuration=cell.configuration, several=several, items=tuple(doubtful)
    )


def _read_by_phrases(cell: Cell) -> bool:
    """Whether options are read from prose, so that a response may name several."""
    setting = cell.setting
    reads = METHODS[setting.method].reads_text and FORMS[setting.reader].understands
    return reads and (setting.form is None or setting.out_of_form == "by_phrases")


def doubtful_readings(record: RunRecord) -> dict[str, tuple[DoubtfulRow, ...]]:
    """By benchmark, a row for each model and configuration that has some."""
    found: dict[str, list[DoubtfulRow]] = {}
    for cell in record.plan.cells():
        row = _row(record, cell) if _read_by_phrases(cell) else None
        if row is not None:
            found.setdefault(cell.benchmark, []).append(row)
    return {benchmark: tuple(rows) for benchmark, rows in found.items()}


DOUBTFUL: Finding[dict[str, tuple[DoubtfulRow, ...]]] = Finding(
    "doubtful",
    doubtful_readings,
    {},
    recorded=dict[str, tuple[DoubtfulRow, ...]],
    about="Responses whose first paragraph alone reads as another option than the whole.",
)
