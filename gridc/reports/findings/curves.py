"""The declared specification curves, run on a store: one estimate under every combination of choices.

A curve is run once for each comparison that its hypotheses make: of a level with its reference, or of a
model with the next of a predicted order. Each specification is a logit of its own on the rows that its
choices keep, with the errors clustered by unit; what cannot be fitted is an answer of its own kind, counted,
and nothing stands in for it.

Inference about a curve exchanges the labels of the two arms within each unit, with all that the unit answered
to all models, and refits every specification (`statistics.curve`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from gridc.compiler.grid.specifications import (
    ForkLevels,
    RunnableSpecifications,
    UnboundLevel,
    curve_hypotheses,
    meaning,
    runnable,
    unbound,
)
from gridc.compiler.hypotheses import kind_of
from gridc.reports.findings.curve_rows import CurveRows, RowSelection, curve_rows_of, dimension_level
from gridc.reports.findings.hypotheses.regression import GradedOutcome, NoLibrary, of_single_samples
from gridc.reports.findings.observations import NotMeanError, Reading, ResponseReading, Samples
from gridc.reports.findings.run_record import Finding
from gridc.schema.base import ALPHA, EVERYWHERE, Declared, Selector
from gridc.schema.canonical import digest
from gridc.schema.inference import AnyHypothesis, Choice, Curve, CurveEstimator
from gridc.schema.spec import Spec
from gridc.statistics.arrays import Flags, Floats
from gridc.statistics.case_totals import DesignMatrix
from gridc.statistics.clustered_logit import Combination, NotEstimable
from gridc.statistics.curve import (
    CurveSummary,
    Specification,
    estimates,
    extremes,
    permutation_p,
    refits,
    shuffles,
    summarise_curve,
)
from gridc.statistics.envelope import LEVEL
from gridc.statistics.reproducibility import decimals, every_digits

CLUSTERED: CurveEstimator = "cluster_logit"


@dataclass(frozen=True, slots=True)
class CurveContrast:
    """What a curve compares in every specification: `level` with `reference`, of an axis or of the models."""

    hypothesis: str
    dimension: str
    level: str
    reference: str
    outcome: str
    where: Selector
    items: Selector


@dataclass(frozen=True, slots=True)
class SpecificationFinding:
    """One specification: the level of each fork, what was fitted, and the log odds of level against reference
    with standard error, 95 % interval and p; or why there is none: a kind of reason, and its words. `terms`
    are the fixed effects beside the comparison; `samples` of `units` units were read, and `rows` is their
    digest. `constant` are levels of terms that say nothing of it and are left out: all of their answers
    earned everything or nothing."""

    levels: ForkLevels
    outcome: str
    reading: Reading
    terms: tuple[str, ...]
    samples: int
    units: int
    rows: str
    fitted: Combination | None
    failure: tuple[str, str] | None
    estimator: CurveEstimator = CLUSTERED
    constant: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WithoutModel:
    """The default specification, and the whole curve, without one model. `samples` is how many the widest
    specification read, and `rows` the digest of all of them."""

    model: str
    default: SpecificationFinding | None
    summary: CurveSummary | None
    samples: int
    rows: str


@dataclass(frozen=True, slots=True)
class Permutation:
    """What the curve would show if the labels of the arms meant nothing, over the `of` specifications by
    `cluster_logit` whose arms can be exchanged: in `draws` shuffles, `unfitted` of which some specification
    cannot be fitted to (they count against the curve). `p_median` is of a median as far from zero, `p_share`
    of as large a share that is significant on one side; `band` holds, for each rank of the sorted estimates,
    the central 95 % of the shuffles."""

    draws: int
    unfitted: int
    seed: int
    p_median: float
    p_share: float
    band: tuple[tuple[float, float], ...]
    of: int


@dataclass(frozen=True, slots=True)
class CurveFinding:
    """A curve for one comparison. `ran` says which specifications were run, `forks` the levels that vary,
    `defaults` the study's own, and `unbound` those that were not run; `elsewhere` specifications leave out
    one of the two arms and are not about this comparison. `same_sign` is the share of estimates on the
    median's side of zero, or at zero with it; `summary`, it and `permutation` are over what was fitted.
    `unexchangeable`: shuffles were declared, and the arms were not asked equally often."""

    curve: str
    declared: Declared
    contrast: CurveContrast
    alpha: float
    forks: Mapping[str, tuple[str, ...]]
    defaults: ForkLevels
    ran: RunnableSpecifications
    unbound: tuple[UnboundLevel, ...]
    elsewhere: int
    specifications: tuple[SpecificationFinding, ...]
    summary: CurveSummary | None
    same_sign: float | None
    permutation: Permutation | None
    without: tuple[WithoutModel, ...]
    rows: str
    unexchangeable: bool = False

    @property
    def name(self) -> str:
        return f"{self.curve}/{self.contrast.hypothesis}/{self.contrast.level}-{self.contrast.reference}"

    @property
    def fitted(self) -> tuple[SpecificationFinding, ...]:
        return tuple(
            specification for specification in self.specifications if specification.fitted is not None
        )

    @property
    def ranked(self) -> tuple[SpecificationFinding, ...]:
        """What was fitted, from the lowest estimate to the highest."""
        return tuple(
            sorted(
                self.fitted,
                key=lambda specification: specification.fitted.estimate if specification.fitted else 0.0,
            )
        )

    @property
    def failed(self) -> tuple[SpecificationFinding, ...]:
        return tuple(specification for specification in self.specifications if specification.fitted is None)

    @property
    def default(self) -> SpecificationFinding | None:
        """The specification that the study makes itself, where it is among those that were run."""
        return next(
            (
                specification
                for specification in self.specifications
                if dict(specification.levels) == self.defaults
            ),
            None,
        )


def curve_findings(samples: Samples) -> tuple[CurveFinding, ...]:
    """Every declared curve, once for each comparison, in the order of the spec."""
    spec = samples.plan.study.spec
    return tuple(
        _curve(samples, curve, contrast)
        for curve in spec.curve
        for hypothesis in curve_hypotheses(spec, curve)
        for contrast in contrasts(hypothesis)
    )


def contrasts(hypothesis: AnyHypothesis) -> list[CurveContrast]:
    """The comparisons that a hypothesis makes, step by step."""
    kind, items = kind_of(hypothesis), hypothesis.items or EVERYWHERE
    return [
        CurveContrast(hypothesis.id, *pair, kind.rate(hypothesis), hypothesis.where, items)
        for pair in kind.pairs(hypothesis)
    ]


def _curve(samples: Samples, curve: Curve, contrast: CurveContrast) -> CurveFinding:
    spec = samples.plan.study.spec
    ran = runnable(spec, curve)
    made = [_analysis_choices(spec, curve, levels, contrast) for levels in ran.drawn]
    primary = list(dict.fromkeys(each.primary for each in made))
    inside = {cell.key for part in primary for cell in samples.about(contrast.where, part)}
    cells = [
        cell
        for cell in samples.about(contrast.where)
        if cell.key in inside
        and dimension_level(cell, contrast.dimension) in (contrast.level, contrast.reference)
    ]
    alpha = _alpha(spec, contrast)
    levels = {name: tuple(dict.fromkeys(each[name] for each in ran.drawn)) for name in curve.forks}
    defaults = {fork.id: fork.default for fork in spec.fork if fork.id in levels}
    found = CurveFinding(
        curve.id, curve.declared, contrast, alpha, levels, defaults, ran, tuple(unbound(spec, curve)),
        0, (), None, None, None, (), digest([]),
    )  # fmt: skip
    arms = (contrast.reference, contrast.level)
    try:
        rows = curve_rows_of(samples, cells, contrast.dimension, arms, _slices(made))
    except NotMeanError as error:
        return _with_specifications(found, [_unanswered(each, ("not_a_mean", str(error))) for each in made])
    about = [each for each in made if rows.has_both(each.where, contrast.dimension, arms)]
    found = replace(found, elsewhere=len(made) - len(about))
    if not about:
        return found
    answers = _fit(rows, about, contrast)
    draws = spec.analysis.permutations
    seed = spec.sampling.seed
    return replace(
        _with_specifications(found, answers),
        permutation=_permute(rows, about, answers, contrast, draws, seed, alpha) if draws else None,
        unexchangeable=bool(draws) and not rows.exchangeable,
        without=tuple(_without_models(rows, about, contrast, alpha, defaults)),
    )


def _with_specifications(found: CurveFinding, answers: Sequence[SpecificationFinding]) -> CurveFinding:
    summary = _summary(answers, found.alpha)
    same = None
    if summary is not None:
        sides = [_side(answer.fitted.estimate) for answer in answers if answer.fitted is not None]
        same = float(np.mean([side == _side(summary.median) for side in sides]))
    rows = digest([specification.rows for specification in answers])
    return replace(found, specifications=tuple(answers), summary=summary, same_sign=same, rows=rows)


def _side(log_odds: float) -> int:
    """1 above zero and -1 below it. A difference that is only rounding counts as zero and has no side."""
    return int(np.sign(decimals(log_odds)))


def _alpha(spec: Spec, contrast: CurveContrast) -> float:
    """The level of the hypothesis's family, else that of the certificate."""
    family = next(hypothesis.family for hypothesis in spec.hypothesis if hypothesis.id == contrast.hypothesis)
    return next((each.alpha for each in spec.family if each.id == family), spec.analysis.alpha or ALPHA)


