"""How strongly a file is tied to a time or a person, from the evidence that lies beside it.

    gridcard.lock       committed to git, and unchanged since     git
    gridcard.lock.sig   an ssh signature of the lock's bytes      signed
    gridcard.lock.tsr   an RFC 3161 token for the lock's bytes    timestamped
    gridcard.lock.doi   the DOI of a registry's entry             registered

Evidence is checked each time that a strength is said, against whom the verifier believes (`Trust`): a key, a
root certificate or a record that lies beside the lock was put there by whoever made the lock. What fits the
lock and is vouched for by nobody whom the verifier named is said, and is no strength. Evidence that does not
fit is an error (GC406), never a weaker anchor.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from gridc.compiler.frontend.extends import spec_files
from gridc.compiler.lock.git import repository_of
from gridc.compiler.lock.registration import registrations
from gridc.compiler.lock.signature import signatures
from gridc.compiler.lock.time_stamp import tokens
from gridc.compiler.lock.trust import NOBODY, Trust
from gridc.schema.base import Strength

STRENGTHS: tuple[Strength, ...] = get_args(Strength)
AnchorEvidence = Literal["none", "commit", "signature", "token", "registration"]
REACH: dict[AnchorEvidence, Strength] = {
    "none": "unanchored",
    "commit": "git",
    "signature": "signed",
    "token": "timestamped",
    "registration": "registered",
}
UNCOMMITTED = "the lock is not committed"
CHANGED = "the spec or the lock differs from what is committed"
SUFFIXES = (".sig", ".tsr", ".doi")
"""Of the files of evidence beside a lock or a record of results."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """One tie. `fact` is what the evidence says by itself: a commit, a key, a token's time, a DOI. `by` says
    who vouches for it among those whom the verifier named; without one the evidence is no strength. `time` is
    what a third party says that it vouches for, ISO 8601."""

    evidence: AnchorEvidence
    fact: str
    by: str | None = None
    time: str | None = None

    @property
    def strength(self) -> Strength:
        return REACH[self.evidence] if self.by is not None or self.evidence == "commit" else "unanchored"

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"strength": self.strength, "detail": self.detail}

    @property
    def detail(self) -> str:
        """The tie in words."""
        if self.evidence == "none":
            return self.fact
        if self.evidence == "commit":
            return f"commit {self.fact}, whose dates are its author's word"
        if self.by is None:
            return {
                "signature": f"a signature by {self.fact} is given; whose key it is was not checked",
                "token": f"a token of {self.fact} is given; its authority was not checked",
                "registration": f"DOI {self.fact} given, not checked",
            }[self.evidence]
        return {
            "signature": f"by {self.by}, {self.fact}",
            "token": f"{self.fact}, by an authority under {self.by}",
            "registration": f"https://doi.org/{self.fact}, whose record {self.by} holds the stamp",
        }[self.evidence]


def anchors(lock_path: Path, spec_path: Path, trust: Trust = NOBODY) -> list[Anchor]:
    """Every tie that the lock has, and the reason when it has no commit. Raises `StampError` (GC406) where
    evidence does not fit the lock."""
    registered = (Anchor("registration", *registration) for registration in registrations(lock_path, trust))
    return [_commit(lock_path, spec_path), *ties(lock_path, trust), *registered]


def ties(path: Path, trust: Trust = NOBODY) -> list[Anchor]:
    """The signature and the token beside a file."""
    signed = (Anchor("signature", *signature) for signature in signatures(path, trust))
    return [*signed, *(Anchor("token", *token) for token in tokens(path, trust))]


def strongest(shown: Sequence[Anchor]) -> Anchor:
    """The strongest tie, the first of those that are equal."""
    return max(shown, key=lambda anchor: STRENGTHS.index(anchor.strength))


def in_words(shown: Sequence[Anchor]) -> str:
    """The strongest tie, and what else is given and was not checked."""
    first = strongest(shown)
    rest = [anchor.detail for anchor in shown if anchor is not first and anchor.strength == "unanchored"]
    given = [text for text in rest if text not in (UNCOMMITTED, CHANGED)]
    return "; ".join([first.detail, *given])


def _commit(lock_path: Path, spec_path: Path) -> Anchor:
    repository = repository_of(lock_path.parent)
    commit = repository.last_change(lock_path) if repository else None
    if repository is None or commit is None:
        return Anchor("none", UNCOMMITTED)
    if not all(map(repository.holds, (lock_path, spec_path, *spec_files(spec_path)))):
        return Anchor("none", CHANGED)
    return Anchor("commit", commit)
