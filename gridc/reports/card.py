"""Makes GRID cards from findings: the document, its Markdown, and the sentences for a model card.

Field (vi) says what is held fixed. It begins with the author's own words; the rest is derived from the grid,
the plan and the run, so that nobody has to remember it: the axes that SafetyRepro (app. B and W) asks a card
to name, levels that never changed a score, combinations that were left out, and seeds, digests and
versions.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any

from pydantic import BaseModel

from gridc.compiler.frontend.measurands import measurand_names
from gridc.compiler.grid.cells import ONLY
from gridc.compiler.grid.configurations import drawn_words
from gridc.compiler.instrument.propagation import PARTS, STATES
from gridc.compiler.instrument.setting import Setting
from gridc.diagnostics.errors import CODES
from gridc.numbers import asked_items, counted, percent
from gridc.reports.findings.conduct import CONDUCT, ENVIRONMENT
from gridc.reports.findings.falsification import FALSIFICATIONS
from gridc.reports.findings.findings import BenchmarkFinding, Findings, ModelFinding, unused_generation
from gridc.reports.findings.hypotheses import hypothesis_sentence
from gridc.reports.findings.rates import hits_of
from gridc.reports.findings.scaffolds import PROPAGATION, Step
from gridc.reports.rendering import render_template, shown_points
from gridc.reports.statements import choose
from gridc.reports.statements.answer import difference_lines, warning_lines
from gridc.reports.statements.corrected import taken_back_words
from gridc.reports.statements.differences import verdict_rows
from gridc.reports.told import MOST, pairs_by_name
from gridc.reports.words import (
    ASSUMED,
    FAULTS,
    LIKELY,
    LIMITS,
    as_written,
    conduct_words,
    level_effects,
    open_words,
    selected,
    units_words,
)
from gridc.schema.audit import LabelledScore
from gridc.schema.base import PLUGIN
from gridc.schema.card import (
    FORMAT,
    Card,
    CardDeck,
    CardRate,
    DifferenceLine,
    HeldFixed,
    LevelRow,
    ModelPairRow,
    Neighbourhood,
    PointScore,
    PropagationRow,
    RankingStability,
    Receipt,
    ScopeStatement,
    VerdictStability,
    Waiver,
)
from gridc.schema.models import Model, engine_kind
from gridc.schema.rows import Claimed
from gridc.schema.spec import Benchmark, Spec
from gridc.statistics.paired_runs import pair_levels

PROVIDERS = "as the provider has it; not seen from here"
PLUGINS = "as the plug-in has it; not seen from here"
OF_ANOTHER = (
    "template, decoding, quantization, seeds of sampled answers, system prompt, scaffold, moderation, "
    "routing, API version, region"
)
"""What a card must name, although the logs of another package may not record it."""


def scope_statement(findings: Findings, benchmark: BenchmarkFinding, name: str) -> ScopeStatement:
    """What the study does not vary for this model on this benchmark."""
    spec = findings.plan.study.spec
    model = next(declared for declared in spec.model if declared.id == name)
    source = next(declared for declared in spec.benchmark if declared.id == benchmark.benchmark)
    return ScopeStatement(
        stated=spec.study.not_varied,
        held=tuple(_held_fixed(findings, benchmark, model, source)),
        observed=(*_left_out(findings, source.id), *_idle(spec, benchmark, name)),
        made_with=dict(_made_with(findings, source)),
    )


def varied_axes(spec: Spec) -> dict[str, tuple[str, ...]]:
    """The axes with several levels, and the names of their levels."""
    return {axis.id: tuple(level.id for level in axis.level) for axis in spec.axis if len(axis.level) > 1}


def _held_fixed(
    findings: Findings, benchmark: BenchmarkFinding, model: Model, source: Benchmark
) -> Iterator[HeldFixed]:
    """The choices that a reader has to know and that this grid does not vary, each with its value."""
    spec, cells = (
        findings.plan.study.spec,
        [score for score in benchmark.cells if score.cell.model == model.id],
    )
    settings = [score.cell.setting for score in cells]
    named = {_plain(axis) for axis in varied_axes(spec)}

    def held(what: str, at: str, *values: object) -> Iterator[HeldFixed]:
        """A row, unless the grid varies the value or has an axis of that name."""
        if len({repr(value) for value in values}) < 2 and _plain(what) not in named:
            yield HeldFixed(what=what, at=at)

    yield HeldFixed(
        what="models and sizes", at=f"{', '.join(each.model for each in benchmark.models)}, and no other"
    )
    recorded = findings.recorded
    if recorded is not None:
        yield HeldFixed(what="item subset", at=f"the {asked_items(benchmark.items, 0, 0)} that the logs have")
        yield HeldFixed(what=OF_ANOTHER, at="as another package had it; beyond its logs it is not known")
        yield HeldFixed(what="harness", at=f"{', '.join(recorded.packages)}, by its logs")
        if recorded.unknown:
            yield HeldFixed(what="what the logs do not record", at="; ".join(recorded.unknown))
        return
    for axis in spec.axis:
        if len(axis.level) == 1:
            yield HeldFixed(what=axis.id, at=f"{axis.level[0].id} throughout")
    provider = engine_kind(model.engine).provider
    elsewhere = PROVIDERS if provider else PLUGINS if model.engine.startswith(PLUGIN) else None
    precisions = sorted({setting.precision for setting in settings})
    precise = PROVIDERS if provider else f"{', '.join(precisions)} throughout"
    yield from held("quantization", precise, *precisions)
    yield from held("item subset", _items(benchmark, source), *(setting.items for setting in settings))
    if any(setting.shots for setting in settings) and source.exemplars is not None:
        draw = "the task's own for each item" if source.exemplars.pool == "task" else "one"
        yield from held("draw of the exemplars", f"{draw}, seed {source.exemplars.seed}")
    yield from held("seeds of sampled answers", _seeds(spec, settings, elsewhere is None))
    systems = [setting.system for setting in settings]
    yield from held("system prompt", "none" if systems[:1] == [None] else "one text throughout", *systems)
    scaffolds = [None if setting.scaffold is None else setting.scaffold.kind for setting in settings]
    kind = next(iter(scaffolds), None) or "none: the model is asked directly"
    yield from held("scaffold", kind, *scaffolds)
    local = "none: the weights run locally"
    yield from held("moderation", elsewhere or "none between the model and the score")
    yield from held("routing", elsewhere or local)
    yield from held("API version", f"{model.source}, {elsewhere}" if elsewhere else local)
    yield from held("region", elsewhere or local)
    yield HeldFixed(what="harness", at=f"gridc {findings.gridc} alone")


def _items(benchmark: BenchmarkFinding, source: Benchmark) -> str:
    drawn, asked = source.sample, asked_items(benchmark.items, benchmark.held, benchmark.distinct)
    if drawn is None or (drawn.n is None and drawn.share is None):
        return f"the same {asked} throughout"
    return f"{asked}, one draw with seed {drawn.seed}"


def _seeds(spec: Spec, settings: Sequence[Setting], here: bool) -> str:
    """How often a sampled call is answered, and whether its seed decides the answer: that is sure `here`."""
    replicates = sorted({setting.replicates for setting in settings if setting.temperature > 0})
    if not replicates:
        return "none: no answer is sampled"
    times = "one answer each" if replicates == [1] else f"{' or '.join(map(str, replicates))} answers each"
    seed = f"from seed {spec.sampling.seed}"
    return f"{times}, {seed} alone" if here else f"{times}, {seed} as far as it is followed there"


def _made_with(findings: Findings, source: Benchmark) -> Iterator[tuple[str, str]]:
    """What identifies the study's making: versions, seeds, digests, and the anchor as it was declared."""
    study, spec = findings.plan.study, findings.plan.study.spec
    if study.recorded is not None:
        yield "harness", ", ".join(study.recorded.packages)
        yield "read by", f"gridc {findings.gridc}"
        yield "reference", "the first configuration by name; the logs declare none"
        return
    yield "harness", f"gridc {findings.gridc}"
    anchor = spec.analysis.anchor
    yield (
        "anchor",
        "the first configuration of the spec; none is declared" if anchor is None else selected(anchor),
    )
    yield "seed of the answers", str(spec.sampling.seed)
    drawn = source.sample
    if drawn is not None and drawn.seed is not None:
        yield "seed of the items", str(drawn.seed)
    if source.exemplars is not None:
        yield "seed of the exemplars", str(source.exemplars.seed)
    inputs = study.stamped()["inputs"]
    if task := inputs["benchmarks"][source.id].get("task"):
        yield "task", f"{task['task']} of {task['package']}"
    if proof := findings[CONDUCT].tasks.get(source.id):
        yield "prompts of the task", proof
    for name, digest in sorted(inputs["templates"].items()):
        yield f"template {name}", digest
    words = drawn_words(spec)
    if words is not None:
        yield "configurations", words.rstrip(".")


