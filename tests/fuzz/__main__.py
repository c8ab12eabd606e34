"""`python -m tests.fuzz --cases 100000`: mutate specs; with `--target evidence` stores, locks, reports and
bundles; with `--target logs` logs of every package that gridc reads.

Prints how far it is, what came out, and each failure once with the case that shows it. A case that takes more
than --limit seconds of the processor is a failure too. Exits with 1 after any failure.

A spec to which gridc says a sentence that it has not said yet is mutated further. `--keep` adds those that
came to a new set of codes to `specs.txt`, as small as they get. SIGTERM ends a run early. `--engine atheris`
lets the coverage of gridc's code guide the mutations; it needs `pip install -e '.[fuzz]'`.
"""

import argparse
import gc
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType

from tests.fuzz import corpus
from tests.fuzz.mutate import bytewise, structured, toml

MEMORY = 4 * 2**30
GROWTH = 2**30
"""Bytes that reading a changed log may map beyond what is mapped once sound ones were read."""
PROGRESS = 30
"""Seconds of the processor between two lines of progress."""
WAITING = 60
"""Seconds by the clock after which a case hangs that does nothing."""


class TooLong(BaseException):
    """Raised in the midst of a case."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    parser.add_argument(
        "--limit", type=float, help="most seconds of the processor for a case (5; of logs 20)"
    )
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--target", choices=["specs", "evidence", "logs"], default="specs")
    parser.add_argument("--engine", choices=["random", "atheris"], default="random")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"))
    given = parser.parse_args()
    if given.seed is None:
        given.seed = random.SystemRandom().randrange(2**32)
    if given.limit is None:
        given.limit = 20 if given.target == "logs" else 5
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        corpus.write_items(Path(folder))
        if given.engine == "atheris":
            return _atheris(given, Path(folder))
        return {"specs": _specs, "evidence": _evidence, "logs": _logs}[given.target](given, Path(folder))


def mutated(data: bytes, rng: random.Random) -> bytes:
    """A case: the values mutated, the bytes, or both."""
    kind = rng.random()
    if kind < 0.8:
        try:
            data = toml(structured(tomllib.loads(data.decode()), rng)).encode("utf-8", "surrogatepass")
        except ValueError:
            kind = 1
    return bytewise(data, rng) if kind > 0.75 else data


def _specs(given: argparse.Namespace, folder: Path) -> int:
    from tests.fuzz.attempt import attempt, codes, kinds

    rng, case = random.Random(given.seed), folder / "gridcard.toml"
    small, whole = corpus.small(), corpus.whole()
    said = {kind for data in small for kind in kinds(attempt(case, data))}
    known = {codes(attempt(case, data)) for data in small}
    further: list[bytes] = []
    kept: list[bytes] = []

    def one(number: int) -> str:
        pool = whole if number % 16 == 0 else further if further and number % 4 == 0 else small
        data = mutated(rng.choice(pool), rng)
        try:
            found = attempt(case, data)
        except BaseException as error:
            error.add_note(f"the spec is {_keep(given.failures, _name(error), data)}")
            raise
        if not kinds(found) <= said:
            said.update(kinds(found))
            further.append(data)
        came = codes(found)
        if came not in known:
            known.add(came)
            kept.append(data)
        return came

    print(f"seed {given.seed}, {len(small)} small specs and {len(whole)} whole ones", flush=True)
    failed = _loop(given, one, lambda: f"{len(said)} kinds of sentences, {len(known)} sets of codes")
    if given.keep:
        _add(case, kept)
    return failed


def _evidence(given: argparse.Namespace, folder: Path) -> int:
    """Change stores, locks, cards and bundles. A case is its seed: `--seed N` begins with the case N."""
    from tests.fuzz.evidence import Evidence

    evidence = Evidence(folder / "evidence")
    print(f"seed {given.seed}", flush=True)

    def one(number: int) -> str:
        try:
            return evidence.attempt(random.Random(given.seed + number))
        except BaseException as error:
            error.add_note(f"--target evidence --seed {given.seed + number} --cases 1")
            raise

    return _loop(given, one, lambda: "")


def _logs(given: argparse.Namespace, folder: Path) -> int:
    """Change logs of other packages. A case is its seed, as of evidence."""
    from tests.fuzz.logs import Logs, mapped

    logs = Logs(folder / "logs")
    for name, files in logs.seeds.items():
        logs.tried(name, files, files, "sound")
    most = mapped() + GROWTH
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    print(f"seed {given.seed}, {len(logs.seeds)} logs", flush=True)

    def one(number: int) -> str:
        try:
            return logs.attempt(random.Random(given.seed + number))
        except BaseException as error:
            error.add_note(f"--target logs --seed {given.seed + number} --cases 1")
            raise

    return _loop(given, one, lambda: "")


def _loop(given: argparse.Namespace, one: Callable[[int], str], told: Callable[[], str]) -> int:
    """Case after case, each within its limits."""
    came: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    number, slowest, begun, shown = 0, (0.0, 0), time.monotonic(), time.process_time()
    for clock in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(clock, _stop)
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: ended.append(number))
    gc.collect()
    gc.freeze()

    def progress() -> None:
        spent = time.process_time()
        print(
            f"{number:,} cases, {len(failures)} kinds of failure, {spent:.0f} s of the processor "
            f"({1000 * (spent - started) / max(number, 1):.2f} ms a case), the slowest {slowest[0]:.2f} s "
            f"(case {slowest[1]}) {told()}",
            flush=True,
        )

    started = shown
    while number < given.cases and time.monotonic() - begun < given.seconds and not ended:
        signal.setitimer(signal.ITIMER_PROF, given.limit)
        signal.setitimer(signal.ITIMER_REAL, WAITING)
        before = time.process_time()
        try:
            came[one(number)] += 1
        except (Exception, TooLong) as error:
            failures[_name(error)] += 1
            if failures[_name(error)] == 1:
                traceback.print_exc()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
        slowest = max(slowest, (time.process_time() - before, number))
        number += 1
        if time.process_time() - shown > PROGRESS:
            shown = time.process_time()
            progress()
    progress()
    for name, count in came.most_common(25):
        print(f"{count:8,}  {name}")
    for name, count in failures.most_common():
        print(f"{count:8,}  FAILED {name}")
    return 1 if failures else 0


def _stop(number: int, frame: FrameType | None) -> None:
    raise TooLong("this case takes too long")


def _name(error: BaseException) -> str:
    """Where it was raised, and of a broken promise which: one failure however often it is met."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    broken = re.sub(r"[^A-Za-z.]+", "-", str(error))[:80] if isinstance(error, AssertionError) else ""
    return f"{type(error).__name__}-{Path(where.filename).stem}-{where.lineno}{broken}"


