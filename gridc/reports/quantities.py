"""Lists what reports estimate, a row for each quantity, and puts the number needed to harm in words.

Every document reads these rows. An estimate is made by `estimate`, so that none can be of an unknown kind,
and `docs/estimates.md` is written from the rows.

The number needed to harm or to benefit is defined in `statistics.risk.number_needed`; here is how documents
hold and print it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, isfinite, isinf
from typing import Any, Literal

from gridc.numbers import bracketed, interval_words, number
from gridc.reports.words import PLURAL
from gridc.schema.estimates import EstimateRow
from gridc.schema.hypotheses import NumberNeededRow
from gridc.schema.items import UnitLevel
from gridc.schema.rows import in_ten_decimals
from gridc.statistics.envelope import LEVEL

SHARE_LIMITS = "Gaffke's limits over units (Clopper-Pearson where each earns all or nothing)"
"""How scores, rates and differences of two scores of the same items have their intervals
(`statistics.unit_intervals`)."""
RATE_LIMITS = (
    "Gaffke's limits of a change of units, or of both rates, combined by their correlation over units; "
    "where a clustered logit decides, at least as wide as its own, and on the side of 0 that its p is on"
)
"""How differences and ratios of rates have their intervals (`statistics.risk`)."""
INDEPENDENT = "units are independent"
KAPPA_INTERVAL = (
    "interval: kappa at the exact limits of the agreement, agreement by chance as it is here; where units "
    "repeat, of as many independent responses as give kappa its jackknife variance over units"
)
"""How Cohen's kappa has its interval (`statistics.raters.Kappa`)."""
SHARE_INTERVAL = (
    "Clopper-Pearson limits, where units repeat of as many independent ones as show its jackknife variance "
    "over units (Korn & Graubard 1998)"
)
"""How shares of judgements have theirs."""


def interval_assumption(unit: UnitLevel) -> str:
    """What an interval rests on, in a phrase."""
    return (
        f"the {PLURAL[unit]} are independent draws from those that could have been asked; each interval "
        "covers alone, not all of them together"
    )


Measure = Literal[
    "share", "difference of shares", "share of a change", "log odds", "ratio", "count", "p", "statistic",
    "variance", "coefficient", "nats",
    "bits per byte", "in its unit",
]  # fmt: skip
"""What a value is counted in. Shares and their differences are fractions of 1."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One kind of estimate: its `kind` in estimates.json, what value and interval are counted in, what it is,
    the section of the docs that defines it, and how its intervals are made where an estimate says no more."""

    name: str
    measure: Measure
    what: str
    docs: str
    interval: str = ""