def _left_out(findings: Findings, benchmark: str) -> Iterator[str]:
    """Combinations that were excluded, and rows of the files of which no item was made."""
    plan = findings.plan
    excluded = plan.envelope(benchmark).excluded
    yield from (
        f"{exclusion.why}: not run" for exclusion in plan.study.spec.exclude if excluded.get(exclusion.why)
    )
    unread = len(plan.study.left_out().get(benchmark, ()))
    if unread:
        yield f"{unread:,} of the rows of its files, which do not follow the format: left out"


def _idle(spec: Spec, benchmark: BenchmarkFinding, model: str) -> Iterator[str]:
    """Pairs of levels that never gave this model another score, all else the same."""
    scored = [
        (score.cell.levels, score.score)
        for score in benchmark.cells
        if score.cell.model == model and score.score is not None
    ]
    for axis in spec.axis:
        for before, after in combinations([level.id for level in axis.level], 2):
            deltas = pair_levels(scored, axis.id, before, after).deltas
            if deltas and not any(delta.delta for delta in deltas):
                over = f"{len(deltas)} {'pair' if len(deltas) == 1 else 'pairs'} of configurations"
                yield f"{axis.id} {before} and {after}: varied, the same score in {over}"


def _plain(name: str) -> str:
    return " ".join(name.replace("_", " ").replace("-", " ").casefold().split()).removesuffix("s")


