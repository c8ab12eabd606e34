"""Makes one report over several studies from their findings. Nothing is pooled and nothing is read again.

Each number belongs to one study. Across studies the report says which sample each rests on, what the samples
share, how cells that two studies ran differ, and which verdicts stand where one level holds all of them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

from gridc import __version__
from gridc.compiler.hypotheses import kind_of, sharing_level
from gridc.compiler.inputs.questions import PARTS, QuestionDigests, matched, of_item
from gridc.compiler.lock.deviations import json_differences
from gridc.numbers import counted, hundredths, in_points, p_value
from gridc.reports.findings import paired
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.hypotheses.finding import Claim, HypothesisFinding, rate_of, step_down
from gridc.reports.findings.scores import CellScore
from gridc.reports.rendering import (
    TextTable,
    escape_markdown,
    in_configurations,
    render_template,
    table_markdown,
)
from gridc.reports.scorecard.document import HELD, STATED
from gridc.reports.scorecard.methodology import since_when, stamped_first
from gridc.reports.scorecard.validity import cells_about, claims
from gridc.reports.words import PLURAL
from gridc.schema.scorecard import (
    STUDIES_FORMAT,
    BudgetLine,
    CorrectedClaim,
    PairedStudies,
    ReportedStudy,
    SharedItems,
    StudiesTogether,
    StudyClaim,
    StudySample,
)
from gridc.statistics.envelope import Direction
from gridc.statistics.paired_runs import pair_stores
from gridc.statistics.reproducibility import digits

ASKED = ("model", "benchmark", "harness", "axis", "judge", "sampling", "outcome")
"""The tables of a spec that can change what a cell asks and how it counts."""
SHOWN = 4
"""How many paths that differ are printed; the JSON has all."""


class _Named(NamedTuple):
    name: str
    findings: Findings


def studies_report(several: Sequence[Findings]) -> StudiesTogether:
    """The document of at least two studies, in the order in which they are named."""
    named = _named(several)
    confirming = [one for one in named if one.findings.plan.study.spec.study.purpose != "exploratory"]
    budget = tuple(line for one in confirming for line in _levels(one))
    alpha = min((line.alpha for line in budget), default=None)
    return StudiesTogether(
        format=STUDIES_FORMAT,
        gridc=__version__,
        studies=tuple(_study(one) for one in named),
        samples=tuple(row for one in named for row in _samples(one)),
        claims=tuple(StudyClaim.of(row, study=name) for name, one in named for row in claims(one)),
        shared=tuple(row for a, b in combinations(named, 2) for row in _shared(a, b)),
        pairs=tuple(row for a, b in combinations(named, 2) for row in _paired(a, b)),
        budget=budget,
        declared=round(sum(line.alpha for line in budget), 10),
        alpha=alpha,
        corrected=() if alpha is None else tuple(_corrected(confirming, alpha)),
    ).as_written()


def _named(several: Sequence[Findings]) -> list[_Named]:
    """Each with its id, and with its stamp where another study has that id."""
    ids = [findings.study for findings in several]
    return [
        _Named(one.study if ids.count(one.study) == 1 else f"{one.study}@{one.stamp[:12]}", one)
        for one in several
    ]


def _study(one: _Named) -> ReportedStudy:
    return ReportedStudy.of(
        one.findings,
        name=one.name,
        purpose=one.findings.plan.study.spec.study.purpose,
        strength=one.findings.anchor.strength,
        stamped_first=stamped_first(one.findings).holds,
    )


def _samples(one: _Named) -> Iterator[StudySample]:
    findings = one.findings
    stated = findings.plan.study.spec.hypothesis
    selected = {claim.id: {cell.benchmark for cell in cells_about(findings, claim)} for claim in stated}
    for row in findings.benchmarks:
        yield StudySample.of(
            row,
            study=one.name,
            models=len({score.cell.model for score in row.cells}),
            configurations=len({score.cell.configuration for score in row.cells}),
            answers=sum(score.trials for score in row.cells),
            claims=tuple(name for name, benchmarks in selected.items() if row.benchmark in benchmarks),
        )


def _questions(findings: Findings, benchmark: str) -> list[QuestionDigests]:
    """What the items of a sample ask, whatever counts as right. A pair of sentences asks nothing: the
    sentences are what is asked."""
    asked = (of_item(item)._replace(target=None) for item in findings.plan.study.items[benchmark].sampled)
    return [one if one.text is not None else one._replace(text=one.choices) for one in asked]


def _shared(a: _Named, b: _Named) -> Iterator[SharedItems]:
    """The samples of two studies that share an item, are of one file, or cannot be compared."""
    stated = [one.findings.plan.study.spec.benchmark for one in (a, b)]
    sources = [{declared.id: declared.source for declared in benchmarks} for benchmarks in stated]
    for left, right in product(a.findings.benchmarks, b.findings.benchmarks):
        lists = [_questions(a.findings, left.benchmark), _questions(b.findings, right.benchmark)]
        parts = matched(lists).parts
        places = [PARTS.index(name) for name in parts]
        known = [[item for item in items if item.text is not None] for items in lists]
        one, other = ({tuple(item[place] for place in places) for item in items} for items in known)
        shared, unmatched = len(one & other), sum(map(len, lists)) - sum(map(len, known))
        if shared or unmatched or sources[0][left.benchmark] == sources[1][right.benchmark]:
            yield SharedItems(
                a=(a.name, left.benchmark),
                b=(b.name, right.benchmark),
                a_items=left.items,
                b_items=right.items,
                shared=shared,
                unmatched=unmatched,
                by=parts,
            )


def _place(score: CellScore) -> dict[str, str]:
    cell = score.cell
    return {"model": cell.model, "benchmark": cell.benchmark, **cell.levels}


def _by_place(findings: Findings) -> dict[frozenset[tuple[str, str]], CellScore]:
    cells = (score for row in findings.benchmarks for score in row.cells)
    return {frozenset(_place(score).items()): score for score in cells}


def _asked_of(findings: Findings, score: CellScore) -> list[tuple[str, QuestionDigests]]:
    """The items of a cell by id, with what each asks."""
    items = findings.plan.study.items[score.cell.benchmark].asked(None, score.cell.setting.items)
    return sorted((item.id, of_item(item)) for item in items)


def _paired(a: _Named, b: _Named) -> Iterator[PairedStudies]:
    """Two studies that have cells of the same names."""
    left, right = _by_place(a.findings), _by_place(b.findings)
    both = [place for place in left if place in right]
    if not both:
        return
    same = [
        place for place in both if _asked_of(a.findings, left[place]) == _asked_of(b.findings, right[place])
    ]
    sides = [
        [(dict(place), score) for place in same if (score := cells[place].score) is not None]
        for cells in (left, right)
    ]
    pairing = pair_stores(*sides)
    stated = a.findings.plan.study.spec.benchmark
    directions = {benchmark.id: Direction.of(benchmark.direction) for benchmark in stated}
    report = paired.paired_row(pairing, a.name, b.name, directions=directions) if pairing.deltas else None
    yield PairedStudies(
        a=a.name,
        b=b.name,
        cells=len(both),
        same_items=len(same),
        differs=tuple(_differs(a.findings, b.findings)),
        paired=report,
    )


def _differs(a: Findings, b: Findings) -> Iterator[str]:
    """The paths of what is asked, in what both studies as they ran have otherwise."""
    left, right = (one.plan.study.stamped() for one in (a, b))
    for part in ("spec", "inputs", "behaviour"):
        one, other = (dict(side.get(part, {})) for side in (left, right))
        if part == "spec":
            one, other = ({key: side[key] for key in ASKED if key in side} for side in (one, other))
        if part == "inputs":
            yield from _items_differ(one.pop("benchmarks"), other.pop("benchmarks"))
        yield from (path for path, *_ in json_differences(one, other, "" if part == "spec" else part))


def _items_differ(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[str]:
    """Where two studies show otherwise what both ask: items of one id, and the examples before them."""
    for name in (benchmark for benchmark in a if benchmark in b):
        for part in ("items", "exemplars", "variants"):
            one, other = (side[name].get(part, {}) for side in (a, b))
            if any(_digests_differ(one[order], other[order]) for order in one if order in other):
                yield f"inputs.benchmarks[{name}].{part}"


def _digests_differ(one: Any, other: Any) -> bool:
    """Whether two digests differ in what both have."""
    if isinstance(one, dict) and isinstance(other, dict):
        return any(_digests_differ(one[key], other[key]) for key in one if key in other)
    return bool(one != other)


def _decided(one: _Named) -> list[HypothesisFinding]:
    """Those that claim anything beyond the study's items."""
    found = one.findings.hypotheses
    return [row for row in found if row.ranking is None or row.ranking.strength != "descriptive"]


