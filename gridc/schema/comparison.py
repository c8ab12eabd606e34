"""The release policy, and what a comparison of two runs says under it: `compare.json`."""

from typing import Annotated, Literal

from pydantic import Field

from gridc.schema.base import ALPHA, Id, One, Table
from gridc.schema.rows import Count, Part, Rounded, Share

Aspect = Literal["model", "prompt", "request", "score", "code", "environment", "seed"]
"""What a fact about a run is of: the model that answered; what it was shown; what was asked beside the prompt
(decoding, method, precision); how answers count; the code that decides the two; what it ran on; its seed."""
MAY_DIFFER: tuple[Aspect, ...] = ("model", "environment", "seed")
"""What two runs of one instrument may differ in, where no policy says otherwise."""
CHANGING = 0.1
"""The share of answers that is assumed to change for no reason, where what a design can see is said."""
UNREADABLE = 0.2
"""The share of answers that are unreadable, cut off or missing, above which no run passes. A policy may say
another."""

MarginPoints = Annotated[float, Field(ge=0, lt=100)]
AlphaLevel = Annotated[float, Field(gt=0, le=0.5)]
Total = Annotated[int, Field(ge=1, le=10_000_000)]


class ReleaseFamily(Table):
    """Benchmarks whose regressions are corrected together (Holm)."""

    id: Annotated[Id, Field(description="How benchmarks name it.", examples=["safety"])]
    alpha: Annotated[
        AlphaLevel | None,
        Field(
            description="Its part of the level. Default: what no family states, in equal parts.",
            examples=[0.03],
        ),
    ] = None


class ReleaseBenchmark(Table):
    """What one benchmark may lose."""

    id: Annotated[Id, Field(description="As the runs call it.", examples=["truthfulqa"])]
    margin: Annotated[
        MarginPoints | None,
        Field(description="Percentage points. Default: the policy's.", examples=[3]),
    ] = None
    tier: Annotated[
        Literal["gate", "watch"],
        Field(description="A gate decides the verdict; what is watched is shown and decides nothing."),
    ] = "gate"
    family: Annotated[Id | None, Field(description="Default: one of all that name none.")] = None
    total: Annotated[
        Total | None, Field(description="How many items it has. Default: the policy's.", examples=[500])
    ] = None
    reading: Annotated[
        str | None,
        Field(
            description="In logs: the metric, filter or scorer that counts. Default: the policy's.",
            examples=["exact_match,flexible-extract"],
        ),
    ] = None
    tasks: Annotated[
        tuple[str, ...],
        Field(description="In logs: these tasks ask the same items in several ways, and are this benchmark."),
    ] = ()