SECTIONS: Mapping[str, tuple[tuple[str, Measure, str] | tuple[str, Measure, str, str], ...]] = {
    "statistics.md#scores-labels-and-rates": (
        ("score", "share", "score of a model under a configuration", SHARE_LIMITS),
        ("score_per_protocol", "share", "the same, unreadable answers left out"),
    ),
    "scorecard.md#a-models-matrix": (
        ("number_needed", "count", "answers until one more is worse, or better"),
        ("sensitivity_share", "share", "eta squared of the configuration among single answers"),
        (
            "sensitivity_mean_range", "difference of shares",
            "mean over benchmarks of the greatest rate less the least",
        ),
        ("sensitivity_max_range", "difference of shares", "the widest range of a benchmark"),
        ("sensitivity_rate", "share", "share of all answers that were good ones"),
    ),
    "statistics.md#statistics-that-a-spec-states": (
        ("precision", "share", "true positives of all that are called positive"),
        ("recall", "share", "true positives of all that are positive"),
        ("specificity", "share", "true negatives of all that are not positive"),
        ("f1", "share", "harmonic mean of precision and recall"),
        ("matthews", "coefficient", "correlation of what responses say with what items are"),
        ("auroc", "share", "chance that of two items the positive one has the larger number"),
        ("brier", "statistic", "mean squared distance of confidence from outcome"),
        ("calibration_error", "statistic", "mean distance of confidence from outcome over bins"),
        ("macro_mean", "share", "mean over benchmarks, or one benchmark's categories, of their means"),
        ("win_rate", "share", "share of the other models with a worse mean, over benchmarks"),
        ("spread_within", "statistic", "standard deviation over an item's replicates"),
        ("spread_between", "statistic", "standard deviation of items' expected scores"),
        ("strength", "log odds", "strength of Bradley and Terry, about a mean of 0"),
        ("chrf", "share", "chrF of all texts"),
        ("bleu", "share", "BLEU of all texts"),
        ("mean", "in its unit", "mean of an outcome, such as the tokens of an answer"),
        ("ratio", "in its unit", "one total over another, such as cost over score"),
        ("formula", "in its unit", "a formula of totals that the spec states"),
        ("gap", "in its unit", "largest value less the smallest over the levels of an axis"),
        ("consistency", "share", "items with the same outcome under every level of an axis"),
        ("pass_at", "share", "chance that of k answers to an item one counts or more, mean over items"),
        ("pass_all", "share", "chance that k answers to an item all count, mean over items"),
    ),
    "statistics.md#hypotheses-about-effects": (
        ("rate", "share", "rate of the outcome under a level"),
        ("isotonic_rate", "share", "the nearest rates that move one way"),
        ("risk_difference", "difference of shares", "difference of two rates or scores", SHARE_LIMITS),
        ("divergence", "difference of shares", "difference, ITT less per protocol"),
        ("risk_ratio", "ratio", "ratio of both rates", RATE_LIMITS),
        ("churn", "share", "share of single answers that become right or wrong"),
        ("recovery", "share of a change", "what a level takes back; it can be above 1 or below 0"),
        ("log_odds", "log odds", "log odds of a level against the reference"),
        ("standard_error", "log odds", "standard error of the log odds"),
        ("odds_ratio", "ratio", "odds ratio"),
        ("wald_z", "statistic", "z of one coefficient"),
        ("box_f", "statistic", "F of several coefficients"),
        ("likelihood_ratio", "statistic", "likelihood ratio of several coefficients"),
        ("no_test", "statistic", "a test that could not be made, with the reason in `error`"),
        ("p_support", "p", "p of what a hypothesis predicts"),
        ("p_refute", "p", "p of what refutes it"),
        ("p_within", "p", "p of a difference smaller than a margin"),
        ("agreement_p", "p", "p of what no unit goes against"),
        ("statistic_difference", "in its unit", "a statistic under a level less that under another"),
        ("page_p", "p", "p of a trend by ranks within units"),
        ("jonckheere_terpstra_p", "p", "p of a trend by ranks of independent groups"),
    ),
    "statistics.md#answers-that-change": (
        ("answer_changes", "share", "answers that differ from those under the reference, right or wrong"),
        ("likelihood_shift", "nats", "mean distance of a candidate's log-likelihood from the reference's"),
        ("answer_divergence", "nats", "mean divergence of the candidates' shares of likelihood"),
    ),
    "statistics.md#bits-per-byte": (
        ("bits_per_byte", "bits per byte", "bits of all texts over their bytes"),
        ("bits_per_byte_gap", "bits per byte", "those of one model less those of another, same texts"),
    ),
    "statistics.md#many-levels-of-an-axis": (
        ("levels_mean", "share", "mean score over the levels of an axis that has many", SHARE_LIMITS),
        ("levels_worst", "share", "score under the level where it is worst"),
        ("levels_best", "share", "score under the level where it is best"),
        ("levels_range", "difference of shares", "the highest score of a level less the lowest"),
        ("levels_saturation", "share", "1 less the distance of the best level from the mean"),
        ("friedman_chi2", "statistic", "whether units do better under some levels than under others"),
        ("kendall_w", "coefficient", "how far the levels put the models in one order"),
    ),
    "curves.md#what-is-estimated": (
        ("log_odds_median", "log odds", "median over the specifications of a curve"),
        ("log_odds_first_quartile", "log odds", "first quartile over them"),
        ("log_odds_third_quartile", "log odds", "third quartile over them"),
    ),
    "curves.md#inference-about-the-whole-curve": (
        ("share_significant", "share", "the larger of the next two"),
        ("share_significant_below", "share", "fitted specifications significantly below an odds ratio of 1"),
        ("share_significant_above", "share", "fitted specifications significantly above it"),
        ("share_same_sign", "share", "specifications on the side of the median"),
    ),
    "curves.md#variance-and-generalizability": (
        ("eta2", "share", "share of the variance of single outcomes"),
        ("omega2", "share", "the same, less what chance would give"),
        ("generalizability", "coefficient", "how far models' means generalise"),
        ("share", "share", "resamples of the models whose coefficient is 0"),
        ("variance_component", "variance", "variance of models, of facets and of the rest"),
    ),
    "scaffolds.md#what-the-steps-came-to": (
        ("step_readable", "share", "replies to a step that can be read"),
        ("step_score", "share", "score of the replies to a step, each read as if it were the answer"),
        ("step_refusals", "share", "replies to a step that refuse, by their phrases"),
        ("answer_change", "difference of shares", "score of a later answer less that of an earlier one"),
        ("refusal_ratio", "ratio", "share of sub-calls that refuse over the share of answers that do"),
    ),
    "scaffolds.md#leakage-as-exposure": (
        ("exposed_score", "share", "score of the items whose parts leak, do not, or leak so much"),
        ("exposed_gap", "difference of shares", "score where something leaked less where nothing did"),
        ("exposed_change", "difference of shares", "score under the scaffold less the plain one"),
        ("exposed_odds", "ratio", "odds of a bad answer for one more leaked feature, or for all parts"),
        ("mcnemar_p", "p", "p of as many answers that earn less as that earn more"),
    ),
    "scaffolds.md#what-goes-through-the-options": (
        ("mediated", "difference of shares", "effect of a scaffold, through lost options, and the rest"),
        ("options_lost", "share", "parts that were sent no options"),
    ),
    "scaffolds.md#measured-doses-and-difficulty": (
        ("dose", "share", "parts of the task that a scaffold's sub-calls keep"),
        ("dose_score", "share", "score of a scaffold of that dose"),
        ("dose_slope", "coefficient", "what the score gains from no part of the task to all of them"),
        ("difficulty_correlation", "coefficient", "rank correlation of items' pass rates and changes"),
        ("difficulty_change", "difference of shares", "change of the pass rate in a stratum of pass rates"),
    ),
    "judging.md#what-is-checked": (
        ("cohen_kappa", "coefficient", "agreement of two who label", KAPPA_INTERVAL),
    ),
    "judging.md#one-of-two-responses": (
        ("swap_inconsistency", "share", "pairs whose preference changes with their order", SHARE_INTERVAL),
        ("first_place", "share", "preferences for the response that stands first", SHARE_INTERVAL),
        ("longer", "share", "preferences, or better labels, for the longer of two responses", SHARE_INTERVAL),
    ),
    "audit.md#what-is-reported": (
        (
            "leniency", "difference of shares", "score of the study less that of people",
            "Clopper-Pearson limits of both shares at half the error",
        ),
    ),
    "audit.md#what-labels-correct": (
        ("corrected_score", "share", "score or rate as people's labels correct it"),
        ("corrected_gap", "difference of shares", "the same of one model less that of another one"),
    ),
    "blinding.md#whether-it-worked": (
        ("bang_index", "difference of shares", "guesses that are right less those that are wrong"),
        ("chi_squared", "statistic", "dependence of guesses on the configuration"),
    ),
}  # fmt: skip
"""By the section of the docs that defines them: kind, what it is counted in, and what it is."""