def _levels(one: _Named) -> Iterator[BudgetLine]:
    """The levels at which a study decides its hypotheses, each once."""
    spec = one.findings.plan.study.spec
    families = {family.id for family in spec.family if family.correction != "none"}
    lines: dict[tuple[str, str], BudgetLine] = {}
    for finding in _decided(one):
        rate = rate_of(spec, finding.hypothesis)
        several = len(sharing_level(spec, finding.hypothesis)) > 1
        group = ("hypothesis", finding.id)
        if rate.family is not None and rate.family in families:
            group = ("family", rate.family)
        elif several:
            group = ("", "rankings without a family")
        lines[group] = BudgetLine(
            study=one.name,
            group=" ".join(group).strip(),
            correction=rate.correction,
            alpha=rate.alpha,
            claims=rate.members,
            holds="share_false" if rate.correction == "bh" else "any_false",
        )
    yield from lines.values()


def _corrected(named: Sequence[_Named], alpha: float) -> Iterator[CorrectedClaim]:
    """Every verdict, and what it is where Holm's method runs over the claims of all studies."""
    p: dict[Claim, float] = {}
    at_once: dict[str, int] = {}
    for one in named:
        for finding in _decided(one):
            name, claimed = f"{one.name}/{finding.id}", kind_of(finding.hypothesis).claims(finding.hypothesis)
            alone = finding.effect or finding.ranking or finding.statistic
            tested = alone is not None and finding.support is not None
            for side in claimed.sides:
                p[name, side] = getattr(alone, side) if tested else 1.0
            at_once[name] = claimed.at_once
    adjusted = step_down(p, at_once)
    for one in named:
        stated = since_when(one.findings)
        for finding in _decided(one):
            name = f"{one.name}/{finding.id}"
            support, refute = (digits(adjusted.get((name, side), 1.0)) for side in ("support", "refute"))
            tested = finding.support is not None
            yield CorrectedClaim.of(
                finding,
                study=one.name,
                purpose=one.findings.plan.study.spec.study.purpose,
                stated=stated[finding.id],
                support_over_all=support if tested else None,
                refute_over_all=refute if tested else None,
                verdict_over_all=kind_of(finding.hypothesis).verdict(support, refute, alpha)
                if tested
                else "open",
            )


