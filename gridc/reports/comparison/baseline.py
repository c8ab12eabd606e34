"""A run kept as one file, which a comparison reads in place of the run.

The file is two lines under gzip. The first is the head: the format, the SHA-256 of the second line, and an
ssh signature of it where somebody signed. The second is the run as JSON: items, scores, states and the
instrument, without texts. `zcat base.gridc | tail -n 1` shows it.
"""

import gzip
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from gridc import __version__
from gridc.compiler.inputs.questions import QuestionDigests
from gridc.compiler.lock.attestation import signature_of, signer_of
from gridc.compiler.lock.trust import NOBODY, Trust
from gridc.diagnostics.errors import Diagnostic, FileError, StampError
from gridc.files import open_regular, read_regular, write_atomic
from gridc.numbers import counted
from gridc.outcomes import STATES, AnswerTable
from gridc.reports.comparison import words
from gridc.reports.comparison.pairing import RunItems
from gridc.reports.comparison.run import ComparedRun, RunBenchmark, no_texts
from gridc.schema.baseline import (
    FORMAT,
    FORMAT_BEGINS,
    BaselineHead,
    BaselineRun,
    KeptAnswers,
    KeptBenchmark,
    KeptFact,
    KeptItems,
)
from gridc.schema.canonical import digest_bytes
from gridc.schema.comparison import Aspect, KeptRun
from gridc.statistics.envelope import Direction

NAME = "baseline.gridc"
"""What the file is called in a folder of reports."""
MOST = 1 << 30
"""Bytes of the largest file that is read, packed and unpacked."""
_BEGINS = f'{{"format":"{FORMAT_BEGINS}'.encode()


@dataclass(frozen=True, slots=True)
class WrittenBaseline:
    """A baseline that was written: its file, its size in bytes, what it holds, and what was kept."""

    path: Path
    size: int
    run: BaselineRun
    kept: KeptRun

    @property
    def lines(self) -> Iterator[str]:
        """What was kept, in lines for people."""
        yield f"wrote {self.path} ({self.size:,} bytes) of {self.run.made_by}{words.ENDED[self.run.finished]}"
        for one in self.run.benchmarks:
            answers = sum(len(cell.item) for cell in one.answers)
            items, times = counted(len(one.items.keys), "item"), counted(answers, "answer")
            yield f"  {one.model}/{one.benchmark}: {items}, {times}"
        yield from (f"  warning: {warning}" for warning in self.run.warnings)
        yield f"  sha256 {self.kept.sha256}"
        yield f"  signed by {self.kept.key}" if self.kept.key else "  not signed: --key KEY signs it"

    def as_json(self) -> dict[str, Any]:
        return {"path": str(self.path), "bytes": self.size, **self.kept.model_dump(mode="json")}


def is_baseline(path: Path) -> bool:
    """Whether a file begins as a baseline does, whatever its name."""
    try:
        with open_regular(path) as packed, gzip.open(packed) as file:
            return file.read(len(_BEGINS)) == _BEGINS
    except (OSError, EOFError, zlib.error):
        return False


def write_baseline(run: ComparedRun, path: Path, key: Path | None = None) -> WrittenBaseline:
    """Keep a run in a file, signed with this ssh key where one is named. Raises `OSError`, and `StampError`
    (GC406) or `UnavailableError` (GC604) where the key does not sign."""
    content = kept_run(run)
    body = to_json(content)
    signature = None if key is None else signature_of(body, key).decode()
    head = BaselineHead(format=FORMAT, sha256=digest_bytes(body), signature=signature)
    # Without a time in it the same run gives the same file.
    packed = gzip.compress(b"\n".join((to_json(head), body, b"")), mtime=0)
    write_atomic(path, packed)
    return WrittenBaseline(path, len(packed), content, _kept(head, content, body, path, NOBODY))


def read_baseline(path: Path, name: str, trust: Trust = NOBODY) -> ComparedRun:
    """A kept run, to be compared under this name.

    Raises `FileError` (GC755) for a file that is damaged or of a newer gridc, and `StampError` (GC406) where
    the signature is not one of the file, or is by nobody whom the verifier named."""
    head, body = _lines(path)
    try:
        content = BaselineRun.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise _unreadable(path, f"{place}: {first['msg']}" if place else first["msg"]) from None
    return ComparedRun(
        name,
        content.made_by,
        content.finished,
        {(one.model, one.benchmark): _benchmark(one, content.states) for one in content.benchmarks},
        {(fact.aspect, fact.path): fact.value for fact in content.facts},
        content.unknown,
        no_texts,
        content.warnings,
        content.package,
        content.bare,
        kept=_kept(head, content, body, path, trust),
    )


def _lines(path: Path) -> tuple[BaselineHead, bytes]:
    try:
        packed = read_regular(path, MOST)
        unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        text = unpacker.decompress(packed, MOST)
    except (OSError, ValueError, zlib.error) as error:
        raise _unreadable(path, str(error)) from None
    if not unpacker.eof:
        raise _unreadable(path, "it breaks off" if len(text) < MOST else f"it has more than {MOST:,} bytes")
    first, _, body = text.partition(b"\n")
    stated = _format(first)
    if stated != FORMAT:
        help = f"it is of the format {stated}: use the gridc that wrote it, or a newer one"
        raise FileError([Diagnostic("GC755", "a newer gridc wrote this baseline", str(path), help=help)])
    try:
        head = BaselineHead.model_validate_json(first)
    except ValidationError as error:
        raise _unreadable(path, error.errors()[0]["msg"]) from None
    body = body.removesuffix(b"\n")
    if digest_bytes(body) != head.sha256:
        raise _unreadable(path, "its content has another SHA-256 than its head says")
    return head, body


