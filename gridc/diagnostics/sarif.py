"""Diagnostics as a SARIF 2.1.0 log, which code scanning services and editors read.

SARIF is an OASIS standard; GitHub's code scanning asks for what it calls optional: rules with their help
and a region for each result. https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/
"""

import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gridc import __version__
from gridc.diagnostics import errors
from gridc.diagnostics.errors import CODES, Code, Diagnostic

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_INDEX = {code: number for number, code in enumerate(CODES)}


def sarif(diagnostics: Iterable[Diagnostic], root: Path) -> dict[str, Any]:
    """The log of one check. Files below `root` (absolute) are named relative to it, with `/`."""
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "gridc",
                        "version": __version__,
                        "semanticVersion": semantic(__version__),
                        "rules": _rules(),
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(diagnostic, root) for diagnostic in diagnostics],
            }
        ],
    }


def semantic(version: str) -> str:
    """The version as Semantic Versioning 2.0 writes it, which SARIF asks for: 1.0.0-rc.1 for 1.0.0rc1."""
    return re.sub(r"(?<=\d)(a|b|rc)(\d+)$", r"-\1.\2", version)


def repository_root(folder: Path) -> Path:
    """The nearest folder, from `folder` upwards, that holds `.git`; without one, `folder` itself."""
    here = folder.absolute()
    return next((path for path in (here, *here.parents) if (path / ".git").exists()), here)


@cache
def _rules() -> list[dict[str, Any]]:
    """What every log repeats."""
    return [_rule(code, entry) for code, entry in CODES.items()]


def _rule(code: str, entry: Code) -> dict[str, Any]:
    title = entry.title[:1].upper() + entry.title[1:]
    return {
        "id": code,
        "name": "".join(word[:1].upper() + word[1:] for word in entry.title.split() if word.isalnum()),
        "shortDescription": {"text": f"{title}."},
        "fullDescription": {"text": entry.explanation},
        "help": {"text": errors.code_text(code), "markdown": errors.code_markdown(code)},
        "defaultConfiguration": {"level": "error"},
        "properties": {"problem.severity": "error", "precision": "very-high"},
    }


def _result(diagnostic: Diagnostic, root: Path) -> dict[str, Any]:
    text = diagnostic.message if diagnostic.help is None else f"{diagnostic.message}. Help: {diagnostic.help}"
    result = {
        "ruleId": diagnostic.code,
        "ruleIndex": _INDEX[diagnostic.code],
        "level": "error",
        "message": {"text": text},
    }
    if diagnostic.file is not None:
        place = {"artifactLocation": _artifact(Path(diagnostic.file), root), "region": _region(diagnostic)}
        result["locations"] = [{"physicalLocation": place}]
    return result


def _region(diagnostic: Diagnostic) -> dict[str, Any]:
    """The place; a finding about a whole file stands on its first line, since a result needs one."""
    if diagnostic.span is None:
        return {"startLine": 1}
    start, length = diagnostic.span.column, diagnostic.span.length
    region: dict[str, Any] = {
        "startLine": diagnostic.span.line,
        "startColumn": start,
        "endColumn": start + length,
    }
    if diagnostic.line is not None:
        region["snippet"] = {"text": diagnostic.line[start - 1 : start - 1 + length]}
    return region


def _artifact(path: Path, root: Path) -> dict[str, str]:
    path = Path(os.path.normpath(path.absolute()))
    if path.is_relative_to(root):
        return {"uri": quote(path.relative_to(root).as_posix()), "uriBaseId": "%SRCROOT%"}
    return {"uri": path.as_uri()}
