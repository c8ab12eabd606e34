"""The GRID card: what must stand beside a benchmark score (SafetyRepro, app. B: six fields)."""

from typing import Annotated, Literal

from pydantic import Field

from gridc.schema.audit import LabelledScore
from gridc.schema.base import Declared, Strength
from gridc.schema.certificate import FalsificationRow, FloorRow, ScopeKind, UncomputedRow
from gridc.schema.deviation import DeviationPaths, EarlierAnswersRow
from gridc.schema.hypotheses import Standing
from gridc.schema.items import UnitLevel
from gridc.schema.recorded import RecordedRuns
from gridc.schema.rows import (
    Claimed,
    Count,
    Digest,
    DistinctQuestions,
    ItemsHeld,
    Part,
    PlaceRow,
    Rounded,
    Sentence,
    SentencesAt,
    Share,
    UnreadRow,
)

FORMAT: Literal["gridc-card/3"] = "gridc-card/3"


class Receipt(Part):
    """(i) Axis receipt: the resolved value of every choice behind the point score."""

    configuration: dict[str, str]
    setting: dict[str, str | int | float | bool | tuple[str, ...] | None]
    measurands: Annotated[
        tuple[str, ...], Field(description="The named measurands that the setting is, if any.")
    ]
    weights: Annotated[dict[str, str], Field(description="SHA-256 of each model file, or the hub commit.")]
    environment: Annotated[
        dict[str, str], Field(description="What was really run, as far as it was recorded.")
    ]


class PointScore(Part):
    """(ii) Point score under the receipt. Null while the cell is incomplete. `score` is intention-to-treat:
    an unreadable answer scores 0, or what the spec says; `per_protocol` leaves it out."""

    score: Share | None
    per_protocol: Annotated[
        Share | None,
        Field(
            description="Mean score of readable answers; null where nothing is read from text, or nothing "
            "readable."
        ),
    ]
    readable: Annotated[
        Count | None, Field(description="Readable answers; null where nothing is read from text.")
    ]
    correct: Annotated[int | float, Field(ge=0, description="Sum of the scores.")]
    trials: Count
    parse_rate: Annotated[
        Rounded | None, Field(description="Share of readable answers; null where nothing is read from text.")
    ]
    standard_error: Annotated[Rounded | None, Field(description="Over items, robust to their units.")]
    interval: Annotated[
        tuple[Rounded, Rounded] | None, Field(description="95 %, over units, as in the certificate.")
    ]
    on_units: Annotated[
        tuple[Rounded, Rounded] | None,
        Field(description="Where the units are few: of the score on these very units, new items of them."),
    ]
    by_people: Annotated[
        LabelledScore | None, Field(description="Null where people labelled no response under the receipt.")
    ]
    rows: Digest


class CardRate(Part):
    """A rate of its own beside the point score: under the receipt, and over the envelope."""

    name: str
    what: Sentence
    value: Rounded | None
    counts: dict[str, Count]
    interval: tuple[Rounded, Rounded] | None
    on_units: tuple[Rounded, Rounded] | None
    least: Rounded | None
    greatest: Rounded | None


class Neighbourhood(Part):
    """(iii) Score neighbourhood: where the score lies under the other configurations of a scope."""

    kind: ScopeKind
    scope: str
    configurations: Count
    least: Share
    mean: Share
    greatest: Share
    sdi: Annotated[Rounded | None, Field(description="(max - min) / mean; null when the mean is 0.")]
    sdi_range: Annotated[
        tuple[Rounded, Rounded] | None,
        Field(description="95 % of resamples of the configurations; null outside the full envelope."),
    ]
    unstable: Annotated[bool, Field(description="The mean is so small that the SDI says little.")]


class VerdictStability(Part):
    """(iv) Verdict stability: how often two configurations disagree on pass or fail."""

    threshold: float
    declared: Declared
    source: str
    passing: Count
    configurations: Count
    flip_rate: Rounded | None
    flip_rate_range: Annotated[
        tuple[Rounded, Rounded] | None, Field(description="95 % of resamples of the configurations.")
    ]
    ceiling: Rounded | None


