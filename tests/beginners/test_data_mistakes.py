"""A mistake with a file is answered, and following the answer gives the right answer of every row.

Nothing is written before the file is understood, so no mistake leaves a spec that scores against another
option.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gridc.cli import main
from gridc.compiler.compile import compile_spec
from gridc.compiler.instrument.item import Item
from tests.beginners.data_mistakes import DATA_MISTAKES, GOOD, REMARKED, DataMistake

SPEC = Path("gridcard.toml")


def begin(mistake: DataMistake, file: str, data: bytes, flags: tuple[str, ...]) -> Result:
    Path(file).write_bytes(data)
    named = mistake.benchmarks or (file,)
    given = [f"--benchmark={name}" for name in named]
    return CliRunner().invoke(main, ["init", "--yes", "--model=builtin:pocket-qwen2", *given, *flags])


def earning(item: Item) -> str:
    """What earns the point of an item."""
    if item.expected is not None:
        return item.expected
    return item.references[0] if item.gold is None else item.options[item.gold]


@pytest.mark.parametrize("mistake", DATA_MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_with_a_file_is_answered_and_its_way_out_is_right(mistake: DataMistake) -> None:
    answered = begin(mistake, mistake.file, mistake.data, tuple(mistake.flags))
    assert answered.exit_code in (2, 3), answered.output
    assert mistake.words in " ".join(answered.stderr.split()), answered.stderr
    assert not SPEC.exists()
    if mistake.mended is None and not mistake.way_out:
        return  # the way out is another file than the one that is given
    file, data = mistake.mended or (mistake.file, mistake.data)
    begun = begin(mistake, file, data, tuple(mistake.way_out))
    assert begun.exit_code == 0, begun.output
    items = next(iter(compile_spec(SPEC).study.items.values())).sampled
    assert {item.query: earning(item) for item in items} == mistake.right


def test_there_are_as_many_as_are_promised() -> None:
    assert len({mistake.name for mistake in DATA_MISTAKES}) == len(DATA_MISTAKES) >= 25


@pytest.mark.parametrize("name", REMARKED)
def test_what_may_be_a_mistake_is_remarked_upon(name: str) -> None:
    data, flags, remark = REMARKED[name]
    file = "m.json" if data.startswith((b"{", b"[")) else "m.csv"
    mistake = DataMistake(name, file, data, flags, remark)
    assert remark in begin(mistake, file, data, tuple(flags)).stdout
    good = begin(mistake, "good.csv", GOOD, ("--out=good.toml",)).stdout
    assert "valid." in good and remark not in good


def test_two_models_of_one_source_are_remarked_upon() -> None:
    models = ["--model=builtin:pocket-llama", "--model=builtin:pocket-llama"]
    begun = CliRunner().invoke(main, ["init", "--yes", *models])
    assert "`pocket-llama` and `pocket-llama-2` are one model" in begun.stdout
    checked = CliRunner().invoke(main, ["validate"])
    assert "`pocket-llama` and `pocket-llama-2` are one model" in checked.stdout
    other = SPEC.read_text("utf-8").replace(
        'id = "pocket-llama-2"', 'id = "pocket-llama-2"\nprecision = "bf16"'
    )
    SPEC.write_text(other, "utf-8")
    assert "are one model" not in CliRunner().invoke(main, ["validate"]).stdout


def test_more_shots_than_are_left_is_answered_with_the_draw_that_leaves_them() -> None:
    Path("m.csv").write_bytes(DATA_MISTAKES[0].mended[1])  # type: ignore[index]
    assert CliRunner().invoke(main, ["init", "--yes", "--benchmark=m.csv"]).exit_code == 0
    text = SPEC.read_text("utf-8").replace('option_order = "shuffled:42"',
        'exemplars = { pool = "rest", seed = 1 }\noption_order = "shuffled:42"').replace(
        "[harness]", "[harness]\nshots = 3")  # fmt: skip
    SPEC.write_text(text, "utf-8")
    answered = CliRunner().invoke(main, ["validate", "--check"]).output
    assert "`sample = { n = 9, seed = 42 }` leaves as many to show" in " ".join(answered.split())
    SPEC.write_text(text.replace("exemplars =", "sample = { n = 9, seed = 42 }\nexemplars ="), "utf-8")
    (items,) = compile_spec(SPEC).study.items.values()
    assert (len(items.sampled), len(items.exemplars)) == (9, 3)
