"""Instructions that a program can check (Zhou et al. 2023), strict and loose, for items of one's own.

Each item names instructions (`instruction_id_list`) with their arguments (`kwargs`). Strict: the response as
it is. Loose: one of eight versions of it, without the first line, the last line and asterisks, follows the
instruction.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any


def ifeval(item: Mapping[str, Any], response: str) -> dict[str, float]:
    extra = item["extra"]
    asked = list(zip(extra["instruction_id_list"], extra["kwargs"], strict=True))
    strict = [_follows(name, stated, response) for name, stated in asked]
    loose = [
        any(_follows(name, stated, version) for version in _versions(response)) for name, stated in asked
    ]
    return {
        "prompt_strict": all(strict),
        "inst_strict": sum(strict) / len(strict),
        "prompt_loose": all(loose),
        "inst_loose": sum(loose) / len(loose),
    }


def ifeval_responders(item: Mapping[str, Any]) -> dict[str, str]:
    return {"perfect": item["extra"]["perfect"], "worst": item["extra"]["worst"]}


def _follows(name: str, stated: Mapping[str, Any], response: str) -> bool:
    return bool(response.strip()) and bool(CHECKS[name](response, stated))


def _versions(response: str) -> list[str]:
    lines = response.split("\n")
    cut = ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
    texts = [response, *cut]
    return [*texts, *(text.replace("*", "") for text in texts)]


def _number_words(response: str, stated: Mapping[str, Any]) -> bool:
    words = len(re.findall(r"\w+", response))
    return bool(
        words < stated["num_words"] if stated["relation"] == "less than" else words >= stated["num_words"]
    )


CHECKS: dict[str, Callable[[str, Mapping[str, Any]], Any]] = {
    "punctuation:no_comma": lambda response, stated: "," not in response,
    "length_constraints:number_words": _number_words,
    "startend:quotation": lambda response, stated: (
        len(response.strip()) > 1 and response.strip()[0] == response.strip()[-1] == '"'
    ),
    "startend:end_checker": lambda response, stated: (
        response.strip().strip('"').lower().endswith(stated["end_phrase"].strip().lower())
    ),
    "keywords:existence": lambda response, stated: all(
        re.search(word, response, re.IGNORECASE) for word in stated["keywords"]
    ),
    "keywords:forbidden_words": lambda response, stated: (
        not any(re.search(rf"\b{word}\b", response, re.IGNORECASE) for word in stated["forbidden_words"])
    ),
    "detectable_format:number_bullet_lists": lambda response, stated: (
        len(re.findall(r"^\s*\*[^\*].*$", response, re.MULTILINE))
        + len(re.findall(r"^\s*-.*$", response, re.MULTILINE))
        == stated["num_bullets"]
    ),
    "detectable_format:title": lambda response, stated: any(
        title.lstrip("<").rstrip(">").strip() for title in re.findall(r"<<[^\n]+>>", response)
    ),
}