@dataclass(frozen=True, slots=True)
class CardPair:
    """Two models on a benchmark, as the card of the first has it."""

    card: Card
    row: ModelPairRow

    @property
    def reverses(self) -> bool:
        return bool(self.row.higher and self.row.lower)

    @property
    def where(self) -> str:
        return f"{self.card.model} and {self.row.other} on {self.card.benchmark}"


def card_sentences(deck: CardDeck) -> tuple[str, ...]:
    """What the cards say, in sentences, the most important first: what models complied with, whose order
    depends on the configuration, how far scores move, and what can be claimed beyond the items asked."""
    pairs = card_pairs(deck.cards)
    return (
        *deck.taken_back,
        *_conduct(deck),
        *_order(deck, pairs),
        *_open(deck, pairs),
        *_movement(deck.cards),
        *_claims_beyond(deck, pairs),
        *_interim(deck),
    )


def card_pairs(cards: Sequence[Card]) -> list[CardPair]:
    """Every pair of models on every benchmark once, the strongest evidence first."""
    told: dict[tuple[str, frozenset[str]], CardPair] = {}
    for card in cards:
        for row in card.ranking_stability.pairs:
            told.setdefault((card.benchmark, frozenset((card.model, row.other))), CardPair(card, row))
    return sorted(told.values(), key=lambda pair: (not pair.row.certified, not pair.row.supported))


def never_varied(deck: CardDeck) -> list[str]:
    """What no card of the deck varies, each named once."""
    cards = [{row.what for row in card.scope_statement.held} for card in deck.cards]
    rows = deck.cards[0].scope_statement.held if deck.cards else ()
    return [row.what for row in rows if all(row.what in names for names in cards)]


def _interim(deck: CardDeck) -> Iterator[str]:
    if not deck.complete:
        yield "The run is incomplete: every number here is an interim look."
    for row in deck.earlier:
        if row.before_stamp:
            yield f"{row.words}: data predate the stamp."
    if deck.calls_before_stamp:
        yield (
            f"{deck.calls_before_stamp:,} calls are dated before the stamp by the store’s own clock: unless "
            "that clock was set back, their data predate it."
        )


