"""`[draw]`: some of the combinations of levels, the same ones everywhere, and said where they are counted."""

from collections import Counter
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.compile import compile_spec
from gridc.compiler.grid.cells import cells_of
from gridc.compiler.grid.configurations import configurations, drawn_levels
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.falsifiability import design_notes, prospects
from gridc.diagnostics.errors import SpecError
from gridc.schema.spec import Spec
from tests.reports.builders import spec_of

AXES: dict[str, list[dict[str, Any]]] = {
    "one": [{"id": f"a{n}", "prompt": f"{n} {{{{ question }}}}"} for n in range(7)],
    "two": [{"id": f"b{n}", "shots": n, "tier": "stress" if n > 2 else "core"} for n in range(5)],
    "three": [{"id": f"c{n}", "max_tokens": 8 + n} for n in range(6)],
}


def spec(n: int, seed: int = 42, **more: Any) -> Spec:
    return spec_of({"ant": None, "bee": None}, axes=AXES, draw={"n": n, "seed": seed}, **more)


def test_a_draw_is_what_its_definition_says() -> None:
    """Recounted: SHA-256 of seed and number, modulo 210, distinct, the first combination among them."""
    every = list(product(*([level["id"] for level in levels] for levels in AXES.values())))
    wanted, attempt = {0}, 0
    while len(wanted) < 20:
        wanted.add(int(sha256(f"7:{attempt}".encode()).hexdigest(), 16) % len(every))
        attempt += 1
    found = [tuple(each.levels.values()) for each in configurations(spec(20, 7))]
    assert found == [every[place] for place in sorted(wanted)]
    assert found[0] == every[0]


def test_another_seed_draws_others_and_every_cell_has_the_same_ones() -> None:
    one, other = (list(map(str, drawn_levels(spec(20, seed)))) for seed in (1, 2))
    assert one != other
    cells = Counter(cell.model for cell in cells_of(spec(20)))
    assert cells == {"ant": 20, "bee": 20}
    envelopes = {cell.configuration for cell in cells_of(spec(20)) if cell.model == "ant"}
    assert envelopes == {cell.configuration for cell in cells_of(spec(20)) if cell.model == "bee"}


def test_levels_are_drawn_evenly() -> None:
    """Over many seeds each level of an axis comes as often as another (3.5 standard deviations)."""
    seen: Counter[str] = Counter()
    for seed in range(300):
        seen.update(level[0].id for level in drawn_levels(spec(2, seed))[1:])
    expected = sum(seen.values()) / 7
    assert all(abs(count - expected) < 3.5 * expected**0.5 for count in seen.values())


def test_what_is_excluded_is_not_drawn() -> None:
    cut = [{"when": {"one": ["a1", "a2"], "two": {"not": "b0"}}, "why": "a test"}]
    found = list(configurations(spec(60, exclude=cut)))
    assert len(found) == 60
    assert not [each for each in found if each.levels["one"] in ("a1", "a2") and each.levels["two"] != "b0"]
    stress = [{"when": {"tier": "stress"}, "why": "a test"}]
    assert {each.tier for each in configurations(spec(30, exclude=stress))} == {"core"}


@pytest.fixture
def written(tmp_path: Path) -> Any:
    def write(draw: str) -> Path:
        text = (Path(__file__).parents[1] / "golden/diagnostics/base.toml").read_text()
        (tmp_path / "gridcard.toml").write_text(text.replace("[[axis]]", f"{draw}\n[[axis]]", 1))
        return tmp_path / "gridcard.toml"

    return write


def test_a_plan_says_that_its_envelope_is_a_draw(written: Any) -> None:
    plan = Plan(compile_spec(written("[draw]\nn = 3\nseed = 1\n"), None).study)
    assert [each.size for each in plan.survey.envelopes] == [3]
    assert any("3 of 4 combinations" in each for each in design_notes(plan, prospects(plan)))


def test_more_than_there_are_cannot_be_drawn(written: Any) -> None:
    with pytest.raises(SpecError) as caught:
        compile_spec(written("[draw]\nn = 5\nseed = 1\n"), None)
    assert [each.code for each in caught.value.diagnostics] == ["GC301"]
    assert "5 configurations are drawn of 4" in caught.value.diagnostics[0].message


def test_a_draw_that_cannot_be_made_ends(written: Any) -> None:
    """Nearly all is excluded, or far more is asked for than there is: an answer, and soon."""
    cut = [{"when": {"one": {"not": "a0"}}, "why": "a"}, {"when": {"two": {"not": "b0"}}, "why": "b"}]
    assert len(drawn_levels(spec(50, exclude=cut))) == 6
    with pytest.raises(SpecError) as caught:
        compile_spec(written("[draw]\nn = 1000000000\nseed = 1\n"), None)
    assert [each.code for each in caught.value.diagnostics] == ["GC318"]
