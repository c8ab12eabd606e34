"""Scoring functions: files beside the spec and plug-ins, called in a child process, with limits on the time
and memory of each call.

A file of a spec may be a stranger's program. It runs only where the person consented to its digest, and the
limits of the child are against mistakes: they are no sandbox (docs/threat-model.md).
"""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.points import Replies, ScorerError, ScorerFile, as_given
from gridc.confined import ChildEndedError, Confined
from gridc.diagnostics.errors import Diagnostic, UnavailableError, UsageError
from gridc.schema.base import PLUGIN
from gridc.schema.effects import Scorer

if TYPE_CHECKING:
    from gridc.compiler.frontend.plugins import Plugin

SECONDS = 10.0
"""CPU time that one call of a function may take."""

HOST = "gridc.compiler.inputs.children:Host"


class Scorers:
    """The functions of a study. A call starts a child process for each file; `allow` says to which files the
    person consented."""

    def __init__(self, files: Mapping[str, ScorerFile], plugins: Mapping[str, "Plugin"]) -> None:
        self.files, self._plugins = files, plugins
        self._allowed: set[str] = set()
        self._children: dict[tuple[str, bool], Confined] = {}

    def allow(self, consents: Collection[str]) -> None:
        """Take consents, of which those to other things do not matter here."""
        self._allowed |= set(consents)

    def refused(self, scorer: Scorer | None) -> ScorerFile | None:
        """The file that may not run here for lack of consent."""
        file = None if scorer is None or scorer.file is None else self.files[scorer.file]
        return None if file is None or file.pair in self._allowed else file

    def __call__(self, scorer: Scorer, item: Item, response: str, replies: Replies = ()) -> Any:
        return self._ask(scorer, item, False, "score", response, replies or (response,))

    def again(self, scorer: Scorer, item: Item, response: str, replies: Replies = ()) -> Any:
        """The same in another process, which has seen other calls and hashes texts otherwise."""
        return self._ask(scorer, item, True, "score", response, replies or (response,))

    def responders(self, scorer: Scorer, item: Item) -> Mapping[str, Replies | None] | None:
        """What a function says that the replies of a perfect and a worst answer are; None where it does
        not."""
        given = self._ask(scorer, item, False, "responders")
        if given is None:
            return None
        return {role: None if said is None else tuple(said) for role, said in given.items()}

    def _ask(self, scorer: Scorer, item: Item, apart: bool, method: str, *more: object) -> Any:
        """Raises `ScorerError`, and `UsageError` (GC643) where the person did not consent to the file."""
        require_consent(self.refused(scorer))
        key = scorer.file or scorer.function, apart
        try:
            if key not in self._children:
                self._children[key] = Confined(HOST, each=SECONDS, apart=apart)
                self._load(self._children[key], scorer)
            return self._children[key].ask(method, scorer.name, as_given(item), *more)
        except (ChildEndedError, ValueError) as error:
            self._children.pop(key).close() if key in self._children else None
            raise ScorerError(scorer, item.id, str(error), _way_out(scorer, item, str(error))) from None

    def _load(self, child: Confined, scorer: Scorer) -> None:
        if scorer.file is not None:
            child.ask("load_file", scorer.file, self.files[scorer.file].text, str(Path.cwd()))
            return
        entry = self._plugins[f"gridc.scorers:{scorer.function.removeprefix(PLUGIN)}"].entry
        child.ask("load_plugin", scorer.name, entry.module, entry.attr)


def _way_out(scorer: Scorer, item: Item, problem: str) -> str:
    """What corrects the commonest errors of a function on an item."""
    given = as_given(item)
    if missing := re.search(r"KeyError: '(.+?)'", problem):
        name = missing[1]
        if name in given["extra"]:
            return f'item["extra"]["{name}"]'
        keys = ", ".join([*given, *(f'extra["{key}"]' for key in given["extra"])])
        column = f'item["extra"]["{name}"], with extra = ["{name}"] in `loading.fields`'
        return f"an item has {keys}; of a column `{name}` of its row it is {column}"
    if named := re.search(r"'dict' object has no attribute '(\w+)'", problem):
        return f'an item is a table: item["{named[1]}"]'
    if "positional argument" in problem or "string indices" in problem:
        return f"it is called with an item and a response: def {scorer.name}(item, response)"
    if "ModuleNotFoundError" in problem:
        return (
            "what it imports is of an installed package: nothing beside the file is; write it into the file"
        )
    return "correct the function"


def require_consent(file: ScorerFile | None) -> None:
    """Raise `UsageError` (GC643) where a file may not run."""
    if file is not None:
        help = f"if you have read it and mean it: GRIDC_ALLOW={file.pair} in the environment"
        message = f"nobody has consented to run {file.name} ({file.pair}) as you, in a process with limits"
        raise UsageError([Diagnostic("GC643", message, help=help)])


@contextmanager
def scorer_errors_coded() -> Iterator[None]:
    """Where a scoring function fails, raise `UnavailableError` (GC668): an error is never a score."""
    try:
        yield
    except ScorerError as error:
        raise UnavailableError([scorer_failure(error)]) from None


def scorer_failure(error: ScorerError) -> Diagnostic:
    """What to say of a function that fails."""
    stays = (
        "No score is made of it and answers stay; of a stamped study the change belongs in deviations.toml"
    )
    help = f"{error.way_out}. {stays}"
    return Diagnostic("GC668", str(error), error.scorer.file, help=help)
