"""The language of a release policy: how much worse than its baseline a run may be, benchmark by benchmark."""

from typing import Annotated, Literal

from pydantic import Field

from gridc.schema.base import ALPHA, Id, One, Table

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
