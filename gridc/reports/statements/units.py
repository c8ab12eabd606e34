"""What is said of the units that every level and interval rests on."""

from collections.abc import Iterator

from gridc.numbers import number
from gridc.reports.findings.findings import BenchmarkFinding, Findings
from gridc.reports.statements.statement import Statement, of_benchmark
from gridc.reports.words import PLURAL
from gridc.schema.items import UNIT_LEVELS
from gridc.statistics.jackknife import FLOOR, enough


@of_benchmark("few_units", "limits", 60)
def few(_: Findings, benchmark: BenchmarkFinding) -> Iterator[Statement]:
    """Where units are too few or too unequal for anything to be supported."""
    if benchmark.full.pairs and benchmark.units < benchmark.items and not enough(benchmark.effective):
        yield Statement(
            f"On {benchmark.benchmark} the {benchmark.units:,} {PLURAL[benchmark.unit]} are worth "
            f"{number(benchmark.effective, 1)} of one size, and joint sign flips need {FLOOR:g}: no order "
            "of models is supported there, whatever the scores.",
            "limit",
            (benchmark.benchmark,),
            short=f"On {benchmark.benchmark} no order of models can be supported: its {benchmark.items:,} "
            f"items come in {benchmark.units:,} groups, worth {number(benchmark.effective, 1)} of one size, "
            f"and {FLOOR:g} are needed.",
        )


@of_benchmark("passed_over", "limits", 50)
def passed_over(_: Findings, benchmark: BenchmarkFinding) -> Iterator[Statement]:
    """Where the spec names a finer unit than the data document, or a bootstrap of less than a unit."""
    resampled, about = benchmark.intervals.unit, (benchmark.benchmark,)
    if UNIT_LEVELS.index(resampled) < UNIT_LEVELS.index(benchmark.unit):
        yield Statement(
            f"On {benchmark.benchmark} every interval, and every p at a margin, is of resamples of each "
            f"{resampled}, though the unit is the {benchmark.unit}: they assume that the {PLURAL[resampled]} "
            f"of one {benchmark.unit} are independent.",
            "limit",
            about,
        )
    if benchmark.coarser:
        yield Statement(
            f"On {benchmark.benchmark} the spec takes each {benchmark.unit} as independent, though the data "
            f"document a coarser level ({', '.join(benchmark.coarser)}): what is certified and every "
            f"interval there assumes that the {PLURAL[benchmark.unit]} of one {benchmark.coarser[-1]} are "
            "independent.",
            "limit",
            about,
        )
