"""What a study claims, as manifests of PRML 0.1 (application/vnd.prml+yaml): one for each hypothesis and each
criterion whose verdict is a number against a threshold.

A manifest follows from the lock and from who publishes it, and from nothing else: it can be written as soon
as there is a stamp, and `verify` writes it again and compares. It has the canonical form that its SHA-256 is
taken of, byte for byte. docs/prml.md defines the metrics and says what PRML has no place for.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from gridc.compiler.compile import Compiled
from gridc.compiler.frontend.unsupported import why_undecidable
from gridc.compiler.grid.cells import rosters
from gridc.compiler.hypotheses import kind_of
from gridc.compiler.lock.lock import Lock
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.files import read_regular
from gridc.reports.exchange import EXPORTS, new_folder
from gridc.reports.findings.hypotheses.finding import rate_of
from gridc.schema.base import Selector, Table
from gridc.schema.canonical import digest
from gridc.schema.inference import AUDITED, AnyHypothesis, Falsification
from gridc.schema.spec import Spec

SUFFIX = ".prml"
DIGEST = f"{SUFFIX}.sha256"
LEFT_OUT = "left-out.txt"
DEFINITIONS = "https://github.com/gridc/gridc/blob/main/docs/prml.md"
"""A metric is a URI of its definition, since PRML's own registry of metrics does not exist yet."""
MOST_BYTES = 2**20
MOST_SEED = 2**64 - 1


@dataclass(frozen=True, slots=True)
class ThresholdClaim:
    """A hypothesis or a falsification test whose verdict is a number against a threshold: the table of the
    spec that states it, and the selectors of the part of the grid that it is about."""

    table: Literal["hypothesis", "falsification"]
    id: str
    metric: str
    comparator: Literal["<=", ">="]
    threshold: float
    stated: Table
    where: tuple[Selector, ...]

    def about(self, dimension: str, names: Iterator[str]) -> list[str]:
        """Those of the models or benchmarks that it is about."""
        parts = [selector.restricted({dimension}) for selector in self.where]
        return [name for name in names if all(part.matches({dimension: name}) for part in parts)]


def export(compiled: Compiled, lock: Lock, results: Path, target: Path, producer: str) -> Path:
    """Write each manifest with its digest beside it, and what is left out, into a new folder, which appears
    whole or not at all. No results are needed.

    Raises `UsageError` (GC000) when the target exists, when PRML can say nothing of the study, and for a
    `producer` (a domain name, an ORCID or a handle) whose characters PRML forbids."""
    if not producer or not _portable(producer):
        message = "PRML allows no empty name, no control characters and no text outside of Unicode NFC"
        raise UsageError([Diagnostic("GC000", message, "--producer")])
    files = manifests(lock, producer)
    if set(files) == {LEFT_OUT}:
        message = "PRML can say nothing of this study: no verdict is a number against a threshold"
        help = (
            "; ".join(files[LEFT_OUT].splitlines())
            or "state a [[hypothesis]], or a [[falsification]] with a `criterion`"
        )
        raise UsageError([Diagnostic("GC000", message, help=help)])
    with new_folder(target) as draft:
        for name, text in files.items():
            (draft / name).write_bytes(text.encode())
    return target


def manifests(lock: Lock, producer: str) -> dict[str, str]:
    """The files of a folder of manifests by name: each manifest, its digest, and the list of what is left
    out, with the reasons."""
    spec = Spec.model_validate(lock.content["spec"])
    files: dict[str, str] = {}
    left_out: list[str] = []
    for name, found in _found(spec):
        manifest = found if isinstance(found, str) else _manifest(lock, spec, found, producer)
        if isinstance(manifest, str):
            left_out.append(f"{name}: {manifest}\n")
        else:
            text = canonical_yaml(manifest)
            files |= {f"{name}{SUFFIX}": text, f"{name}{DIGEST}": f"{sha256(text.encode()).hexdigest()}\n"}
    return {**files, LEFT_OUT: "".join(left_out)}


