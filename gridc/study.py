"""A study from its spec to its findings, as Python: what the command line itself stands on."""

from gridc.compiler.compile import Compiled
from gridc.compiler.lock.deviations import require_same
from gridc.compiler.lock.lock import Lock, create_lock, make_lock, write_lock
from gridc.diagnostics.errors import Diagnostic, StampError


def make_stamp(compiled: Compiled, supersede: bool) -> tuple[Lock, str]:
    """The lock of a spec, written when there is none or when the old one may be superseded."""
    old = compiled.lock
    if old is not None and not supersede:
        require_same(old, compiled.study, compiled.lock_path)
        return old, "already stamped"
    lock = make_lock(compiled.study, compiled.source.path, old)
    if old is None:
        written = create_lock(lock, compiled.lock_path)
        if written is not lock:
            require_same(written, compiled.study, compiled.lock_path)
        return written, "stamped" if written is lock else "already stamped"
    if old.stamp == lock.stamp:
        return old, "already stamped"
    write_lock(lock, compiled.lock_path)
    return lock, "stamped"


def require_lock(compiled: Compiled) -> Lock:
    """The study's lock. Raises `StampError` when it has none."""
    if compiled.lock is None:
        message = "the study has no lock, so nothing says what was fixed"
        help = "`gridc stamp` makes one"
        raise StampError([Diagnostic("GC403", message, str(compiled.lock_path), help=help)])
    return compiled.lock