class ModelPairRow(Part):
    """The model against one other: in how many configurations it scores higher, lower, the same."""

    other: str
    size: Count
    measured: Count
    higher: Count
    lower: Count
    ties: Count
    per_protocol: Annotated[
        tuple[Count, Count, Count],
        Field(description="Higher, lower, ties where unreadable answers are left out of the scores."),
    ]
    agrees: Annotated[
        bool, Field(description="Whether both ways of counting give the same majority, D1 and D2.")
    ]
    unread: Annotated[UnreadRow, Field(description="What unread answers leave open; a is this model.")]
    rho_flip: Annotated[Share, Field(description="A lower bound while measured is less than size.")]
    identical: Annotated[
        Share,
        Field(description="Mean rho_flip of models that agree on average and differ on as many units."),
    ]
    itself: Annotated[Share, Field(description="The most that it is on average of a model against itself.")]
    certified: Annotated[
        Claimed | None,
        Field(description="What holds beyond these items, assuming only independent units."),
    ]
    supported: Annotated[
        Claimed | None,
        Field(description="What holds beyond them with many units, or if answers could be swapped."),
    ]
    noise: Annotated[Standing, Field(description="How the verdict compares with the noise floor.")]
    words: Sentence


class RankingStability(Part):
    """(v) Ranking stability over the roster, in the full envelope."""

    roster: tuple[str, ...]
    inclusion: str | None
    tau_r: Rounded | None
    tau_r_range: Annotated[
        tuple[Rounded, Rounded] | None, Field(description="95 % of resamples of the configurations.")
    ]
    tau_r_dropped: Annotated[int, Field(ge=0, description="Configurations where all models tie.")]
    place: Annotated[
        PlaceRow | None,
        Field(description="In the order of mean scores; null as in `standings` of the certificate."),
    ]
    pairs: tuple[ModelPairRow, ...]


class HeldFixed(Part):
    """Something that the study holds at one value, with the value."""

    what: Sentence
    at: Sentence


class ScopeStatement(Part):
    """(vi) Scope statement: what was not varied, and what identifies how the study was made."""

    stated: Annotated[tuple[str, ...], Field(description="In the words of the study's author.")]
    held: Annotated[
        tuple[HeldFixed, ...],
        Field(description="What SafetyRepro (app. B, W) asks to be named and the grid holds fixed."),
    ]
    observed: Annotated[
        tuple[Sentence, ...],
        Field(description="Combinations that were left out; levels that never changed a score."),
    ]
    made_with: Annotated[
        dict[str, str],
        SentencesAt(("anchor", "configurations")),
        Field(description="Versions, seeds, digests of templates, the declared anchor."),
    ]


class Card(Part):
    """The card of one model on one benchmark."""

    model: str
    model_note: str | None
    benchmark: str
    benchmark_note: str | None
    items: Count
    held: ItemsHeld = 0
    distinct: DistinctQuestions = 0
    anchor_items: Annotated[
        int,
        Field(
            ge=0,
            description="How many of the items the anchor asks; 0 where an older gridc did not say it.",
        ),
    ] = 0
    unit: Annotated[UnitLevel, Field(description="Which groups of items are taken as independent.")]
    units: Count
    lower_is_better: Annotated[bool, Field(description="Which score is the good one; passes follow it.")]
    target: Annotated[
        Share | None, Field(description="The score of which the nearest is best; null where there is none.")
    ]
    axis_receipt: Receipt
    point_score: PointScore
    rates: Annotated[
        tuple[CardRate, ...], Field(description="Rates of their own: refusals, bias, further outcomes.")
    ]
    score_neighbourhood: tuple[Neighbourhood, ...]
    verdict_stability: tuple[VerdictStability, ...]
    ranking_stability: RankingStability
    scope_statement: ScopeStatement


class Waiver(Part):
    """A hazard that the study takes knowingly."""

    code: str
    hazard: Sentence
    why: str
    where: Annotated[str, Field(description="The cells that it is waived for; empty for all.")]


