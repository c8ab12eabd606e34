"""What a spec states and this version of gridc does not compute. Nothing that is stated is dropped silently:
each is listed once on the terminal, the page, the cards and in the certificate, from here."""

from collections.abc import Iterator
from dataclasses import dataclass

from gridc.schema.inference import RankingHypothesis
from gridc.schema.spec import Analysis, Spec


@dataclass(frozen=True, slots=True)
class Uncomputed:
    """A statement of the spec: its table, its id (of a choice of the analysis, its key), and what it asks."""

    table: str
    id: str
    what: str


def uncomputed(spec: Spec) -> tuple[Uncomputed, ...]:
    """Everything that the spec states and no number of the report answers, in the order of the language."""
    return tuple(_stated(spec))


def _stated(spec: Spec) -> Iterator[Uncomputed]:
    for hypothesis in spec.hypothesis:
        if not isinstance(hypothesis, RankingHypothesis):
            yield Uncomputed("hypothesis", hypothesis.id, f"{hypothesis.kind} along {hypothesis.axis}")
    for family in spec.family:
        yield Uncomputed("family", family.id, f"correction {family.correction} at {family.alpha:g}")
    for fork in spec.fork:
        others = ", ".join(each for each in fork.levels if each != fork.default)
        yield Uncomputed("fork", fork.id, f"{fork.default} was chosen; instead of it: {others}")
    for curve in spec.curve:
        yield Uncomputed("curve", curve.id, f"specifications over {', '.join(curve.forks)}")
    for test in spec.falsification:
        yield Uncomputed("falsification", test.id, test.test)
    if spec.judge is not None:
        yield Uncomputed("judge", spec.judge.source, "answers assessed by a model")
    for key, what in _analysis(spec.analysis):
        yield Uncomputed("analysis", key, what)


def _analysis(stated: Analysis) -> Iterator[tuple[str, str]]:
    if stated.estimator != "none":
        yield "estimator", stated.estimator
    if stated.outcome != "itt":
        yield "outcome", f"{stated.outcome}; counts and certificates are intention-to-treat"
    if stated.equivalence != "all":
        yield "equivalence", f"{stated.equivalence} contrasts"
    if stated.bootstrap is not None and stated.bootstrap.unit != "configuration":
        draws, unit = stated.bootstrap.resamples, stated.bootstrap.unit
        yield "bootstrap", f"{draws} resamples by {unit}; configurations are resampled instead"
    if stated.permutations is not None:
        yield "permutations", f"{stated.permutations} draws"
    if stated.nnh is not None:
        yield "nnh", f"rounding {stated.nnh.rounding}"
    if stated.generalizability:
        facets = ", ".join(f"{facet} {kind}" for facet, kind in stated.generalizability.items())
        yield "generalizability", facets