@dataclass(frozen=True, slots=True)
class _AnalysisChoices:
    """What a combination of levels makes of an analysis. `where` begins with the part of the grid that is
    `primary`."""

    levels: ForkLevels
    where: tuple[Selector, ...]
    slice: RowSelection
    without: frozenset[str]
    estimator: CurveEstimator

    @property
    def primary(self) -> Selector:
        return self.where[0]


def _analysis_choices(
    spec: Spec, curve: Curve, levels: ForkLevels, contrast: CurveContrast
) -> _AnalysisChoices:
    forks = {fork.id: fork for fork in spec.fork}
    choices = [meaning(spec, forks[name], level) for name, level in levels.items()]
    stated = [each for each in choices if isinstance(each, Choice)]
    reading: Reading = spec.analysis.outcome
    outcome, primary, judge, phrases = contrast.outcome, spec.analysis.primary, None, None
    estimator = curve.estimator or CLUSTERED
    for choice in stated:
        reading, outcome = choice.reading or reading, choice.outcome or outcome
        primary = primary if choice.primary is None else choice.primary
        judge, phrases = choice.judge or judge, choice.refusal_phrases or phrases
        estimator = choice.estimator or estimator
    items = tuple(each.items for each in stated if each.items is not None)
    if contrast.items.root:
        items = (contrast.items, *items)
    where = (primary, *(each.where for each in stated if each.where is not None))
    pooled = tuple(dict.fromkeys(axis for each in stated for axis in each.pool or ()))
    selection = RowSelection(
        outcome,
        reading,
        items,
        tuple(sorted(pair for each in stated for pair in (each.outcome_of or {}).items())),
        tuple(pair for each in stated for pair in sorted((each.items_of or {}).items(), key=itemgetter(0))),
        ResponseReading(
            tuple(each.responses for each in stated if each.responses is not None), judge, phrases or ()
        ),
        pooled,
        where if pooled else (),
    )
    without = frozenset(term for each in stated for term in each.without_terms) | frozenset(pooled)
    return _AnalysisChoices(levels, where, selection, without, estimator)


