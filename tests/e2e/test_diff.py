"""`gridc diff` of two stores of a real study."""

import json
import shutil
import sqlite3
from pathlib import Path

from tests.e2e.conftest import Done, command, make_study


def diff(*arguments: object, cwd: Path) -> Done:
    return command("diff", *map(str, arguments), cwd=cwd)


def test_a_store_does_not_differ_from_its_copy(study: Path, finished: Path) -> None:
    done = diff("results/small", finished / "results/small/store.sqlite", cwd=study)
    assert done.returncode == 0, done.stdout
    assert "nothing differs" in done.stdout


def test_scores_settings_and_cells_that_differ_are_told(study: Path) -> None:
    shutil.copytree(study / "results", study / "before")
    spec = study / "gridcard.toml"
    spec.write_text(
        spec.read_text().replace("temperature = 0.7", "temperature = 1.3").replace('id = "T4"', 'id = "cot"')
    )
    assert command("stamp", "--supersede", cwd=study).returncode == 0
    assert command("run", "--out", "after", cwd=study).returncode == 0
    done = diff("before/small", "after", cwd=study)
    assert done.returncode == 1, done.stderr
    assert "axis[decoding].level[sampled].temperature: 0.7 -> 1.3" in done.stdout
    why = "the other run has no configuration with these levels or settings"
    assert f"cells that only a has ({why}):" in done.stdout
    assert (
        "a beside b:\n  template=T4,decoding=greedy,few_shot=0,scoring=free_form stands as "
        "template=cot,decoding=greedy,few_shot=0,scoring=free_form, " in done.stdout
    )
    assert "and 1 more (their settings are equal)" in done.stdout

    told = json.loads(diff("before/small", "after", "--json", cwd=study).stdout)
    assert told["equal"] is False
    assert all("template=T4,decoding=sampled" in each for each in told["only_a"])
    assert all("template=cot,decoding=sampled" in each for each in told["only_b"])
    assert len(told["only_a"]) == len(told["only_b"]) == 2 * 2
    assert len(told["cells"]) == 2 * (12 - 2), (
        "of the template that has another name those with equal settings"
    )
    assert sum(each["cell_b"] is not None for each in told["cells"]) == 2 * 4
    for cell in told["cells"]:
        (right, right_of), (left, left_of) = cell["b"], cell["a"]
        assert abs(cell["difference"] - (right / right_of - left / left_of)) < 1e-12
        if "decoding=greedy" in cell["cell"]:
            assert (cell["up"], cell["down"], cell["difference"]) == (0, 0, 0), "the same calls"
            assert cell["p"] == 1
    assert {(each["axis"], each["level"]) for each in told["levels"]} >= {
        ("decoding", "greedy"),
        ("few_shot", "3"),
    }
    assert any(cell["up"] or cell["down"] for cell in told["cells"])


def test_a_study_of_a_store_is_chosen_by_its_stamp(study: Path) -> None:
    spec = study / "gridcard.toml"
    spec.write_text(spec.read_text().replace("small enough", "as small as it has to be"))
    assert command("stamp", "--supersede", cwd=study).returncode == 0
    assert command("run", cwd=study).returncode == 0
    store = "results/small/store.sqlite"
    with sqlite3.connect(study / store) as db:
        first, second = (row[0] for row in db.execute("SELECT stamp FROM study ORDER BY rowid"))
    done = diff(f"{store}@{first[:10]}", f"{store}@{second[:10]}", cwd=study)
    assert done.returncode == 1
    assert "study.title" in done.stdout
    which = diff(store, f"{store}@{second[:10]}", cwd=study)
    assert which.returncode == 6 and "GC602" in which.stderr and first[:12] in which.stderr
    for asked in (["sql", "--store", store, "SELECT 1"], ["view", store, "--export", "pages"]):
        which = command(*asked, cwd=study)
        assert which.returncode == 6 and "GC602" in which.stderr and f"{store}@{second[:12]}" in which.stderr
    counted = "SELECT count(*) FROM sample"
    for stamp in (first, second):
        alone = command("sql", "--store", f"{store}@{stamp[:10]}", counted, cwd=study).stdout
        both = command(
            "sql", "--store", f"{store}@{stamp[:10]}", counted.replace("sample", "main.sample"), cwd=study
        )
        assert 2 * int(alone.split()[-1]) == int(both.stdout.split()[-1])
    assert command("view", f"{store}@{first[:10]}", "--export", "pages", cwd=study).returncode == 0
    assert first[:12] in (study / "pages" / "index.html").read_text()
    nobody = diff(f"{store}@{first[:10]}", f"{store}@ffff", cwd=study)
    assert nobody.returncode == 6
    assert "error[GC603]" in nobody.stderr


def test_a_store_and_a_spec_are_not_compared(study: Path) -> None:
    assert diff("results/small", "gridcard.toml", cwd=study).returncode == 2


def test_two_precisions_as_two_studies_give_the_table_of_one_study(tmp_path: Path) -> None:
    """SafetyRepro's NF4 grid and BF16 sweep are two specs; an axis of precision is one. The cells are the
    same calls, so the paired report is the same."""
    spec = make_study(tmp_path)
    text = spec.read_text()
    shots = text[text.index('[[axis]]\nid = "few_shot"') : text.index('[[axis]]\nid = "scoring"')]
    levels = "".join(
        f'[[axis.level]]\nid = "{each}"\ntier = "core"\nprecision = "{each}"\nprovenance = "a test"\n'
        for each in ("fp32", "bf16")
    )
    spec.write_text(text.replace(shots, f'[[axis]]\nid = "precision"\n{levels}'))
    for name in ("stamp", "run", "report"):
        done = command(name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    certificate = json.loads((tmp_path / "results/small/certificate.json").read_text("utf-8"))
    said = " ".join(certificate["statements"])
    assert "Noise floor of qwen2 at bf16: in another batch shape" in said
    certificate = json.loads((tmp_path / "results/small/certificate.json").read_text())
    (axis,) = certificate["precisions"]
    assert (axis["axis"], axis["left"], axis["right"]) == ("precision", "fp32", "bf16")
    assert axis["overall"]["cells"] == 2 * 6
    assert 'id="precision"' in (tmp_path / "results/small/report.html").read_text()

    for each in ("fp32", "bf16"):
        other = text.replace(shots, "").replace("[harness]\n", f'[harness]\nprecision = "{each}"\n')
        (tmp_path / f"{each}.toml").write_text(other.replace('id = "small"', f'id = "{each}"'))
        for name in ("stamp", "run"):
            done = command(name, f"{each}.toml", cwd=tmp_path)
            assert done.returncode == 0, done.stderr
    told = json.loads(diff("results/fp32", "results/bf16", "--json", cwd=tmp_path).stdout)["paired"]
    for key in ("overall", "by_model", "orderings", "same_order", "flips", "unpaired"):
        assert told[key] == axis[key]
    lines = diff("results/fp32", "results/bf16", cwd=tmp_path).stdout
    size = f"at most {100 * axis['overall']['max_absolute']:.1f} pp"
    assert "all models: 12 cells, |b - a| median" in lines
    assert size in lines
    assert f"is the same in {axis['same_order']} of {axis['orderings']} configurations" in lines
