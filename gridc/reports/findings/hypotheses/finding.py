"""What is read of a study to decide a hypothesis, and what is found."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gridc.compiler.hypotheses import kind_of
from gridc.reports.findings.certification import Weighed
from gridc.reports.findings.hypotheses.families import Correction
from gridc.reports.findings.noise import Floors, all_must_hold, one_must_hold
from gridc.reports.findings.observations import Samples
from gridc.reports.findings.scores import CellScore
from gridc.schema.hypotheses import EffectRow, RankingRow, Standing
from gridc.schema.inference import AnyHypothesis
from gridc.schema.spec import Spec
from gridc.statistics.decision import Verdict


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A study as far as it is measured: scores by cell, samples, and what the items say of other items.
    `inside` are the cells that may be read, by key; None: all. `final` says whether the run is complete."""

    spec: Spec
    samples: Samples
    scores: Sequence[CellScore]
    floors: Floors
    weighed: Weighed
    final: bool
    inside: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class HypothesisFinding:
    """The verdict on a hypothesis: a ranking of models, or an effect.

    `support` is the p-value of what it predicts and `refute` that of what refutes it, corrected together, as
    `correction` says, over `members` and compared with `alpha`: the claims of its family that can be false at
    once (`families`), of all rankings without one, or its own. None while the run is incomplete, and where
    descriptive evidence is enough. `otherwise` is the verdict on an effect by the other reading of unreadable
    answers, of all its family; None where no answer of it is unreadable, nothing is decided, or some were
    asked for.
    """

    hypothesis: AnyHypothesis
    family: str | None
    correction: Correction
    alpha: float
    members: int
    support: float | None
    refute: float | None
    ranking: RankingRow | None = None
    effect: EffectRow | None = None
    otherwise: Verdict | None = None

    @property
    def depends(self) -> bool:
        """Whether the verdict depends on how unreadable answers are read."""
        return self.otherwise is not None and self.otherwise != self.verdict

    @property
    def id(self) -> str:
        return self.hypothesis.id

    @property
    def kind(self) -> str:
        return self.hypothesis.kind

    @property
    def claim(self) -> str | None:
        return self.hypothesis.claim

    @property
    def verdict(self) -> Verdict:
        """By the strength of evidence, or by its kind (`compiler.hypotheses`)."""
        if self.ranking is not None and self.ranking.strength == "descriptive":
            return self.ranking.observed
        if self.support is None or self.refute is None:
            return "open"
        return kind_of(self.hypothesis).verdict(self.support, self.refute, self.alpha)

    @property
    def noise(self) -> Standing | None:
        """Whether batch shape alone could undo the verdict on a ranking: support falls with any step, a
        refutation stands with one reversed step. None while open, and for an effect."""
        if self.ranking is None or self.verdict == "open":
            return None
        holds = all_must_hold if self.verdict == "supported" else one_must_hold
        return holds(self.ranking.standings)
