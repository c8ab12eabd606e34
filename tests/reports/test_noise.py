"""Verdicts within the noise floor: read from the events, marked wherever they are printed."""

from fractions import Fraction

import pytest

from gridc.compiler.grid.cells import Cell
from gridc.reports.card import as_markdown, make_cards
from gridc.reports.certificate import certificate_of
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.noise import GapAndFloors, floor_of, noise_floors, order_within_noise, pair_noise
from gridc.reports.page import page_html
from gridc.reports.statements import statement_texts
from gridc.reports.words import LIMITS
from gridc.schema.certificate import Floor
from gridc.study.reporting import FindingsReport
from tests.reports.builders import AXES, findings_of, noise_event, spec_of

STILL, LOUD = floor_of(100, 0, 20, 0, 0.01, 100), floor_of(100, 5, 20, 1, 0.1, 100)
MODELS = {"ant": None, "bee": None}


def gaps(*points: int, floor: Floor | None = LOUD) -> dict[str, GapAndFloors]:
    """Differences in points, both models with one floor: 10 points are inside that of `LOUD`."""
    return {f"{each}": (Fraction(each, 100), floor, floor) for each in points}


def test_floors_are_read_from_events_the_last_one_counts() -> None:
    events = [noise_event("m", "bf16", n) for n in (1, 2)] + [noise_event("m", "fp32", 0)]
    found = noise_floors([*events, noise_event("m", "nf4", 0, outcomes=0)])
    assert found["m", "bf16"].share == Fraction(2, 100)
    assert found["m", "fp32"].still
    assert ("m", "nf4") not in found, "a sample of nothing measured nothing"


@pytest.mark.parametrize(
    ("difference", "inside"),
    [(Fraction(0), False), (Fraction(1, 32), True), (Fraction(-3, 32), True), (Fraction(4, 32), False)],
)
def test_a_difference_is_inside_up_to_the_changes_of_both_models(difference: Fraction, inside: bool) -> None:
    one, two = floor_of(32, 1, 20, 1, 0.1, 32), floor_of(32, 2, 20, 2, 0.1, 32)
    assert order_within_noise(difference, one, two) is inside


@pytest.mark.parametrize(
    ("points", "standing", "inside"),
    [
        ((30, 20, -20), "outside", (0, 0)),
        ((30, 5, -20), "outside", (1, 0)),
        ((30, 20, -5), "within", (0, 1)),
        ((5, -5), "within", (1, 1)),
        ((30, 20, 25), "outside", (0, 0)),
        ((30, 0, 20), "outside", (0, 0)),
        ((30, 20, 5), "within", (1, 0)),
        ((-30, -5), "within", (0, 1)),
        ((0,), "outside", (0, 0)),
    ],
)
def test_a_reversal_needs_a_sign_each_way_and_an_order_needs_all(
    points: tuple[int, ...], standing: str, inside: tuple[int, int]
) -> None:
    found = pair_noise(gaps(*points))
    assert (found.standing, (found.plus, found.minus)) == (standing, inside)
    assert found.configurations == tuple(f"{each}" for each in points if 0 < abs(each) <= 10)


def test_what_was_not_measured_is_not_called_outside() -> None:
    assert pair_noise(gaps(30, -30, floor=None)).standing == "not_measured"
    assert pair_noise(gaps(30, -30) | gaps(31, floor=None)).standing == "outside", "signs that stand suffice"
    assert pair_noise(gaps(30) | gaps(31, floor=None)).standing == "not_measured"
    assert pair_noise(gaps(5) | gaps(31, floor=None)).standing == "within"
    assert pair_noise(gaps(5, -5, floor=STILL)).standing == "outside"


def reverses(cell: Cell) -> int:
    """The models reverse by two points of 20 (10 %) under the exam frame, and by ten else."""
    exam = cell.levels["frame"] == "exam"
    return 10 + (2 if exam else 0) if cell.model == "bee" else 10 + (0 if exam else 10)


def told(findings: Findings) -> tuple[str, str, str]:
    """The statements, the page and the card of a study."""
    certificate, deck = certificate_of(findings), make_cards(findings, "0" * 64)
    page = page_html(findings, certificate, deck)
    return "\n".join(certificate.statements), page, as_markdown(deck)


def test_a_noise_floor_above_0_is_said_on_the_terminal() -> None:
    spec = spec_of(MODELS, harness={"prompt": "{{ question }}", "method": "extract", "precision": "bf16"})

    def limits(changed: int) -> tuple[str, ...]:
        found = findings_of(spec, reverses, changed={"bf16": changed})
        return FindingsReport(found, certificate_of(found), make_cards(found, "0" * 64)).foremost_limits

    floors = [text for text in limits(5) if text.startswith("Noise floor of ")]
    assert len(floors) == len(MODELS)
    assert all(": in another batch shape 5 of " in text for text in floors)
    assert len(set(limits(5))) == len(limits(5))


