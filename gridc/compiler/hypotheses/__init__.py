"""The kinds of hypothesis: one module for each `kind` of the language (`kind.HypothesisKind`).

What is about one hypothesis is asked of its kind's module. Here is what is about several: the level that
their claims share.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from gridc.compiler.hypotheses.kind import HypothesisKind
from gridc.schema.base import ALPHA
from gridc.schema.inference import HYPOTHESIS_KINDS, AnyHypothesis
from gridc.schema.spec import Spec


def of_kind(package: str, kind: str, constant: str) -> Any:
    """What the module of a `kind` of the language in a package calls `constant`. Raises ImportError where
    there is no such module, or it has none."""
    name = f"{package}.{kind}"
    if find_spec(name) is None or not hasattr(module := import_module(name), constant):
        raise ImportError(f"`{kind}` is a hypothesis kind of the language and needs {name}.{constant}")
    return getattr(module, constant)


KINDS: Mapping[str, HypothesisKind[Any]] = {
    kind: of_kind(__name__, kind, "KIND") for kind in HYPOTHESIS_KINDS
}
"""By the `kind` of the language."""


def kind_of(hypothesis: AnyHypothesis) -> HypothesisKind[Any]:
    return KINDS[hypothesis.kind]


def claims_in(hypotheses: Sequence[AnyHypothesis], correction: str = "holm") -> int:
    """Over how many claims their p-values are corrected at the first step: by Holm's method (Shaffer 1986)
    those that can be false at once, by Benjamini and Hochberg's all."""
    claims = [kind_of(hypothesis).claims(hypothesis) for hypothesis in hypotheses]
    return sum(len(claim.sides) if correction == "bh" else claim.at_once for claim in claims)


def sharing_level(spec: Spec, hypothesis: AnyHypothesis) -> list[AnyHypothesis]:
    """Those that share its level although they declare no family: of some kinds all such, else itself."""
    if hypothesis.family is not None or not kind_of(hypothesis).shares_level:
        return [hypothesis]
    return [stated for stated in spec.hypothesis if stated.kind == hypothesis.kind and stated.family is None]


def strictest_level(spec: Spec, hypothesis: AnyHypothesis) -> float:
    """The level at which a claim of it is tested when nothing else of its family is found. One level is for
    support and refutation together."""
    family = next((declared for declared in spec.family if declared.id == hypothesis.family), None)
    if family is not None:
        members = [member for member in spec.hypothesis if member.family == family.id]
        alone = family.correction == "none"
        return family.alpha / claims_in([hypothesis] if alone else members, family.correction)
    return (spec.analysis.alpha or ALPHA) / claims_in(sharing_level(spec, hypothesis))
