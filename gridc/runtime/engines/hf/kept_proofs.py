"""Proofs that still hold, kept in the user's cache folder.

A proof depends on the bytes of a model, on the code that runs it, and on the libraries and the machine that
multiply. Where all of these are what they were, it would come to the same numbers again, so it is read and
not made. Each proof is a file of its own, sealed with a secret of the user (HMAC-SHA-256, RFC 2104) that lies
elsewhere: what anybody else wrote or changed, on a shared disk too, is no proof, and is made again.
"""

import hmac
import inspect
import json
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from gridc.files import cache_folder, config_folder, read_regular, write_atomic, write_new

FORMAT = "gridc-proof/1"

MOST_BYTES = 2**20
"""Of a kept proof, and of the secret."""

SECRET = "proof-secret"
"""The file of the secret, in the user's configuration folder."""


@dataclass(frozen=True, slots=True)
class KeptProof:
    """What a proof came to: a document for each route, and when it was made (UTC, ISO 8601)."""

    made: str
    routes: Sequence[Mapping[str, Any]]


class ProofKeeper:
    """Keeps the proof that depends on these `facts` alone, which JSON can hold."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._facts = json.loads(json.dumps({"format": FORMAT, **facts}, sort_keys=True))

    def recall(self) -> KeptProof | None:
        """The proof that is kept; None where there is none that this user wrote for these facts."""
        path, secret = self._path(), _secret()
        if path is None or secret is None:
            return None
        try:
            kept = json.loads(read_regular(path, MOST_BYTES))
            body, seal = kept["proof"], kept["seal"]
            if not hmac.compare_digest(_seal(secret, body), seal) or body["facts"] != self._facts:
                return None
            return KeptProof(body["made"], body["routes"])
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None  # what cannot be read is no proof

    def keep(self, proof: KeptProof) -> None:
        """Keep a proof in the place of an earlier one. Of several writers the last one stays, whole."""
        path = self._path()
        secret = None if path is None else _secret(make=True)
        if path is None or secret is None:
            return
        body = {"facts": self._facts, "made": proof.made, "routes": list(proof.routes)}
        with suppress(OSError):  # a home that cannot be written keeps nothing, and loses nothing but time
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, json.dumps({"proof": body, "seal": _seal(secret, body)}))

    def _path(self) -> Path | None:
        folder = cache_folder()
        name = sha256(json.dumps(self._facts, sort_keys=True).encode()).hexdigest()
        return folder and folder / "proofs" / f"{name}.json"


def proof_digest(model: Any) -> str:
    """SHA-256 over the sources of what is proved: this engine's, and those of every class of the model's
    modules, whatever version they say they are of."""
    sources = {*Path(__file__).parent.glob("*.py"), *_sources(model)}
    digest = sha256()
    for path in sorted(sources):
        digest.update(f"{path.name}\0{sha256(path.read_bytes()).hexdigest()}\0".encode())
    return digest.hexdigest()


def _sources(model: Any) -> Iterator[Path]:
    for name in {base.__module__ for module in model.modules() for base in inspect.getmro(type(module))}:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None:
            yield Path(file)


def _seal(secret: bytes, body: Any) -> str:
    return hmac.new(secret, json.dumps(body, sort_keys=True).encode(), sha256).hexdigest()


def _secret(make: bool = False) -> bytes | None:
    """The user's secret, which nobody else may read or write, made where there is none; None where there can
    be none."""
    try:
        path = config_folder() / SECRET
        if make and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with suppress(FileExistsError):  # another process was first, and its secret is taken
                write_new(path, secrets.token_bytes(32), 0o600)
        if path.stat().st_mode & 0o077:
            return None
        return read_regular(path, MOST_BYTES) or None
    except (OSError, ValueError, RuntimeError):  # no home, or one that cannot be written
        return None