class PartCounts(Part):
    """Of how many sub-calls a part of the task is in each state: all of it word for word, all of it there
    with some paraphrased, some of it lost, none of it there; and of a task that has no such part."""

    kept: Count
    paraphrased: Count
    partial: Count
    lost: Count
    absent: Count


class PropagationRow(Part):
    """A step of a scaffold, over all models and benchmarks: what of the task its sub-calls were sent."""

    scaffold: str
    step: str
    n: Annotated[Count, Field(description="Sub-calls.")]
    system_prompt: PartCounts
    mc_option: Annotated[PartCounts, Field(description="The options.")]
    format_instruction: PartCounts
    safety_instruction: PartCounts
    rows: Annotated[
        Digest, Field(description="Of the sorted list of its sub-calls: [cell, item, replicate, call].")
    ]


class LevelRow(Part):
    """A level of an axis that varies: its tier, what it sets of a call, and where it comes from."""

    axis: str
    level: str
    tier: str
    sets: Annotated[str, Field(description="The keys of a call that it sets, with their values.")]
    provenance: str


class DifferenceLine(Part):
    """Whether two models differ under the reference configuration, and what other choices change."""

    a: str
    b: str
    text: Sentence


class CardDeck(Part):
    """The cards of a study, under its stamp."""

    format: Literal["gridc-card/3"]
    study: str
    title: str
    stamp: Annotated[Digest, Field(description="Of the study as it ran.")]
    registered: Annotated[
        Digest, Field(description="The lock's stamp: another one where the study departs from it.")
    ]
    supersedes: Annotated[tuple[Digest, ...], Field(description="Stamps that the lock's replaced.")]
    recorded: Annotated[
        RecordedRuns | None,
        Field(description="The logs that the answers are read from; null where gridc asked."),
    ]
    calls_before_stamp: Annotated[Count, Field(description="Calls that were answered before the stamp.")]
    earlier: Annotated[
        tuple[EarlierAnswersRow, ...], Field(description="Data that came before the study's own.")
    ] = ()
    anchor: Annotated[Strength, Field(description="How strongly the lock's stamp is tied to a time.")]
    complete: bool
    results: Digest
    certificate: Annotated[Digest, Field(description="SHA-256 of certificate.json.")]
    alpha: Annotated[float, Field(gt=0, lt=0.5, description="Level of what is certified.")]
    varied: Annotated[dict[str, tuple[str, ...]], Field(description="The axes that vary, with their levels.")]
    levels: Annotated[
        tuple[LevelRow, ...], Field(description="What each level of the axes that vary is.")
    ] = ()
    conflict_of_interest: str | None
    deviations: Annotated[tuple[DeviationPaths, ...], Field(description="The deviation log.")]
    assumptions: Annotated[
        tuple[str, ...], Field(description="Choices that the study's source leaves open, as made here.")
    ]
    scoring: Annotated[
        tuple[Sentence, ...],
        Field(description="Where a score is not 1 for a right answer and 0 for any other."),
    ]
    waivers: Annotated[tuple[Waiver, ...], Field(description="Hazards of the instrument that were waived.")]
    hypotheses: Annotated[
        tuple[Sentence, ...], Field(description="What became of each hypothesis, in a sentence or a few.")
    ] = ()
    taken_back: Annotated[
        tuple[Sentence, ...],
        Field(description="What the items alone would establish, and people's labels do not bear."),
    ] = ()
    differences: tuple[DifferenceLine, ...] = ()
    warnings: Annotated[
        tuple[Sentence, ...], Field(description="The checks that speak against the numbers.")
    ] = ()
    falsifications: Annotated[
        tuple[FalsificationRow, ...], Field(description="Tests that could have broken the findings.")
    ]
    noise_floors: tuple[FloorRow, ...]
    propagation: Annotated[
        tuple[PropagationRow, ...], Field(description="What reached each step of the scaffolds, if any.")
    ] = ()
    uncomputed: Annotated[
        tuple[UncomputedRow, ...], Field(description="Stated, and not computed by this version.")
    ]
    cards: tuple[Card, ...]
