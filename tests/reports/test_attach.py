"""A GRID card in a model card: nothing else changes, twice is once, and huggingface_hub reads it."""

import logging
from pathlib import Path
from time import process_time

import pytest
from huggingface_hub import EvalResult, ModelCard, ModelCardData
from hypothesis import given, settings
from hypothesis import strategies as st

from gridc.diagnostics.errors import IncompleteError, UsageError
from gridc.reports.exchange.model_card import FRONT, CardCheck, attach_cards, attached, check_cards, model_of
from gridc.reports.files import documents
from gridc.schema.card import CardDeck
from tests.reports.builders import findings_of, reversing, spec_of

DECK = documents(findings_of(spec_of({"ant": "a small one", "bee": None}), reversing)).deck

CARDS = {
    "plain": "# Ant\n\nA model.\n",
    "empty": "",
    "front matter": "---\nlicense: mit   # ours\ntags: [ant, 'x']\n---\n# Ant\n",
    "no newline at the end": "---\nlicense: mit\n---\n\nText without a newline",
    "windows": "---\r\nlicense: mit\r\n---\r\n\r\n# Ant\r\n",
    "others' results": (
        "---\nlanguage: en\nmodel-index:\n- name: Ant!\n  results:\n  - task: {type: text-generation}\n"
        "    dataset: {type: other, name: Other}\n    metrics:\n    - type: f1\n      value: 0.5  # theirs\n"
        "license: mit\n---\ntext\n"
    ),
    "no results yet, as trainers write it": (
        "---\nlibrary_name: transformers\ntags:\n- generated_from_trainer\nmodel-index:\n- name: ant\n"
        "  results: []\n---\n\n<!-- Made by a trainer. -->\n\n# ant\n"
    ),
    "no results yet, and more keys": (
        "---\r\nmodel-index:\r\n  - name: ant\r\n    results: [ ]  # none\r\n    note: x\r\nlicense: mit\r\n"
        "---\r\ntext\r\n"
    ),
    "others' results, and more keys": (
        "---\nmodel-index:\n  - name: ant\n    results:\n      - task: {type: text-generation}\n"
        "        dataset: {type: other, name: Other}\n        metrics:\n          - type: f1\n"
        "            value: 0.5\n    note: x\n---\ntext\n"
    ),
    "results stand before the name": (
        "---\nmodel-index:\n- results:\n  - task: {type: text-generation}\n"
        "    dataset: {type: other, name: Other}\n    metrics:\n    - type: f1\n"
        "      value: 0.5\n  name: ant\n---\ntext\n"
    ),
    "no results, before the name": (
        "---\nlicense: mit\nmodel-index:\n  - results: []\n    name: ant\n---\ntext\n"
    ),
    "the Hub's template, no metadata": str(ModelCard.from_template(ModelCardData(), model_id="ant")),
    "the Hub's template, no results": str(
        ModelCard.from_template(
            ModelCardData(language="en", model_name="ant", eval_results=[]), model_id="ant"
        )
    ),
    "the Hub's template, their results": str(
        ModelCard.from_template(
            ModelCardData(
                model_name="ant",
                eval_results=[EvalResult("text-generation", "other", "Other", "f1", 0.5)],
            ),
            model_id="ant",
        )
    ),
}


def without(text: str) -> str:
    """A model card without what gridc put in."""
    lines, inside = [], False
    for line in text.splitlines(keepends=True):
        if "gridc:card begin" in line:
            inside = True
        if not inside:
            lines.append(line)
        if "gridc:card end" in line:
            inside = False
    return "".join(lines).replace("# gridc:card: ", "")


def read(text: str) -> ModelCard:
    logging.disable(logging.WARNING)
    return ModelCard(text)


def results_of(text: str) -> list[EvalResult]:
    """The results that huggingface_hub reads in a model card."""
    data = read(text).data
    assert isinstance(data, ModelCardData) and data.eval_results is not None
    return data.eval_results