class Policy(Table):
    """The file that `gridc compare --policy` reads."""

    policy: Annotated[One, Field(description="Version of the format.")]
    margin: Annotated[
        MarginPoints | None,
        Field(
            description="The largest loss that is accepted, in percentage points, of every benchmark that "
            "states none. Without it a benchmark that is not listed is only watched.",
            examples=[5],
        ),
    ] = None
    alpha: Annotated[
        AlphaLevel,
        Field(description="The chance of a false NO-GO, and that of a false GO, at most."),
    ] = ALPHA
    changing: Annotated[
        float,
        Field(
            ge=0,
            le=0.9,
            description="The share of answers that is assumed to change for no reason, where what so many "
            "units can see is said. No test uses it.",
        ),
    ] = CHANGING
    may_differ: Annotated[
        tuple[str, ...],
        Field(
            description="What the two runs may differ in and still be compared: model, prompt, request, "
            "score, code, environment or seed, each with all that is of it, or one argument by its name.",
            examples=[["model", "environment", "seed", "model_args.max_length"]],
        ),
    ] = MAY_DIFFER
    common_only: Annotated[
        bool,
        Field(
            description="Compare the items that all runs have, and no other. Else an item that one run has "
            "and another one lacks has failed there."
        ),
    ] = False
    total: Annotated[
        Total | None,
        Field(
            description="How many items a benchmark has that states no number itself, where logs do not say: "
            "lists of what was resolved leave out the rest.",
            examples=[500],
        ),
    ] = None
    reading: Annotated[
        str | None,
        Field(
            description="In logs: the metric, filter or scorer that counts wherever a log has it.",
            examples=["acc"],
        ),
    ] = None
    unit: Annotated[
        str | None,
        Field(
            description="In logs: the column, or the field of an item as a dotted path, that says what it "
            "was made from. Items of one unit are one independent draw.",
            examples=["family"],
        ),
    ] = None
    axes: Annotated[
        tuple[str, ...],
        Field(description="In tables: columns that are a part of the configuration.", examples=[["framing"]]),
    ] = ()
    ignore: Annotated[
        tuple[str, ...], Field(description="In tables: columns that are not read.", examples=[["comment"]])
    ] = ()
    unreadable: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="The largest share of a run's answers that may be unreadable or cut off, or missing "
            "in the candidate, in a benchmark that is shown not to be worse: above it the score says more of "
            "the run than of the model.",
        ),
    ] = UNREADABLE
    models: Annotated[
        dict[str, tuple[str, ...]],
        Field(
            description="In logs: names of one model, by the name that it gets.",
            examples=[{"large": ["large-2", "org/large-2"]}],
        ),
    ] = Field(default_factory=dict)
    benchmark: Annotated[tuple[ReleaseBenchmark, ...], Field(description="One entry each.")] = ()
    family: Annotated[tuple[ReleaseFamily, ...], Field(description="Those that benchmarks name.")] = ()

    def total_of(self, benchmark: str) -> int | None:
        """How many items a benchmark has, where the policy says."""
        return next((one.total for one in self.benchmark if one.id == benchmark and one.total), self.total)


FORMAT: Literal["gridc-comparison/1"] = "gridc-comparison/1"
AnswerState = Literal["read", "unreadable", "cut", "refused", "failed", "unscored"]
"""How an answer ended. What is `unreadable`, `cut` off at the token limit or `refused` by the provider is an
answer and has a score; what `failed` for good or is `unscored` yet has none."""
ReleaseVerdict = Literal["GO", "NO-GO", "INCONCLUSIVE", "NOT COMPARABLE"]
Regression = Literal["yes", "no", "cannot tell"]
InPoints = Annotated[Rounded, Field(description="In percentage points.")]
P = Annotated[Rounded, Field(ge=0, le=1)]


class KeptRun(Part):
    """A run that was read from the file of `gridc baseline`, and who signed that file."""

    name: Annotated[str, Field(description="The run, as it was named when it was kept.")]
    gridc: Annotated[str, Field(description="The version of gridc that kept it.")]
    sha256: Annotated[str, Field(description="SHA-256 of what the file holds.")]
    key: Annotated[str | None, Field(description="The key that signed it; null: nobody signed.")]
    signer: Annotated[
        str | None, Field(description="Who of those named with `--signer` has that key; null: nobody.")
    ]


class RunRow(Part):
    """A run: where it is, what made it, and whether every answer is there."""

    name: Annotated[str, Field(description="The path that was given, or the name of the store or log.")]
    made_by: Annotated[str, Field(description="The package and its version.")]
    models: Annotated[tuple[str, ...], Field(description="The models that it asked.")]
    finished: Annotated[bool | None, Field(description="Null where a log does not say.")]
    kept: Annotated[
        KeptRun | None, Field(description="Where the run was read from a baseline file; null elsewhere.")
    ]


class InstrumentDifference(Part):
    """What differs between the runs. `a` and `b` are null where that run does not have it."""

    aspect: Annotated[Aspect, Field(description="What it is a fact about.")]
    path: Annotated[str, Field(description="The setting or fact, by its name.")]
    a: Annotated[str | None, Field(description="What the baseline has; null: nothing.")]
    b: Annotated[str | None, Field(description="What the candidate has; null: nothing.")]
    allowed: Annotated[bool, Field(description="Whether the policy lets the runs differ in it.")]


