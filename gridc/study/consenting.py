"""What leaves the machine is said first, and needs the person's consent, before a run makes anything."""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from gridc.compiler.lock.lock import stamp_of
from gridc.compiler.preflight import consent
from gridc.compiler.preflight.consent import Ask, Consents, Leaving
from gridc.runtime.store.store import Store
from gridc.study.place import Place

if TYPE_CHECKING:
    from gridc.compiler.compile import Compiled
    from gridc.compiler.frontend.read import Checked

__all__ = ["ConsentOf", "Leaving", "consenting"]

ConsentOf = Callable[["Compiled"], Consents]
"""How consent was given to what a compiled study sends."""


def consenting(place: Place, allow: Collection[str], ask: Ask, notify: Callable[[str], None]) -> ConsentOf:
    """Tell `notify` what leaves. For a first run all of it must have consent, and every key be there, before
    any item is read; for one that is resumed before anything is asked, unless every call has its answer.

    Raises `SpecError` (GC354), `UnavailableError` (GC631) and `UsageError` (GC643, GC644), now or later.
    """
    checked = place.checked()
    for line in consent.sentences(checked.spec):
        notify(line)
    if place.store(checked).is_file():
        return lambda compiled: _resumed(place, compiled, allow, ask)
    given = _required(place, checked, allow, ask)
    return lambda compiled: given


def _resumed(place: Place, compiled: "Compiled", allow: Collection[str], ask: Ask) -> Consents:
    digest = stamp_of(compiled.study)
    with Store.open(place.store(compiled)) as store:
        complete = digest in store.stamps() and store.progress(digest).complete
    if complete:
        return consent.given(consent.leaving(compiled.spec), place.spec.parent, allow)
    return _required(place, compiled, allow, ask)


def _required(place: Place, study: "Checked | Compiled", allow: Collection[str], ask: Ask) -> Consents:
    consent.require_known(study.spec, study.source)
    consent.require_keys(study.spec, study.source)
    return consent.obtain(consent.leaving(study.spec), place.spec.parent, allow, ask)