def _keep(folder: Path, name: str, data: bytes) -> Path:
    """The first case of a failure, in a file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    if not path.exists():
        path.write_bytes(data)
    return path


def _atheris(given: argparse.Namespace, folder: Path) -> int:
    """libFuzzer chooses what is mutated further: a spec that reaches code of gridc which none has reached.
    Those lie in the folder of failures, under `corpus`. It stops at the first failure."""
    kept = given.failures / "corpus"
    kept.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(corpus.small()):
        (kept / f"small-{number:03}").write_bytes(data)
    child = os.fork()
    if child == 0:
        _fuzz(given, folder / "gridcard.toml", kept)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if given.keep:
        _add(folder / "gridcard.toml", [path.read_bytes() for path in sorted(kept.iterdir())])
    return code


def _fuzz(given: argparse.Namespace, case: Path, kept: Path) -> None:
    """Never returns: libFuzzer ends the process."""
    import atheris

    with atheris.instrument_imports(include=["gridc"]):
        from tests.fuzz.attempt import attempt

    options = [
        f"-runs={given.cases}",
        f"-max_total_time={min(given.seconds, 2**31 - 1):.0f}",
        f"-timeout={WAITING}",
        f"-seed={given.seed % 2**31}",
        f"-max_len={2**16}",
        "-rss_limit_mb=4096",
        f"-artifact_prefix={given.failures}/",
        str(kept),
    ]
    atheris.Setup(
        [sys.argv[0], *options],
        lambda data: attempt(case, data) and None,
        custom_mutator=lambda data, most, seed: mutated(data, random.Random(seed))[:most],
    )
    atheris.Fuzz()


def _add(case: Path, specs: Iterable[bytes]) -> None:
    """Put the specs into `specs.txt` that come to a set of codes which none there does, each reduced."""
    from tests.fuzz.attempt import attempt, codes

    def outcome(data: bytes) -> str:
        return codes(attempt(case, data))

    kept = {outcome(data): data for data in specs}
    known = {name for name, _ in corpus.written()}
    fresh = [corpus.reduced(data, outcome) for name, data in sorted(kept.items()) if name not in known]
    corpus.write([*corpus.small(), *fresh], outcome)


if __name__ == "__main__":
    raise SystemExit(main())
