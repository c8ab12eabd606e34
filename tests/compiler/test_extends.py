"""`extends`: what an extension means, against a merge of plain values written a second time; where its
findings stand; what its lock names."""

import hashlib
import json
import shutil
import tomllib
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from gridc.cli import main
from gridc.compiler.compile import compile_spec
from gridc.compiler.frontend.expansion import ExpandedSpec, expanded, expanded_text
from gridc.compiler.frontend.source import parse_source, read_source
from gridc.compiler.frontend.validate import typed
from gridc.compiler.lock.attestation import attestations
from gridc.compiler.lock.lock import make_lock, read_lock, write_lock
from gridc.diagnostics.errors import SpecError

ROOT = Path(__file__).resolve().parents[2]
GROWING = {"model", "benchmark", "axis", "exclude", "slice", "hypothesis", "family", "fork", "curve", "waive"}


def written(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


def find(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(row for row in rows if name in (row.get("id"), row.get("code")))


def cut(values: Any, parts: list[str]) -> None:
    """Take out what a path names; ids here have no dots."""
    *way, last = parts
    for part in way:
        values = values[part] if isinstance(values, dict) else find(values, part)
    if isinstance(values, dict):
        del values[last]
    else:
        values.remove(find(values, last))


def over(base: Any, top: Any, growing: bool) -> Any:
    if isinstance(base, dict) and isinstance(top, dict):
        return base | {
            key: over(base[key], top[key], key == "level") if key in base else top[key] for key in top
        }
    if growing and isinstance(base, list):
        rows = [*base]
        for row in top:
            twin = next(
                (n for n, each in enumerate(base) if "id" in row and each.get("id") == row["id"]), None
            )
            if twin is None:
                rows.append(row)
            else:
                rows[twin] = {
                    **rows[twin], **{k: over(rows[twin].get(k), v, k == "level") if k == "level" else v
                                     for k, v in row.items()}
                }  # fmt: skip
        return rows
    return top


def by_hand(path: Path) -> dict[str, Any]:
    top = written(path)
    if "extends" not in top:
        return top
    values = by_hand(path.with_name(top.pop("extends")))
    for name in top.pop("remove", ()):
        cut(values, name.split("."))
    for key, value in top.items():
        if key in values and key in GROWING:
            values[key] = over(values[key], value, True)
        elif key in values and isinstance(value, dict):
            values[key] = {**values[key], **value}
        else:
            values[key] = value
    return values


@pytest.mark.parametrize("name", ("safetyrepro_bf16", "scaffold_safety"))
def test_a_study_that_extends_another_means_what_a_second_merge_says(name: str) -> None:
    path = ROOT / "specs" / f"{name}.toml"
    source = expanded(read_source(path))
    assert source.others and source.values == by_hand(path)
    assert written(path).keys() & {"extends", "remove"} == {"extends", "remove"}


@pytest.mark.parametrize("name", ("safetyrepro_bf16", "scaffold_safety"))
def test_the_expanded_text_is_the_same_study_in_one_file(name: str) -> None:
    source = expanded(read_source(ROOT / "specs" / f"{name}.toml"))
    alone = parse_source(expanded_text(source), Path("alone.toml"))
    assert alone.values == source.values
    assert typed(alone).stamped() == typed(source).stamped()


def test_every_part_of_an_expanded_spec_stands_in_the_file_that_has_its_line() -> None:
    """Each value is found again at the place that a finding about it would show."""
    source = expanded(read_source(ROOT / "specs" / "scaffold_safety.toml"))
    assert isinstance(source, ExpandedSpec)
    texts = {str(file.path): file.path.read_text("utf-8").split("\n") for file in source.files}
    files: set[str] = set()
    for path, value in leaves(source.values):
        shown = source.diagnose("GC104", path, "here")
        assert shown.file is not None and shown.span is not None
        line = texts[shown.file][shown.span.line - 1][shown.span.column - 1 :]
        files.add(shown.file)
        if isinstance(value, str) and not line.startswith('"""'):
            assert json.loads(line[: shown.span.length]) == value
        elif not isinstance(value, str):
            assert tomllib.loads(f"v = {line[: shown.span.length]}")["v"] == value
    assert files == set(texts)


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Any:
    if isinstance(value, dict | list) and value:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, key))
    else:
        yield path, value


def test_random_extensions_mean_what_a_second_merge_says(tmp_path: Path) -> None:
    """Parts of a spec are taken out of it and written into an extension."""
    from tests.fuzz.mutate import toml

    whole = written(ROOT / "specs" / "safetyrepro.toml")
    for seed in range(40):
        rng = Random(seed)
        top: dict[str, Any] = {"gridcard": 1, "extends": "base.toml", "remove": []}
        for key in rng.sample([key for key in whole if key != "gridcard"], 4):
            value = json.loads(json.dumps(whole[key]))
            if isinstance(value, list):
                value = rng.sample(value, rng.randint(1, len(value)))
                for row in value:
                    for gone in rng.sample(
                        [each for each in row if each != "id"], rng.randint(0, len(row) - 1)
                    ):
                        del row[gone]
                    if rng.random() < 0.2:
                        row["id"] = f"new-{rng.randint(0, 9)}"
                ids = [row.get("id") for row in value if "id" in row]
                if len(set(ids)) < len(ids):
                    continue
            else:
                value = {name: value[name] for name in rng.sample(list(value), 1)}
            if rng.random() < 0.3:
                top["remove"].append(key)
            top[key] = value
        (tmp_path / "base.toml").write_text(toml(whole))
        (tmp_path / "gridcard.toml").write_text(toml(top))
        assert expanded(read_source(tmp_path / "gridcard.toml")).values == by_hand(
            tmp_path / "gridcard.toml"
        ), seed