def _slices(made: Sequence[_AnalysisChoices]) -> tuple[RowSelection, ...]:
    return tuple(dict.fromkeys(each.slice for each in made))


class DesignedSpecification(NamedTuple):
    """The cells of one specification, its design on these, the weights of its contrast, and the levels of
    terms that are left out of it (`CurveRows.informative`)."""

    kept: Flags
    design: DesignMatrix
    weights: Floats
    constant: tuple[str, ...]


def _designed(
    rows: CurveRows, made: _AnalysisChoices, contrast: CurveContrast, without: str = ""
) -> DesignedSpecification:
    """NotEstimable where an arm has no row left."""
    kept = rows.kept(made.where) & rows.occupied(made.slice)
    if without:
        kept &= np.array([cell.model != without for cell in rows.cells])
    kept, constant = rows.informative(made.slice, kept, contrast.dimension, made.without)
    design = rows.design(kept, contrast.dimension, (contrast.reference, contrast.level), made.without)
    weights = design.contrast(contrast.dimension, contrast.level, contrast.reference)
    if not weights.any():
        raise NotEstimable("rows", f"no item is asked under both {contrast.level} and {contrast.reference}")
    return DesignedSpecification(kept, design, weights, constant)


def _specification(rows: CurveRows, made: _AnalysisChoices, contrast: CurveContrast) -> Specification:
    """One specification as its shuffles refit it."""
    kept, design, weights, _ = _designed(rows, made, contrast)
    return Specification(kept, design.matrix, weights[None, :], made.slice.name)