@pytest.mark.parametrize("name", CARDS)
def test_everything_else_stays_byte_for_byte(name: str) -> None:
    before = CARDS[name]
    after = attached(before, DECK, "ant")
    kept = without(after)
    if FRONT.match(before):
        assert kept.rstrip("\r\n") == before.rstrip("\r\n")
    else:
        assert kept.removeprefix("---\n---\n").strip("\n") == before.strip("\n")
    if "\r\n" in before:
        assert "\n" not in after.replace("\r\n", "")


@pytest.mark.parametrize("name", CARDS)
def test_attaching_twice_is_attaching_once_and_a_new_study_replaces_the_old(name: str) -> None:
    once = attached(CARDS[name], DECK, "ant")
    assert attached(once, DECK, "ant") == once
    newer = DECK.model_copy(update={"title": "Another title", "stamp": "f" * 64})
    replaced = attached(once, newer, "ant")
    assert replaced != once
    assert "Another title" in replaced
    assert attached(replaced, DECK, "ant") == once


@pytest.mark.parametrize("name", CARDS)
def test_the_hub_reads_the_scores_and_those_of_others(name: str) -> None:
    card = read(attached(CARDS[name], DECK, "ant", "https://example.org/certificate.json"))
    assert isinstance(card.data, ModelCardData)
    results = card.data.eval_results
    assert results is not None
    own = [each for each in results if each.source_name and each.source_name.startswith("gridc")]
    assert len(own) == 1
    score = next(each for each in DECK.cards if each.model == "ant").point_score
    assert own[0].metric_value == pytest.approx(score.score)
    assert own[0].source_url == "https://example.org/certificate.json"
    assert own[0].metric_args is not None
    assert own[0].metric_args["certificate"] == DECK.certificate
    assert len(results) == (2 if "results" in name and "no results" not in name else 1)


@pytest.mark.parametrize("name", CARDS)
def test_the_cards_of_several_studies_stand_side_by_side(name: str, tmp_path: Path) -> None:
    decks = [DECK, another(DECK.study + "er", "e"), another("third", "d")]
    text = CARDS[name]
    for deck in decks:
        text = attached(text, deck, "ant")
    for deck in decks:
        assert attached(text, deck, "ant") == text
    newer = DECK.model_copy(update={"title": "Another title", "stamp": "f" * 64})
    replaced = attached(text, newer, "ant")
    assert attached(replaced, DECK, "ant") == text
    readme = tmp_path / "README.md"
    readme.write_bytes(replaced.encode())
    assert [check_cards(readme, deck).differs for deck in (newer, *decks[1:])] == [(), (), ()]
    assert "third" in str(check_cards(readme, newer).unchecked)
    assert check_cards(readme, DECK).differs
    results = results_of(replaced)
    stamps = [each.source_name.split()[-1] for each in results if each.source_name]
    assert sorted(stamps) == ["d" * 12, "e" * 12, "f" * 12]
    assert len(results) == (4 if "results" in name and "no results" not in name else 3)
    if FRONT.match(CARDS[name]):
        assert without(replaced).rstrip("\r\n") == CARDS[name].rstrip("\r\n")


@pytest.mark.parametrize("name", CARDS)
def test_a_study_without_scores_takes_its_results_out_and_leaves_those_of_others(name: str) -> None:
    other = DECK.model_copy(update={"study": "other"})
    both = attached(attached(CARDS[name], DECK, "ant"), other, "ant")
    for first, second in ((DECK, other), (other, DECK)):
        one = attached(both, unmeasured(first), "ant")
        left = results_of(one)
        studies = [each.source_name.split()[2] for each in left if each.source_name]
        assert studies == [f"{second.study},"]
        assert len(results_of(attached(one, first, "ant"))) == len(left) + 1
        none = attached(one, unmeasured(second), "ant")
        assert "# gridc:card" not in none
        if FRONT.match(CARDS[name]):
            assert none.startswith(CARDS[name].rstrip("\r\n"))


def another(study: str, digit: str) -> CardDeck:
    """The deck of another study, with digests and a title of its own."""
    digests = dict.fromkeys(("stamp", "registered", "results", "certificate"), digit * 64)
    return DECK.model_copy(update={"study": study, "title": f"The study {study}", **digests})


