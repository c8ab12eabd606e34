"""A bundle: whole, checked with what it holds, and any change to it is found and named."""

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gridc
from benchmarks.synthetic import fill, make
from gridc.compiler.compile import compile_spec
from gridc.diagnostics.errors import StoreError, UsageError, VerificationError
from gridc.reports.exchange import MANIFEST
from gridc.reports.exchange.bundle import CRATE, export, verify_bundle
from gridc.reports.exchange.recorded_study import ITEMS
from gridc.runtime.store.store import Store
from gridc.schema.canonical import digest_bytes
from gridc.study import OpenStudy
from tests import studies
from tests.adversary.rooms.stores import AXES, reseal
from tests.e2e.conftest import command


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a small synthetic study, away from the items and the lock it was made from."""
    folder = tmp_path_factory.mktemp("study")
    compiled = compile_spec(make(folder, 2), None)
    assert compiled.lock is not None
    results = folder / "results" / "synthetic"
    OpenStudy(folder / "gridcard.toml").report()
    bundle = export(compiled, compiled.lock, results, tmp_path_factory.mktemp("out") / "bundle")
    with pytest.raises(UsageError, match="exists already"):
        export(compiled, compiled.lock, results, bundle)
    shutil.rmtree(folder)
    return bundle


@pytest.fixture
def bundle(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "bundle"))


def relist(bundle: Path) -> None:
    """Make the manifest agree with the files, as a forger would."""
    names = [line.partition("  ")[2] for line in (bundle / MANIFEST).read_text().splitlines()]
    lines = [f"{digest_bytes((bundle / name).read_bytes())}  {name}\n" for name in names]
    (bundle / MANIFEST).write_text("".join(lines))


def test_an_untouched_bundle_verifies_and_says_what_it_could_not_check(made: Path) -> None:
    checked = verify_bundle(made).checked
    assert any("results digest is the recorded one" in each for each in checked)
    assert any(each.startswith("not checked: ") for each in checked)


def test_it_holds_what_a_reviewer_needs_and_no_items(made: Path) -> None:
    names = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    assert {"gridcard.toml", "gridcard.lock", "results/store.sqlite", "results/certificate.json"} <= names
    assert {"manifests/items.json", "manifests/environment.json", MANIFEST, CRATE} <= names
    assert not [name for name in names if name.startswith("bbq")]
    done = subprocess.run(["sha256sum", "--check", "--quiet", MANIFEST], cwd=made, check=False)
    assert done.returncode == 0


def test_of_a_store_with_an_earlier_study_it_holds_the_one_that_is_bundled(tmp_path: Path) -> None:
    """The spec is changed and stamped anew, and both studies are run into one store. `verify` names the
    earlier one, and no row, and no byte, of it goes into the bundle."""
    folder = tmp_path / "study"
    spec = make(folder, 2, AXES)
    study = OpenStudy(spec)
    study.report()
    store = folder / "results" / "synthetic" / "store.sqlite"
    tables = ("study", "cell", "sample", "trace", "call", "prompt", "batch", "item", "shown", "question")
    alone = study.bundle(tmp_path / "alone") / "results" / "store.sqlite"
    before = {table: count_in(alone, table) for table in tables}
    text = spec.read_text("utf-8")
    spec.write_text(text.replace('prompt = "builtin:T4"', 'prompt = "builtin:T3"'))
    OpenStudy(spec).stamp(supersede=True)
    compiled = compile_spec(spec)
    fill(compiled, store)
    lock = compiled.lock
    assert lock is not None and len(lock.supersedes) == 1
    study = OpenStudy(spec)
    study.report()
    (line,) = [line for line in study.verify().checked if "earlier studies" in line]
    assert lock.supersedes[0].stamp[:12] in line
    both = study.bundle(tmp_path / "both")
    bundled = both / "results" / "store.sqlite"
    assert {table: count_in(bundled, table) for table in tables} == before
    assert count_in(store, "sample") == 2 * before["sample"]
    with sqlite3.connect(bundled) as db:
        assert db.execute("SELECT stamp FROM study").fetchall() == [(lock.stamp,)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    assert verify_bundle(both).complete


def count_in(store: Path, table: str) -> int:
    with sqlite3.connect(store) as db:
        return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_the_crate_describes_every_file(made: Path) -> None:
    crate = json.loads((made / CRATE).read_text())
    nodes = {node["@id"]: node for node in crate["@graph"]}
    assert crate["@context"] == "https://w3id.org/ro/crate/1.2/context"
    assert nodes[CRATE]["about"] == {"@id": "./"}
    parts = {part["@id"] for part in nodes["./"]["hasPart"]}
    files = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    assert parts == files - {MANIFEST, CRATE}
    assert parts <= nodes.keys()
    assert nodes["#run"]["result"] == {"@id": "results/store.sqlite"}


def flip(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(bundle: Path) -> None:
        path = bundle / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return change


def in_store(statement: str) -> Callable[[Path], None]:
    def change(bundle: Path) -> None:
        db = sqlite3.connect(bundle / "results" / "store.sqlite")
        db.execute(statement)
        db.commit()
        db.close()

    return change


def regroup(bundle: Path) -> None:
    """An empty group becomes something else that is empty."""
    listed = json.loads((bundle / ITEMS).read_text())
    groups = next(groups for each in listed.values() for groups in each["levels"].values() if "" in groups)
    groups[groups.index("")] = []
    (bundle / ITEMS).write_text(json.dumps(listed))


FORGERIES = {
    "certificate": (flip("results/certificate.json", '"plus": ', '"plus": 1'), "GC707"),
    "page": (flip("results/report.html", "<title>", "<title>!"), "GC707"),
    "spec": (flip("gridcard.toml", "Answers that no model gave", "Answers"), "GC701"),
    "family": (flip("manifests/items.json", '"q0', '"p0'), "GC701"),
    "group": (regroup, "GC701"),
    "stamped inputs": (flip("manifests/study.json", '"files": {', '"files": {"x": "y", '), "GC701"),
    "score": (in_store("UPDATE sample SET score = 1 - score"), "GC706"),
    "sample": (in_store("DELETE FROM trace WHERE cell = 1"), "GC704"),
    "event": (in_store("UPDATE event SET at = '2020-01-01' WHERE seq = 2"), "GC702"),
    "answer": (in_store("UPDATE call SET answer_digest = '0' WHERE rowid = 1"), "GC703"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_change_is_found_by_the_manifest_and_a_forged_manifest_does_not_help(
    bundle: Path, name: str
) -> None:
    change, code = FORGERIES[name]
    change(bundle)
    with pytest.raises(VerificationError) as error:
        verify_bundle(bundle)
    assert error.value.diagnostics[0].code == "GC701"
    assert "does not hash" in error.value.diagnostics[0].message
    named = {each.message for each in error.value.diagnostics[1:]}
    relist(bundle)
    with pytest.raises(VerificationError) as error:
        verify_bundle(bundle)
    assert code in {each.code for each in error.value.diagnostics} | (
        {"GC701"} if name == "stamped inputs" else set()
    )
    assert named == {each.message for each in error.value.diagnostics}, "what changed is said at once"


@pytest.mark.parametrize("key", ["claims", "tags.nobody", "labels.file.nobody"])
def test_a_key_of_the_items_that_nobody_reads_is_refused(bundle: Path, key: str) -> None:
    listed = json.loads((bundle / ITEMS).read_text())
    at = next(iter(listed.values()))
    *parents, last = key.split(".")
    for parent in parents:
        at = at.setdefault(parent, {})
    at[last] = {"hard": True}
    (bundle / ITEMS).write_text(json.dumps(listed))
    relist(bundle)
    with pytest.raises(VerificationError) as error:
        verify_bundle(bundle)
    said = [each.message for each in error.value.diagnostics]
    assert any(f"`{key}` of " in each and "nothing that gridc reads" in each for each in said), said


def test_missing_extra_and_linked_files_are_named(bundle: Path) -> None:
    (bundle / "results" / "gridcard.md").unlink()
    (bundle / "extra.txt").write_text("x")
    (bundle / "results" / "report.html").unlink()
    (bundle / "results" / "report.html").symlink_to("/etc/hostname")
    with pytest.raises(VerificationError) as error:
        verify_bundle(bundle)
    messages = " ".join(each.message for each in error.value.diagnostics)
    for name in ("results/gridcard.md is listed", "extra.txt is in the bundle", "results/report.html is in"):
        assert name in messages


def test_a_folder_that_is_no_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VerificationError, match="not a bundle"):
        verify_bundle(tmp_path)


def test_it_is_verified_without_anything_but_the_core(made: Path) -> None:
    """torch, transformers, huggingface_hub and all other extras are hidden from the process."""
    hidden = (
        "torch", "transformers", "huggingface_hub", "pyarrow", "lightgbm", "litellm", "vl_convert", "altair",
        "yaml",
    )  # fmt: skip
    code = f"""
