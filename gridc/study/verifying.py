"""Recompute everything that a study or a bundle claims."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from gridc import __version__
from gridc.compiler.compile import Compiled
from gridc.compiler.lock.attestation import Attestation
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.consent import asked_of_hub
from gridc.diagnostics.errors import Diagnostic, GridcError, UsageError, VerificationError
from gridc.files import require_unlinked, write_atomic
from gridc.numbers import percent
from gridc.reports.exchange import is_bundle, prml
from gridc.reports.exchange.bundle import verify_bundle
from gridc.reports.verification import VerifiedStudy
from gridc.reports.verification import verify_study as recompute
from gridc.runtime.rerun import Draw, RepeatedCalls, of_providers
from gridc.runtime.rerun import rerun as repeat
from gridc.runtime.store.store import Store
from gridc.study.notebook import InNotebook
from gridc.study.place import Place


@dataclass(frozen=True, slots=True)
class Verification(InNotebook):
    """A study, by its stamp, or a bundle, by its folder, in which nothing differs: `checked` says what was
    looked at, a line each. It is verified only when its run is `complete`. The ties say what holds the lock
    and the results to a time or a person, as checked here. `not_compared` has what this version writes in
    place of each report that other code wrote: the texts themselves, and sentences in JSON, were not
    compared."""

    stamp: str | None
    bundle: Path | None
    checked: tuple[str, ...]
    complete: bool
    lock_ties: tuple[Attestation, ...]
    results_ties: tuple[Attestation, ...]
    not_compared: Mapping[str, str]
    results: Path
    draw: Draw | None = None
    repeated: tuple[RepeatedCalls, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 where all of it was verified, 6 of a run that is not complete, and 9 where reports were not
        compared."""
        return 6 if not self.complete else 9 if self.not_compared else 0

    def as_json(self) -> dict[str, Any]:
        about = {"stamp": self.stamp} if self.bundle is None else {"bundle": str(self.bundle)}
        state = {"verified": self.complete, "complete": self.complete}
        held = {"lock": self.lock_ties, "results": self.results_ties}
        ties = {what: [tie.as_json() for tie in anchors] for what, anchors in held.items()}
        document: dict[str, Any] = {**state, **about, "checked": list(self.checked), "ties": ties}
        document["not_compared"] = sorted(self.not_compared)
        if self.draw is not None:
            document["rerun"] = {**asdict(self.draw), "models": [row.as_json() for row in self.repeated]}
        return document

    def write_again(self) -> Path | None:
        """Write this version's reports in place of those that were not compared into a folder beside the
        results or the bundle, which stay as they are. The folder; None where all was compared. Raises
        `OSError`, as where the folder is a link."""
        if not self.not_compared:
            return None
        results = self.results.resolve()
        folder = results.with_name(f"{results.name}-by-gridc-{__version__}")
        for name, text in self.not_compared.items():
            for place in (folder, (folder / name).parent):
                require_unlinked(place)
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_atomic(folder / name, text)
        return folder


def verify(
    place: Place, rerun: float | None, rerun_seed: str | None, notify: Callable[[str], None]
) -> Verification:
    """Recompute a study, or the bundle that its spec lies in. `rerun` is the share (0 to 1) of the calls that
    are made again too, drawn now, or by the seed of an earlier draw; `notify` is told before the hub is asked
    for files of their models. Raises `VerificationError` with everything that differs, an invalid spec too.
    """
    if rerun_seed is not None and rerun is None:
        message = "a seed draws calls, and none are to be made again"
        raise UsageError([Diagnostic("GC000", message, help="`--rerun 1%` says how many")])
    folder = place.spec.parent
    if not place.spec.exists():
        place.checked()  # a path that is not there is a slip of whoever typed it, and no difference
    if is_bundle(folder):
        if rerun is not None:
            help = "verify the study itself, where its models are"
            raise UsageError([Diagnostic("GC000", "a bundle has no models that could be asked", help=help)])
        return _verification(verify_bundle(folder, place.trust), folder, bundle=folder)
    try:
        compiled, lock = place.stamped()
    except GridcError as error:
        raise VerificationError(error.diagnostics) from None
    path = place.store(compiled)
    with Store.open(path, look=False) as store:  # verifying looks at more
        claims = prml.folder_beside(path.parent)
        differing = list(prml.manifest_differences(lock, claims))
        try:
            found = recompute(compiled, lock, store, path.parent, place.trust)
        except VerificationError as error:
            raise VerificationError([*differing, *error.diagnostics]) from None
        if differing:
            raise VerificationError(differing)
        verified = _verification(found, path.parent, lock.stamp)
        verified = replace(verified, checked=(*verified.checked, *prml.checked(claims)))
        if rerun is None:
            return verified
        providers, draw = of_providers(compiled), Draw.of(rerun, rerun_seed)
        for line in of_hub(compiled):
            notify(line)
        rows = repeat_calls(compiled, store, draw)
    lines = [line for row in rows for line in _lines(row)]
    lines += [f"{name} was asked through a server: no call of it was made again" for name in providers]
    checked = (*verified.checked, *([_drawn(draw)] if rows else []), *lines)
    return replace(verified, checked=checked, draw=draw, repeated=tuple(rows))