def _order(deck: CardDeck, pairs: Sequence[CardPair]) -> Iterator[str]:
    """In how many comparisons two models change places; one configuration alone has nothing to change."""
    if all(pair.row.measured < 2 for pair in pairs):
        return
    reversing = [pair for pair in pairs if pair.reverses]
    seen = "" if all(pair.row.measured == pair.row.size for pair in pairs) else ", as far as measured"
    sizes = {
        card.benchmark: (card.items, max(card.held, card.items), card.distinct or card.items)
        for card in deck.cards
    }
    asked, held, distinct = map(sum, zip(*sizes.values(), strict=True))
    items = f"On the {asked_items(asked, held, distinct if distinct < asked else 0)} asked"
    items = items if deck.recorded is None else "In these logs"
    names = "two models" if len(pairs) > 1 else f"{pairs[0].card.model} and {pairs[0].row.other}"
    left = sum(bool(pair.row.per_protocol[0] and pair.row.per_protocol[1]) for pair in pairs)
    if reversing:
        where = "" if len(pairs) == 1 else f" in {len(reversing)} of {counted(len(pairs), 'comparison')}"
        but = "" if left else "; leave out unreadable answers, and none do"
        when = f"when the configuration of the harness changes{seen}{but}"
        yield f"{items}, {names} change places{where} {when}."
        return
    tied = [pair.row.measured > 0 and pair.row.ties == pair.row.measured for pair in pairs]
    if all(tied):
        who = "all models" if len(pairs) > 1 else names
        yield f"{items}, {who} score the same in every configuration of the harness that was run{seen}."
        return
    tie = ", though in some they tie" if any(pair.row.ties for pair in pairs) else ""
    tie = f", and {counted(sum(tied), 'pair')} tie in all of them" if any(tied) else tie
    share = f"{left} of {counted(len(pairs), 'pair')} do" if len(pairs) > 1 else "they do"
    but = f"; leave out unreadable answers, and {share}" if left else ""
    if len(pairs) == 1:
        run = f"no configuration of the harness that was run{seen}{tie}{but}"
        yield f"{items}, {names} change places in {run}."
    else:
        yield (
            f"{items}, no {names} change places in any configuration of the harness that was run"
            f"{seen}{tie}{but}."
        )


def _open(deck: CardDeck, pairs: Sequence[CardPair]) -> Iterator[str]:
    """The pairs whose order could turn on unread answers alone."""
    if not deck.complete:
        return
    yield from open_words(
        [
            (pair.card.benchmark, pair.card.model, pair.row.other, pair.row.unread)
            for pair in pairs
            if pair.card.target is None and pair.card.point_score.by_people is None
        ]
    )


def _conduct(deck: CardDeck) -> Iterator[str]:
    """What models complied with and refused, for each benchmark whose prompts call for either."""
    for benchmark in dict.fromkeys(card.benchmark for card in deck.cards):
        cards = [card for card in deck.cards if card.benchmark == benchmark]
        counts = {
            name: {
                card.model: hits_of(rate.counts) for card in cards for rate in card.rates if rate.name == name
            }
            for name in FAULTS
        }
        yield from conduct_words(benchmark, counts, cards[0].anchor_items or cards[0].items)


def _movement(cards: Sequence[Card]) -> Iterator[str]:
    """The score that the choice of a configuration moves the most."""
    full = [(card, row) for card in cards for row in card.score_neighbourhood if row.kind == "full"]
    if not full:
        yield "Nothing is measured yet."
        return
    card, row = max(full, key=lambda each: (each[1].greatest - each[1].least, each[1].configurations))
    score = f"the score of {card.model} on {card.benchmark}"
    if row.configurations < 2:
        yield "One configuration is measured, so nothing says how far a score depends on it."
    elif row.least == row.greatest:
        yield f"No score moves: {score} is {percent(row.least)} under all {row.configurations:,}."
    else:
        yield (
            f"Over {row.configurations:,} configurations {score} goes from {percent(row.least)} to "
            f"{percent(row.greatest)}."
        )


def _claims_beyond(deck: CardDeck, pairs: Sequence[CardPair]) -> Iterator[str]:
    """The claims about new items, by strength, or a sentence that there are none."""
    if not pairs or not deck.complete:
        return
    established = _claims([(pair.where, pair.row.certified) for pair in pairs])
    likely = _claims([(pair.where, None if pair.row.certified else pair.row.supported) for pair in pairs])
    begin = "For new items of the same kind"
    nothing = f"{begin} nothing is established over all configurations"
    places = [card.ranking_stability.place for card in deck.cards]
    told_apart = any(place is not None and place.best > 1 for place in places)
    if told_apart:
        nothing = (
            f"{begin} no order in every configuration is established; by their mean scores some models are "
            "told apart"
        )
    if not established and not likely:
        yield f"{nothing}." if told_apart else f"{nothing}: those comparisons are counts on these items."
        return
    said = [f"{begin} this is established: {established}." if established else f"{nothing}."]
    if likely:
        said.append(f"This is {LIKELY}: {likely}.")
    if _any_descriptive(pairs):
        said.append("The other comparisons are counts on these items.")
    yield " ".join(said)