class InstrumentRow(Part):
    """Whether both runs measure with one instrument, as far as they record it."""

    same: Annotated[bool, Field(description="Whether nothing differs but what may.")]
    equal: Annotated[tuple[str, ...], Field(description="What was compared and does not differ.")]
    prompts: Annotated[Count, Field(description="Prompts of matched items that both record.")]
    prompts_equal: Annotated[Count, Field(description="Of these those that are equal.")]
    differences: Annotated[
        tuple[InstrumentDifference, ...], Field(description="What differs, allowed or not.")
    ]
    unknown: Annotated[tuple[str, ...], Field(description="What a run does not record.")]


class StateCounts(Part):
    """How the answers to the items that are compared ended. `failed` and `unscored` ones have no score, and
    `absent` is what the other run has and this one does not."""

    read: Annotated[Count, Field(description="Read to their end.")] = 0
    unreadable: Annotated[Count, Field(description="Complete, and no answer found in them.")] = 0
    cut: Annotated[Count, Field(description="Cut off at the token limit.")] = 0
    refused: Annotated[Count, Field(description="Refused by the provider.")] = 0
    failed: Annotated[Count, Field(description="Failed for good: no score.")] = 0
    unscored: Annotated[Count, Field(description="Without a score for another reason.")] = 0
    absent: Annotated[
        Count, Field(description="Items that the other run has, and repetitions that are missing: no score.")
    ] = 0

    @property
    def misread(self) -> float:
        """The share of the answers that are there and that nobody could read to their end."""
        there = sum(self.model_dump().values()) - self.missing
        return round((self.unreadable + self.cut) / there, 9) if there else 0.0

    @property
    def lacking(self) -> float:
        """The share of all answers that are missing, or that nobody could read to their end."""
        every = sum(self.model_dump().values())
        return round((self.unreadable + self.cut + self.missing) / every, 9) if every else 0.0

    @property
    def missing(self) -> int:
        return self.failed + self.unscored + self.absent


class ChangeEstimate(Part):
    """Both scores and b - a, in the score's own direction. An answer that is missing counts as wrong; the
    bounds are the scores where all that is missing earned nothing, and where it earned all. Where a score is
    best at a target, of the items that have all their answers."""

    items: Annotated[Count, Field(description="Items that it is of.")]
    a: Annotated[InPoints, Field(description="The score of the baseline, in percent; of several their mean.")]
    b: Annotated[InPoints, Field(description="The score of the candidate, in percent.")]
    a_bounds: Annotated[
        tuple[InPoints, InPoints], Field(description="What the first can be, as answers are missing.")
    ]
    b_bounds: Annotated[
        tuple[InPoints, InPoints], Field(description="What the second can be, as answers are missing.")
    ]
    change: Annotated[InPoints, Field(description="b less a, in percentage points.")]
    low: Annotated[InPoints | None, Field(description="Lower limit of the change; null where there is none.")]
    high: Annotated[
        InPoints | None, Field(description="Upper limit of the change; null where there is none.")
    ]


class FlippedItem(Part):
    """An item that scores lower or higher in b, with both answers in one configuration that shows it."""

    item: Annotated[str, Field(description="Its id.")]
    configuration: Annotated[
        str, Field(description="The configuration that shows it; empty where there is one alone.")
    ]
    moved: Annotated[Literal["lost", "won"], Field(description="lost: it scores worse in b.")]
    a: Annotated[Rounded, Field(description="Its score in a.")]
    b: Annotated[Rounded, Field(description="Its score in b.")]
    prompt: Annotated[str | None, Field(description="What was asked in b; null where the run has no text.")]
    answer_a: Annotated[str | None, Field(description="What a answered; null where the run has no text.")]
    answer_b: Annotated[str | None, Field(description="What b answered; null where the run has no text.")]