def _format(head: bytes) -> object:
    try:
        document = from_json(head)
    except ValueError:
        return None
    return document.get("format") if isinstance(document, dict) else None


def _unreadable(path: Path, why: str) -> FileError:
    help = "take the file from where it was written, or keep the run again: gridc baseline RUN --to FILE"
    return FileError([Diagnostic("GC755", f"this baseline cannot be read: {why}", str(path), help=help)])


def _kept(head: BaselineHead, content: BaselineRun, body: bytes, path: Path, trust: Trust) -> KeptRun:
    """Raises `StampError` (GC406) where signers are named and none of them signed."""
    key = signer = None
    if head.signature is not None:
        key, signer = signer_of(body, head.signature.encode(), path, trust)
    if trust.signers and signer is None:
        message = f"{key} signed this baseline, and none of those named with --signer has it"
        if key is None:
            message = "nobody signed this baseline, and --signer says who should have"
        help = "take the file that they signed, or sign it: gridc baseline RUN --to FILE --key KEY"
        raise StampError([Diagnostic("GC406", message, str(path), help=help)])
    return KeptRun(name=content.name, gridc=content.gridc, sha256=head.sha256, key=key, signer=signer)


def kept_run(run: ComparedRun) -> BaselineRun:
    """A run as the file holds it."""
    return BaselineRun(
        gridc=__version__,
        name=run.name if run.kept is None else run.kept.name,
        made_by=run.made_by,
        package=run.package,
        finished=run.finished,
        states=STATES,
        facts=_facts(run.facts),
        unknown=run.unknown,
        warnings=run.warnings,
        bare=run.bare,
        benchmarks=tuple(_kept_benchmark(*place, one) for place, one in run.benchmarks.items()),
    )


def _facts(facts: Mapping[tuple[Aspect, str], object]) -> tuple[KeptFact, ...]:
    return tuple(KeptFact(aspect=aspect, path=path, value=value) for (aspect, path), value in facts.items())


def _kept_benchmark(model: str, benchmark: str, run: RunBenchmark) -> KeptBenchmark:
    prompts = dict.fromkeys(
        prompt for one in run.answers.values() for prompt in one.prompts or () if prompt is not None
    )
    places = {prompt: place for place, prompt in enumerate(prompts)}
    texts = None if run.prompt_texts is None else run.prompt_texts()
    items = run.items
    return KeptBenchmark(
        model=model,
        benchmark=benchmark,
        direction=run.direction.stated,
        unit=run.unit,
        items=KeptItems(
            keys=items.keys,
            ids=items.ids,
            units=items.units,
            questions=tuple(_hex(question) for question in items.questions),
        ),
        prompts=tuple(prompts),
        prompt_texts=None if texts is None else tuple(texts.get(prompt) for prompt in prompts),
        planned=run.planned,
        unlisted=run.unlisted,
        total=run.total,
        anchor=run.anchor,
        answers=tuple(
            KeptAnswers(
                configuration=name,
                settings=_facts(run.settings.get(name, {})),
                times=run.times.get(name, 0),
                item=tuple(one.item.tolist()),
                score=tuple(None if score != score else score for score in one.score.tolist()),
                state=tuple(one.state.tolist()),
                prompt=tuple(None if own is None else places[own] for own in one.prompts or ()),
            )
            for name, one in run.answers.items()
        ),
    )


def _hex(question: QuestionDigests) -> tuple[str | None, str | None, str | None]:
    text, choices, target = (None if part is None else part.hex() for part in question)
    return text, choices, target


def _benchmark(kept: KeptBenchmark, states: tuple[str, ...]) -> RunBenchmark:
    names = np.array([STATES.index(state) for state in states], np.int64)
    texts = kept.prompt_texts
    return RunBenchmark(
        Direction.of(kept.direction),
        kept.unit,
        RunItems(
            kept.items.keys,
            kept.items.ids,
            kept.items.units,
            tuple(QuestionDigests(*map(_bytes, parts)) for parts in kept.items.questions),
        ),
        {one.configuration: _answers(one, names, kept.prompts) for one in kept.answers},
        {
            one.configuration: {(fact.aspect, fact.path): fact.value for fact in one.settings}
            for one in kept.answers
        },
        None if texts is None else lambda: _texts_of(kept.prompts, texts),
        kept.planned,
        kept.unlisted,
        kept.total,
        kept.anchor,
        {one.configuration: one.times for one in kept.answers},
    )


def _answers(kept: KeptAnswers, states: "np.ndarray[Any, Any]", prompts: tuple[str, ...]) -> AnswerTable:
    return AnswerTable(
        np.array(kept.item, np.int64),
        np.array([np.nan if score is None else score for score in kept.score], np.float64),
        states[np.array(kept.state, np.int64)],
        [None if place is None else prompts[place] for place in kept.prompt],
    )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def _texts_of(prompts: tuple[str, ...], texts: tuple[str | None, ...]) -> dict[str, str]:
    return {prompt: text for prompt, text in zip(prompts, texts, strict=True) if text is not None}