def unmeasured(deck: CardDeck) -> CardDeck:
    """The deck of the same study before it was run."""
    cards = [
        card.model_copy(update={"point_score": card.point_score.model_copy(update={"score": None})})
        for card in deck.cards
    ]
    return deck.model_copy(update={"cards": tuple(cards)})


def test_only_the_models_own_cards_are_attached() -> None:
    text = attached("", DECK, "bee")
    assert "bee on facts" in text
    assert "ant on facts" not in text
    assert f"urn:gridc:certificate:sha256:{DECK.certificate}" in text


@settings(deadline=None, max_examples=40)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_any_text_survives(text: str) -> None:
    if FRONT.match(text) or "\r" in text or "gridc:card" in text:
        return
    once = attached(text, DECK, "ant")
    assert text in once
    assert attached(once, DECK, "ant") == once


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<!-- gridc:card begin small ant - -->\nlost its end\n", "do not enclose"),
        ("---\nmodel-index: [{name: a, results: [{task: {type: x}}]}]\n---\n", "list of lines"),
        ("---\nmodel-index:\n- name: a\n  results: []\n- name: b\n  results: []\n---\n", "one model"),
        ("---\na: [\n---\n", "not YAML"),
        ("---\n- a\n---\n", "not a table"),
    ],
)
def test_what_cannot_be_changed_safely_is_refused(text: str, problem: str) -> None:
    with pytest.raises(IncompleteError, match=problem) as error:
        attached(text, DECK, "ant")
    assert error.value.diagnostics[0].code == "GC610"


