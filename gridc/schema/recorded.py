"""What logs that other packages wrote certify, as a document: `gridc certify --from`."""

import re
from typing import Annotated, Literal

from pydantic import Field

from gridc.diagnostics.errors import visible
from gridc.schema.comparison import StateCounts
from gridc.schema.rows import Count, Digest, InItsUnit, Part, Rounded, Share, StandingsRow, Test

FORMAT: Literal["gridc-logs/2"] = "gridc-logs/2"
ScoreInterval = Annotated[
    tuple[Rounded, Rounded] | None,
    Field(description="95 %, over units, Gaffke's limits; null where there is no spread."),
]


class LogFileRow(Part):
    """A log that was read."""

    path: str
    sha256: Digest
    made_by: str

    @property
    def name(self) -> str:
        """The file and its folder, of a path that may say where its reader keeps things."""
        return visible("/".join(re.split(r"[/\\]", self.path)[-2:]))


class LogGroupRow(Part):
    """Benchmarks that a package puts together, as one number for a model in a configuration. What is missing
    counts as it does in their scores."""

    group: str
    model: str
    configuration: str
    reading: str
    micro: Annotated[Rounded | None, Field(description="The mean over items: each counts alike.")]
    micro_interval: ScoreInterval
    macro: Annotated[
        Rounded | None, Field(description="The mean over benchmarks of their means: each counts alike.")
    ]
    macro_interval: ScoreInterval
    items: Count
    benchmarks: tuple[str, ...]
    missing: Annotated[
        tuple[str, ...], Field(description="Of the group's, those that are not in it, and why.")
    ]
    printed: Annotated[Rounded | None, Field(description="What the package prints.")]
    printed_is: Annotated[
        Literal["micro", "macro", "both"] | None, Field(description="Which of them that is; null for none.")
    ]


class RecordedRuns(Part):
    """Logs of other packages that answers are read from: what wrote them, which files they are, what was seen
    while they were read, and what they do not record."""

    packages: tuple[str, ...]
    files: tuple[LogFileRow, ...]
    notes: tuple[str, ...]
    unknown: tuple[str, ...]
    readings: Annotated[
        dict[str, str], Field(description="By benchmark, as the logs name it, what they call the score.")
    ] = Field(default_factory=dict)
    groups: Annotated[
        tuple[LogGroupRow, ...], Field(description="One number for each group of benchmarks.")
    ] = ()

    @property
    def provenance(self) -> str:
        """Where the answers come from, in words."""
        return f"imported from {', '.join(self.packages)} logs, not pre-registered"


class LogStatisticRow(Part):
    """A statistic that was asked for, of one model in one configuration."""

    statistic: str
    what: Annotated[str, Field(description="What it is, in words.")]
    benchmark: str
    model: str
    configuration: str
    value: Annotated[InItsUnit | None, Field(description="Null where the answers do not determine it.")]
    interval: Annotated[tuple[InItsUnit, InItsUnit] | None, Field(description="95 %, over units.")]
    unit: Annotated[
        str, Field(description="`%` of shares, whose value is at most 1; empty of plain numbers.")
    ]
    answers: Annotated[Count, Field(description="That have what it reads.")]
    asked: Annotated[Count, Field(description="Answers, those that failed or are absent among them.")]
    note: Annotated[str, Field(description="Why it has no value or no interval, or what to know of it.")]


class LogStopRow(Part):
    """Answers that one thing ended, such as a limit of messages or an error."""

    what: str
    answers: Count
    share: Annotated[Share, Field(description="Of an item's answers, mean over items.")]
    interval: ScoreInterval


class LogScoreRow(Part):
    """One model in one configuration. A score is the mean over items of the mean over their repetitions,
    null where the reading gives none. Where scores lie between 0 and 1, what has none, or is absent, is
    wrong in it; else the score is of what has one."""

    model: str
    configuration: str
    reading: str
    score: Annotated[Rounded | None, Field(description="In the reading's own unit.")]
    interval: ScoreInterval
    bounds: Annotated[
        tuple[Rounded, Rounded] | None,
        Field(description="Of the score, all that is missing being wrong and right; null where nothing is."),
    ]
    items: Annotated[Count, Field(description="That the score is of.")]
    asked: Annotated[Count | None, Field(description="That the log has; null where it has no items.")]
    repetitions: Annotated[Count, Field(description="Of an item, at most.")]
    printed: Annotated[Rounded | None, Field(description="What the package prints, of a single run.")]
    states: StateCounts
    stops: Annotated[
        tuple[LogStopRow, ...], Field(description="What ended answers, where the log names it.")
    ] = ()


