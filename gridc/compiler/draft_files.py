"""What a first spec asks about a user's own file before its columns: where it lies, how it is encoded, and
which of its lists has the rows. And where right answers begin in a worked solution."""

import itertools
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from charset_normalizer import from_bytes

from gridc.compiler.inputs.loaders.drafted_fields import QUERIES
from gridc.compiler.inputs.loaders.gold import is_empty, short
from gridc.compiler.inputs.loaders.parsing import LOADERS, File
from gridc.compiler.inputs.loaders.records import Records, at, question_lists, undecodable
from gridc.compiler.inputs.loaders.rows import folded_name
from gridc.compiler.instrument.matching import WORKING_ENDS, behind_working
from gridc.compiler.open_points import AnswerWay, OpenPoint
from gridc.schema.items import Loading

COPY = AnswerWay("copy it beside the spec, as UTF-8", "--copy", likely=True, unasked=True)


ENCODINGS = ("cp1252", "cp1250", "cp1251", "gb18030", "shift_jis", "euc_kr", "big5")
"""Encodings of texts that older programs wrote, the most common first."""


ENCODING_NAMES = {"cp1252": "Windows-1252", "cp1250": "Windows-1250", "cp1251": "Windows-1251"}


def copied(
    benchmarks: Sequence[str], folder: Path, encoding: str | None = None
) -> tuple[tuple[str, ...], dict[Path, bytes], list[str]]:
    """The benchmarks with a file in the folder for each that lies elsewhere or is not UTF-8; the files to
    write for it; and what is to be said of them. Bytes that are no UTF-8 are read in the encoding, or else
    as Windows-1252."""
    sources, files, said = list[str](), dict[Path, bytes](), list[str]()
    for given in benchmarks:
        loader, equals, rest = given.partition("=")
        named = rest if equals and loader in LOADERS else given
        path = Path(named.removeprefix("path:"))
        if not path.is_file():
            sources.append(given)
            continue
        data = path.read_bytes()
        inside = folder.resolve() in path.resolve().parents
        named_as = encoding or "cp1252"
        text = data.decode(named_as, "replace").encode() if undecodable(File(path.name, data)) else data
        if inside and text is data:
            sources.append(given)
            continue
        target = _free_name(folder, path, text)
        files[target] = text
        how = f" as UTF-8, read as {ENCODING_NAMES.get(named_as, named_as)}" if text is not data else ""
        said.append(f"{path} is copied to {target.name}{how}")
        sources.append(f"{given[: len(given) - len(named)]}path:{target.name}")
    return tuple(sources), files, said


def _free_name(folder: Path, path: Path, data: bytes) -> Path:
    """A file of the folder that is not there yet, or holds these very bytes."""
    for number in itertools.count(1):
        target = folder / (path.name if number == 1 else f"{path.stem}-{number}{path.suffix}")
        if not target.exists() or (target.is_file() and target.read_bytes() == data):
            return target
    raise AssertionError("count() does not end")


def encodings_of(text: str, file: File, help: str) -> OpenPoint:
    """In which encoding a text is, with what it says in each: that is easier to see than to know."""
    line = next((line for line in file.data.splitlines() if any(byte > 127 for byte in line)), b"")
    shown: dict[str, str] = {}
    for name in ENCODINGS:
        try:
            file.data.decode(name)
            said = line.decode(name)
        except UnicodeDecodeError:
            continue
        if said not in shown.values():
            shown[name] = said
    best = from_bytes(file.data, cp_isolation=list(shown)).best() if len(shown) > 1 else None
    likely = best.encoding if best is not None and best.encoding in shown else None
    ways = [
        AnswerWay(
            f"it says {short(said)!r}: {ENCODING_NAMES.get(name, name)}, to be copied as UTF-8",
            f"--copy --encoding {name}",
            likely=name == (likely or "cp1252"),
            unasked=name == likely or len(shown) == 1,
        )
        for name, said in shown.items()
    ]
    named = " or ".join(way.options for way in ways)
    return OpenPoint(
        "GC000", text, help=f"{named} copies it beside the spec as UTF-8; or {help}", ways=tuple(ways)
    )


def lists_of_questions(source: str, firsts: Sequence[Any], how: Loading) -> OpenPoint | None:
    """Whether each entry of a list in a record is a question of its own is asked, where no key of the record
    asks anything."""
    names = () if how.rows is not None else (*QUERIES[:1], "query", "prompt")
    found = [way for first in firsts for way in question_lists(first, names)]
    asks = any(isinstance(first, dict) and folded_name(str(key)) in QUERIES and isinstance(value, str)
               for first in firsts if isinstance(first, dict) for key, value in first.items())  # fmt: skip
    if not found or asks:
        return None
    ways = tuple(
        AnswerWay(f"each entry of `{way}` is a question", f"--rows {shlex.quote(way)}", likely=place == 0,
                  unasked=len(found) == 1)
        for place, way in enumerate(dict.fromkeys(found))
    )  # fmt: skip
    message = f"`{source}` has several questions in a record"
    return OpenPoint("GC000", message, help=" or ".join(way.options for way in ways), ways=ways)


def samples_of(table: Records) -> dict[str, str]:
    """What the first row that has something has in each column."""
    samples = {}
    for name in table.names:
        value = next((value for _, row in table.rows if not is_empty(value := at(row, name))), "")
        samples[name] = short(value if isinstance(value, str) else str(value))
    return samples


BRIEF = 6
"""Words of a right answer that a response can be expected to give word for word."""


BOX = "\\boxed{"


LEAST_WORKED = 3
"""Right answers that must share the words before the answer: fewer may do so by chance."""


def answers_begin(answers: Sequence[str]) -> str | None:
    """What stands before the answer where right answers show their working: GSM8K's marks, a box, or the
    words that all of them share before a short end, such as `The answer is`. None where none does."""
    if len(answers) < LEAST_WORKED:
        return None
    for mark in (WORKING_ENDS, BOX):
        if all(mark in answer for answer in answers):
            return mark
    first = answers[0].split()
    if any(len(answer.split()) <= BRIEF for answer in answers):
        return None
    for end in range(len(first) - 1, max(len(first) - BRIEF, 0) - 1, -1):
        for begin in range(max(end - BRIEF, 0), end):
            words = " ".join(first[begin:end])
            if words[-1:].isdigit() or not all(words in answer for answer in answers):
                continue
            if all(0 < len(behind_working(answer, words).split()) <= BRIEF for answer in answers):
                return words
    return None