def _found(spec: Spec) -> Iterator[tuple[str, ThresholdClaim | str]]:
    """Each claim under the name of its file, or why PRML cannot say it."""
    for hypothesis in spec.hypothesis:
        yield f"hypothesis.{hypothesis.id}", _of_hypothesis(spec, hypothesis)
    for test in spec.falsification:
        yield f"falsification.{test.id}", _of_falsification(spec, test)
    for mark in spec.analysis.thresholds:
        yield f"threshold.{mark.at:g}", "a pass mark, by which flips are counted, claims no result"


def _of_hypothesis(spec: Spec, hypothesis: AnyHypothesis) -> ThresholdClaim | str:
    kind = kind_of(hypothesis)
    why = kind.why_no_test(hypothesis, spec)
    if why is not None:
        return why
    alpha = rate_of(spec, hypothesis).alpha
    if kind.verdict(alpha, 0.0, alpha) != "supported":
        return "two numbers decide it, p of support and p of refutation, and PRML compares one"
    where = (hypothesis.where, spec.analysis.primary)
    return ThresholdClaim("hypothesis", hypothesis.id, "p_of_support", "<=", alpha, hypothesis, where)


def _of_falsification(spec: Spec, test: Falsification) -> ThresholdClaim | str:
    criterion, why = test.criterion, why_undecidable(spec, test)
    if criterion is None or why is not None:
        return why or ""
    if criterion.statistic is None:
        return "it asks for verdicts, and PRML compares a number"
    where = (criterion.where, *(part.where for part in spec.slice if part.id == criterion.slice))
    where = () if criterion.statistic in AUDITED else (*where, spec.analysis.primary)
    if criterion.at_most is not None:
        return ThresholdClaim(
            "falsification", test.id, criterion.statistic, "<=", criterion.at_most, test, where
        )
    assert criterion.at_least is not None
    return ThresholdClaim(
        "falsification", test.id, criterion.statistic, ">=", criterion.at_least, test, where
    )


def _manifest(lock: Lock, spec: Spec, claim: ThresholdClaim, producer: str) -> dict[str, Any] | str:
    """The fields of a manifest, or why it has none."""
    benchmarks = claim.about("benchmark", (benchmark.id for benchmark in spec.benchmark))
    records = {name: lock.content["inputs"]["benchmarks"][name] for name in benchmarks}
    unpinned = [name for name, record in records.items() if "files" not in record]
    if unpinned:
        return f"the stamp has no digest of the items of {', '.join(unpinned)}"
    if spec.sampling.seed > MOST_SEED:
        return f"PRML has no seed above {MOST_SEED}"
    run = set().union(*(rosters(spec)[name] for name in benchmarks))
    models = claim.about("model", (model.id for model in spec.model if model.id in run))
    created = datetime.fromisoformat(lock.created).astimezone(UTC)
    stated = claim.stated.model_dump(mode="json", by_alias=True, exclude_none=True)
    fields: dict[str, Any] = {
        "version": "prml/0.1",
        "claim_id": str(_claim_id(lock.stamp, f"{claim.table}.{claim.id}", created)),
        "created_at": f"{created:%Y-%m-%dT%H:%M:%SZ}",
        "metric": f"{DEFINITIONS}#{claim.metric}",
        "metric_args": {
            "study": spec.study.id,
            "stamp": lock.stamp,
            claim.table: claim.id,
            # As text, because PRML's grammar of lists is informative only.
            "stated": json.dumps(stated, sort_keys=True),
        },
        "comparator": claim.comparator,
        "threshold": claim.threshold,
        "dataset": {"id": ", ".join(benchmarks), "hash": _dataset_digest(records)},
        "seed": spec.sampling.seed,
        "producer": {"id": producer},
    }
    if len(models) == 1:
        fields["model"] = _model(spec, lock, models[0])
    return fields if _portable(*_texts(fields)) else "it has a character that PRML forbids"


