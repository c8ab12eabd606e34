"""`python -m tests.fuzz --seconds 600`: mutate specs for as long as it is told to; with `--target evidence`
stores, locks, reports and bundles.

Prints what came out, and each failure once with the case that shows it. A case that takes longer than
--limit ends the run with a traceback of where it was. Exits with 1 after any failure.

`--engine atheris` lets coverage guide the mutations; it needs `pip install -e '.[fuzz]'`.
"""

import argparse
import faulthandler
import random
import resource
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fuzz.mutate import bytewise, structured, toml
from tests.golden.cases import cases

ROOT = Path(__file__).parents[2]
MEMORY = 4 * 2**30


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--limit", type=float, default=20, help="most seconds that one case may take")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--target", choices=["specs", "evidence"], default="specs")
    parser.add_argument("--engine", choices=["random", "atheris"], default="random")
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"))
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with tempfile.TemporaryDirectory() as folder:
        if given.engine == "atheris":
            _atheris(given, Path(folder))
        return (_evidence if given.target == "evidence" else _random)(given, Path(folder))


def seeds() -> list[bytes]:
    """Every spec that ships or is a golden one."""
    paths = [
        ROOT / "gridcard.toml",
        *(ROOT / "specs").glob("*.toml"),
        *(ROOT / "tests/golden").rglob("*.toml"),
        *(ROOT / "tests/fuzz").glob("*.toml"),
    ]
    written = [path.read_bytes() for path in sorted(paths) if "deviations" not in path.name]
    return [*written, *(case.inputs["gridcard.toml"] for case in cases())]


def mutated(data: bytes, rng: random.Random) -> bytes:
    """A case: the values mutated, the bytes, or both."""
    kind = rng.random()
    if kind < 0.8:
        try:
            data = toml(structured(tomllib.loads(data.decode()), rng)).encode("utf-8", "surrogatepass")
        except ValueError:
            kind = 1
    return bytewise(data, rng) if kind > 0.75 else data


def _random(given: argparse.Namespace, folder: Path) -> int:
    from tests.fuzz.attempt import attempt

    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(2**32)
    rng, begun, known = random.Random(seed), time.monotonic(), seeds()
    came: Counter[str] = Counter()
    failures: dict[str, Path] = {}
    slowest = 0.0
    print(f"seed {seed}, {len(known)} specs", flush=True)
    while time.monotonic() - begun < given.seconds:
        data = mutated(rng.choice(known), rng)
        case = folder / "gridcard.toml"
        started = time.monotonic()
        (folder / "last.toml").write_bytes(data)
        faulthandler.dump_traceback_later(given.limit, exit=True)
        try:
            came[attempt(case, data)] += 1
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            name = f"{type(error).__name__}-{Path(where.filename).stem}-{where.lineno}"
            came[name] += 1
            if name not in failures:
                failures[name] = _keep(given.failures, name, data)
                traceback.print_exc()
                print(f"^ {failures[name]}", flush=True)
        finally:
            faulthandler.cancel_dump_traceback_later()
        if time.monotonic() - started > slowest:
            slowest = time.monotonic() - started
            _keep(given.failures, "slowest", data)
    print(
        f"{sum(came.values()):,} cases in {time.monotonic() - begun:.0f} s, the slowest took {slowest:.1f} s"
    )
    for name, count in came.most_common(25):
        print(f"{count:8,}  {name}")
    print(f"{len(failures)} kinds of failure", *failures.values())
    return 1 if failures else 0


def _evidence(given: argparse.Namespace, folder: Path) -> int:
    """Change stores, locks, cards and bundles. A case is its seed: `--seed N` begins with the case N."""
    from tests.fuzz.evidence import Evidence

    first = given.seed if given.seed is not None else random.SystemRandom().randrange(2**32)
    evidence, begun = Evidence(folder), time.monotonic()
    came: Counter[str] = Counter()
    failures: dict[str, int] = {}
    seed = first
    while time.monotonic() - begun < given.seconds:
        faulthandler.dump_traceback_later(given.limit, exit=True)
        try:
            came[evidence.attempt(random.Random(seed))] += 1
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            name = f"{type(error).__name__}-{Path(where.filename).stem}-{where.lineno}"
            came[name] += 1
            if failures.setdefault(name, seed) == seed:
                traceback.print_exc()
                print(f"^ --target evidence --seed {seed}", flush=True)
        finally:
            faulthandler.cancel_dump_traceback_later()
        seed += 1
    print(f"{seed - first:,} cases from seed {first} in {time.monotonic() - begun:.0f} s")
    for name, count in came.most_common(25):
        print(f"{count:8,}  {name}")
    print(f"{len(failures)} kinds of failure", *failures.items())
    return 1 if failures else 0


def _keep(folder: Path, name: str, data: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_bytes(data)
    return path


def _atheris(given: argparse.Namespace, folder: Path) -> None:
    """Never returns: libFuzzer ends the process, after --seconds or at the first failure."""
    import atheris

    with atheris.instrument_imports(include=["gridc"]):
        from tests.fuzz.attempt import attempt

    class Fed(random.Random):
        """Random numbers that are the fuzzer's bytes."""

        def feed(self, data: bytes) -> None:
            self._data: Any = atheris.FuzzedDataProvider(data)

        def random(self) -> float:
            return float(self._data.ConsumeIntInRange(0, 2**24 - 1)) / 2**24

        def getrandbits(self, count: int) -> int:
            return int.from_bytes(
                self._data.ConsumeBytes((count + 7) // 8).ljust((count + 7) // 8, b"\0")
            ) >> (-count % 8)

    known, rng = seeds(), Fed()

    def one(data: bytes) -> None:
        rng.feed(data)
        attempt(folder / "gridcard.toml", mutated(rng.choice(known), rng))

    given.failures.mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={given.seconds:.0f}",
        f"-timeout={given.limit:.0f}",
        "-max_len=4096",
        "-len_control=0",
    ]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={given.failures}/", "-rss_limit_mb=4096"], one)
    atheris.Fuzz()


if __name__ == "__main__":
    raise SystemExit(main())
