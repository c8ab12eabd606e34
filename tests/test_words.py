"""Words and phrases that are not used any more in texts that people read, each with the reason.

Readers all over the world meet these texts: plain present-day English, short common words, the field's terms.
The texts are every string and docstring of gridc, its templates and measurands, the documents and the README.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

RETIRED = {
    r"\b(goes|go) on (from (here|there)|where)": "archaic: run the same command to resume",
    r"\btaken up again": "resumed",
    r"\bthat (the|a) \w+ has not\b(?! (been|had|seen))": "inverted: that the spec does not contain",
    r"\bwithout a word\b": "idiom: silently",
    r"(?<!there )\bis no (share|benchmark|weights|record|item|model)\b": "inverted: is not a ...",
    r"\b(answers?|answer) to the name\b": "idiom: means",
    r"\bis its provider's to say\b|\bis (ours|yours) to\b|\bnot ours to\b": "idiom: decides, cannot be set",
    r"\bon the day\b": "idiom: at any time, that day",
    r"\bspeaks? to (the|it|`)": "idiom: tests",
    r"\bof one kind\b": "cannot be compared",
    r"\bnobody knows before\b": "not known in advance",
    r"\bthat there are such\b": "only their existence is certified",
    r"\bdeparts? from nothing\b": "is not a deviation",
    r"\bpart at once\b": "diverge immediately",
    r"\bturned round\b": "reversed",
    r"\b(cannot|can|to) be had\b": "cannot be downloaded, is not available",
    r"\bitems enough\b": "inverted: enough items",
    r"\bmade anew\b|\bafresh\b|\bstarts? anew\b": "archaic: again",
    r"\bbeforehand\b": "in advance",
    r"\bhung on\b|\bhangs? on (which|less|such|the (shape|paper))": "depends on",
    r"\b(lest|whence|hither|thereof|whereof|herein|hereby|aught|naught|ought|whilst|nay)\b": "archaic",
    r"\bas long as it is told\b": "say for how long",
    r"\bis none of another's\b": "does not apply to another's",
    r"\bis a\s+person's\b": "a person writes it",
    r"\bnever left unsaid\b": "it must be stated",
    r"\bgoes in a circle\b": "is circular",
    r", say, ": "for example",
    r"\b(made|drawn|simulated|sealed?s?|stamped|counted|written|labels|locks|chain) anew\b": "again",
    r"\bfor want of\b": "for lack of",
    r"\b(read|stands|begins) behind (it|them|words|the words|a thought)\b": "after, follows",
    r"(?<!there )\bis no (text|number|table|function|list|object|JSON|CSV|date|log)\b": "is not a ...",
    r"\bat (its|their) most\b": "at its maximum",
    r"\bdrawn by lot\b": "randomised",
    r"\bout of turn\b": "in the wrong order",
    r"\bshow of any\b": "fronted: show for no pair that",
    r"\btells? as that\b": "reports as one",
    r"\bdoes it again\b": "repeats this",
    r"\bby the clock\b": "wall-clock time",
    r"\b(is|are) a (study|program) of its own\b": "a separate study",
    r"\bnobody recounts\b": "that is not recounted",
    r"\bgoes along as a key\b": "is sent along as a key",
    r"\bits place does\b": "the effect of its position",
    r"\bsees? (it|them|`verify`) (refuse|fail|found out)\b": "checks that it refuses",
    r"^Of (logs|tables):": "with --from, in logs, in tables",
    r"\bsupported by level\b": "likely at some levels: supported is a verdict, and a value in the JSON",
    r"\b[Cc]ertified or supported\b": "established, or likely by an approximation",
    r"\b[Nn]either certified\b": "not established",
    r"\b[Nn]othing is (certified|supported)\b": "nothing is established, or likely",
    r"\bcertified beyond these items\b": "established: certified is a value in the JSON",
    r"\b(Certified|Supported) at level \S*:|\b(Certified|Supported) \(p": "established; likely",
    r"\(likely, by an approximation": "what is likely has a sentence of its own",
    r"\bis called supported\b": "is called likely",
    r", by descriptive evidence": "by counts alone",
}
"""By pattern: what is wrong with it, or what to write instead."""


def found() -> Iterator[tuple[str, str]]:
    """Every text that people read, with its place."""
    for path in sorted((ROOT / "gridc").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
                yield f"{path.relative_to(ROOT)}:{node.lineno}", "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("gridc/templates/**/*.jinja")]
    for path in [*documents, *ROOT.glob("gridc/builtin/measurands/*.toml")]:
        yield str(path.relative_to(ROOT)), path.read_text("utf-8")


@cache
def texts() -> list[tuple[str, str]]:
    return list(found())


@pytest.mark.parametrize("pattern", RETIRED)
def test_it_is_not_used_any_more(pattern: str) -> None:
    retired = re.compile(pattern)
    places = [
        f"{place}: ...{text[max(0, hit.start() - 40) : hit.end() + 20]}..."
        for place, text in texts()
        for hit in retired.finditer(text)
    ]
    assert not places, f"{RETIRED[pattern]}\n" + "\n".join(places)


def test_the_texts_are_found() -> None:
    assert sum(len(text) for _, text in texts()) > 300_000
    assert any("README" in place for place, _ in texts())
