"""`make quick`: which test files a change can touch, nearest first."""

from tools.touched import PACKAGES, ROOT, chosen, distances, importers

READ_BY = {
    "base.py": {"middle.py", "tests/test_base.py"},
    "middle.py": {"top.py", "tests/test_middle.py"},
    "top.py": {"tests/test_top.py"},
    "other.py": {"tests/test_other.py"},
} | {f"tests/test_{name}.py": set() for name in ("base", "middle", "top", "other")}  # fmt: skip


def test_what_imports_a_change_is_touched_however_far_away() -> None:
    away = distances(["base.py"], READ_BY)
    tests = {path: far for path, far in away.items() if "test_" in path}
    assert tests == {"tests/test_base.py": 1, "tests/test_middle.py": 2, "tests/test_top.py": 3}


def test_the_nearest_run_first_and_a_changed_test_always() -> None:
    away = {"tests/test_far.py": 3, "tests/test_near.py": 1, "tests/test_own.py": 0, "tests/test_long.py": 1}
    seconds = {"tests/test_own.py": 50.0, "tests/test_near.py": 8.0, "tests/test_long.py": 30.0}
    run, left = chosen(away, seconds, 60)
    assert run == ["tests/test_own.py", "tests/test_near.py"]
    assert left == ["tests/test_long.py", "tests/test_far.py"]
    assert chosen(away, seconds, 1)[0] == ["tests/test_own.py"]


def test_the_graph_has_imports_names_in_strings_and_conftests() -> None:
    read_by = importers()
    assert "tests/compiler/test_power.py" in read_by["gridc/statistics/verdicts.py"]
    assert "gridc/cli/__init__.py" in read_by["gridc/cli/plan.py"]
    kinds = "gridc/compiler/hypotheses"
    assert f"{kinds}/__init__.py" in read_by[f"{kinds}/trend.py"], "found by its name"
    assert "tests/compiler/test_hub.py" in read_by["tests/compiler/conftest.py"]
    assert "tests/statistics/test_pairs.py" not in read_by["tests/compiler/conftest.py"]
    assert set(read_by) == {
        file.relative_to(ROOT).as_posix() for name in PACKAGES for file in (ROOT / name).rglob("*.py")
    }


def test_a_file_that_is_no_module_touches_what_names_it() -> None:
    away = distances(["tests/statistics/published_grids.json"], importers())
    assert away["tests/statistics/test_published_grids.py"] == 1


def test_a_page_touches_what_reads_all_pages() -> None:
    away = distances(["docs/api.md"], importers())
    assert away["tests/e2e/pages/test_pages.py"] == 2
