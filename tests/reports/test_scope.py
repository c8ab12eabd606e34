"""The first screen of a card and its field (vi): generated, true in every corner, and complete."""

from typing import Any

import pytest

from gridc.compiler.grid.cells import Cell
from gridc.reports.card import as_markdown, card_pairs, card_sentences, make_cards, never_varied
from gridc.reports.findings.findings import Findings
from gridc.reports.rendering import escape_markdown
from gridc.schema.card import CardDeck
from tests.reports.builders import AXES, findings_of, reversing, spec_of

MODELS = {"ant": None, "bee": None, "cat": None}

APPENDIX_B = {
    "models and sizes", "quantization", "item subset", "seeds of sampled answers", "system prompt",
    "moderation", "routing", "API version", "region", "harness",
}  # fmt: skip
"""What SafetyRepro, app. B, asks a scope statement to name, and the harness of app. W."""


def deck_of(findings: Findings) -> CardDeck:
    return make_cards(findings, "0" * 64)


def held(deck: CardDeck) -> dict[str, str]:
    return {row.what: row.at for row in deck.cards[0].scope_statement.held}


def test_every_axis_that_the_field_asks_for_is_named_unless_it_varies() -> None:
    plain = deck_of(findings_of(spec_of(MODELS), reversing))
    assert held(plain).keys() >= APPENDIX_B
    assert held(plain)["quantization"] == "fp32 throughout"
    assert held(plain)["models and sizes"].startswith("ant, bee, cat")
    assert "gridc" in held(plain)["harness"]

    axes: dict[str, list[dict[str, Any]]] = {
        "precision": [{"id": "full", "precision": "fp32"}, {"id": "half", "precision": "bf16"}],
        "persona": [{"id": "none"}, {"id": "nurse", "system": "You are a nurse."}],
        "tone": [{"id": "only", "prompt": "Exam. {{ question }}"}],
    }
    varied = deck_of(findings_of(spec_of(MODELS, axes=axes), lambda cell: len(cell.model)))
    assert APPENDIX_B - held(varied).keys() == {"quantization", "system prompt"}
    assert held(varied)["tone"] == "only throughout"
    assert dict(varied.varied) == {"precision": ("full", "half"), "persona": ("none", "nurse")}


def test_what_made_the_study_stands_beside_it() -> None:
    findings = findings_of(spec_of(MODELS, analysis={"anchor": {"shots": "5"}}), reversing)
    made = deck_of(findings).cards[0].scope_statement.made_with
    assert made["anchor"] == "shots is 5"
    assert made["harness"] == f"gridc {findings.lock.gridc}"
    assert made["seed of the answers"] == str(findings.plan.study.spec.sampling.seed)
    default = deck_of(findings_of(spec_of(MODELS), reversing)).cards[0].scope_statement.made_with
    assert "none is declared" in default["anchor"]


def test_a_providers_model_is_not_said_to_run_here() -> None:
    spec = spec_of(MODELS)
    served = spec.model[0].model_copy(update={"engine": "api", "source": "openai/x"})
    spec = spec.model_copy(update={"model": (served, *spec.model[1:])})
    deck = deck_of(findings_of(spec, reversing))
    rows = {card.model: {row.what: row.at for row in card.scope_statement.held} for card in deck.cards}
    for what in ("moderation", "routing", "region", "quantization"):
        assert "not seen from here" in rows["ant"][what]
        assert "not seen from here" not in rows["bee"][what]
    assert rows["ant"]["API version"].startswith("openai/x")


def test_the_verdict_counts_each_pair_once() -> None:
    deck = deck_of(findings_of(spec_of(MODELS), reversing))
    pairs = card_pairs(deck.cards)
    reversing_pairs = [pair for pair in pairs if pair.row.higher and pair.row.lower]
    assert len(pairs) == 3
    assert f"{len(reversing_pairs)} of 3 comparisons" in card_sentences(deck)[0]
    own = deck.model_copy(update={"cards": tuple(card for card in deck.cards if card.model == "ant")})
    assert "of 2 comparisons" in card_sentences(own)[0]