def _claim_id(stamp: str, name: str, created: datetime) -> UUID:
    """A UUIDv7 whose time is that of the stamp and whose other bits are a digest: the same for everybody."""
    value = int.from_bytes(sha256(f"{stamp} {name}".encode()).digest()[:16])
    milliseconds = int(created.timestamp()) * 1000
    value = milliseconds << 80 | value & (1 << 80) - 1
    value = value & ~(0xF << 76) | 7 << 76
    return UUID(int=value & ~(0x3 << 62) | 2 << 62)


def _dataset_digest(records: Mapping[str, Mapping[str, Any]]) -> str:
    """Of one file its SHA-256, as `sha256sum` prints it; else that of what the lock holds of the benchmarks:
    RFC 8785 JSON of their tables in `content.inputs.benchmarks`, by id."""
    files = [sha for record in records.values() for sha in record["files"].values()]
    variants = any("variants" in record for record in records.values())
    return str(files[0]) if len(files) == 1 and not variants else digest(dict(records))


def _model(spec: Spec, lock: Lock, name: str) -> dict[str, str]:
    """Its source, with the commit of a hub's, and the digest of its files as `models.digest` of a spec has
    it. What a provider runs has none."""
    source = next(model.source for model in spec.model if model.id == name)
    identity = lock.content["inputs"]["models"][name]
    revision, files = identity.get("revision"), identity.get("files")
    id = source if revision is None else f"{source}@{revision}"
    return {"id": id} if files is None else {"id": id, "hash": digest(files)}


def folder_beside(results: Path) -> Path:
    """Where the manifests of a study are looked for: where they are written unless `--to` says otherwise."""
    return results.with_name(f"{results.name}{EXPORTS['prml'].suffix}")


def files_in(folder: Path) -> list[Path]:
    """What of a folder is read: manifests, their digests, and the list of what is left out."""
    names = (f"*{SUFFIX}", f"*{DIGEST}", LEFT_OUT)
    return sorted(path for name in names for path in folder.glob(name) if path.is_file())


def manifest_differences(lock: Lock, folder: Path) -> Iterator[Diagnostic]:
    """How the manifests of a folder differ from what was stamped (GC715): each is written again for the
    producer that it names. One that is missing differs too: whoever has the others only cannot know that more
    was claimed."""
    if not folder.is_dir():
        return
    by_producer = cache(partial(manifests, lock))
    expected = by_producer("")
    for path in files_in(folder):
        if path.name not in expected:
            message = "the stamp has no claim of this name that PRML can say"
            yield Diagnostic("GC715", message, str(path))
    for name, text in expected.items():
        path = folder / name
        if name.endswith(DIGEST):
            continue  # with its manifest
        try:
            held = read_regular(path, MOST_BYTES).decode()
        except FileNotFoundError:
            yield Diagnostic("GC715", "it is missing, and the stamp has the claim", str(path))
        except (OSError, ValueError) as error:
            yield Diagnostic("GC715", f"it cannot be read ({type(error).__name__})", str(path))
        else:
            if name == LEFT_OUT and held != text:
                yield Diagnostic("GC715", "it does not list what PRML cannot say of the stamp", str(path))
            elif name != LEFT_OUT:
                yield from _of_one(by_producer, path, held)


def checked(folder: Path) -> Iterator[str]:
    """What `verify` says of a folder in which nothing differs."""
    if folder.is_dir():
        count = len(list(folder.glob(f"*{SUFFIX}")))
        yield f"the PRML manifests in {folder.name}, {count} of them, say what was stamped"


def _of_one(by_producer: Callable[[str], Mapping[str, str]], path: Path, held: str) -> Iterator[Diagnostic]:
    has = _lines(held)
    producer = has.get("producer.id", "")
    producer = producer[1:-1].replace("''", "'") if producer.startswith("'") else producer
    text = by_producer(producer)[path.name] if producer and _portable(producer) else ""
    should = _lines(text)
    if not text:
        yield Diagnostic("GC715", "it names no producer", str(path))
    elif has.get("metric_args.stamp") != should["metric_args.stamp"]:
        other = has.get("metric_args.stamp", "none")[:12]
        yield Diagnostic("GC715", f"it is of another study: its stamp is {other}", str(path))
    elif has != should:
        for field in sorted(has.keys() | should.keys()):
            one, other = (lines.get(field, "absent")[:64] for lines in (has, should))
            if has.get(field) != should.get(field):
                yield Diagnostic("GC715", f"`{field}` is {one}, and by the stamp {other}", str(path))
    elif held != text:
        yield Diagnostic("GC715", "it is not in PRML's canonical form", str(path))
    else:
        beside = path.with_suffix(DIGEST)
        try:
            recorded = read_regular(beside, MOST_BYTES).decode().strip()
        except (OSError, ValueError):
            recorded = ""
        if recorded != sha256(text.encode()).hexdigest():
            yield Diagnostic("GC715", "it does not hold the digest of its manifest", str(beside))