def _claims(claims: Sequence[tuple[str, Claimed | None]]) -> str:
    """`a reversal of ant and bee on facts, and one order throughout of ant and cat on facts`."""
    told = []
    for claim, words in (("reversal", "a reversal"), ("order", "one order throughout")):
        names = [where for where, own in claims if own == claim]
        if names:
            told.append(f"{words} of {_named(names)}")
    return ", and ".join(told)


def _named(names: Sequence[str]) -> str:
    return (
        pairs_by_name(names)
        if len(names) <= MOST
        else f"{len(names):,} pairs of models ({pairs_by_name(names)})"
    )


def against_words(card: Card) -> str:
    """A model against all others in a sentence, where they are too many pairs to be told one by one."""
    rows = card.ranking_stability.pairs
    if len(rows) * (len(rows) + 1) // 2 <= MOST:
        return ""
    ahead, behind = sum(row.higher > row.lower for row in rows), sum(row.higher < row.lower for row in rows)
    certified = sum(row.certified is not None for row in rows)
    supported = sum(row.certified is None and row.supported is not None for row in rows)
    more = f", and {LIKELY} against {supported} more" if supported else ""
    often = "more often " if any(row.size > 1 for row in rows) else ""
    return (
        f"{often}higher than {ahead} of {len(rows)} models, {often}lower than {behind}; established "
        f"against {certified}{more}"
    )


def table_pairs(deck: CardDeck) -> list[CardPair]:
    """The rows of the table of pairs: every model against every other, and where they are too many to be told
    one by one, the pairs with the strongest evidence once."""
    few = [card for card in deck.cards if not against_words(card)]
    every = [CardPair(card, row) for card in few for row in card.ranking_stability.pairs]
    return [*every, *_many(deck)[:MOST]]


def _many(deck: CardDeck) -> list[CardPair]:
    return card_pairs([card for card in deck.cards if against_words(card)])


def _any_descriptive(pairs: Sequence[CardPair]) -> bool:
    return any(not (pair.row.certified or pair.row.supported) for pair in pairs)


SCORING = ("differing_items", "cut_off", "endings", "scoring", "judging")
"""The names of the statements about scoring that a card includes."""


def make_cards(findings: Findings, certificate: str) -> CardDeck:
    """One card for each model on each benchmark. `certificate` is the digest of the certificate's file."""
    spec = findings.plan.study.spec
    return CardDeck.of(
        findings,
        format=FORMAT,
        calls_before_stamp=findings.before_stamp,
        anchor=findings.anchor.strength,
        certificate=certificate,
        varied=varied_axes(spec),
        levels=tuple(
            LevelRow.of(level, axis=axis.id, level=level.id, sets=level_effects(level))
            for axis in spec.axis
            if len(axis.level) > 1
            for level in axis.level
        ),
        conflict_of_interest=spec.study.conflict_of_interest,
        assumptions=spec.study.assumptions,
        scoring=tuple(
            statement.text
            for row, statement in choose(findings, "limits")
            if row.name in SCORING or (findings.recorded is not None and row.name == "failed")
        ),
        differences=tuple(
            DifferenceLine(a=row.a, b=row.b, text=text)
            for row, text in zip(
                verdict_rows(findings), difference_lines(findings, numbers=False), strict=True
            )
        ),
        warnings=warning_lines(findings),
        taken_back=tuple(
            text for each in findings.benchmarks if (text := taken_back_words(each)) is not None
        ),
        waivers=tuple(
            Waiver.of(
                waiver,
                hazard=CODES[waiver.code].title,
                where=waiver.where.model_dump_json(by_alias=True) if waiver.where.root else "",
            )
            for waiver in spec.waive
        ),
        hypotheses=tuple(
            hypothesis_sentence(hypothesis, findings.complete) for hypothesis in findings.hypotheses
        ),
        falsifications=findings[FALSIFICATIONS],
        noise_floors=findings.noise,
        propagation=tuple(map(_propagated, findings[PROPAGATION])),
        cards=tuple(
            _card(findings, benchmark, model)
            for benchmark in findings.benchmarks
            for model in benchmark.models
        ),
    ).as_written()