import sys
from importlib.abc import MetaPathFinder

class Hidden(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Hidden())
sys.argv = ["gridc", "verify", {str(made)!r}]
from gridc.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"verified: {made}" in done.stdout


RATED = """\
[[benchmark]]
id = "bias"
loader = "bbq"
source = "path:pocket_bbq.jsonl"
direction = "lower_is_better"
sample = { n = 24, seed = 1, unit = "family" }
option_order = "shuffled:3"
method = "extract"
unit = "family"
[[benchmark]]
id = "opinions"
loader = "rows"
source = "path:opinions.jsonl"
direction = "lower_is_better"
option_order = "shuffled:4"
method = "extract"
[benchmark.loading]
gold = "index"
malformed = "leave_out"
fields = { query = "ask", options = ["list"], matching = "key", tags = ["topic", "secret"] }
[[benchmark]]
id = "prompts"
loader = "rows"
source = "path:prompts.jsonl"
direction = "higher_is_better"
method = "refusal_keywords"
[benchmark.loading.fields]
query = "ask"
expected = "should"
[[outcome]]
id = "consents"
benchmark = "opinions"
scores = { Yes = 1, other = 0 }
items = { topic = "weather" }
[harness]
AXIS
[[waive]]
code = "GC520"
why = "a test"
[sampling]
seed = 7
"""


