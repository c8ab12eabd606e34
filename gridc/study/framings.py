"""The named measurands that ship: the framings of evaluation packages and papers."""

from gridc.compiler.frontend import measurands as shipped
from gridc.compiler.frontend.measurands import Measurand
from gridc.diagnostics.errors import Diagnostic, UsageError

__all__ = ["Measurand", "measurands"]


def measurands(name: str | None = None) -> list[Measurand]:
    """All of them, or the one of this name. Raises `UsageError` where there is none."""
    known = shipped.measurands()
    if name is not None and name not in known:
        raise UsageError([Diagnostic("GC000", f"there is no measurand {name}", help=", ".join(known))])
    return [measurand for measurand in known.values() if name in (None, measurand.name)]
