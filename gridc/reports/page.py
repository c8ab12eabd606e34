"""Writes findings as the HTML report: one self-contained page that works from disk, offline and in print."""

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from markupsafe import Markup

from gridc import __version__
from gridc.compiler.frontend.unsupported import criteria_words
from gridc.compiler.grid.cells import ONLY, Envelope
from gridc.compiler.lowering.asked import differing_words
from gridc.numbers import FEW_UNITS, hundredths, number, p_value, percent
from gridc.reports import figures, first_screen, page_links
from gridc.reports.card import against_words
from gridc.reports.differing_answers import DifferingAnswers
from gridc.reports.estimates.labels import index_asked
from gridc.reports.findings.components import ATTRIBUTION, LABEL
from gridc.reports.findings.conduct import ENVIRONMENT
from gridc.reports.findings.curves import CURVES, CurveFinding
from gridc.reports.findings.examples import EXAMPLES
from gridc.reports.findings.findings import BenchmarkFinding, Findings, unused_generation
from gridc.reports.findings.run_record import reported
from gridc.reports.findings.scores import CellScore
from gridc.reports.findings.summaries import SUMMARIES
from gridc.reports.leaderboard import Leaderboard, begins_with, leaderboards
from gridc.reports.rendering import render_template
from gridc.reports.scoreboard import of_findings, ranked_models
from gridc.reports.statements import choose, claim_scope, standings, statement_texts, urgent
from gridc.reports.statements.answer import beside, study_answer
from gridc.reports.statements.differences import declared_words
from gridc.reports.statements.pairs import beyond
from gridc.reports.statements.rates import unreadable_words
from gridc.reports.statements.statement import DocumentPart, Statement
from gridc.reports.told import told, untold
from gridc.reports.words import (
    ASSUMED,
    BY_APPROXIMATION,
    level_effects,
    not_asked,
    possible_words,
    selected,
    term_name,
    units_words,
)
from gridc.schema.canonical import digest
from gridc.schema.card import Card, CardDeck
from gridc.schema.certificate import (
    BenchmarkRow,
    BetweenRow,
    Certificate,
    PairGapsRow,
    PairRow,
    ScopeRow,
    WitnessRow,
)
from gridc.schema.spec import Benchmark
from gridc.statistics import envelope
from gridc.statistics.envelope import Direction, Order

PROMINENT = 3
"""How many of the certificate's sentences are not folded away."""

SHOWN_ROWS = 15
"""How many rows of a table the overview shows; the others are folded."""

MOST_VERDICTS = 60
"""How many verdicts on two models the page tells; certificate.json has all."""

SHOWN_DEPARTURES = 5
"""How many departures that the run observed the page lists without folding them."""