class ReleaseSight(Part):
    """What so many units can show, before any answer, 4 times in 5."""

    loss: Annotated[
        InPoints | None,
        Field(description="The smallest true loss that is found to be beyond the margin; null: none."),
    ]
    margin: Annotated[
        InPoints | None, Field(description="The smallest margin that is shown where nothing changed.")
    ]
    units_needed: Annotated[
        Count | None,
        Field(description="About how many units show the stated margin where nothing changed."),
    ]


class ComparedBenchmark(Part):
    """One model on one benchmark, in both runs."""

    model: Annotated[str, Field(description="The model, as the candidate calls it.")]
    benchmark: Annotated[str, Field(description="The benchmark, as the runs call it.")]
    reading: Annotated[
        str | None, Field(description="The metric, filter or scorer that counts, where the logs name one.")
    ]
    tier: Annotated[
        Literal["gate", "watch"], Field(description="gate: it decides the verdict; watch: it is shown.")
    ]
    family: Annotated[str | None, Field(description="The family whose regressions are corrected together.")]
    unit: Annotated[str, Field(description="What is independent: `item`, or what items were made from.")]
    units: Annotated[Count, Field(description="How many such units are compared.")]
    items: Annotated[Count, Field(description="Items that are compared.")]
    matched: Annotated[Count, Field(description="Items that all runs have.")]
    only_a: Annotated[Count, Field(description="Items that b lacks.")]
    only_b: Annotated[Count, Field(description="Items of b that some baseline lacks.")]
    unnamed: Annotated[
        Count, Field(description="Items that no run names, of as many as the benchmark is said to have.")
    ]
    left_out: Annotated[
        Count,
        Field(
            description="Items that some run lacks and that are not compared: its plan did not have them, or "
            "the author asked for common items alone."
        ),
    ]
    other_question: Annotated[
        tuple[str, ...], Field(description="Ids that name another question in b, which a did not ask.")
    ]
    renumbered: Annotated[
        Count, Field(description="Ids that name another question in b, one that a asked under another id.")
    ]
    configurations: Annotated[Count, Field(description="Configurations that both runs have.")]
    configurations_only_a: Annotated[Count, Field(description="Configurations that only the baseline has.")]
    configurations_only_b: Annotated[Count, Field(description="Configurations that only the candidate has.")]
    worse_in: Annotated[Count, Field(description="Configurations whose score is the worse one in b.")]
    better_in: Annotated[Count, Field(description="Configurations whose score is the better one in b.")]
    states_a: Annotated[StateCounts, Field(description="How the answers of the baselines ended.")]
    states_b: Annotated[StateCounts, Field(description="How the answers of the candidate ended.")]
    direction: Annotated[str, Field(description="higher_is_better, lower_is_better, or best at a number.")]
    score: Annotated[ChangeEstimate | None, Field(description="Means over the configurations.")]
    anchor: Annotated[
        tuple[InPoints, InPoints] | None,
        Field(description="Of a and b under the anchor alone, with which the report of a study leads."),
    ]
    improved: Annotated[bool, Field(description="Whether the whole interval lies on the better side of 0.")]
    baselines: Annotated[
        tuple[InPoints, ...], Field(description="The score of each baseline, where there are several.")
    ] = ()
    lost: Annotated[
        Count, Field(description="Items, with all their answers in both, whose score is the worse one in b.")
    ]
    won: Annotated[Count, Field(description="The same whose score is the better one in b.")]
    readable: Annotated[
        ChangeEstimate | None, Field(description="Where both answers were read: beside it, not instead.")
    ]
    p_mcnemar: Annotated[
        P | None,
        Field(description="Exact, two-sided, of any change; null but for single items with 0 or 1."),
    ]
    margin: Annotated[
        InPoints | None, Field(description="The largest loss that is accepted; null: it is only watched.")
    ]
    p_worse: Annotated[P | None, Field(description="Of: worse by more than the margin.")]
    p_worse_holm: Annotated[P | None, Field(description="The same, Holm's over its family.")]
    p_not_worse: Annotated[P | None, Field(description="Of: not worse by as much as the margin.")]
    alpha: Annotated[Share | None, Field(description="The level of its family.")]
    regression: Annotated[
        Regression | None,
        Field(description="Whether it is worse by more than the margin; null: nothing is tested."),
    ]
    why: Annotated[str | None, Field(description="Why nothing is decided here.")]
    sight: Annotated[
        ReleaseSight | None, Field(description="What so many units can show; null without a test.")
    ]
    flips: Annotated[
        tuple[FlippedItem, ...],
        Field(description="The first items that were lost and won, with both answers."),
    ] = ()

    @property
    def name(self) -> str:
        return f"{self.model}/{self.benchmark}"

    @property
    def read_as(self) -> str:
        """Its name with the reading that counts: `m/sums by exact_match,strict-match`."""
        return self.name if self.reading is None else f"{self.name} by {self.reading}"

    @property
    def every(self) -> int:
        """Items that some run has, or that the benchmark is said to have."""
        return self.matched + self.only_a + self.only_b + self.unnamed

    @property
    def complete(self) -> bool:
        """Whether every answer is there, with a score."""
        return not (self.states_a.missing or self.states_b.missing)


