"""What a prompt asks, read from its text: a store holds prompts, and no items."""

import re

from gridc.compiler.instrument.options import bare_labels, last_run

MOST_OPTIONS = 20_000
"""Characters at the end of a message in which options are looked for."""

_LABEL = re.compile(
    r"^[ \t]*(?:[^:\n]{1,40}: )?[(\[]?([A-Za-z]{1,5}|\d{1,2})[.):\]][ \t]+(?=\S)", re.MULTILINE
)
_HEADING = re.compile(r"(?:question|q)\s*:\s*", re.IGNORECASE)
_CUE = re.compile(r"\s*\n\s*[^\n]{0,20}:\s*\Z")


def before_options(prompt: str) -> str:
    """What stands before the last options of a prompt, in its last paragraph."""
    firsts = [one.start() for one in _labelled(prompt) if one[1] in ("A", "a", "1", "I", "i")]
    paragraph = _CUE.sub("", prompt[: firsts[-1] if firsts else None].rstrip()).split("\n\n")[-1].strip()
    return _HEADING.sub("", paragraph, count=1) if _HEADING.match(paragraph) else paragraph


def question_in(prompt: str, with_options: bool) -> str:
    """What a prompt asks: without the options that are told apart from it, else the whole of it."""
    return before_options(prompt) if with_options else prompt.strip()


def _labelled(prompt: str) -> list[re.Match[str]]:
    """The lines of a prompt that begin with what may be the label of an option."""
    return list(_LABEL.finditer(prompt, max(len(prompt) - MOST_OPTIONS, 0)))


def options_in_prompt(prompt: str, count: int) -> tuple[tuple[str, str], ...]:
    """The last options that a prompt shows in lines with labels (A., b), 3., iv.), each as its label and its
    text; none where it does not show so many."""
    found = _labelled(prompt)
    for token in "AaIi1":
        if run := last_run(found, bare_labels(token, count)):
            ends = [*(one.start() for one in run[1:]), (prompt + "\n").index("\n", run[-1].end())]
            texts = (prompt[one.end() : end] for one, end in zip(run, ends, strict=True))
            return tuple((one[1], " ".join(text.split())) for one, text in zip(run, texts, strict=True))
    return ()
