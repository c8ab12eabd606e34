"""Findings -> GRID cards, as a document and as Markdown."""

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from pydantic import BaseModel

from gridc.compiler.frontend.measurands import names_of
from gridc.compiler.grid.cell import ONLY
from gridc.compiler.instrument.propagation import PARTS, STATES
from gridc.diagnostics.codes import CODES
from gridc.reports.findings.conduct import ENVIRONMENT
from gridc.reports.findings.falsification import FALSIFICATIONS
from gridc.reports.findings.findings import BenchmarkFinding, Findings, ModelFinding, unused_generation
from gridc.reports.findings.hypotheses import sentence
from gridc.reports.findings.scaffolds import PROPAGATION, Step
from gridc.reports.scope import scope_statement, varied_axes
from gridc.reports.statements import choose
from gridc.reports.statements.cards import held_fixed, verdict
from gridc.reports.templates import render, shown_points
from gridc.reports.words import ASSUMED, LIMITS, as_written, effects, units_words
from gridc.schema.card import (
    FORMAT,
    Card,
    CardDeck,
    CardRate,
    LevelRow,
    ModelPairRow,
    Neighbourhood,
    PointScore,
    PropagationRow,
    RankingStability,
    Receipt,
    VerdictStability,
    Waiver,
)
from gridc.statistics.resample import ResampledStatistic

SCORING = ("cut_off", "endings", "scoring", "judging")
"""The statements that a card has of what scores count."""


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
            LevelRow.of(level, axis=axis.id, level=level.id, sets=effects(level))
            for axis in spec.axis
            if len(axis.level) > 1
            for level in axis.level
        ),
        conflict_of_interest=spec.study.conflict_of_interest,
        assumptions=spec.study.assumptions,
        scoring=tuple(statement.text for row, statement in choose(findings, "limits") if row.name in SCORING),
        waivers=tuple(
            Waiver.of(
                waiver,
                hazard=CODES[waiver.code].title,
                where=waiver.where.model_dump_json(by_alias=True) if waiver.where.root else "",
            )
            for waiver in spec.waive
        ),
        hypotheses=tuple(sentence(hypothesis, findings.complete) for hypothesis in findings.hypotheses),
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
    return render(
        "gridcard.md.jinja",
        deck=deck,
        models=list(dict.fromkeys(card.model for card in deck.cards)),
        verdict=verdict(deck),
        anchor=_anchor(deck),
        held=held_fixed(deck),
        lower=list(dict.fromkeys(card.benchmark for card in deck.cards if card.lower_is_better)),
        targets={card.benchmark: card.target for card in deck.cards if card.target is not None},
        stated=list(dict.fromkeys(text for card in deck.cards for text in card.scope_statement.stated)),
        receipts=receipts(deck),
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
        lower_is_better=benchmark.direction.lower,
        target=benchmark.direction.target,
        axis_receipt=_receipt(findings, finding),
        point_score=PointScore.of(
            anchor,
            readable=None if anchor.parse_rate is None else anchor.parsed,
            correct=shown_points(anchor.points),
            interval=benchmark.intervals.scores.get((model.id, anchor.cell.configuration)),
        ),
        rates=tuple(_rates(benchmark, finding)),
        score_neighbourhood=tuple(
            Neighbourhood.of(
                dispersion,
                kind=scope.kind,
                scope=scope.name,
                configurations=dispersion.n,
                sdi_range=_range(ranges.sdi[model.id]) if ranges and scope.kind == "full" else None,
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
                flip_rate_range=_range(ranges.flip_rates[model.id][number]) if ranges else None,
            )
            for number, (stated, flip_rate) in enumerate(
                zip(spec.analysis.marks(source.id), finding.flip_rates, strict=False)
            )
        ),
        ranking_stability=_ranking(findings, benchmark, finding),
        scope_statement=scope_statement(findings, benchmark, model.id),
    )


def _rates(benchmark: BenchmarkFinding, finding: ModelFinding) -> Iterator[CardRate]:
    for rate in benchmark.rates:
        here = rate.values.get((finding.model, finding.anchor.cell.configuration))
        ends = rate.over(finding.model)
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
        setting={
            field.name: _plain(field.name, getattr(cell.setting, field.name))
            for field in fields(cell.setting)
        },
        measurands=names_of(cell.setting),
        weights=weights,
        environment=known | ran.get("versions", {}),
    )


def _plain(key: str, value: Any) -> Any:
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
                    identical=evidence.identical.mean,
                    itself=evidence.same_model.mean,
                    certified=evidence.certified.claim,
                    supported=evidence.supported.claim,
                    noise=compared.noise.standing,
                )
            )
    return RankingStability(
        roster=tuple(model.id for model in spec.model),
        inclusion=spec.roster.inclusion if spec.roster else None,
        tau_r=benchmark.full.tau,
        tau_r_range=_range(benchmark.analysis.ranges.tau) if benchmark.analysis.ranges else None,
        tau_r_dropped=benchmark.full.tau_dropped,
        pairs=tuple(rows),
    )


def _propagated(step: Step) -> PropagationRow:
    shares = step.shares
    counts = {part: {state: shares.counts[part].get(state, 0) for state in STATES} for part in PARTS}
    return PropagationRow.of(shares, rows=step.rows, **counts)


def _range(resampled: ResampledStatistic) -> tuple[float, float] | None:
    return None if resampled.low is None or resampled.high is None else (resampled.low, resampled.high)