@dataclass(frozen=True, slots=True)
class BenchmarkSection:
    """One benchmark as the page lays it out: its finding, its row of the certificate, its figures.

    `first` and `further` part the scopes into those that are shown and those that are folded away. `told` are
    the places of the pairs of models that are told one by one, and each of these has a surface.
    """

    spec: Benchmark
    finding: BenchmarkFinding
    row: BenchmarkRow
    first: tuple[ScopeRow, ...]
    further: tuple[ScopeRow, ...]
    cards: tuple[Card, ...]
    orders: tuple[tuple[Order, int], ...]
    cells: Mapping[str, tuple[CellScore | None, ...]]
    missing: int
    planned: Envelope
    told: tuple[int, ...]
    surfaces: tuple[figures.Figure, ...]
    rates: tuple[figures.Figure, ...]
    ranges: figures.Figure
    ordered: figures.Figure
    standings: figures.Figure | None
    board: Leaderboard | None
    shares: figures.Figure | None
    curves: figures.Figure | None
    readable: figures.Figure | None
    tradeoffs: tuple[figures.Figure, ...]

    @property
    def figures(self) -> tuple[figures.Figure, ...]:
        """Every figure of the section."""
        pairs = None if self.board is None else self.board.pairs
        rest = (self.ranges, self.ordered, self.standings, pairs, self.shares, self.curves, self.readable)
        return (
            *self.surfaces,
            *self.rates,
            *self.tradeoffs,
            *(figure for figure in rest if figure is not None),
        )

    @property
    def pairs(self) -> list[PairRow]:
        """Those that are told, over the full envelope."""
        return self.pairs_of(self.row.scopes[0])

    def pairs_of(self, scope: ScopeRow) -> list[PairRow]:
        """The same in a scope."""
        return [scope.pairs[place] for place in self.told]

    def of_told(self, rows: Iterable[PairGapsRow | BetweenRow]) -> list[PairGapsRow | BetweenRow]:
        """Of rows for each pair those of the pairs that are told."""
        by_pair = {(row.a, row.b): row for row in rows}
        return [by_pair[pair.a, pair.b] for pair in self.pairs if (pair.a, pair.b) in by_pair]

    @property
    def untold(self) -> str:
        """How many more pairs there are."""
        return untold(self.row.benchmark, self.row.scopes[0].pairs)


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the report, what it is, and the digest of the rows that it was computed from."""

    what: str
    value: str
    rows: str


def page_html(
    findings: Findings,
    certificate: Certificate,
    deck: CardDeck,
    differing: DifferingAnswers | None = None,
) -> str:
    """The report of a study, complete or not; with the answers that are `differing`, if any are given."""
    spec = findings.plan.study.spec
    sections = benchmark_sections(findings, certificate, deck)
    alarms = urgent(findings)
    boards = of_findings(findings)
    scored = [(board, row) for board in boards for row in ranked_models(board)]
    leads = beside(findings)
    covered = [each for each in _statements(findings, "leading") if each not in (*alarms, *leads)]
    told_first, begun = study_answer(findings, boards), list(begins_with(findings))
    script = render_template("page.js") + (render_template("page/differing.js") if differing else "")
    return render_template(
        "page.html.jinja",
        policy=_policy(script),
        script=Markup(script),
        differing=differing,
        answers_at=differing.at if differing else lambda *_: None,
        addresses=page_links,
        decided=criteria_words,
        answer=told_first,
        hues=first_screen.hues([model.id for model in spec.model]),
        charts=list(
            first_screen.charts(findings, [board for board in boards if board.benchmark not in begun])
        ),
        begun=[section.board for section in sections if section.row.benchmark in begun],
        source=_source(findings),
        called=_called(findings),
        squares=first_screen.squares(findings, [each.row for each in told_first.verdicts[:MOST_VERDICTS]]),
        most_squares=first_screen.MOST_SQUARES,
        examples=findings[EXAMPLES],
        pair_path=lambda each: page_links.pair_link(
            certificate.stamp,
            each.benchmark,
            each.configuration,
            *(given.model for given in each.answers),
        ),
        dated=declared_words(findings),
        beyond=beyond,
        bang=index_asked(spec),
        viewer=page_links.server(),
        answers=_answers(certificate, sections),
        shown_rows=SHOWN_ROWS,
        shown_departures=SHOWN_DEPARTURES,
        certificate=certificate,
        version=__version__,
        deck=deck,
        findings=findings,
        computed={finding.name: findings[finding] for finding in (*reported(), ATTRIBUTION)},
        spec=spec,
        sections=sections,
        numbers={section.row.benchmark: list(_numbers(section)) for section in sections},
        variance_name=figures.variance_name,
        order_name=figures.order_name,
        median=median,
        prominent=leads[:PROMINENT],
        alarms=alarms,
        claimed=claim_scope(findings),
        others=[*covered, *leads[PROMINENT:], *_statements(findings, "rates", "falsification")],
        curves=drawn_curves(findings),
        components=statement_texts(findings, "variance"),
        term_name=term_name,
        caveats=[statement for statement in _statements(findings, "limits") if statement not in alarms],
        scored=scored,
        few_units=FEW_UNITS if any(board.few for board in boards) else "",
        unreadable=unreadable_words([cell for benchmark in findings.benchmarks for cell in benchmark.cells]),
        attribution_label=LABEL,
        environment=[
            (each["model"], each["precision"], list(flat(each)), unused_generation(each))
            for each in findings[ENVIRONMENT]
        ],
        effects=level_effects,
        selected=selected,
        levels_of={
            score.cell.configuration: " · ".join(score.cell.levels.values()) or ONLY
            for benchmark in findings.benchmarks
            for score in benchmark.cells
        },
        stated={hypothesis.id: hypothesis for hypothesis in spec.hypothesis},
        pair_scores=pair_scores,
        standings_words=standings,
        bound_words=standings.bound_words,
        percent=percent,
        possible_words=possible_words,
        against_words=against_words,
        units_words=units_words,
        not_asked=not_asked,
        differing_words=differing_words,
        assumed=ASSUMED,
    )


def _source(findings: Findings) -> str:
    """The files that logs were read from."""
    files = () if findings.recorded is None else findings.recorded.files
    if not files:
        return ""
    if len(files) > 1:
        return f"{len(files):,} files"
    return f"{Path(files[0].path).name} (SHA-256 {files[0].sha256[:12]}…)"


def _called(findings: Findings) -> dict[str, str]:
    """By benchmark what the logs call its score."""
    named = {} if findings.recorded is None else findings.recorded.readings
    spec = findings.plan.study.spec
    return {row.id: named[row.note or row.id] for row in spec.benchmark if (row.note or row.id) in named}


def _statements(findings: Findings, *parts: DocumentPart) -> list[Statement]:
    return [statement for _, statement in choose(findings, *parts)]


def _answers(
    certificate: Certificate, sections: Sequence[BenchmarkSection]
) -> dict[tuple[str, ...], list[tuple[str, str]]]:
    """By what a statement about a pair is about: (the model that leads, the viewer's page of the items that
    differ) in the configuration that shows it, for each of both models that leads somewhere."""
    return {
        (benchmark, f"{pair.a}/{pair.b}"): [
            (model, page_links.pair_link(certificate.stamp, benchmark, seen.configuration, pair.a, pair.b))
            for model, seen in ((pair.a, pair.witness_plus), (pair.b, pair.witness_minus))
            if seen is not None
        ]
        for benchmark, pairs in ((section.row.benchmark, section.pairs) for section in sections)
        for pair in pairs
    }


def benchmark_sections(
    findings: Findings, certificate: Certificate, deck: CardDeck
) -> list[BenchmarkSection]:
    """The sections of the page, one for each benchmark, with their figures."""
    surfaces, boards = (
        figures.flip_surfaces(findings.plan.study.spec, findings.benchmarks),
        leaderboards(findings),
    )
    rows = {row.benchmark: row for row in certificate.benchmarks}
    return [
        _section(
            findings,
            benchmark,
            rows[benchmark.benchmark],
            deck,
            surfaces[benchmark.benchmark],
            boards.get(benchmark.benchmark),
        )
        for benchmark in findings.benchmarks
    ]


class BenchmarkPlots(NamedTuple):
    """The figures of a benchmark: those to begin with, and the others."""

    benchmark: str
    first: tuple[figures.Figure, ...]
    further: tuple[figures.Figure, ...]


def benchmark_plots(
    findings: Findings, certificate: Certificate, deck: CardDeck
) -> tuple[BenchmarkPlots, ...]:
    """The figures of the page by benchmark. One begins with what each model scores over the configurations,
    where the order of many models stands, and where the first pair changes places."""
    found = []
    for section in benchmark_sections(findings, certificate, deck):
        first = (section.ranges, *filter(None, [section.standings]), *section.surfaces[:1])
        further = tuple(figure for figure in section.figures if figure not in first)
        found.append(BenchmarkPlots(section.finding.benchmark, first, further))
    return tuple(found)


def plots_html(findings: Findings, certificate: Certificate, deck: CardDeck, headline: Sequence[str]) -> str:
    """What a notebook shows of a study: the headline, and below it the figures of the page."""
    return render_template(
        "notebook/study.html.jinja",
        certificate=certificate,
        headline=headline,
        benchmarks=benchmark_plots(findings, certificate, deck),
        curves=[figure for *_, figure in drawn_curves(findings) if figure is not None],
    )


def drawn_curves(findings: Findings) -> list[tuple[CurveFinding, str, figures.Figure | None]]:
    """Every specification curve, what it comes to, and its figure."""
    names = [f"curve-{number}-{curve.curve}" for number, curve in enumerate(findings[CURVES], 1)]
    drawn = [figures.specification_curve(*each) for each in zip(findings[CURVES], names, strict=True)]
    return list(zip(findings[CURVES], statement_texts(findings, "curves"), drawn, strict=True))


def _policy(script: str) -> str:
    """What the page may do: draw itself, run the one script that is in it, and nothing else."""
    text = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{text}'"


def _numbers(section: BenchmarkSection) -> Iterator[Number]:
    """Every count and score of a benchmark with the digest of its rows, of pairs those of which are told; the
    certificate has the digests in full and the rows' counts."""
    for scope in section.row.scopes:
        for pair in section.pairs_of(scope):
            name = f"{pair.a}, {pair.b}, {scope.name}"
            counts = f"{pair.plus}, {pair.minus}, {pair.ties} of {pair.size}"
            yield Number(f"{name}: N+, N−, N0", counts, pair.rows)
            if pair.until_both is not None:
                until = number(pair.until_both, 1)
                yield Number(f"{name}: configurations until both signs", until, pair.rows)
            within = f"{pair.noise.plus} of {pair.plus}, {pair.noise.minus} of {pair.minus}"
            if not pair.noise.unmeasured:
                yield Number(f"{name}: N+, N− within the noise floor", within, pair.rows)
            yield Number(
                f"{name}: rho_flip, ceiling", f"{number(pair.rho_flip)}, {number(pair.ceiling)}", pair.rows
            )
            evidence = pair.evidence
            for by, strength in (("", evidence.certified), (BY_APPROXIMATION, evidence.supported)):
                if not strength.tested:
                    continue
                p = f"{p_value(strength.reversal.adjusted)}, {p_value(strength.order.adjusted)}"
                yield Number(f"{name}: p of reversal, of order{by} (Holm)", p, pair.rows)
            same = f"{number(evidence.identical.mean)}, {number(evidence.identical.upper)}"
            yield Number(f"{name}: models that agree on average, mean and 95 %", same, pair.rows)
        seen, rows = scope.orderings, digest([pair.rows for pair in scope.pairs])
        orders = f"{seen.strict}, {seen.weak}, {seen.by_name} of {possible_words(seen.possible)}"
        yield Number(f"{scope.name}: orders strict, with ties, by name", orders, rows)
        yield Number(
            f"{scope.name}: tau_R, mismatch", f"{number(scope.tau_r)}, {number(scope.mismatch)}", rows
        )
    for card in section.cards:
        own = [cell.rows for cell in section.finding.cells if cell.cell.model == card.model]
        point = card.point_score
        if point.parse_rate is not None and point.parse_rate < 1:
            shown = f"{percent(point.score)}, {percent(point.per_protocol)} of {point.readable}"
            yield Number(f"{card.model}: point score, per protocol", shown, point.rows)
        for near in card.score_neighbourhood:
            values = ", ".join(percent(each) for each in (near.least, near.mean, near.greatest, near.sdi))
            yield Number(f"{card.model}, {near.scope}: min, mean, max, SDI", values, digest(own))
        for verdict in card.verdict_stability:
            shown = f"{verdict.passing} of {verdict.configurations}, {percent(verdict.flip_rate)}"
            yield Number(f"{card.model}: passing {verdict.threshold:g}, CFR", shown, digest(own))