def studies_tables(report: StudiesTogether) -> Iterator[TextTable]:
    """The tables of the report, in order."""
    yield TextTable(
        "studies", "The studies",
        ("study", "title", "purpose", "stamp", "stamped before any answer", "tied by", "run"),
        tuple(
            (
                row.name,
                row.title,
                row.purpose,
                row.registered[:12] if row.stamp == row.registered
                else f"{row.registered[:12]}, as it ran {row.stamp[:12]}",
                HELD[row.stamped_first],
                row.strength,
                "complete" if row.complete else "incomplete: every number is an interim look",
            )
            for row in report.studies
        ),
    )  # fmt: skip
    yield _sample_table(report)
    yield TextTable(
        "claims", "Which sample each claim rests on",
        ("study", "id", "claim", "stated", "answer", "cases x models x configurations", "reaches"),
        tuple(
            (
                row.study, row.id, row.claim, STATED[row.stated], row.answer,
                f"{row.cases:,} x {row.models} x {row.configurations}", row.reach,
            )
            for row in report.claims
        ),
    )  # fmt: skip
    yield _shared_table(report)
    yield _paired_table(report)
    yield from _budget_tables(report)


def _sample_table(report: StudiesTogether) -> TextTable:
    columns = ("study", "benchmark", "items", "units", "models", "configurations", "answers", "hypotheses")
    rows = tuple(
        (
            row.study,
            row.benchmark,
            f"{row.items:,}",
            f"{row.units:,} {_plural(row.unit)}",
            f"{row.models:,}",
            f"{row.configurations:,}",
            f"{row.answers:,}",
            ", ".join(row.claims) or "none",
        )
        for row in report.samples
    )
    numeric = frozenset({"items", "models", "configurations", "answers"})
    note = (
        "Hypotheses are those whose `where` selects the benchmark; one about an outcome that only some items "
        "have reads those. Estimates are in each study's estimates.json, and name their benchmark."
    )
    return TextTable("samples", "Samples", columns, rows, numeric, note)


