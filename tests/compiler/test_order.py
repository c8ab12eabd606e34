"""What is refused is refused as early as can be known: before the stamp, where mending it would change it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import gridc
from gridc.compiler.inputs.models import hash_files
from gridc.compiler.lock.lock import read_lock
from gridc.diagnostics.errors import GridcError, HazardError, SpecError
from gridc.schema.canonical import digest
from tests.replaced import replaced
from tests.studies import axis, benchmark, head, pocket, written

MODELS = Path(gridc.__file__).parent / "builtin" / "models"

SPEC = (
    head("early", pocket(left="qwen2", right="llama"))
    + benchmark("sums", 'query = "ask", options = ["list"], gold = "key"', 'option_order = "file"')
    + """
[harness]
method = "extract"
max_tokens = 8
"""
    + axis("template", {"T1": 'prompt = "builtin:T1"', "T3": 'prompt = "builtin:T3"'}, by="ours")
)


def item(number: int) -> dict[str, object]:
    """A sum whose right answer stands at its letter."""
    options, place = [f"{number}", f"{number + 2}"], number % 3
    options.insert(place, f"{number + 1}")
    return {"ask": f"What is {number} plus 1?", "list": options, "key": "ABC"[place], "n": number}


ITEMS = [item(number) for number in range(12)]


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("GRIDC_DATA", "GRIDC_MODELS"):
        monkeypatch.delenv(name, raising=False)
    written(tmp_path, SPEC, ITEMS)
    yield tmp_path / "gridcard.toml"


HYPOTHESIS = """
[[hypothesis]]
id = "H1"
kind = "equivalence"
axis = "template"
level = "T3"
reference = "T1"
margin = { pp = 1 }
"""
RANKED = ('method = "extract"', 'method = "loglikelihood"\ncandidates = "unknown_expanded"')


@pytest.mark.parametrize(("code", "edits", "more"), [
    ("GC521", (), HYPOTHESIS),
    ("GC313", (RANKED,), ""),
    ("GC334", (("loading.fields", 'loading.gold = "index"\nloading.fields'),), ""),
    ("GC333", (('gold = "key"', 'gold = "kye"'),), ""),
    ("GC309", (('"path:items.jsonl"', '"path:item.jsonl"'),), ""),
])  # fmt: skip
def test_what_a_run_refuses_and_a_stamp_would_fix_is_refused_before_it(
    spec: Path, code: str, edits: tuple[tuple[str, str], ...], more: str
) -> None:
    spec.write_text(replaced(SPEC, *edits) + more, "utf-8")
    study = gridc.open(spec)
    said = []
    for refused in (lambda: study.validate(check=True), study.stamp, study.run):
        with pytest.raises(GridcError) as caught:
            refused()
        said.append([(each.code, each.place) for each in caught.value.diagnostics])
        assert all(each.help for each in caught.value.diagnostics)
    assert said[0] == said[1] == said[2]
    assert {found for found, _ in said[0]} == {code}
    assert all(":" in place for _, place in said[0])
    assert not spec.with_suffix(".lock").exists()


def test_a_prompt_that_no_model_has_room_for_is_refused_before_the_stamp(spec: Path) -> None:
    spec.write_text(SPEC.replace('prompt = "builtin:T3"', f'prompt = "{"long " * 3000} {{{{ question }}}}"'))
    with pytest.raises(HazardError, match="GC503"):
        gridc.open(spec).stamp()
    assert not spec.with_suffix(".lock").exists()


def test_what_was_found_out_and_left_out_is_said_by_each_and_kept_in_the_lock(spec: Path) -> None:
    with (spec.parent / "items.jsonl").open("a") as file:
        file.write('{"ask": "What is it?", "list": ["this", "that", "these"], "key": null}\n')
    with pytest.raises(SpecError, match="GC312"):
        gridc.open(spec).plan()
    spec.write_text(replaced(SPEC, ("loading.fields", 'loading.malformed = "leave_out"\nloading.fields')))
    study = gridc.open(spec)
    told = [study.validate(check=True).notes, study.plan().prospects["notes"], study.stamp().notes]
    for notes in told:
        assert any("its letter (letter): row 1 (What is 0 plus 1?)" in note for note in notes)
        assert any("1 of 13 rows do not follow the format and are left out" in note for note in notes)
    lock = read_lock(spec.with_suffix(".lock"))
    assert lock is not None
    kept = lock.content["inputs"]["benchmarks"]["sums"]
    assert (kept["found"], kept["left_out"]) == (
        {"gold": "letter"},
        ["items.jsonl, row 13: `key`: it is empty"],
    )


def test_a_stated_rule_is_the_same_study_as_before_it_could_be_left_out(spec: Path) -> None:
    spec.write_text(replaced(SPEC, ("loading.fields", 'loading.gold = "letter"\nloading.fields')))
    gridc.open(spec).stamp()
    lock = read_lock(spec.with_suffix(".lock"))
    assert lock is not None
    assert set(lock.content["inputs"]["benchmarks"]["sums"]) == {"files", "items", "exemplars"}


def test_a_comparison_of_one_model_is_said(spec: Path) -> None:
    """By all that compile it; it is refused by none, since a second model may be on its way."""
    second = (', { id = "right", engine = "hf", source = "builtin:pocket-llama" }', "")
    spec.write_text(replaced(SPEC, second))
    study = gridc.open(spec)
    words = "comparative and has one model"
    for notes in (study.plan().prospects["notes"], study.stamp().notes):
        assert any(words in note for note in notes)
    spec.write_text(replaced(SPEC, second, ('"comparative"', '"descriptive"')))
    assert not any(words in note for note in study.plan().prospects["notes"])


ELSEWHERE = ('source = "builtin:pocket-llama"', 'source = "models:pocket-llama"')


def test_models_lie_where_the_person_who_runs_says(spec: Path) -> None:
    spec.write_text(replaced(SPEC, ELSEWHERE))
    absent = gridc.open(spec)
    assert "give --models FOLDER" in absent.stamp().unpinned["right"]
    with pytest.raises(SpecError, match="GC309"):
        absent.run()
    with pytest.raises(SpecError, match="GC309"):
        gridc.open(spec, models=spec.parent).validate()
    here = gridc.open(spec, models=MODELS)
    assert here.check_stamp().current  # what was not there when the study was stamped departs from nothing
    assert here.stamp(supersede=True).unpinned == {}


def test_a_digest_ties_the_spec_to_the_files(spec: Path) -> None:
    right = digest(dict(hash_files(MODELS / "pocket-llama")))
    spec.write_text(replaced(SPEC, (ELSEWHERE[0], f'{ELSEWHERE[1]}, digest = "{right}"')))
    assert gridc.open(spec, models=MODELS).validate(check=False).valid
    gridc.open(spec, models=MODELS).plan()
    spec.write_text(replaced(SPEC, (ELSEWHERE[0], f'{ELSEWHERE[1]}, digest = "{"0" * 64}"')))
    with pytest.raises(SpecError, match=f"GC314.*{right}"):
        gridc.open(spec, models=MODELS).plan()