def flat(body: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, str]]:
    """What was run as names and values: tables inside it as `outer.inner`, lists with commas."""
    for key, value in body.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{within}{key}.")
        elif isinstance(value, (list, tuple)):
            yield f"{within}{key}", ", ".join(map(_value_words, value)) or "none"
        else:
            yield f"{within}{key}", _value_words(value)


def _value_words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def pair_scores(witness: WitnessRow) -> str:
    """Both scores of a witness, in percent: `62.5 vs 37.5 %`."""
    a, b = (Fraction(*score) for score in (witness.a, witness.b))
    return f"{hundredths(a)} vs {percent(b)}"


def _section(
    findings: Findings,
    finding: BenchmarkFinding,
    row: BenchmarkRow,
    deck: CardDeck,
    surfaces: list[figures.Figure],
    board: Leaderboard | None,
) -> BenchmarkSection:
    spec = findings.plan.study.spec
    models = [model.model for model in finding.models]
    first = _first(row, spec.tiers[0])
    cells = _cells(finding, models)
    orders, shares = _orders(cells, models, finding.direction), finding.analysis.variance
    return BenchmarkSection(
        spec=next(benchmark for benchmark in spec.benchmark if benchmark.id == finding.benchmark),
        finding=finding,
        row=row,
        first=first,
        further=tuple(scope for scope in row.scopes if scope not in first),
        cards=tuple(card for card in deck.cards if card.benchmark == finding.benchmark),
        orders=orders,
        cells=cells,
        missing=sum(not cell.complete for cell in finding.cells if cell.cell.shared),
        planned=findings.plan.envelope(finding.benchmark),
        told=tuple(told(finding)),
        surfaces=tuple(surfaces),
        rates=tuple(figures.flip_rates(finding)),
        ranges=figures.score_ranges(finding, "anchor" if findings.recorded is None else "first"),
        ordered=figures.order_counts(
            finding.benchmark,
            finding.full.orderings.measured,
            orders,
            {" > ".join(claim.order) for claim in finding.ordering_claims if claim.certified},
        ),
        standings=_standings(finding),
        board=board,
        shares=figures.variance_shares(finding.benchmark, shares) if shares else None,
        curves=figures.flip_curves(
            finding, [threshold.at for threshold in spec.analysis.marks(finding.benchmark)]
        )
        if finding.direction.target is None
        else None,
        readable=figures.parse_rates(finding, spec.analysis.parse_clean) if finding.parse_rates else None,
        tradeoffs=tuple(
            drawn
            for summary in findings[SUMMARIES]
            if (drawn := figures.score_against(summary, finding)) is not None
        ),
    )