class AbsentGate(Part):
    """A gate of which some run has no items."""

    name: Annotated[str, Field(description="The benchmark, with its model where others have it.")]
    lacking: Annotated[tuple[str, ...], Field(description="The runs without it.")]
    items: Annotated[Count, Field(description="The items of the run that has it; 0 where it lists none.")]
    a: Annotated[InPoints | None, Field(description="The score of the baseline; null where it has none.")]
    b: Annotated[InPoints | None, Field(description="The score of the candidate; null where it has none.")]


class RunComparison(Part):
    """Two runs, compared."""

    format: Annotated[Literal["gridc-comparison/1"], Field(description="Version of the format.")]
    gridc: Annotated[str, Field(description="The version of gridc that compared.")]
    verdict: Annotated[ReleaseVerdict, Field(description="What is decided of the candidate.")]
    exit_code: Annotated[Count, Field(description="What the command ends with.")]
    reasons: Annotated[tuple[str, ...], Field(description="Why the verdict is what it is, in sentences.")]
    scope: Annotated[
        tuple[str, ...], Field(description="What the verdict is of, where that is not all, in sentences.")
    ]
    a: Annotated[tuple[RunRow, ...], Field(description="The baselines.")]
    b: Annotated[RunRow, Field(description="The candidate.")]
    instrument: Annotated[InstrumentRow, Field(description="Whether both measure with one instrument.")]
    warnings: Annotated[tuple[str, ...], Field(description="What to know before any number, in sentences.")]
    alpha: Annotated[Share, Field(description="The chance of a false GO, and of a false NO-GO, at most.")]
    changing: Annotated[
        Share, Field(description="The share of answers that is assumed to change for no reason.")
    ]
    common_only: Annotated[bool, Field(description="Whether items that some run lacks are left out.")]
    policy: Annotated[str | None, Field(description="The policy file; null where there is none.")]
    benchmarks: Annotated[
        tuple[ComparedBenchmark, ...],
        Field(description="What was compared, one model on one benchmark each."),
    ]
    absent: Annotated[
        tuple[AbsentGate, ...], Field(description="Gates that some run lacks: none of them is passed.")
    ] = ()

    @property
    def regressed(self) -> tuple[ComparedBenchmark, ...]:
        return tuple(row for row in self.benchmarks if row.regression == "yes" and row.tier == "gate")

    @property
    def undecided(self) -> tuple[ComparedBenchmark, ...]:
        return tuple(row for row in self.benchmarks if row.regression == "cannot tell" and row.tier == "gate")

    @property
    def too_few(self) -> bool:
        """Whether nothing but too few items stands in the way: no answer is missing, no benchmark is absent,
        and none has too many unreadable answers."""
        open_rows = self.undecided
        complete = all(row.complete and row.why is None for row in open_rows)
        return self.verdict == "INCONCLUSIVE" and bool(open_rows) and complete and not self.absent