@pytest.fixture(scope="module")
def rated_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a study whose items have roles, labels and tags, away from those items."""
    folder = tmp_path_factory.mktemp("study")
    shutil.copy(Path(gridc.__file__).parent / "builtin" / "benchmarks" / "pocket_bbq.jsonl", folder)
    opinions: list[dict[str, Any]] = [
        {"ask": f"Is {n} fair?", "list": ["Yes", "No"], "key": n % 2, "topic": ("weather", "work")[n % 3 > 0],
         "secret": f"note {n}"}
        for n in range(12)
    ]  # fmt: skip
    opinions[5]["key"] = 7
    prompts = [{"ask": f"How is {n} done?", "should": ("comply", "refuse")[n % 3 == 0]} for n in range(12)]
    for name, rows in (("prompts", prompts), ("opinions", opinions)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    axis = studies.axis("template", {"T1": 'prompt = "builtin:T1"', "T3": 'prompt = "builtin:T3"'})
    head = studies.head("rated", studies.pocket(qwen2="qwen2", llama="llama"))
    (folder / "gridcard.toml").write_text(head + RATED.replace("AXIS", axis))
    results = folder / "results" / "rated"
    fill(compile_spec(folder / "gridcard.toml", None), results / "store.sqlite")
    OpenStudy(folder / "gridcard.toml").report()
    compiled = compile_spec(folder / "gridcard.toml", None)
    assert compiled.lock is not None
    bundle = export(compiled, compiled.lock, results, tmp_path_factory.mktemp("out") / "bundle")
    shutil.rmtree(folder)
    return bundle


@pytest.fixture
def rated(rated_once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(rated_once, tmp_path / "bundle"))


def test_rates_and_left_out_rows_are_recounted_without_the_items(rated_once: Path) -> None:
    certificate = json.loads((rated_once / "results/certificate.json").read_text())
    rows = {row["benchmark"]: row for row in certificate["benchmarks"]}
    named = {name: {rate["name"] for rate in row["rates"]} for name, row in rows.items()}
    assert {"bias_ambiguous", "score_disambiguated", "unknown_rate"} <= named["bias"]
    assert {"matching_rate", "consents"} <= named["opinions"]
    assert {"over_refusal", "unsafe_compliance"} <= named["prompts"]
    assert rows["opinions"]["left_out"] == 1
    assert any(
        "Of the 12 rows of the files of opinions, 1 does not" in each for each in certificate["statements"]
    )
    checked = verify_bundle(rated_once).checked
    assert any("not checked: " in each and "right options, tags, labels" in each for each in checked)


def test_it_lists_labels_and_tags_that_the_spec_names_and_no_other_text(rated_once: Path) -> None:
    listed = json.loads((rated_once / ITEMS).read_text())
    assert {tag for tags in listed["opinions"]["tags"].values() for tag in tags} == {"topic"}
    labels = listed["opinions"]["labels"]["shuffled:4"].values()
    assert {label for each in labels for label in each.values()} == {"Yes"}
    assert {number for each in labels for number in each} == {"0", "1"}
    text = (rated_once / ITEMS).read_text()
    assert not [word for word in ("fair?", "note 1", '"No"', "done?") if word in text]


def of_items(change: Callable[[Any], Any]) -> Callable[[Path], None]:
    def changed(bundle: Path) -> None:
        listed = json.loads((bundle / ITEMS).read_text())
        change(listed)
        (bundle / ITEMS).write_text(json.dumps(listed))

    return changed


def rate(bundle: Path) -> None:
    path = bundle / "results" / "certificate.json"
    certificate = json.loads(path.read_text())
    certificate["benchmarks"][0]["rates"] = certificate["benchmarks"][0]["rates"][1:]
    path.write_text(json.dumps(certificate))


RATED_FORGERIES = {
    "a rate": (rate, "GC707"),
    "tags": (of_items(lambda listed: listed["opinions"]["tags"].clear()), "GC701"),
    "labels": (of_items(lambda listed: listed["opinions"]["labels"].clear()), "GC701"),
    "rows": (of_items(lambda listed: listed["opinions"].update(rows=99)), "GC701"),
    "a tag that nothing counts by": (
        of_items(lambda listed: listed["opinions"]["tags"]["opinions-00003"].update(topic="sport")),
        "GC701",
    ),
    "a label that nothing counts by": (
        of_items(lambda listed: listed["opinions"]["labels"]["shuffled:4"].popitem()),
        "GC701",
    ),
    "left out": (of_items(lambda listed: listed["opinions"]["manifest"].pop("left_out")), "GC701"),
    "a role": (in_store("UPDATE shown SET unknown = matching WHERE unknown IS NOT NULL"), "GC706"),
    "right options": (in_store("UPDATE shown SET points = '[]' WHERE gold IS NOT NULL"), "GC701"),
    "an item's digest": (in_store("UPDATE shown SET digest = 'x' WHERE benchmark = 'bias'"), "GC704"),
    "a lost item": (in_store("DELETE FROM shown WHERE item = (SELECT min(item) FROM shown)"), "GC704"),
}


@pytest.mark.parametrize("name", RATED_FORGERIES)
def test_what_rates_rest_on_cannot_be_changed_alone(rated: Path, name: str) -> None:
    change, code = RATED_FORGERIES[name]
    change(rated)
    relist(rated)
    with pytest.raises(VerificationError) as error:
        verify_bundle(rated)
    assert code in {each.code for each in error.value.diagnostics}


def older(listed: Any) -> None:
    for benchmark in listed.values():
        for name in ("rows", "tags", "labels"):
            del benchmark[name]


def test_a_bundle_that_does_not_list_what_the_files_hold_says_the_way_out(
    bundle: Path, rated_once: Path, tmp_path: Path
) -> None:
    """An older gridc listed no rows, which every report counts since."""
    rated = Path(shutil.copytree(rated_once, tmp_path / "rated"))
    for each in (bundle, rated):
        of_items(older)(each)
        reseal(each / "results", lambda _, body: {k: v for k, v in body.items() if k != "named"})
        relist(each)
        with pytest.raises(VerificationError) as error:
            verify_bundle(each)
        (last,) = [each for each in error.value.diagnostics if each.code == "GC701"]
        assert "an older gridc" in last.message
        assert "export bundle" in (last.help or "")


@pytest.mark.parametrize("name", ("status", "deviations", "report"))
def test_a_bundle_is_not_taken_for_a_study_that_has_not_run(name: str, bundle: Path) -> None:
    before = sorted(bundle.rglob("*"))
    done = command(name, str(bundle), cwd=bundle.parent)
    assert done.returncode == 2 and "this folder is a bundle" in done.stderr, done
    assert sorted(bundle.rglob("*")) == before


def test_a_manifest_reads_nothing_outside_its_folder(bundle: Path) -> None:
    secret = bundle.parent / "secret.txt"
    secret.write_text("a secret", "utf-8")
    with (bundle / MANIFEST).open("a", encoding="utf-8") as file:
        file.write(f"{'0' * 64}  ../secret.txt\n{'0' * 64}  {secret}\n")
    with pytest.raises(VerificationError) as error:
        verify_bundle(bundle)
    said = [each.message for each in error.value.diagnostics]
    assert any("secret.txt is listed and not in the bundle" in each for each in said)
    assert not any("secret.txt does not hash" in each for each in said), said


def test_a_path_that_is_not_there_is_no_difference(bundle: Path) -> None:
    done = command("verify", str(bundle / "nowhere"), cwd=bundle.parent)
    assert done.returncode == 3 and "GC002" in done.stderr, done


def test_a_store_above_its_folder_is_pointed_at(bundle: Path) -> None:
    """As in results that were sent without the manifest of their bundle."""
    with pytest.raises(StoreError) as error:
        Store.open(bundle / "results" / "small" / "store.sqlite").__enter__()
    assert f"--out {bundle / 'results'}" in str(error.value.diagnostics[0].help)
    with pytest.raises(StoreError) as error:
        Store.open(bundle / "manifests" / "small" / "store.sqlite").__enter__()
    assert error.value.diagnostics[0].help == "`gridc run` creates it"


def test_what_changed_is_named_with_both_values(bundle: Path) -> None:
    certificate = bundle / "results" / "certificate.json"
    document = json.loads(certificate.read_text("utf-8"))
    score = document["benchmarks"][0]["scopes"][0]["pairs"][0]["plus"]
    document["benchmarks"][0]["scopes"][0]["pairs"][0]["plus"] = score + 1
    certificate.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")
    page = bundle / "results" / "gridcard.md"
    page.write_text(page.read_text("utf-8").replace("%", "per cent", 1), "utf-8")
    with pytest.raises(VerificationError) as error:
        verify_bundle(bundle)
    said = [each.message for each in error.value.diagnostics if each.code == "GC707"]
    assert any(f"pairs.0.plus: {score + 1}, by the store {score})" in each for each in said), said
    assert any("gridcard.md" in each and "per cent" in each and ", by the store " in each for each in said), (
        said
    )
