"""Model x benchmark x configuration."""

from dataclasses import dataclass

from gridc.compiler.grid.configurations import LevelByAxis
from gridc.compiler.instrument.setting import Setting
from gridc.schema.spec import Spec

ONLY = "the only one"
"""The name of a configuration where nothing is varied."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Model x benchmark x configuration: one score of the study.

    `shared` says that every model runs the configuration, so that it belongs to the envelope.
    """

    model: str
    benchmark: str
    levels: LevelByAxis
    setting: Setting
    tier: str = ""
    shared: bool = True
    slices: tuple[str, ...] = ()

    @property
    def configuration(self) -> str:
        """`template=T1,decoding=greedy`: the configuration's name everywhere."""
        return ",".join(f"{axis}={level}" for axis, level in self.levels.items()) or ONLY

    @property
    def key(self) -> str:
        """The cell's name everywhere."""
        return f"{self.model}/{self.benchmark}/{self.configuration}"


def anchored(spec: Spec, cell: Cell) -> bool:
    """Whether a cell is one that the anchor of the study selects: every cell, where none is declared."""
    anchor = spec.analysis.anchor
    place = {**cell.levels, "benchmark": cell.benchmark, "tier": cell.tier}
    return anchor is None or anchor.matches(place)