class LogReadingRow(Part):
    """Another reading of the same answers: described, not tested."""

    model: str
    configuration: str
    reading: str
    score: Rounded | None
    items: Count


class LogPairRow(Part):
    """Two models over the configurations that are compared: which orders occur on these items, and which are
    certified beyond them."""

    a: str
    b: str
    configurations: Count
    a_better: Count
    b_better: Count
    equal: Count
    verdict: str
    items: Annotated[Count, Field(description="That count in a configuration, at the least.")]
    test: Test
    order_p: Annotated[Share, Field(description="Holm's: one of them is better in every configuration.")]
    reversal_p: Annotated[Share, Field(description="Holm's: each is better in some configuration.")]
    certified: Literal["order", "reversal"] | None
    first: Annotated[str | None, Field(description="Of a certified order: the better one.")]
    witness_a: Annotated[str | None, Field(description="The configuration that shows a ahead by most.")]
    witness_b: str | None


class LogPrintedRow(Part):
    """A number that a package prints of its own log, where the items give another one."""

    benchmark: Annotated[str, Field(description="Or the group of benchmarks that a mean is of.")]
    model: str
    configuration: str
    reading: str
    what: Literal["score", "standard error", "mean of a group"]
    package: str
    printed: Rounded
    items: Annotated[
        Rounded | None,
        Field(description="What the items give: of a standard error that of independent items."),
    ]
    cause: Annotated[str | None, Field(description="Why they differ; null where that is not known.")]


class LogPrinted(Part):
    """What packages print of the runs that have items, beside what these give."""

    compared: Annotated[Count, Field(description="Numbers that are printed, of those with items.")]
    agree: Count
    without_items: Annotated[Count, Field(description="Numbers that are printed of what has no items.")]
    differences: tuple[LogPrintedRow, ...]


class LogBenchmarkRow(Part):
    """One benchmark in all logs. Every model that is compared has all configurations that are."""

    benchmark: str
    items: Count
    units: Count
    left_out: Annotated[
        Count, Field(description="Items that some model lacks, where common items alone count.")
    ]
    lower_is_better: bool
    itemised: bool
    configurations: tuple[str, ...]
    scores: tuple[LogScoreRow, ...]
    readings: tuple[LogReadingRow, ...]
    standings: Annotated[
        StandingsRow | None, Field(description="Null where fewer than two models are compared.")
    ]
    pairs: tuple[LogPairRow, ...]
    not_compared: Annotated[
        tuple[str, ...], Field(description="Models, or those of another row, with the reason.")
    ]
    between_models: Annotated[
        tuple[str, ...], Field(description="In what models differ beside their names, as the logs have it.")
    ]
    warnings: tuple[str, ...]
    matching: Annotated[
        str | None, Field(description="How items of several packages were matched; null where one has all.")
    ]


class LogCertificate(Part):
    """What logs certify."""

    format: Literal["gridc-logs/2"]
    gridc: str
    provenance: str
    stamp: Annotated[
        Digest | None,
        Field(description="Of the study that gridc exported as these logs; null of other packages."),
    ]
    alpha: Share
    common_only: Annotated[bool, Field(description="Whether only items that all models have count.")]
    files: tuple[LogFileRow, ...]
    notes: tuple[str, ...]
    unknown: Annotated[tuple[str, ...], Field(description="What some log does not record.")]
    groups: tuple[LogGroupRow, ...]
    printed: LogPrinted
    benchmarks: tuple[LogBenchmarkRow, ...]
    statistics: Annotated[tuple[LogStatisticRow, ...], Field(description="Those that were asked for.")] = ()