EXTENSION = 'gridcard = 1\nextends = "base.toml"\n\n[study]\ntitle = "Another"\n'


@pytest.fixture
def study(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "tests" / "golden" / "diagnostics" / "base.toml", tmp_path / "base.toml")
    (tmp_path / "gridcard.toml").write_text(EXTENSION)
    return tmp_path / "gridcard.toml"


def test_a_table_whose_last_entry_is_removed_is_not_there(study: Path) -> None:
    more = '[[waive]]\ncode = "GC507"\nwhy = "no"\n'
    more += '[[outcome]]\nid = "o"\nbenchmark = "bbq"\nscores = { right = 1 }\n'
    base = study.with_name("base.toml")
    whole = base.read_text("utf-8")
    base.write_text(f"{whole}\n{more}", "utf-8")
    study.write_text(EXTENSION.replace("\n\n", '\nremove = ["waive.GC507", "outcome.o"]\n\n'), "utf-8")
    assert {"waive", "outcome"}.isdisjoint(expanded(read_source(study)).values)
    without = typed(expanded(read_source(study)))
    base.write_text(whole, "utf-8")
    study.write_text(EXTENSION, "utf-8")
    assert without.stamped() == typed(expanded(read_source(study))).stamped()


def test_a_lock_names_the_files_and_only_their_meaning_moves_its_stamp(study: Path) -> None:
    lock = make_lock(compile_spec(study).study, study)
    names = ("gridcard.toml", "base.toml")
    digests = {name: hashlib.sha256(study.with_name(name).read_bytes()).hexdigest() for name in names}
    assert lock.files == digests
    write_lock(lock, study.with_suffix(".lock"))
    assert read_lock(study.with_suffix(".lock")) == lock
    base = study.with_name("base.toml")
    base.write_text(base.read_text() + "# a remark\n")
    again = make_lock(compile_spec(study).study, study)
    assert again.stamp == lock.stamp
    assert again.files != lock.files
    assert "files" not in json.loads(make_lock(compile_spec(base).study, base).text())


def test_a_base_that_is_not_committed_leaves_the_lock_without_its_commit(study: Path) -> None:
    import subprocess

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *who, *arguments], cwd=study.parent, check=True, capture_output=True)

    lock = study.with_suffix(".lock")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "spec")
    write_lock(make_lock(compile_spec(study).study, study), lock)
    assert (found := read_lock(lock)) is not None and found.dirty is False
    git("add", ".")
    git("commit", "-qm", "lock")
    assert attestations(lock, study)[0].evidence == "commit"
    base = study.with_name("base.toml")
    base.write_text(base.read_text() + "# a remark\n")
    assert attestations(lock, study)[0].evidence == "none"
    assert make_lock(compile_spec(study).study, study).dirty is True


def test_a_kept_verdict_ends_with_its_base(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDC_CACHE", str(study.parent / "cache"))
    for _ in range(2):
        assert CliRunner().invoke(main, ["validate", str(study)]).exit_code == 0
    base = study.with_name("base.toml")
    base.write_text(base.read_text().replace("comparative", "curious"))
    found = CliRunner().invoke(main, ["validate", str(study)])
    assert found.exit_code == 3
    assert f"{base}:6:11" in found.output


def test_the_command_line_writes_it_out_and_says_where_a_difference_is_written(study: Path) -> None:
    shown = CliRunner().invoke(main, ["validate", "--expanded", str(study)])
    assert shown.exit_code == 0
    assert tomllib.loads(shown.output) == by_hand(study)
    base = study.with_name("base.toml")
    differs = CliRunner().invoke(main, ["diff", str(base), str(study)])
    assert differs.output == f'study.title: "A small study" -> "Another"   ({base}:5, {study}:5)\n'


def test_a_link_that_leads_out_of_the_folder_is_no_base(
    study: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "base.toml"
    study.with_name("base.toml").rename(outside)
    study.with_name("base.toml").symlink_to(outside)
    with pytest.raises(SpecError) as error:
        expanded(read_source(study))
    assert [each.code for each in error.value.diagnostics] == ["GC308"]


def test_a_name_that_no_file_system_takes_is_no_base(study: Path) -> None:
    study.write_text(f'extends = "{"x" * 400}.toml"\n')
    with pytest.raises(SpecError) as error:
        expanded(read_source(study))
    assert [each.code for each in error.value.diagnostics] == ["GC309"]