NoEstimate = tuple[str, str]
"""A kind of reason why there is no estimate, and its words."""


def _estimate(
    rows: CurveRows, made: _AnalysisChoices, kept: Flags, design: DesignMatrix, weights: Floats
) -> Combination | NoEstimate:
    """The contrast of one specification by its estimator; nothing stands in for a fit that fails."""
    specification = Specification(kept, design.matrix, weights[None, :], made.slice.name)
    (answer,) = estimates([specification], rows.totals, LEVEL)
    if isinstance(answer, NotEstimable):  # where no logit exists, none with random intercepts does
        return answer.reason, str(answer)
    if made.estimator == CLUSTERED:
        return every_digits(answer[0])
    try:
        return _with_intercepts(rows, made, kept, design, weights)
    except NotEstimable as error:
        return error.reason, str(error)
    except GradedOutcome as error:
        return "graded", str(error)
    except NoLibrary as error:
        return "library", str(error)


def _with_intercepts(
    rows: CurveRows, made: _AnalysisChoices, kept: Flags, design: DesignMatrix, weights: Floats
) -> Combination:
    """The contrast by a logit with a random intercept for each unit, on single samples."""
    held, pairs = rows.entries[made.slice.name], rows.pairs
    own = kept[pairs.patterns] & (held.rows > 0)
    number = np.cumsum(kept) - 1
    unit = np.broadcast_to(pairs.cases[:, None], own.shape)[own]
    counts = np.rint(held.rows[own]).astype(np.int64)
    fitted = of_single_samples(design, number[pairs.patterns[own]], unit, counts, held.sums[own])
    odds = fitted.odds(int(np.flatnonzero(weights)[0]))
    low, high = np.log(odds.interval)
    above = odds.p / 2 if odds.z > 0 else 1 - odds.p / 2
    return every_digits(
        Combination(odds.log_odds, odds.error, odds.z, odds.p, above, float(low), float(high))
    )


def _fit(
    rows: CurveRows, about: Sequence[_AnalysisChoices], contrast: CurveContrast, without: str = ""
) -> list[SpecificationFinding]:
    specifications = []
    for made in about:
        try:
            kept, design, weights, constant = _designed(rows, made, contrast, without)
        except NotEstimable as error:
            specifications.append(_unanswered(made, (error.reason, str(error))))
            continue
        answer = _estimate(rows, made, kept, design, weights)
        totals = rows.totals[made.slice.name].of_patterns(kept)
        fitted = answer if isinstance(answer, Combination) else None
        failure = None if isinstance(answer, Combination) else answer
        specifications.append(
            SpecificationFinding(
                made.levels, made.slice.outcomes, made.slice.reading,
                rows.terms(kept, contrast.dimension, made.without),
                totals.observations, totals.clusters, rows.digest(made.slice, kept),
                fitted, failure, made.estimator, constant,
            )
        )  # fmt: skip
    return specifications