def _standings(finding: BenchmarkFinding) -> figures.Figure | None:
    """The models in order, with a dot for each configuration that is averaged."""
    row = finding.standings
    if row is None:
        return None
    dots: dict[str, list[float]] = {}
    for cell in finding.cells:
        if cell.cell.configuration in row.over and cell.score is not None:
            dots.setdefault(cell.cell.model, []).append(float(cell.score))
    return figures.standings_figure(finding.benchmark, row, dots)


def _first(row: BenchmarkRow, tier: str) -> tuple[ScopeRow, ...]:
    """The scopes that are shown at once: the full envelope, the first tier and the slices inside it."""
    core = next(
        (set(scope.configurations) for scope in row.scopes if (scope.kind, scope.name) == ("tier", tier)),
        set(),
    )
    return tuple(
        scope
        for scope in row.scopes
        if scope.kind == "full"
        or (scope.kind == "tier" and scope.name == tier)
        or (scope.kind == "slice" and core.issuperset(scope.configurations))
    )


def _cells(finding: BenchmarkFinding, models: list[str]) -> dict[str, tuple[CellScore | None, ...]]:
    """Every configuration of the envelope with each model's score, in the order of the roster."""
    by_key = {(cell.cell.configuration, cell.cell.model): cell for cell in finding.cells}
    return {
        configuration: tuple(by_key.get((configuration, model)) for model in models)
        for configuration in finding.full.scope.configurations
    }


def _orders(
    cells: Mapping[str, tuple[CellScore | None, ...]], models: list[str], direction: Direction
) -> tuple[tuple[Order, int], ...]:
    """The orders that occur in the full envelope and in how many configurations, most frequent first."""
    counted: Counter[Order] = Counter()
    for row in cells.values():
        scores: dict[str, Fraction] = {
            model: direction.good(score.score)
            for model, score in zip(models, row, strict=True)
            if score is not None and score.score is not None
        }
        if len(scores) == len(models):
            counted[envelope.model_order(scores)] += 1
    return tuple(counted.most_common())
