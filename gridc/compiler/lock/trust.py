"""Whom a verifier believes: keys, root certificates and registry records that they name on the command line.

None of it is taken from the folder that is checked unless the verifier names it there: whoever made the study
could have put it in.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.files import read_regular

FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}=?")
_MOST = 4 << 20


@dataclass(frozen=True, slots=True)
class Trust:
    """What the person who runs gridc believes.

    `roots` are PEM files with root certificates of time stamping authorities; without one, the system's own.
    `signers` are fingerprints (`SHA256:...`), public keys or `allowed_signers` files of those whose signature
    is expected. `records` are archived records of registrations that the verifier took from the registry.
    """

    roots: tuple[Path, ...] = ()
    signers: tuple[str, ...] = ()
    records: tuple[Path, ...] = ()

    def read(self, path: Path) -> bytes:
        """A file that was named. Raises `UsageError` (GC000) where it cannot be read."""
        try:
            return read_regular(path, _MOST)
        except (OSError, ValueError) as error:
            message = f"what is named as believable cannot be read ({error})"
            raise UsageError([Diagnostic("GC000", message, str(path))]) from None


NOBODY = Trust()