def _unanswered(made: _AnalysisChoices, failure: NoEstimate) -> SpecificationFinding:
    rows = digest([made.slice.name])
    return SpecificationFinding(
        made.levels, made.slice.outcomes, made.slice.reading, (), 0, 0, rows, None, failure, made.estimator
    )


def _summary(answers: Sequence[SpecificationFinding], alpha: float) -> CurveSummary | None:
    fitted = [answer.fitted for answer in answers if answer.fitted is not None]
    if not fitted:
        return None
    return summarise_curve(
        np.array([combination.estimate for combination in fitted]),
        np.array([combination.p for combination in fitted]),
        alpha,
    )


def _permute(
    rows: CurveRows,
    about: Sequence[_AnalysisChoices],
    answers: Sequence[SpecificationFinding],
    contrast: CurveContrast,
    draws: int,
    seed: int,
    alpha: float,
) -> Permutation | None:
    """The shuffles of the specifications that were fitted by `cluster_logit` to arms that were asked equally
    often; None where there is none, or where no arms can be exchanged."""
    fitted = [
        (made, specification.fitted)
        for made, specification in zip(about, answers, strict=True)
        if specification.fitted is not None
        and made.estimator == CLUSTERED
        and made.slice.name not in rows.unbalanced
    ]
    if not fitted or not rows.exchangeable:
        return None
    specifications = [_specification(rows, made, contrast) for made, _ in fitted]
    entries = {name: held for name, held in rows.entries.items() if name not in rows.unbalanced}
    batches = shuffles(rows.pairs, entries, len(rows.cells), draws, seed)
    log_odds, p = (each[:, :, 0] for each in refits(specifications, batches, rows.totals, draws))
    sound = ~np.isnan(log_odds).any(axis=1)
    ordered = np.sort(log_odds[sound], axis=1)
    band = np.quantile(ordered, [0.025, 0.975], axis=0).T if sound.any() else np.zeros((0, 2))
    observed = extremes(
        np.array([combination.estimate for _, combination in fitted]),
        np.array([combination.p for _, combination in fitted]),
        alpha,
    )
    p_median, p_share = (
        permutation_p(float(value), shuffled)
        for value, shuffled in zip(observed, extremes(log_odds, p, alpha), strict=True)
    )
    return Permutation(
        draws,
        int((~sound).sum()),
        seed,
        p_median,
        p_share,
        tuple((float(low), float(high)) for low, high in band),
        len(fitted),
    )


def _without_models(
    rows: CurveRows,
    about: Sequence[_AnalysisChoices],
    contrast: CurveContrast,
    alpha: float,
    defaults: ForkLevels,
) -> list[WithoutModel]:
    """The curve without each model in turn (scaffold study, Table 18); models that are compared stay."""
    models = list(dict.fromkeys(cell.model for cell in rows.cells))
    if contrast.dimension == "model" or len(models) < 2:
        return []
    found = []
    for model in models:
        answers = _fit(rows, about, contrast, model)
        own = next((answer for answer in answers if dict(answer.levels) == defaults), None)
        read, rows_read = (
            max(specification.samples for specification in answers),
            digest([specification.rows for specification in answers]),
        )
        found.append(WithoutModel(model, own, _summary(answers, alpha), read, rows_read))
    return found


CURVES: Finding[tuple[CurveFinding, ...]] = Finding(
    "curves",
    lambda record: curve_findings(record.samples) if record.complete else (),
    (),
    about="The specification curves of the forking paths, with what is left without each model.",
)