@pytest.mark.parametrize(
    ("models", "counts", "words"),
    [
        (["ant"], lambda cell: 5, "No score moves"),
        (["ant"], lambda cell: None, "Nothing is measured yet"),
        (["ant", "bee"], lambda cell: 5, "ant and bee score the same in every configuration"),
        (
            ["ant", "bee"],
            lambda cell: 19 if cell.model == "ant" else 1,
            "this is established: one order throughout",
        ),
        (["ant", "bee"], lambda cell: None, "interim look"),
        (
            ["ant", "bee"],
            lambda cell: 10 + (cell.levels["shots"] == "5"),
            "nothing is established over all configurations: those comparisons are counts",
        ),
    ],
)
def test_the_verdict_is_true_in_its_corners(models: list[str], counts: Any, words: str) -> None:
    told = " ".join(card_sentences(deck_of(findings_of(spec_of(dict.fromkeys(models)), counts))))
    assert words in told
    assert ("this is established" in told) == ("this is established" in words)


@pytest.mark.parametrize("some", [False, True])
def test_that_other_comparisons_are_counts_is_said_where_there_are_some(some: bool) -> None:
    """With `some`, cat comes out as bee does, and nothing is established of their comparison."""
    scores = {"ant": 19, "bee": 1, "cat": 1}
    models = dict.fromkeys(scores if some else ["ant", "bee"])
    told = card_sentences(deck_of(findings_of(spec_of(models), lambda cell: scores[cell.model])))
    (claim,) = (sentence for sentence in told if sentence.startswith("For new items of the same kind "))
    assert claim.endswith(". The other comparisons are counts on these items.") is some


def test_one_configuration_says_nothing_of_how_far_a_score_moves() -> None:
    axes = {axis: levels[:1] for axis, levels in AXES.items()}
    deck = deck_of(findings_of(spec_of(MODELS, axes=axes), lambda cell: 5))
    assert any(each.startswith("One configuration is measured") for each in card_sentences(deck))
    assert "nothing, there is one configuration" in as_markdown(deck)


def test_an_interim_deck_claims_nothing_beyond_its_items() -> None:
    def partly(cell: Cell) -> int | None:
        return None if cell.levels["frame"] == "exam" else 19 if cell.model == "ant" else 1

    told = card_sentences(deck_of(findings_of(spec_of({"ant": None, "bee": None}), partly)))
    assert "as far as measured" in told[0]
    assert not any("other items" in each for each in told)


def test_what_no_card_varies_is_named_once() -> None:
    names = never_varied(deck_of(findings_of(spec_of(MODELS), reversing)))
    assert len(names) == len(set(names))
    assert set(names) >= APPENDIX_B


def test_receipts_cannot_end_the_block_that_they_stand_in() -> None:
    hostile = "```\n</details><!-- gridc:card end small --><script>"
    ran = ({"model": "ant", "precision": "fp32", "device": hostile},)
    text = as_markdown(deck_of(findings_of(spec_of(MODELS), reversing, ran)))
    block = text.split("```json\n")[1].split("\n```\n")[0]
    assert "\\u003cscript\\u003e" in block
    assert "<script>" not in text
    assert text.count("</details>") == text.count("<details>") == 9


def test_the_card_says_what_each_level_sets_and_where_it_comes_from() -> None:
    deck = deck_of(findings_of(spec_of(MODELS), reversing))
    text = as_markdown(deck)
    assert {(each.axis, each.level) for each in deck.levels} == {
        (axis, level) for axis, levels in deck.varied.items() for level in levels
    }
    for each in deck.levels:
        assert (
            f"| {escape_markdown(each.level)} | {each.tier} | {escape_markdown(each.sets)} | "
            f"{each.provenance} |" in text
        )
    held = deck_of(findings_of(spec_of(MODELS, axes={"frame": AXES["frame"][:1]}), reversing))
    assert held.levels == () and "What each level sets" not in as_markdown(held)
