"""The page: self-contained, escaped, complete, and no stronger than its numbers."""

import base64
import hashlib
import re
from dataclasses import replace
from fractions import Fraction
from html import unescape
from html.parser import HTMLParser
from itertools import combinations
from statistics import median
from typing import Any

import pytest

from gridc.compiler.grid.cells import Cell
from gridc.compiler.lock.lock import Superseded
from gridc.reports import page_links
from gridc.reports.card import as_markdown, make_cards
from gridc.reports.certificate import certificate_of
from gridc.reports.findings.conduct import CONDUCT, Conduct
from gridc.reports.findings.findings import Findings
from gridc.reports.page import page_html
from gridc.reports.rendering import render_template
from gridc.reports.statements import statement_texts
from gridc.reports.statements.answer import beside
from gridc.reports.words import level_effects, selected
from gridc.schema.base import Selector
from tests.reports.builders import ITEMS, findings_of, having, reversing, spec_of

HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)>'
MODELS = {"ant": "a small one", "bee": None, "cat": "the last"}
LOADING = ("src", "srcset", "href", "xlink:href", "data", "poster", "action", "background")


class Tags(HTMLParser):
    """The tags of a page with their attributes, and its text outside of style sheets and scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.styled = False
        self.feed(page)
        self.text = re.sub(r"[ \n]+", " ", self.text)  # as a browser shows it

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.styled = tag in ("style", "script")

    def handle_endtag(self, tag: str) -> None:
        self.styled = False

    def handle_data(self, data: str) -> None:
        if not self.styled:
            self.text += data


def page_of(findings: Findings) -> str:
    return page_html(findings, certificate_of(findings), make_cards(findings, "0" * 64))


@pytest.fixture(scope="module")
def findings() -> Findings:
    environment = ({"model": "ant", "precision": "fp32", "device": "cpu", "versions": {"torch": "9.9"},
         "attention_check": {"own": 1e-7, "deep": {"er": None}}, "ends": [2, 7], "plain": True},)  # fmt: skip
    exclude = [{"when": {"shots": "5", "reading": {"not": "text"}}, "why": "nobody ranks that way"}]
    return findings_of(spec_of(MODELS, exclude=exclude), reversing, environment)


@pytest.fixture(scope="module")
def page(findings: Findings) -> str:
    return page_of(findings)


def test_nothing_is_loaded_and_nothing_runs_but_its_own_script(page: str) -> None:
    names = {name for name, _ in Tags(page).tags}
    assert not names & {"link", "img", "iframe", "object", "embed", "base", "form", "image", "use"}
    for _, attributes in Tags(page).tags:
        assert not any(name.startswith("on") for name in attributes)
        for name in LOADING:
            assert (attributes.get(name) or "#").startswith("#")
    viewer = page_links.server()
    assert page.count("http") == page.count(viewer) + page.count("http-equiv"), "as text, and no link"
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|innerHTML|eval\(", page)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy is not None
    assert unescape(policy.group(1)) == (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{allowed}'"
    )


def test_text_of_a_spec_cannot_become_markup() -> None:
    spec = spec_of(
        {"ant": HOSTILE, "bee": None},
        title=HOSTILE,
        roster={"inclusion": HOSTILE},
        exclude=[{"when": {"shots": "5", "reading": "rank"}, "why": HOSTILE}],
        study={
            "id": "s", "title": HOSTILE, "purpose": "comparative",
            "not_varied": [HOSTILE], "assumptions": [HOSTILE],
        },
    )  # fmt: skip
    ran = ({"model": "ant", "precision": "fp32", "device": HOSTILE},)
    page = page_of(findings_of(spec, reversing, ran))
    names = [name for name, _ in Tags(page).tags]
    assert (names.count("script"), names.count("img")) == (1, 0)
    assert page.count("<script>") == page.count(f"<script>{render_template('page.js')}</script>") == 1
    assert Tags(page).text.count(HOSTILE) >= 8


def test_every_pair_of_every_scope_is_there_with_its_digest(findings: Findings, page: str) -> None:
    text = Tags(page).text
    titles = {attributes.get("title") for _, attributes in Tags(page).tags}
    for benchmark in certificate_of(findings).benchmarks:
        for scope in benchmark.scopes:
            for pair in scope.pairs:
                assert f"{pair.a}, {pair.b}" in text
                assert pair.rows in titles
                assert pair.rows[:12] in text
        for row in benchmark.envelope:
            assert row.configuration in titles
            assert {each.rows for each in row.scores.values()} <= titles


def test_stamp_results_and_statements_are_there_in_order(findings: Findings, page: str) -> None:
    certificate = certificate_of(findings)
    text = " ".join(Tags(page).text.split())
    assert certificate.stamp in text
    assert certificate.results in text
    assert certificate.statements == (
        *statement_texts(findings, "leading"),
        *statement_texts(findings, "limits"),
    )
    shown = {statement.text for statement in beside(findings)}
    folded = [each for each in statement_texts(findings, "leading") if each not in shown]
    for part in ([each.text for each in beside(findings)], folded, statement_texts(findings, "limits")):
        places = [text.index(each) for each in part]
        assert places == sorted(places)
    for each in (
        "nobody ranks that way",
        "on shots",
        "torch",
        "9.9",
        "the lock is not committed",
        "a small one",
    ):
        assert each in text


def test_the_contents_link_to_every_part_and_all_links_end_somewhere(page: str) -> None:
    tags = Tags(page).tags
    places = [attributes["id"] for _, attributes in tags if attributes.get("id")]
    links = {(attributes["href"] or "").removeprefix("#") for name, attributes in tags if name == "a"}
    assert len(places) == len(set(places))
    assert links <= set(places)
    parts = {attributes["id"] for name, attributes in tags if attributes.get("class") == "inside"}
    assert parts <= links, "in the contents"


def test_every_heading_of_a_table_says_what_it_heads(page: str) -> None:
    heads = [attributes for name, attributes in Tags(page).tags if name == "th"]
    assert heads and all("scope" in attributes for attributes in heads)


def test_every_card_has_its_six_fields(page: str) -> None:
    text = Tags(page).text
    for field in ("(i) ", "(ii) ", "(iii) ", "(iv) ", "(v) ", "(vi) "):
        assert text.count(field) == len(MODELS)


def test_figures_are_svg_with_a_text_alternative_that_names_the_pair(page: str) -> None:
    labels = [attributes["aria-label"] for name, attributes in Tags(page).tags if name == "svg"]
    single = ["ranges", "orders", "standings", "pairs told apart", "variance", "flip curves", "parse rates"]
    assert len(labels) == 3 + 3 + len(single)
    assert all(labels)
    for a, b in (("ant", "bee"), ("ant", "cat"), ("bee", "cat")):
        pairs = [label for label in labels if label and label.startswith((f"{a} − {b}", f"{a} and {b}"))]
        assert len(set(pairs)) == 2


def test_a_complete_study_has_no_banner_and_an_incomplete_one_has(page: str) -> None:
    assert "interim look" not in page

    def partly(cell: Cell) -> int | None:
        return None if cell.levels["frame"] == "exam" else 10 + len(cell.model)

    text = Tags(page_of(findings_of(spec_of({"ant": None, "beetle": None}), partly))).text
    assert "Incomplete: an interim look." in text
    assert "not measured: 4" in text
    assert "no reversal on 4 of 8" in text
    assert "≥\u00a00.000openopen" in re.sub(r" |0\.500|0\.250", "", text)
    assert "one order throughout" not in text
    assert "no strict reversal" not in text.split("D1:")[0]


def test_an_unmeasured_study_still_has_a_page() -> None:
    def nothing(cell: Cell) -> None:
        return None

    text = Tags(page_of(findings_of(spec_of(MODELS), nothing))).text
    assert "No configuration is measured for every model." in text
    assert "Not measured in full." in text


def test_what_was_run_is_rows_and_no_dict(page: str) -> None:
    for name, value in (
        ("attention_check.own", "1e-07"), ("attention_check.deep.er", "none"), ("ends", "2, 7"),
        ("plain", "yes"), ("versions.torch", "9.9"),
    ):  # fmt: skip
        assert f"<td>{name}</td><td>{value}</td>" in page
    assert not re.search(r"\{(&#39;|&quot;|\'|\")", page)


def test_the_flip_rate_at_a_model_s_own_median_is_counted_and_called_no_finding() -> None:
    """Pairs of configurations that disagree on passing the median, counted one by one."""
    marks = [{"at": 0.5, "declared": "ex_ante", "source": "a test"}]
    findings = findings_of(spec_of({"ann": None, "bob": None}, analysis={"thresholds": marks}), reversing)
    (benchmark,) = findings.benchmarks
    for model in benchmark.models:
        scores = [cell.score or Fraction(0) for cell in benchmark.cells if cell.cell.model == model.model]
        passes = [score >= median(scores) for score in scores]
        pairs = list(combinations(passes, 2))
        assert model.median_flips is not None
        assert model.median_flips.rate == Fraction(sum(a != b for a, b in pairs), len(pairs))
    page = page_html(findings, certificate_of(findings), make_cards(findings, "0" * 64))
    assert page.count("half pass by construction") == 2


@pytest.mark.parametrize(("count", "folded"), [(0, False), (5, False), (6, True)])
def test_departures_that_the_run_observed_are_counted_and_listed(count: int, folded: bool) -> None:
    """A merge that took a part without an end stands here, not only in the deviation log."""
    seen = tuple(f"the part <{number}> had no end" for number in range(count))
    findings = findings_of(spec_of({"a": None, "b": None}), reversing)
    page = page_of(having(findings, CONDUCT, Conduct(observed=seen)))
    text = Tags(page).text
    assert f"Departures that the run observed{count or 'None'}." in text
    assert [text.count(sentence) for sentence in seen] == [1] * count
    assert (f"<summary>All {count}</summary>" in page) is folded


def test_models_are_compared_cell_by_cell() -> None:
    def sizes(cell: Cell) -> int:
        place = 8 + 4 * (cell.levels["frame"] == "exam")
        return place if cell.model == "small" else 14

    findings = findings_of(spec_of({"small": None, "large": None}), sizes)
    (row,) = certificate_of(findings).benchmarks[0].between
    assert (row.a, row.b, row.change.cells) == ("small", "large", 8)
    assert row.change.mean == pytest.approx(-0.2), "the first minus the second, as everywhere"
    assert (row.range_a, row.range_b, row.sdi_a, row.sdi_b) == (0.2, 0.0, 0.4, 0.0)
    assert (row.change.over_5, row.change.over_10) == (8, 4)
    assert "Two models, cell by cell" in page_of(findings)
    assert '<td class="n">20.0, 0.0</td>' in page_of(findings)


def test_unreadable_answers_have_a_score_per_protocol_beside_the_one_that_counts_them() -> None:
    findings = findings_of(spec_of({"ant": None, "bee": None}), lambda cell: 12, parsed=15)
    deck = make_cards(findings, "0" * 64)
    point = deck.cards[0].point_score
    assert (point.score, point.per_protocol, point.readable) == (12 / 20, 12 / 15, 15)
    page, card = Tags(page_of(findings)).text, as_markdown(deck)
    assert "12/20; 12/15 = 80.0 %" in page
    assert "75.0 % of the answers readable, per protocol 80.0 % of the 15 readable" in page
    assert "| 12 of 20 | 75.0 % | 80.0 % of 15 |" in card
    for text in (page, card):
        assert "intention-to-treat" in text
    assert certificate_of(findings).outcome == "itt"

    readable = findings_of(spec_of({"ant": None, "bee": None}), lambda cell: 12)
    assert "per protocol 60" not in Tags(page_of(readable)).text
    ranked = next(each for each in findings.benchmarks[0].cells if each.cell.setting.ranks)
    assert ranked.per_protocol is None
    none = findings_of(spec_of({"ant": None, "bee": None}), lambda cell: 0, parsed=0)
    assert make_cards(none, "0" * 64).cards[0].point_score.per_protocol is None
    assert "| 0.0 % | – of 0 |" in as_markdown(make_cards(none, "0" * 64))


def test_deviations_are_printed_with_their_reasons() -> None:
    entry = {
        "id": "D-001", "element": "the shots", "reason": "five did not <b>fit</b>", "impact": "none known",
        "changes": [{"path": "axis[shots].level[5].shots", "registered": 8, "implemented": 5}],
        "phase": None, "date": None, "resolved": False,
    }  # fmt: skip
    findings = findings_of(spec_of({"ant": None, "bee": None}), reversing, deviations=(entry,))
    (row,) = make_cards(findings, "0" * 64).deviations
    assert row.paths == ("axis[shots].level[5].shots",)
    for text in (Tags(page_of(findings)).text, as_markdown(make_cards(findings, "0" * 64)).replace("\\", "")):
        for each in (
            "D-001",
            "the shots",
            "five did not <b>fit</b>",
            "axis[shots].level[5].shots",
            "none known",
        ):
            assert each in text


def test_a_conflict_of_interest_is_on_page_and_card() -> None:
    told = "the maker of ant pays for this"
    study = {"id": "s", "title": "t", "purpose": "comparative", "conflict_of_interest": told}
    findings = findings_of(spec_of({"ant": None, "bee": None}, study=study), reversing)
    assert told in page_of(findings)
    assert told in as_markdown(make_cards(findings, "0" * 64))


def test_an_incomplete_envelope_without_a_reversal_has_its_bound() -> None:
    """Four of eight, none reversed: with 3 that do this has probability C(5, 4) / 70 = .07, with 4 .014."""

    def partly(cell: Cell) -> int | None:
        return None if cell.levels["frame"] == "exam" else 10 + len(cell.model)

    findings = findings_of(spec_of({"ant": None, "beetle": None}), partly)
    (pair,) = certificate_of(findings).benchmarks[0].scopes[0].pairs
    assert (pair.minority_bound, pair.until_both) == (3, None)
    assert "at most 3 against it if drawn at random (95 %)" in Tags(page_of(findings)).text
    assert "had those been drawn at random, at most 3 of all" in " ".join(certificate_of(findings).statements)


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        (0, "are not measured in any configuration yet."),
        (4, "show no reversal on 4 of 8 configurations."),
    ],
)
def test_what_shows_no_order_yet_has_no_bound(measured: int, words: str) -> None:
    """Nothing is measured, or everything that is ties."""

    def partly(cell: Cell) -> int | None:
        return 10 if measured and cell.levels["frame"] != "exam" else None

    found = certificate_of(findings_of(spec_of({"ant": None, "beetle": None}), partly))
    assert found.benchmarks[0].scopes[0].pairs[0].minority_bound is None
    (sentence,) = (each for each in found.statements if "ant and beetle" in each and each.startswith("On "))
    assert words in sentence
    assert "drawn at random" not in sentence


def test_a_reversal_says_how_soon_a_random_order_shows_both_signs() -> None:
    def half(cell: Cell) -> int:
        return 10 + ((cell.model == "ant") == (cell.levels["frame"] == "exam"))

    findings = findings_of(spec_of({"ant": None, "bee": None}), half)
    (pair,) = certificate_of(findings).benchmarks[0].scopes[0].pairs
    assert pair.until_both == pytest.approx(9 * (1 / 5 + 1 / 5 - 1 / 9))
    assert "both signs are seen after 2.6 configurations on average" in Tags(page_of(findings)).text


def test_a_single_model_has_a_page_without_pairs() -> None:
    text = Tags(page_of(findings_of(spec_of({"alone": None}), reversing))).text
    assert "alone scores 95.0 % on facts" in text
    assert "no pair to compare" in text


def test_an_unanchored_stamp_is_not_said_to_come_first(page: str) -> None:
    text = Tags(page).text
    assert "Nothing that was checked dates the stamp before the first call." in text
    assert "pre-registered" not in text


def test_the_same_findings_give_the_same_bytes(findings: Findings, page: str) -> None:
    assert page_of(findings) == page


def test_a_selector_and_a_level_read_as_text(findings: Findings) -> None:
    chosen = Selector.model_validate({"shots": ["0", "5"], "reading": {"not": "rank"}})
    assert selected(chosen) == "shots is 0 or 5; reading is not rank"
    assert selected(Selector({})) == "everywhere"
    axis = findings.plan.study.spec.axis[1]
    assert level_effects(axis.level[1]) == "shots = 5"


def test_what_is_established_and_what_is_not_are_told_apart() -> None:
    """Models that differ by one item reverse in half of the configurations; nothing is established."""

    def close(cell: Cell) -> int:
        return 10 + ((cell.model == "ant") == (cell.levels["frame"] == "exam"))

    unclear = findings_of(spec_of({"ant": None, "bee": None}), close)
    certificate, page = certificate_of(unclear), page_of(unclear)
    pairs = [pair for each in certificate.benchmarks for scope in each.scopes for pair in scope.pairs]
    tiers = {pair.evidence.tier for pair in pairs}
    assert tiers == {"descriptive"}
    assert 'class="tier certified">established</span> at 0.05' not in page
    assert page.count('<span class="tier descriptive">not established</span>') >= len(pairs)
    assert (
        "models that agree on average and differ on as many units as these would show a rho_flip of"
        in " ".join(certificate.statements)
    )

    def apart(cell: Cell) -> int:
        return ITEMS if (cell.model == "ant") == (cell.levels["frame"] == "exam") else 0

    certain = findings_of(spec_of({"ant": None, "bee": None}), apart)
    (pair,) = certificate_of(certain).benchmarks[0].scopes[0].pairs
    assert (pair.evidence.tier, pair.evidence.certified.claim) == ("certified", "reversal")
    assert (
        "Established at level 0.05: beyond these items each of them scores higher somewhere"
        in (certificate_of(certain).statements[0])
    )
    assert 'class="tier certified">established</span> at 0.05' in page_of(certain)


def test_an_interim_look_says_that_nothing_is_established() -> None:
    def partly(cell: Cell) -> int | None:
        apart = ITEMS if (cell.model == "ant") == (cell.levels["frame"] == "exam") else 0
        return None if cell.levels["shots"] == "5" else apart

    found = certificate_of(findings_of(spec_of({"ant": None, "bee": None}), partly))
    assert any("Nothing is established while the run is incomplete" in each for each in found.statements)
    (pair,) = found.benchmarks[0].scopes[0].pairs
    assert pair.evidence.tier == "descriptive"


def test_stamps_that_were_replaced_are_told_everywhere() -> None:
    findings = findings_of(spec_of({"ant": None, "beetle": None}), reversing)
    earlier = Superseded("e" * 64, "2026-01-02T03:04:05+00:00", {})
    findings = replace(findings, lock=replace(findings.lock, supersedes=(earlier,)), before_stamp=7)
    assert (
        "The stamp replaced 1 earlier one, the last made 2026-01-02 (eeeeeeeeeeee), when there were data."
    ) in " ".join(certificate_of(findings).statements)
    assert (
        "By the store’s own clock the stamp does not precede the first call." in Tags(page_of(findings)).text
    )
    assert "e" * 64 in page_of(findings)
    card = as_markdown(make_cards(findings, "0" * 64))
    assert "The stamp replaced 1 earlier: `eeeeeeeeeeee`." in card
    assert (
        "**7 calls are dated before the stamp by the store’s own clock: unless that clock was set back"
        in card
    )
    set_back = Tags(page_of(replace(findings, steps_back=(3,)))).text
    assert "the stamp does not precede the first call" not in set_back
    assert "was set back while it was written, so its dates show no order" in set_back


def test_a_certified_order_names_its_own_test() -> None:
    """The largest p of all configurations: nothing is divided among them."""

    def apart(cell: Cell) -> int:
        return 19 if cell.model == "ant" else 1

    told = certificate_of(findings_of(spec_of({"ant": None, "beetle": None}), apart)).statements
    (order,) = (each for each in told if "scores higher in every configuration" in each)
    test = "exact McNemar on 20 families; the largest p of 8 configurations"
    assert f"(p < 0.0001; {test}, Holm over 2 directed orders)" in order
    assert any("1 (ant and beetle on facts) keep one order beyond these items" in each for each in told)


def test_scores_of_answers_that_could_not_be_read_say_so() -> None:
    findings = findings_of(spec_of({"ant": None, "beetle": None}), lambda cell: 2, parsed=3)
    (told,) = (each for each in statement_texts(findings, "limits") if "could be read" in each)
    assert told.startswith("On facts, in 4 of 8 configurations fewer than 95 % of a model's answers could")
    assert f"(ant, beetle; at worst {100 * 3 / ITEMS:.1f} %)" in told


def test_one_model_has_no_order() -> None:
    told = list(statement_texts(findings_of(spec_of({"ant": None}), lambda cell: 2)))
    assert "One model was asked, so no order of models is compared." in told
    assert not any("strict orders" in each for each in told)


def test_what_a_model_s_own_generation_config_asks_for_stands_on_page_and_card() -> None:
    """It is not used, so a reader who knows the model has to be told."""
    ran: dict[str, Any] = {"model": "ant", "precision": "fp32", "device": "cpu"}
    spec = spec_of({"ant": None, "bee": None})
    asks = ran | {"generation_config_not_used": {"top_p": 0.8, "repetition_penalty": 1.05}}
    shown = "repetition_penalty = 1.05, top_p = 0.8"
    for recorded, there in ((asks, True), (ran | {"generation_config_not_used": {}}, False)):
        findings = findings_of(spec, reversing, (recorded,))
        text = " ".join(Tags(page_of(findings)).text.split())
        assert (f"at fp32 comes with asks for {shown}. Nothing of it was used" in text) is there
        cards = make_cards(findings, "0" * 64).cards
        told = ["its own generation config, not used" in card.axis_receipt.environment for card in cards]
        assert told == [there and card.model == "ant" for card in cards]