def of_hub(compiled: Compiled) -> tuple[str, ...]:
    """What making calls again asks the hub for."""
    again = (model for model in compiled.spec.asked_models if model.id not in of_providers(compiled))
    return asked_of_hub([model.id for model in again if model.source.startswith("hf:")])


def _verification(
    found: VerifiedStudy, results: Path, stamp: str | None = None, bundle: Path | None = None
) -> Verification:
    return Verification(
        stamp,
        bundle,
        found.checked,
        found.complete,
        found.lock_ties,
        found.results_ties,
        found.not_compared,
        results,
    )


def repeat_calls(compiled: Compiled, store: Store, draw: Draw) -> list[RepeatedCalls]:
    """What repeating the drawn calls came to. Raises `VerificationError` (GC708) for calls whose answers are
    not those that are stored."""
    rows, stamp = list(repeat(compiled, store, draw)), Plan(compiled.study).study_digest
    help = f"`--rerun-seed {draw.seed}` repeats this draw"
    wrong = [
        Diagnostic("GC708", f"{row.model} answers otherwise: {store.whereabouts(stamp, call)}", help=help)
        for row in rows
        for call in row.differing
    ]
    if wrong:
        raise VerificationError(wrong)
    return rows


def _drawn(draw: Draw) -> str:
    if draw.fresh:
        return f"calls to make again were drawn now, with seed {draw.seed}"
    return f"calls to make again were drawn with seed {draw.seed}, which was given and so could be foreseen"


def _lines(row: RepeatedCalls) -> Iterator[str]:
    moved = ""
    if row.max_moved is not None:
        moved = f"; log-likelihoods moved by at most {row.max_moved:.1e} nats"
    if row.tolerance is not None:
        moved += f", of {row.tolerance:.1e} that the noise measured here allows"
    ties = f", {row.ties} of them at a near tie, which is not judged" if row.ties else ""
    shape = "" if row.floor is None else f" (batch shape alone changes {row.floor} of them)"
    yield (
        f"{row.model} at {row.precision}: {row.calls:,} of {row.of:,} calls were made again; "
        f"{row.changed} answers differ{shape}{ties}{moved}"
    )
    if row.needed > row.calls:
        yield "so few calls show nothing at this precision, even if all of them differ: draw more"
        return
    chances = ", ".join(f"{percent(float(share))}: {chance:.3f}" for share, chance in row.found.items())
    least = (
        f"; {row.found_95:,} or more such of {row.of:,} are found 95 times in 100"
        if row.found_95 <= row.of
        else ""
    )
    what = "a change" if row.floor is not None else "a change outside of near ties, beyond what is allowed"
    many = f" (which at this precision takes {row.needed:,} in the draw)" if row.floor is not None else ""
    yield (
        f"probability that this draw finds {what}{many}, by the share of answers so changed: {chances}{least}"
    )
    if row.unjudged:
        yield (
            f"{row.unjudged:,} of these {row.calls:,} calls come to a near tie, of a token or of a ranking: "
            "if only such calls were changed, no draw finds it"
        )
