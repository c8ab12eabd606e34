"""Items that come in families: what `--unit` names counts as one draw, in every format and every test."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gridc
from gridc.compiler.inputs.logs.gathering import phrases, share_with_shared_wording
from gridc.diagnostics.errors import FileError, GridcError, UsageError
from tests.e2e.conftest import command

LOGS = Path(__file__).resolve().parents[1] / "logs"
FAMILIES, SIZE = 15, 4


def drawn(seed: int, rate: float) -> "np.ndarray[tuple[int, int], np.dtype[np.int64]]":
    """Scores (families, items): most families succeed or fail as a whole."""
    rng = np.random.default_rng(seed)
    whole, family = rng.random(FAMILIES) < 0.8, rng.random(FAMILIES) < rate
    item = rng.random((FAMILIES, SIZE)) < rate
    return np.where(whole[:, None], family[:, None], item).astype(np.int64)


SCORES = {"large": drawn(1, 0.8), "small": drawn(2, 0.4)}


def families(path: Path, header: str = "family", models: tuple[str, ...] = ("large", "small")) -> Path:
    """A table of items with the column of their family."""
    lines = [f"model,benchmark,item,{header},score"]
    for model in models:
        lines += [
            f"{model},b,{family}-{number},f{family},{score}"
            for family, row in enumerate(SCORES[model])
            for number, score in enumerate(row)
        ]
    path.write_text("\n".join(lines) + "\n")
    return path


def collapsed(path: Path, models: tuple[str, ...] = ("large", "small")) -> Path:
    """The same with one item a family, whose score is the mean of its items."""
    lines = ["model,benchmark,item,score"]
    for model in models:
        lines += [f"{model},b,f{number},{row.mean()}" for number, row in enumerate(SCORES[model])]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("header", ["family", "Family", "made from", "meta.family"])
def test_a_unit_is_one_draw_in_every_number(tmp_path: Path, header: str) -> None:
    """As if each family were one item with the mean of its scores."""
    (row,) = gridc.certify(families(tmp_path / "t.csv", header), unit=header).certificate.benchmarks
    (one,) = gridc.certify(collapsed(tmp_path / "c.csv")).certificate.benchmarks
    assert (row.items, row.units, one.items) == (60, 15, 15)
    assert row.standings is not None and one.standings is not None
    (test,), (expected,) = row.standings.neighbours, one.standings.neighbours
    assert (test.p, test.a_ahead, test.b_ahead) == (expected.p, expected.a_ahead, expected.b_ahead)
    assert test.gap == pytest.approx(expected.gap)
    assert [place.interval for place in row.standings.order] == [
        place.interval for place in one.standings.order
    ]
    (apart,) = gridc.certify(tmp_path / "t.csv", ignore=[header]).certificate.benchmarks
    assert apart.standings is not None
    alone = apart.standings.neighbours[0]
    assert alone.p < test.p / 10, "60 items taken as independent say far too much"


def test_certify_and_compare_say_so(tmp_path: Path) -> None:
    path = families(tmp_path / "t.csv")
    done = command("certify", "--from", path.name, "--unit", "family", cwd=tmp_path)
    assert "b: 60 items in 15 units" in done.stdout, done.stderr
    assert "note: b: units are what items have as `family`" in done.stdout
    sides = [families(tmp_path / f"{model}.csv", models=(model,)).name for model in SCORES]
    done = command("compare", *sides, "--margin", "5pp", "--unit", "family", cwd=tmp_path)
    assert re.search(r"\n(NO-GO|INCONCLUSIVE) .*b: 60 items in 15 units", done.stdout), done.stdout
    first, second = (tmp_path / side for side in sides)
    report = gridc.compare(first, second, margin=5, unit="family")
    ones = [collapsed(tmp_path / f"{model}-c.csv", (model,)) for model in SCORES]
    (row,), (one,) = (
        report.comparison.benchmarks,
        gridc.compare(ones[0], ones[1], margin=5).comparison.benchmarks,
    )
    assert (row.p_worse, row.p_not_worse) == (one.p_worse, one.p_not_worse)
    policy = tmp_path / "release.toml"
    policy.write_text('policy = 1\nmargin = 5\nunit = "family"\n')
    stated = gridc.compare(first, second, policy=policy)
    assert stated.comparison.benchmarks == report.comparison.benchmarks
    policy.write_text('policy = 1\nmargin = 5\nunit = "famly"\nignore = ["family"]\n')
    with pytest.raises(GridcError, match="no item has a field `famly`") as raised:
        gridc.compare(first, second, policy=policy)
    assert raised.value.diagnostics[0].code == "GC761"
    assert raised.value.diagnostics[0].line == 'unit = "famly"'


def test_units_that_one_run_alone_knows_are_units(tmp_path: Path) -> None:
    sides = [families(tmp_path / f"{model}.csv", models=(model,)) for model in SCORES]
    rows = [line.split(",") for line in sides[1].read_text().splitlines()]
    sides[1].write_text("\n".join(",".join((*row[:3], *row[4:])) for row in rows))
    for pair in (sides, sides[::-1]):
        (row,) = gridc.compare(pair[0], pair[1], margin=5, unit="family").comparison.benchmarks
        assert (row.items, row.units) == (60, 15)


def of_lm_eval(folder: Path) -> Path:
    """The sums of a logged task, in families by their first number, which no document of it has."""
    for path in (LOGS / "lm_eval" / "llama-zero").iterdir():
        text = path.read_text()
        if path.name.startswith("samples_arith_mc_2"):
            rows = [json.loads(line) for line in text.splitlines()]
            for row in rows:
                row["doc"]["made"] = {"from": row["doc_id"] // 3}
            text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / path.name).write_text(text)
    return folder


def of_inspect(folder: Path) -> Path:
    log = json.loads((LOGS / "inspect" / "epochs.json").read_text())
    for sample in log["samples"]:
        sample["metadata"] = {"made": {"from": int(sample["id"]) // 3}}
    (folder / "log.json").write_text(json.dumps(log))
    return folder


def of_promptfoo(folder: Path) -> Path:
    log = json.loads((LOGS / "promptfoo" / "sums.json").read_text())
    numbers: dict[str, int] = {}
    for row in log["results"]["results"]:
        number = numbers.setdefault(json.dumps(row["vars"]), len(numbers))
        row["testCase"] = {"metadata": {"made": {"from": number // 3}}}
    (folder / "log.json").write_text(json.dumps(log))
    return folder


@pytest.mark.parametrize("make", [of_lm_eval, of_inspect, of_promptfoo])
def test_a_field_of_an_item_is_its_unit(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    report = gridc.certify(make(tmp_path), unit="made.from")
    row = next(row for row in report.certificate.benchmarks if row.units < row.items)
    counted = row.items // 3 + (1 if row.items % 3 or make is of_inspect else 0)
    assert row.units == counted
    others = [other.benchmark for other in report.certificate.benchmarks if other.items and other is not row]
    for name in others:
        assert any(f"{name}: no item has `made.from`" in note for note in report.certificate.notes)


def test_a_package_that_does_not_know_units_takes_those_of_one_that_does(tmp_path: Path) -> None:
    """A table with families, and a log of Inspect of the same questions without any."""
    questions = [f"What has {number} legs?" for number in range(12)]
    rows = [f"a,legs,{text},f{n // 4},{n % 2}" for n, text in enumerate(questions)]
    (tmp_path / "t.csv").write_text("\n".join(["model,benchmark,question,family,score", *rows]) + "\n")
    log = {
        "version": 2, "status": "success", "plan": {}, "results": {"total_samples": 12, "scores": []},
        "eval": {"model": "b", "task": "legs", "task_version": 0},
        "samples": [
            {"id": number, "epoch": 1, "input": text, "target": "x", "scores": {"match": {"value": "C"}}}
            for number, text in enumerate(questions)
        ],
    }  # fmt: skip
    (tmp_path / "inspect.json").write_text(json.dumps(log))
    for row in gridc.certify(tmp_path, unit="family").certificate.benchmarks:
        assert (row.items, row.units) == (12, 3)
    log["samples"] = [*log["samples"][:-1], {**log["samples"][-1], "input": "Another?"}]  # type: ignore[index]
    (tmp_path / "inspect.json").write_text(json.dumps(log))
    with pytest.raises(FileError, match="1 of 13 items have no `family`") as raised:
        gridc.certify(tmp_path, unit="family")
    assert str(raised.value.diagnostics[0].file).endswith("inspect.json")


def test_what_is_no_unit_is_refused_at_its_place(tmp_path: Path) -> None:
    path = families(tmp_path / "t.csv")
    with pytest.raises(UsageError, match="no item has a column or field `famly`") as raised:
        gridc.certify(path, unit="famly", ignore=["family"])
    assert raised.value.diagnostics[0].help is not None and "family" in raised.value.diagnostics[0].help
    for axes, ignore in ((["family"], []), ([], ["Family"])):
        with pytest.raises(UsageError, match="the column `family` is both"):
            gridc.certify(path, unit="family", axes=axes, ignore=ignore)
    text = path.read_text()
    path.write_text(
        text.replace("large,b,0-0,f0,", "large,b,0-0,,").replace("small,b,0-0,f0,", "small,b,0-0,,")
    )
    with pytest.raises(FileError, match="1 of 60 items have no `family`, such as item 0-0") as missing:
        gridc.certify(path, unit="family")
    assert missing.value.diagnostics[0].code == "GC677"
    path.write_text(text.replace("small,b,0-0,f0,", "small,b,0-0,f1,"))
    with pytest.raises(FileError, match="item 0-0 is of f1 and of f0") as twice:
        gridc.certify(path, unit="family")
    assert twice.value.diagnostics[0].code == "GC677"


PLACES = ("shop", "garden", "library", "station", "school", "market", "harbour", "museum", "bakery", "office")


def asked(path: Path, questions: list[str]) -> Path:
    lines = [f'{model},{n},"{text}",{n % 2}' for model in "ab" for n, text in enumerate(questions)]
    path.write_text("model,item,question,score\n" + "\n".join(lines) + "\n")
    return path


def test_items_of_one_template_are_a_warning_unless_units_are_named(tmp_path: Path) -> None:
    """Ten templates, of which each is asked with four names; and texts that share nothing."""
    templates = [f"who left the {place} before the rest came to the {place} that day" for place in PLACES]
    made = [f"I saw {name}, {text}?" for text in templates for name in ("Ann", "Bo", "Cy", "Di")]
    made[-1] = made[-2]  # one question under two ids is one unit, and says nothing of the others
    rng = np.random.default_rng(4)
    free = [" ".join(rng.choice([*PLACES, *(f"w{n}x" for n in range(400))], 20)) for _ in range(40)]
    for questions, expected in ((made, 1), (free, 0)):
        (row,) = gridc.certify(asked(tmp_path / "t.csv", questions)).certificate.benchmarks
        found = [text for text in row.warnings if text.startswith("GC768: 100 % of the items share")]
        assert len(found) == expected
    lines = asked(tmp_path / "t.csv", made).read_text().splitlines()
    named = [
        f"{line},{'family' if number == 0 else (number - 1) % 40 // 4}" for number, line in enumerate(lines)
    ]
    (tmp_path / "t.csv").write_text("\n".join(named) + "\n")
    (row,) = gridc.certify(tmp_path / "t.csv", unit="family").certificate.benchmarks
    assert row.units == 10 and not any("GC768" in text for text in row.warnings)


def test_an_instruction_that_all_items_have_is_no_template() -> None:
    rng = np.random.default_rng(5)
    head = "Answer with one letter and nothing else, whatever the question may be: "
    texts = [head + " ".join(rng.choice([f"w{n}x" for n in range(400)], 12)) for _ in range(40)]
    assert share_with_shared_wording([phrases(text) for text in texts]) == 0.0
    assert len(phrases(" ".join(f"w{n}x" for n in range(10**6)))) < 1_000, "a stranger's text has no end"
    assert share_with_shared_wording([phrases(head)] * 9) == 0.0, "of nine items nothing is said"
    numbers = [f"Tom has {n} red apples and gives {n + 3} of them away" for n in range(20)]
    others = [head + str(rng.integers(10**9)) + " ".join(rng.choice(PLACES, 9)) for _ in range(21)]
    assert share_with_shared_wording([phrases(text) for text in numbers + others]) > 0.4, (
        "a number is any number"
    )


@pytest.mark.parametrize("make", [of_inspect, of_promptfoo])
@pytest.mark.parametrize("about", ["a text", 3, ["a list"], None])
def test_metadata_that_is_no_table_has_no_field(
    tmp_path: Path, make: Callable[[Path], Path], about: object
) -> None:
    path = make(tmp_path) / "log.json"
    log = json.loads(path.read_text())
    for row in log.get("samples") or log["results"]["results"]:
        row.get("testCase", row)["metadata"] = about
    path.write_text(json.dumps(log))
    assert gridc.certify(path).certificate.benchmarks
    with pytest.raises(UsageError, match=r"no item has a column or field `made\.from`"):
        gridc.certify(path, unit="made.from")