QUANTITIES: Mapping[str, Quantity] = {
    name: Quantity(name, measure, what, section, *interval)
    for section, rows in SECTIONS.items()
    for name, measure, what, *interval in rows
}
"""By `kind` in estimates.json."""


def in_percent(kind: str) -> bool:
    """Whether values of a kind are printed in percent."""
    return QUANTITIES[kind].measure == "share"


def estimate_row(
    kind: str,
    *,
    estimate: float | None,
    method: str,
    interval: tuple[float | None, float | None] | None = None,
    level: float = LEVEL,
    made: str | None = None,
    assumption: str = "",
    interval_assumes: str = "",
    error: str | None = None,
    **stated: Any,
) -> EstimateRow:
    """A row of the document of estimates. `level`, how the interval is made (`made`, or else what its
    quantity says) and `interval_assumes` are said where there is an interval, `error` where there is no
    value. Raises KeyError for a kind that is no row here."""
    quantity = QUANTITIES[kind]
    if interval is not None:
        method = "; ".join(filter(None, (method, quantity.interval if made is None else made)))
    if quantity.measure != "in its unit":
        estimate = in_ten_decimals(estimate)
        interval = interval and (in_ten_decimals(interval[0]), in_ten_decimals(interval[1]))
    absent = dict.fromkeys(("p", "corrected_p"))
    own = {
        "kind": kind,
        "estimate": estimate,
        "interval": interval,
        "level": None if interval is None else level,
        "method": method,
        "assumption": assumption if interval is None else assumption or interval_assumes,
        "error": error if estimate is None else None,
    }
    return EstimateRow.model_validate(absent | own | stated)