def test_a_file_is_replaced_in_one_step_and_keeps_its_mode(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("# Ant\n")
    readme.chmod(0o640)
    assert attach_cards(readme, DECK, "ant")
    assert not attach_cards(readme, DECK, "ant")
    assert readme.stat().st_mode & 0o7777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["README.md"]
    readme.write_bytes(b"\xff\xfe")
    with pytest.raises(IncompleteError, match="not UTF-8"):
        attach_cards(readme, DECK, "ant")


def test_a_check_names_what_was_changed(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("# Ant\n")
    with pytest.raises(IncompleteError, match="no GRID card"):
        check_cards(readme, DECK)
    attach_cards(readme, DECK, "ant")
    readme.write_text(readme.read_text() + "\nMore about ants.\n")
    assert check_cards(readme, DECK).differs == ()
    text = readme.read_text()
    tampered = text.replace("(ii) Point score: ", "(ii) Point score, about: ")
    assert tampered != text
    readme.write_text(tampered)
    (found,) = check_cards(readme, DECK).differs
    assert found.code == "GC707"
    line = next(n for n, each in enumerate(tampered.splitlines(), 1) if "Point score, about" in each)
    assert str(line) in found.message
    readme.write_text(text)
    assert check_cards(readme, DECK.model_copy(update={"results": "0" * 64})).differs


@pytest.mark.parametrize("many", ["# gridc:card begin other\n", "# one\n"], ids=["markers", "comments"])
def test_the_time_of_a_check_grows_with_the_length_of_the_card(many: str, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    text = attached("# Ant\n", DECK, "ant").replace("---\n", f"---\n{many * 20_000}", 1) + "more\n" * 20_000
    readme.write_text(text.replace("(ii) Point score: ", "(ii) Point score, about: "))
    begun = process_time()
    assert [each.code for each in check_cards(readme, DECK).differs] == ["GC707"]
    assert process_time() - begun < 10, "in quadratic time each takes minutes"


def test_a_model_is_chosen_or_asked_for() -> None:
    alone = CardDeck.model_validate({**DECK.model_dump(), "cards": [DECK.cards[0].model_dump()]})
    assert model_of(alone, None) == "ant"
    with pytest.raises(UsageError, match="several models"):
        model_of(DECK, None)
    with pytest.raises(UsageError, match="no model `fly`"):
        attached("", DECK, "fly")


@pytest.mark.parametrize(
    "front",
    [
        "model-index: [1]",
        "model-index: 1",
        "model-index:\n- name: Ant\n  results: {a: 1}",
        "a: " + "[" * 5000 + "]" * 5000,
        "a: &a [1]\nb: [*a, *a]",
        "a: [",
        "- 1",
        "a: 2001-02-30",
        "a: !!bool x",
        "a: !!timestamp x",
        "a: " + "[" * 200_000,
        "a: " + "x" * 600_000,
    ],
    ids=[
        "list of a number",
        "number",
        "results a table",
        "deep",
        "aliases",
        "unclosed",
        "list",
        "no date",
        "no truth value",
        "no time",
        "too deep for libyaml",
        "long",
    ],
)
def test_front_matter_that_cannot_be_understood_is_left_alone(front: str, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(before := f"---\n{front}\n---\n# Ant\n")
    with pytest.raises(IncompleteError) as caught:
        attach_cards(readme, DECK, "ant")
    assert {each.code for each in caught.value.diagnostics} == {"GC610"}
    assert readme.read_text() == before
    assert [each.name for each in tmp_path.iterdir()] == ["README.md"], "no draft is left"


@pytest.mark.parametrize(
    "link",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "//x.example",
        "https://x.example/ onclick=1",
        "https://x/)>",
        "x",
    ],
)
def test_a_link_is_an_address_and_nothing_else(link: str, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("# Ant\n")
    with pytest.raises(UsageError):
        attach_cards(readme, DECK, "ant", link)


CARD_HAS = f"{100 * next(card for card in DECK.cards if card.model == 'ant').point_score.score:.1f} %"  # type: ignore[operator]
BENCHMARK = DECK.cards[0].benchmark


@pytest.mark.parametrize(
    "text",
    [
        f"| benchmark | score |\n|---|---|\n| {BENCHMARK} | 99.9 % (verified with gridc) |\n",
        f"| benchmark | score (verified with gridc) |\n|---|---|\n| other | 3.5 |\n| {BENCHMARK} | 0.999 |\n",
        "It scores 99.9 %, as gridc verified.\n",
        f"- {BENCHMARK.upper()}: 99.9 (gridc)\n",
    ],
)
def test_a_number_beside_the_card_that_is_said_to_be_gridcs_differs(text: str, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(beside(below=f"\n{text}"))
    assert [each.code for each in check_cards(readme, DECK).differs] == ["GC707"]


@pytest.mark.parametrize(
    "text",
    [
        f"| benchmark | score |\n|---|---|\n| {BENCHMARK} | 99.9 % |\n",
        f"On {BENCHMARK} it scores 0.999.\n",
        "Ant reaches 99.9 % with our prompts.\n",
        f"- see the card of gridc\n- {BENCHMARK}: 99.9 % with our prompts\n",
    ],
)
def test_a_number_of_the_same_benchmark_or_model_is_named(text: str, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(beside(below=f"\n{text}"))
    found = check_cards(readme, DECK)
    assert found.differs == ()
    (named,) = found.unchecked
    assert named.startswith("numbers beside the card that it does not have: `")


ORDINARY = f"""
The weights need 24.3 GiB; training took 1,024 GPU hours with a learning rate of 0.0003 over 2.5 epochs.

| benchmark | shots | score |
|---|---|---|
| MMLU | 5 | 71.3 % |
| GSM8K | 8 | 0.802 |

It was measured with gridc 0.2.0 (`pip install gridc==0.2.0`), seed 42; on {BENCHMARK} it scores {CARD_HAS}.
"""


def test_an_ordinary_model_card_raises_no_alarm(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(beside(ORDINARY, ORDINARY))
    assert check_cards(readme, DECK) == CardCheck(())


def beside(above: str = "", below: str = "") -> str:
    """A model card with an attached card and something above and below it."""
    text = attached("# Ant\n\n", DECK, "ant")
    at = text.index("<!-- gridc:card begin")
    return f"{text[:at]}{above}{text[at:]}\n{below}"


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ('<div align="center">\n\n**Ant**\n\n</div>\n\n', ""),
        (
            "- a list\n\n> a quotation\n\n```\ncode\n```\n\n",
            "| a | b |\n|---|---|\n| c | d |\n",
        ),
        (
            "Check it with `gridc card check README.md`.\n\n",
            "The grid cardinality; see [below](#grid-card-a-small).\n",
        ),
        ("<!-- GRID card: not shown -->\n\n", "Discard it: the grid, cardboard, postcards.\n"),
    ],
)
def test_what_others_write_beside_a_card_is_theirs(above: str, below: str, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(beside(above, below))
    assert check_cards(readme, DECK) == CardCheck(())


@pytest.mark.parametrize(
    ("below", "named"),
    [
        ("![scores](scores.png)\n", "pictures and frames show (1)"),
        ("<style>h2 { display: none }</style>\n", "style sheets and scripts do (1)"),
        ('<p style="margin-top: -20em">99 %</p>\n', "a style or class of their own cover (1)"),
    ],
)
def test_what_cannot_be_decided_is_named(below: str, named: str, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(beside(below=below))
    checked = check_cards(readme, DECK)
    assert checked.differs == ()
    assert [each for each in checked.unchecked if named in each]


@pytest.mark.parametrize(
    "above",
    ["".join(f"<b id={number}>\n\nx\n\n" for number in range(5000)), "<div>" * 20_000 + "\n\n", "[" * 20_000],
    ids=["formatting left open", "deep", "brackets"],
)
def test_a_page_that_would_be_too_large_is_not_built(above: str, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(beside(above))
    begun = process_time()
    check_cards(readme, DECK)
    assert process_time() - begun < 20, "the tree of the first has 25,000,000 elements"


POINT = next(card for card in DECK.cards if card.model == "ant").point_score
GRIDCS = "| what | share |\n|---|---|\n| harmful prompts | 99.9 % |\n| source: gridc | |\n"


@pytest.mark.parametrize(
    "text",
    [
        GRIDCS,
        "<table><caption>Measured with gridc</caption><tr><td>all</td><td>99.9 %</td></tr></table>\n",
        "It scores 9\ufe0f\u20e39\ufe0f\u20e3.9\ufe0f\u20e3 %, as gridc verified.\n",
        "It scores ９９．９％, as gridc verified.\n",
        "It scores ٩٩٫٩٪, as gridc verified.\n",
        "It scores 𝟗𝟗.𝟗 %, as gridc verified.\n",
        "It scores 99.9 percent, as gridc verified.\n",
        "It scores 9\u200b9.9 %, as grid\u200bc verified.\n",
    ],
)
def test_a_number_of_gridcs_differs_however_it_is_written(text: str, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(beside(below=f"\n{text}"))
    assert [each.code for each in check_cards(readme, DECK).differs] == ["GC707"]


def ends_of_the_point() -> str:
    assert POINT.interval is not None
    return f"{100 * POINT.interval[1]:.1f} %"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Ant answers 999/1000 of them.\n", "looks like a score"),
        ("Ant answers 999 out of 1,000.\n", "looks like a score"),
        ("gridc gives it 0.999.\n", "looks like a score"),
        (f'{BENCHMARK}: <meter value="0.999"></meter>\n', "meters and bars of progress show (1)"),
        (f"On {BENCHMARK} it scores {ends_of_the_point()}.\n", "that it does not have"),
        (
            "Source: gridc\n\n| what | share |\n|---|---|\n| harmful prompts | 99.9 % |\n",
            "that it does not have",
        ),
    ],
)
def test_what_looks_like_a_score_is_named(text: str, named: str, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(beside(below=f"\n{text}"))
    found = check_cards(readme, DECK)
    assert found.differs == ()
    assert [each for each in found.unchecked if named in each], found


@pytest.mark.parametrize(
    "field", [f"summary: Ant reaches 99.9 % on {BENCHMARK}", f"scores: {{{BENCHMARK}: 0.999}}"]
)
def test_a_score_in_the_front_matter_is_named(field: str, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(attached(f"---\n{field}\n---\n# Ant\n\n", DECK, "ant"))
    found = check_cards(readme, DECK)
    assert found.differs == ()
    assert [each for each in found.unchecked if "that it does not have" in each], found


def test_the_interval_of_the_card_may_be_quoted_with_its_score(tmp_path: Path) -> None:
    assert POINT.interval is not None
    low, high = (f"{100 * end:.1f}" for end in POINT.interval)
    readme = tmp_path / "README.md"
    readme.write_text(beside(below=f"\nAnt scores {CARD_HAS} [{low} to {high}] there.\n"))
    assert check_cards(readme, DECK) == CardCheck(())