def _lines(text: str) -> dict[str, str]:
    """The scalars of a manifest in canonical form by their path, as they are written."""
    fields, parent = {}, ""
    for line in text.splitlines():
        key, _, scalar = line.strip().partition(":")
        if not line.startswith(" "):
            parent = key
        if scalar:
            fields[key if key == parent else f"{parent}.{key}"] = scalar.strip()
    return fields


def canonical_yaml(fields: Mapping[str, Any], depth: int = 0) -> str:
    """The canonical form of PRML 0.1 (section 3) of a manifest of texts, whole numbers, floats and further
    mappings: keys in order, two spaces a level, a line for each scalar."""
    text = ""
    for key, value in sorted(fields.items()):
        nested = isinstance(value, Mapping)
        shown = f"\n{canonical_yaml(value, depth + 1)}" if nested else f" {_scalar(value)}\n"
        text += f"{'  ' * depth}{_scalar(key)}:{shown}"
    return text


def _scalar(value: str | int | float) -> str:
    if isinstance(value, str):
        plain = value not in NO_WORDS and not AMBIGUOUS.search(value) and not NUMBERS.fullmatch(value)
        return value if plain else "'" + value.replace("'", "''") + "'"
    shown = repr(value)  # of a float the shortest digits that are read back as it
    return shown.replace("e", ".0e") if "e" in shown and "." not in shown else shown


AMBIGUOUS = re.compile(
    r"""^[#,\[\]{}&*!|>'"%@`]  # begins something else than a text
    | ^[-?:](?:[ ]|$) | ^--- | ^\.\.\.
    | ^[ ] | [ ]$ | :(?:[ ]|$) | [ ]\#""",
    re.VERBOSE,
)
"""What a YAML text has to be quoted for, whatever else is in it."""
_TRUTHS = ("null", "yes", "no", "true", "false", "on", "off")
NO_WORDS = {"", "~", "=", "<<", *(form for word in _TRUTHS for form in (word, word.title(), word.upper()))}
"""What YAML 1.1 reads as a null, a truth value or a mark of its own where it is not quoted."""
NUMBERS = re.compile(
    r"""[-+]?(?: 0b[01_]+ | 0x[\da-fA-F_]+ | 0[0-7_]* | [1-9][\d_]*(?::[0-5]?\d)* )  # whole, also to base 60
    | [-+]?\d[\d_]*\.[\d_]*(?:[eE][-+]\d+)? | \.\d[\d_]*(?:[eE][-+]\d+)?
    | [-+]?\d[\d_]*(?::[0-5]?\d)+\.[\d_]* | [-+]?\.(?:inf|Inf|INF) | \.(?:nan|NaN|NAN)
    | \d{4}-\d\d-\d\d
    | \d{4}-\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?
    """,
    re.VERBOSE | re.ASCII,
)
"""What it reads as a number or a date."""


def _portable(*texts: str) -> bool:
    """Whether every reader of PRML takes them for the same bytes (its section 3.4)."""
    forbidden = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\U0010ffff\ud800-\udfff]")
    return all(not forbidden.search(text) and unicodedata.is_normalized("NFC", text) for text in texts)


def _texts(fields: Mapping[str, Any]) -> Iterator[str]:
    for value in fields.values():
        if isinstance(value, Mapping):
            yield from _texts(value)
        elif isinstance(value, str):
            yield value