def test_a_verdict_within_noise_is_marked_everywhere() -> None:
    spec = spec_of(MODELS, harness={"prompt": "{{ question }}", "method": "extract", "precision": "bf16"})
    marked = findings_of(spec, reverses, changed={"bf16": 5})
    (pair,) = certificate_of(marked).benchmarks[0].scopes[0].pairs
    assert (pair.words, pair.noise.standing) == ("reversible", "within")
    assert (pair.noise.plus, pair.noise.minus) == (0, pair.minus)
    (row,) = (each.ranking_stability.pairs[0] for each in make_cards(marked, "0" * 64).cards[:1])
    assert row.noise == "within"
    text, page, card = told(marked)
    assert statement_texts(marked, "limits")[0].startswith("WITHIN NOISE: ")
    assert "ant and bee on facts" in statement_texts(marked, "limits")[0]
    assert "WITHIN NOISE: the shape of a batch alone could undo this verdict." in text
    assert page.count('<span class="tier within">within noise</span>') > 4
    banner = page.split('class="banner" role="note">')[1].split("</div>")[0]
    assert "WITHIN NOISE" in banner.split("<details>")[0], "it is not folded away"
    assert "**within noise**" in card

    loud = told(findings_of(spec, reverses, changed={"bf16": 4}))
    assert "WITHIN NOISE" not in "".join(loud)
    assert "**within noise**" not in loud[2]
    assert "Noise floor of ant at bf16: in another batch shape 4 of 100 outcomes" in loud[0]


def test_a_witness_within_noise_is_marked_where_the_verdict_stands_without_it() -> None:
    """At half precision the gap is wider and the floor too; the same signs at full precision stand."""
    axes = {
        "format": [{"id": "whole", "precision": "fp32"}, {"id": "half", "precision": "bf16"}],
        "frame": AXES["frame"],
    }  # fmt: skip

    def sides(cell: Cell) -> int:
        gap = 3 if cell.levels["format"] == "half" else 2
        return 10 + gap * ((cell.model == "ant") == (cell.levels["frame"] == "exam"))

    findings = findings_of(spec_of(MODELS, axes=axes), sides, changed={"fp32": 0, "bf16": 10})
    (pair,) = certificate_of(findings).benchmarks[0].scopes[0].pairs
    assert (pair.noise.standing, pair.noise.plus, pair.noise.minus) == ("outside", 1, 1)
    assert pair.witness_plus is not None
    assert pair.witness_plus.configuration in pair.noise.configurations
    _, page, _ = told(findings)
    cell = page.split('class="gaps">')[1].split("</div>")[0]
    assert cell.count("within noise") == 2
    assert not any("WITHIN" in each for each in statement_texts(findings))


def test_a_hypothesis_within_noise_is_marked() -> None:
    counted = spec_of(MODELS, analysis={"evidence": "descriptive"})

    def always(cell: Cell) -> int:
        return 12 if cell.model == "ant" else 10

    for changed, noise in ((5, "within"), (4, "outside")):
        findings = findings_of(counted, always, changed={"fp32": changed})
        (row,) = certificate_of(findings).hypotheses
        assert (row.verdict, row.noise) == ("supported", noise)
        assert any("H1" in each and "WITHIN" in each for each in statement_texts(findings)) == (
            noise == "within"
        )
    (refuted,) = certificate_of(findings_of(counted, reverses, changed={"fp32": 5})).hypotheses
    assert (refuted.verdict, refuted.noise) == ("refuted", "within")

    def once(cell: Cell) -> int:
        """A gap of two points of 20 in one configuration, of ten in all others."""
        wide = 4 if cell.levels["frame"] == "exam" and cell.levels["shots"] == "5" else 0
        return 20 if cell.model == "ant" else 10 + 2 * wide

    (mixed,) = certificate_of(findings_of(counted, once, changed={"fp32": 5})).hypotheses
    assert (mixed.verdict, mixed.noise) == ("supported", "within"), "support falls with any step"
    (against,) = certificate_of(
        findings_of(
            spec_of(
                MODELS,
                analysis={"evidence": "descriptive"},
                hypothesis=[{"id": "H1", "kind": "ranking", "order": ["bee", "ant"]}],
            ),
            once,
            changed={"fp32": 5},
        )
    ).hypotheses
    assert (against.verdict, against.noise) == ("refuted", "outside"), (
        "one reversal outside the floor refutes"
    )
    (unknown,) = certificate_of(findings_of(counted, always)).hypotheses
    assert unknown.noise == "not_measured"
    (still_open,) = certificate_of(findings_of(counted, lambda cell: 10, changed={"fp32": 5})).hypotheses
    assert (still_open.verdict, still_open.noise) == ("open", None)


def test_full_precision_that_changed_nothing_is_one_line() -> None:
    findings = findings_of(spec_of(MODELS), reverses, changed={"fp32": 0})
    assert [each for each in statement_texts(findings, "limits") if each != LIMITS] == [
        "Noise floor of ant at fp32, bee at fp32: in another batch shape none of 200 outcomes of 100 calls "
        "changed."
    ]


def test_no_sample_is_said_to_be_none() -> None:
    findings = findings_of(spec_of(MODELS), reverses)
    text, page, card = told(findings)
    assert "Noise floor not measured: ant at fp32, bee at fp32." in text
    assert page.count(">not measured</td>") == 2
    assert "ant at fp32: not measured" in card


def test_the_limit_counts_calls_because_outcomes_share_them() -> None:
    """Two readers of one text change together: 0 of 32 calls, however many outcomes read them."""
    assert floor_of(64, 0, 32, 0, None, 32).limit == pytest.approx(1 - 0.05 ** (1 / 32))
    assert floor_of(96, 0, 32, 0, None, 32).limit == floor_of(32, 0, 32, 0, None, 32).limit
    assert floor_of(64, 64, 32, 32, None, 32).limit == 1.0