def as_markdown(deck: CardDeck, heading: str = "#", link: str | None = None) -> str:
    """The cards as one Markdown document, or as a part of one under a deeper `heading`. `link` is where the
    certificate is."""
    return render_template(
        "gridcard.md.jinja",
        deck=deck,
        models=list(dict.fromkeys(card.model for card in deck.cards)),
        verdict=card_sentences(deck),
        anchor=_anchor(deck),
        held=never_varied(deck),
        lower=list(dict.fromkeys(card.benchmark for card in deck.cards if card.lower_is_better)),
        targets={card.benchmark: card.target for card in deck.cards if card.target is not None},
        stated=list(dict.fromkeys(text for card in deck.cards for text in card.scope_statement.stated)),
        receipts=receipts(deck),
        against_words=against_words,
        table_pairs=table_pairs(deck),
        many=len(_many(deck)),
        most=MOST,
        units_words=units_words,
        limits=LIMITS,
        assumed=ASSUMED,
        heading=heading,
        link=link or "certificate.json",
    )


def receipts(deck: CardDeck) -> str:
    """Receipts and digests as JSON of plain ASCII, in which no text can end the block that it stands in."""
    document = {
        "study": deck.study,
        **{key: getattr(deck, key) for key in ("registered", "stamp", "anchor", "results", "certificate")},
        "cards": [
            {
                "model": card.model,
                "benchmark": card.benchmark,
                "rows": card.point_score.rows,
                **card.axis_receipt.model_dump(mode="json"),
                "made_with": card.scope_statement.made_with,
            }
            for card in deck.cards
        ],
    }
    text = json.dumps(document, indent=1)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _anchor(deck: CardDeck) -> str:
    """The configuration of the point scores, and of each benchmark where they differ."""
    by_words: dict[str, list[str]] = {}
    for card in deck.cards:
        words = (
            ", ".join(f"{axis} {level}" for axis, level in card.axis_receipt.configuration.items()) or ONLY
        )
        by_words.setdefault(words, []).append(card.benchmark)
    if len(by_words) == 1:
        return next(iter(by_words))
    return "; ".join(f"{', '.join(dict.fromkeys(names))}: {words}" for words, names in by_words.items())


def _card(findings: Findings, benchmark: BenchmarkFinding, finding: ModelFinding) -> Card:
    spec = findings.plan.study.spec
    model = next(model for model in spec.model if model.id == finding.model)
    source = next(source for source in spec.benchmark if source.id == benchmark.benchmark)
    anchor = finding.anchor
    ranges = benchmark.analysis.ranges
    return Card.of(
        benchmark,
        model=model.id,
        model_note=model.note,
        benchmark_note=source.note,
        anchor_items=len(findings.plan.items(anchor.cell)),
        lower_is_better=benchmark.direction.lower,
        target=benchmark.direction.target,
        axis_receipt=_receipt(findings, finding),
        point_score=PointScore.of(
            anchor,
            readable=None if anchor.parse_rate is None else anchor.parsed,
            correct=shown_points(anchor.points),
            interval=benchmark.intervals.scores.get((model.id, anchor.cell.configuration)),
            on_units=benchmark.intervals.on_units.get((model.id, anchor.cell.configuration)),
            by_people=_by_people(benchmark, finding),
        ),
        rates=tuple(_rates(benchmark, finding)),
        score_neighbourhood=tuple(
            Neighbourhood.of(
                dispersion,
                kind=scope.kind,
                scope=scope.name,
                configurations=dispersion.n,
                sdi_range=ranges.sdi[model.id].ends if ranges and scope.kind == "full" else None,
            )
            for scope, dispersion in finding.dispersion_by_scope
        ),
        verdict_stability=tuple(
            VerdictStability.of(
                stated,
                flip_rate,
                threshold=stated.at,
                configurations=flip_rate.n,
                flip_rate=flip_rate.rate,
                flip_rate_range=ranges.flip_rates[model.id][number].ends if ranges else None,
            )
            for number, (stated, flip_rate) in enumerate(
                zip(spec.analysis.marks(source.id), finding.flip_rates, strict=False)
            )
        ),
        ranking_stability=_ranking(findings, benchmark, finding),
        scope_statement=scope_statement(findings, benchmark, model.id),
    )


