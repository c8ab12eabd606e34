"""The files of evidence beside a lock, as strangers may have made them."""

from pathlib import Path

from gridc.diagnostics.errors import Diagnostic, StampError
from gridc.files import read_regular

_MOST = 1 << 20


def beside(path: Path, suffix: str) -> Path:
    """`gridcard.lock` has its signature in `gridcard.lock.sig`."""
    return path.with_name(path.name + suffix)


def read_evidence(path: Path) -> bytes | None:
    """A file of evidence; None where there is none. Raises `StampError` (GC406) for what cannot be one."""
    try:
        return read_regular(path, _MOST)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise misfit(path, f"it cannot be read ({error})", "remove it") from None


def misfit(path: Path, problem: str, help: str) -> StampError:
    return StampError([Diagnostic("GC406", problem, str(path), help=help)])