SHORT = {"harm": "NNH", "benefit": "NNB"}
INFINITY = "\N{INFINITY}"
NUMBER_NEEDED = (
    "NNH, the number needed to harm, says how many answers it takes, on average, until one more is worse "
    "than under the reference; NNB, to benefit, until one more is better. Where the interval of the "
    "difference holds 0, it runs through infinity (Altman 1998)."
)


def needed_words(needed: NumberNeededRow) -> str:
    """`number needed to harm 14 [11.2, 17.4]`; in Altman's form where the difference may be 0."""
    if needed.kind == "none":
        words = "no number needed to harm or benefit, as there is no difference"
    else:
        words = f"number needed to {needed.kind} {needed.displayed:,}"
    if needed.low is not None:
        return f"{words} {bracketed((needed.low, needed.high), _end)}"
    through = _through_infinity(needed)
    if through:
        return f"{words}, {through}"
    return words


def _through_infinity(needed: NumberNeededRow) -> str:
    """The interval of a difference that may be 0, in Altman's form; empty where neither side is in reach."""
    harm = "" if _infinite(needed.harm) else f"{_end(needed.harm)} to harm through "
    benefit = "" if _infinite(needed.benefit) else f" to {_end(needed.benefit)} to benefit"
    return f"95 % from {harm}infinity{benefit}" if harm or benefit else ""


def _end(value: float | None) -> str:
    return "infinity" if _infinite(value) else number(value, 1)


def _finite(value: float | None) -> float | None:
    return None if _infinite(value) else value


def _infinite(value: float | None) -> bool:
    """Infinite, which a document writes as null, or not there."""
    return value is None or isinf(value)


def needed_cell(row: NumberNeededRow) -> str:
    """`NNH 14 (13 to 17)`, `NNH 166, either way (NNH 63 or more, NNB 261 or more)`, `no difference`."""
    shown = "no difference" if row.kind == "none" else f"{SHORT[row.kind]} {row.displayed:,}"
    if row.low is not None:
        return f"{shown} ({interval_words((row.low, row.high), _rounded)})"
    ends = {"harm": row.harm, "benefit": row.benefit}
    open_ends = [f"{SHORT[kind]} {_rounded(end)} or more" for kind, end in ends.items() if not _infinite(end)]
    if not open_ends:
        return shown
    either = ", either way" if len(open_ends) > 1 and row.kind != "none" else ""
    return f"{shown}{either} ({', '.join(open_ends)})"


def _rounded(value: float | None) -> str:
    """The end of an interval, rounded up; it is known to ten digits."""
    return INFINITY if value is None or isinf(value) else f"{ceil(value * (1 - 1e-9)):,}"


def needed_rows(name: str, about: str, needed: NumberNeededRow, rows: str, n: int) -> Iterator[EstimateRow]:
    """Rows of the document of estimates. Where the difference may be 0 there is no interval but two ends,
    each a row of its own: so few answers, or any number more, until one is worse, or better."""
    finite = isfinite(needed.number)
    about = f"number needed to {needed.kind}, {about}" if finite else f"number needed, {about}"
    through = _through_infinity(needed) if needed.low is None else ""
    shared: dict[str, Any] = {"rows": rows, "n": n, "interval_assumes": INDEPENDENT}
    yield estimate_row(
        "number_needed",
        id=f"{name}/number_needed",
        about=about,
        estimate=needed.number if finite else None,
        interval=None if needed.low is None else (_finite(needed.low), _finite(needed.high)),
        method="; ".join(filter(None, ("1 / |difference|", through and f"{through} (Altman 1998)"))),
        error="infinite: there is no difference",
        **shared,
    )
    for side, end in (("harm", needed.harm), ("benefit", needed.benefit)):
        if needed.low is None and end is not None and isfinite(end):
            yield estimate_row(
                "number_needed",
                id=f"{name}/number_needed/{side}",
                about=f"the end to {side} of the interval of the {about}",
                estimate=end,
                method="1 / |limit of the difference|",
                assumption=INDEPENDENT,
                rows=rows,
                n=n,
            )