def _plural(unit: str) -> str:
    words: Mapping[str, str] = {str(level): word for level, word in PLURAL.items()}
    return words[unit]


def _shared_table(report: StudiesTogether) -> TextTable:
    columns = ("sample", "items", "other sample", "items of it", "in both", "compared by")
    rows = tuple(
        (
            "/".join(row.a),
            f"{row.a_items:,}",
            "/".join(row.b),
            f"{row.b_items:,}",
            (f"{row.shared:,}" if row.shared else "none")
            + (f" ({row.unmatched:,} cannot be matched)" if row.unmatched else ""),
            ", ".join(row.by) or "nothing: they do not say what is asked",
        )
        for row in report.shared
    )
    note = (
        "Two results on the same items are not two pieces of evidence. Samples of different files that share "
        "no item are left out."
    )
    return TextTable(
        "shared", "Items in two studies", columns, rows, frozenset({"items", "items of it"}), note
    )


def _paired_table(report: StudiesTogether) -> TextTable:
    columns = ("studies", "cells", "same items", "what differs", "model", "mean", "size", "orders")
    rows = []
    for pair in report.pairs:
        rest = len(pair.differs) - SHOWN
        differs = ", ".join(pair.differs[:SHOWN]) + (f" and {rest:,} more" if rest > 0 else "")
        head = (f"{pair.b} - {pair.a}", f"{pair.cells:,}", f"{pair.same_items:,}", differs or "nothing")
        if pair.paired is None or pair.paired.overall is None:
            rows.append((*head, "", "", "", "no cell on the same items is measured in both"))
            continue
        changes = [("all", pair.paired.overall), *pair.paired.by_model.items()]
        for number, (model, change) in enumerate(changes):
            rows.append(
                (
                    *(head if number == 0 else ("",) * 4),
                    model,
                    in_points(change.mean),
                    f"median {hundredths(change.median_absolute)}, at most "
                    f"{hundredths(change.max_absolute)}; {change.over_5:,} of "
                    f"{counted(change.cells, 'cell')} over 5",
                    in_configurations(pair.paired) if number == 0 else "",
                )
            )
    note = (
        "Differences of scores in percentage points, over cells of the same model, benchmark and "
        "configuration by name that asked the same items. They have no interval: `gridc diff` tests each "
        "cell."
    )
    numeric = frozenset({"cells", "same items", "mean"})
    return TextTable("pairs", "Cells that two studies ran", columns, tuple(rows), numeric, note)