def _by_people(benchmark: BenchmarkFinding, finding: ModelFinding) -> LabelledScore | None:
    audit = benchmark.audit
    found = None if audit is None else audit.score_of(finding.model, finding.anchor.cell.configuration)
    return None if found is None else LabelledScore.of(found)


def _rates(benchmark: BenchmarkFinding, finding: ModelFinding) -> Iterator[CardRate]:
    for rate in benchmark.rates:
        here = rate.values.get((finding.model, finding.anchor.cell.configuration))
        ends = rate.range_of(finding.model)
        if here is not None and ends is not None:
            yield CardRate.of(here, rate, least=ends[0], greatest=ends[1])


def _receipt(findings: Findings, finding: ModelFinding) -> Receipt:
    cell = finding.anchor.cell
    manifest = findings.plan.study.models[cell.model].manifest
    weights = manifest.get("files") or {key: str(value) for key, value in manifest.items()}
    ran: dict[str, Any] = next(
        (
            loaded
            for loaded in findings[ENVIRONMENT]
            if loaded["model"] == cell.model and loaded["precision"] == cell.setting.precision
        ),
        {},
    )
    known = {
        key: str(ran[key])
        for key in (
            "architecture", "dtype", "as_shipped", "device", "threads", "attention", "chat_template",
            "endpoint", "address", "leaves", "consent",
        )
        if ran.get(key) is not None
    }  # fmt: skip
    generation = unused_generation(ran)
    if generation:
        known["its own generation config, not used"] = generation
    return Receipt(
        configuration=dict(cell.levels),
        setting={}
        if cell.setting.recorded
        else {
            field.name: _as_stated(field.name, getattr(cell.setting, field.name))
            for field in fields(cell.setting)
        },
        measurands=measurand_names(cell.setting),
        weights=weights,
        environment=known | ran.get("versions", {}),
    )


def _as_stated(key: str, value: Any) -> Any:
    """A value of a setting as a receipt has it: a table, which `vars` is too, as the spec writes it."""
    if key == "vars" and value:
        return as_written(dict(value))
    return as_written(value) if isinstance(value, BaseModel) else value


def _ranking(findings: Findings, benchmark: BenchmarkFinding, finding: ModelFinding) -> RankingStability:
    spec = findings.plan.study.spec
    rows = []
    for compared in benchmark.full.pairs:
        pair, readable, evidence = compared.counts, compared.readable, compared.evidence
        if finding.model in (pair.a, pair.b):
            first = finding.model == pair.a
            rows.append(
                ModelPairRow.of(
                    pair,
                    other=pair.b if first else pair.a,
                    higher=pair.plus if first else pair.minus,
                    lower=pair.minus if first else pair.plus,
                    per_protocol=(
                        readable.plus if first else readable.minus,
                        readable.minus if first else readable.plus,
                        readable.ties,
                    ),
                    agrees=not compared.parted,
                    unread=compared.unread if first else compared.unread.turned,
                    identical=evidence.identical.mean,
                    itself=evidence.same_model.mean,
                    certified=evidence.certified.claim,
                    supported=evidence.supported.claim,
                    noise=compared.noise.standing,
                )
            )
    standings = benchmark.standings
    return RankingStability(
        roster=tuple(each.model for each in benchmark.models),
        inclusion=spec.roster.inclusion if spec.roster else None,
        tau_r=benchmark.full.tau,
        tau_r_range=benchmark.analysis.ranges.tau.ends if benchmark.analysis.ranges else None,
        tau_r_dropped=benchmark.full.tau_dropped,
        place=next((row for row in standings.order if row.model == finding.model), None)
        if standings is not None
        else None,
        pairs=tuple(rows),
    )


def _propagated(step: Step) -> PropagationRow:
    shares = step.shares
    counts = {part: {state: shares.counts[part].get(state, 0) for state in STATES} for part in PARTS}
    return PropagationRow.of(shares, rows=step.rows, **counts)
