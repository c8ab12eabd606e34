"""Rows of the certificate: how far scores move from cell to cell, and what share of it is due to what."""

from typing import Annotated, Literal

from pydantic import Field

from gridc.schema.rows import Count, Digest, Part, Ratio, Rounded, Share


class ChangeRow(Part):
    """Differences over `cells` pairs of cells, and their size: of two versions right - left, of two models
    a - b."""

    cells: Annotated[int, Field(ge=1)]
    mean: Rounded
    median_absolute: Rounded
    mean_absolute: Rounded
    max_absolute: Rounded
    over_5: Annotated[Count, Field(description="Cells that move by more than 5 points.")]
    over_10: Annotated[Count, Field(description="Cells that move by more than 10 points.")]


class MovedRow(Part):
    """A cell and its score on both sides, as [numerator, denominator]."""

    cell: str
    left: Ratio
    right: Ratio


class ReorderedRow(Part):
    """A configuration whose order of models differs, and the pairs whose strict order is reversed."""

    configuration: str
    left: tuple[tuple[str, ...], ...]
    right: tuple[tuple[str, ...], ...]
    flips: tuple[tuple[str, str], ...]


class PairedRow(Part):
    """The paired report of two precisions, or of two stores (SafetyRepro, app. O). All else is the same."""

    axis: Annotated[str | None, Field(description="Whose levels the sides are; null for two stores.")]
    rows: Annotated[Digest | None, Field(description="Digest of the cells behind it; null for two stores.")]
    left: str
    right: str
    unpaired: Annotated[Count, Field(description="Measured cells without a measured partner.")]
    overall: ChangeRow | None
    by_model: dict[str, ChangeRow]
    largest: tuple[MovedRow, ...]
    orderings: Annotated[Count, Field(description="Configurations in which every model is paired.")]
    same_order: Annotated[Count, Field(description="Of these, with exactly the same order, ties as ties.")]
    flips: Annotated[Count, Field(description="Strict orders of a pair that are reversed.")]
    reordered: tuple[ReorderedRow, ...]


class BetweenRow(Part):
    """Two models, cell by cell, a - b: what a scale probe reads (SafetyRepro, app. Q). A range is max - min
    of a model's scores over the configurations in which both are measured."""

    a: str
    b: str
    rows: Digest
    change: ChangeRow
    range_a: Share
    range_b: Share
    sdi_a: Rounded | None
    sdi_b: Rounded | None


class AgreementRow(Part):
    """The same responses of one model, scored under two levels of an axis (replicate 0 of every item, all
    configurations that the levels share). Descriptive."""

    model: str
    axis: str
    left: str
    right: str
    configurations: Count
    both: Annotated[Count, Field(description="Items x configurations that earn the point under both.")]
    left_only: Count
    right_only: Count
    neither: Count
    kappa: Annotated[
        Rounded | None,
        Field(description="Cohen's; null where both rules give every item the same score."),
    ]
    least: Annotated[Rounded | None, Field(description="Kappa of the configuration where it is least.")]
    greatest: Rounded | None
    rows: Digest


class TermRow(Part):
    """A term of a variance decomposition: a main effect, or a pair of factors for their interaction."""

    term: tuple[str, ...]
    sum_of_squares: Rounded
    df: Count
    eta2: Rounded
    omega2: Annotated[Rounded | None, Field(description="Null without residual degrees of freedom.")]


class DecompositionRow(Part):
    """Variance shares (SafetyRepro, app. F). On a balanced grid the four shares sum to one."""

    type: Literal["II", "III"]
    n: Annotated[Count, Field(description="Scores.")]
    balanced: bool
    terms: tuple[TermRow, ...]
    residual: Rounded
    residual_df: Count
    total: Rounded
    model: Annotated[Rounded, Field(description="eta^2 of the model.")]
    implementation: Annotated[Rounded, Field(description="Sum of eta^2 over the harness axes.")]
    interaction: Annotated[Rounded, Field(description="Sum of eta^2 over the two-way terms.")]
    unexplained: Rounded
    rho: Annotated[Rounded | None, Field(description="implementation / model.")]


class VarianceRow(Part):
    """The decomposition of one measurand's scores; `clean`: of its parse-clean cells."""

    measurand: str
    clean: bool
    second: Annotated[DecompositionRow, Field(description="Type II sums of squares.")]
    third: Annotated[DecompositionRow, Field(description="Type III: the same on a balanced grid.")]


class LevelGapRow(Part):
    """How far one model's score moves from one level of an axis to another, all else the same."""

    axis: str
    before: str
    after: str
    model: str
    change: ChangeRow


class IntervalRow(Part):
    """A statistic and its central 95 % over resamples of the configurations; `dropped` are undefined."""

    point: Rounded | None
    low: Rounded | None
    high: Rounded | None
    dropped: Count


class MaximumRow(Part):
    """The largest value of a statistic over models and benchmarks (SafetyRepro, app. I)."""

    name: str
    slices: Annotated[Count, Field(description="Models x benchmarks.")]
    interval: IntervalRow