def _budget_tables(report: StudiesTogether) -> Iterator[TextTable]:
    shares = any(line.holds == "share_false" for line in report.budget)
    early = _not_fixed(report)
    held = (
        f"The levels add up to {report.declared:g}. "
        + (
            "No bound on the chance of a false verdict follows, since a family holds the share of false ones."
            if shares
            else "However the studies depend on each other, the chance that some decided verdict is false is "
            "at most that, of hypotheses and levels that were fixed before any answer was seen."
        )
        + (f" Nothing shows that of {', '.join(early)}." if early else "")
        + " Orders of models that a certificate names are held beside it, by the level of their study."
    )
    yield TextTable(
        "budget", "Levels that the studies declare", ("study", "group", "correction", "level", "claims"),
        tuple(
            (line.study, line.group, line.correction, f"{line.alpha:g}", f"{line.claims:,}")
            for line in report.budget
        ),
        frozenset({"level", "claims"}),
        held,
    )  # fmt: skip
    columns = ("study", "id", "stated", "verdict", "p", "p over all studies", "verdict over all studies")
    note = (
        "p of support / p of refutation. Over all studies Holm's method (Shaffer 1986) runs over every claim "
        f"at the smallest level above, {report.alpha or 0:g}: the chance that some verdict of the last "
        "column is false is at most that, of what was fixed before any answer was seen. What was not tested "
        "counts with p = 1. Studies whose purpose is "
        "exploratory confirm nothing and are left out."
    )
    yield TextTable(
        "corrected", "One level over all studies", columns,
        tuple(
            (
                row.study,
                row.id,
                STATED[row.stated],
                row.verdict,
                _both(row.support, row.refute),
                _both(row.support_over_all, row.refute_over_all),
                row.verdict_over_all,
            )
            for row in report.corrected
        ),
        frozenset(),
        note,
    )  # fmt: skip


def _not_fixed(report: StudiesTogether) -> list[str]:
    """The hypotheses of which nothing shows that they were stated, as they are now, before any answer."""
    first = {row.name for row in report.studies if row.stamped_first == "yes"}
    return [
        f"{row.study}/{row.id}"
        for row in report.corrected
        if row.study not in first or row.stated != "before_stamp"
    ]


def _both(support: float | None, refute: float | None) -> str:
    return " / ".join(map(p_value, (support, refute)))


def in_short(report: StudiesTogether) -> Iterator[str]:
    """What a terminal shows."""
    for row in report.studies:
        yield f"{row.name}: {'complete' if row.complete else 'incomplete, so that every number is interim'}"
    shared = [row for row in report.shared if row.shared]
    alone = len(report.shared) - len(shared)
    yield f"samples that share items: {counted(len(shared), 'pair')}; of one file without doing so: {alone}"
    for pair in report.pairs:
        both = counted(pair.cells, "cell")
        yield f"{pair.a} and {pair.b} both ran {both}, {pair.same_items:,} on the same items"
    decided = [row for row in report.corrected if row.verdict != "open"]
    fall = [f"{row.study}/{row.id}" for row in decided if row.verdict_over_all != row.verdict]
    if report.alpha is not None:
        stand = len(decided) - len(fall)
        yield (
            f"{stand} of {counted(len(decided), 'decided verdict')} stand at level {report.alpha:g} over all "
            f"studies{'; open there: ' if fall else ''}{', '.join(fall)}"
        )
    if early := _not_fixed(report):
        yield f"nothing shows that these were fixed before any answer was seen: {', '.join(early)}"


def studies_markdown(report: StudiesTogether) -> str:
    """The report in Markdown."""
    names = ", ".join(escape_markdown(row.name) for row in report.studies)
    tables = [table_markdown(table) for table in studies_tables(report)]
    return "\n".join([f"# {counted(len(report.studies), 'study', 'studies')}: {names}", "", *tables])


def studies_html(report: StudiesTogether) -> str:
    """The report as a page."""
    return render_template("studies.html.jinja", report=report, tables=list(studies_tables(report)))


def as_json(report: StudiesTogether) -> str:
    return json.dumps(report.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"


def studies_texts(report: StudiesTogether) -> dict[str, str]:
    """Every file's text, by name. The same findings give the same bytes."""
    return {
        "studies.html": studies_html(report),
        "studies.md": studies_markdown(report),
        "studies.json": as_json(report),
    }
