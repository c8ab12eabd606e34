"""Claims as PRML manifests: their bytes are those of PRML's own emitter and their hashes the published ones,
its reference decides them as gridc does, and `verify` compares each with the stamp."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import rfc8785
import yaml
from hypothesis import given
from hypothesis import strategies as st

import gridc
from gridc.compiler.lock.lock import Lock
from gridc.diagnostics.errors import UsageError, VerificationError
from gridc.reports.exchange import MANIFEST
from gridc.reports.exchange.prml import canonical_yaml, manifest_differences, manifests
from gridc.schema.canonical import digest_bytes
from tests.e2e.conftest import command, make_study
from tests.recount.studies import graded

# A minute or more of every run: one of the eight parts of `.ci/run` has it.
pytestmark = pytest.mark.slow

REFERENCE = "falsify==0.4.0"
LETTERS = "0123456789abcdefxonylsTZ-+.:_~=<>'\"#&*!|%@`{}[],? é漢😀"
TRICKY = (
    "yes",
    "Off",
    "nULL",
    "---",
    "...",
    "....",
    "--- a",
    "<<",
    "1e5",
    "08",
    "0o17",
    "0b1",
    "2026-05-01 1:02:03",
)
TEXTS = (
    st.text(LETTERS, max_size=12)
    | st.from_regex(r"[-+]?[0-9_]{0,4}[.:]?[0-9_]{0,3}([eE][-+]?[0-9]{1,2})?", fullmatch=True)
    | st.sampled_from(TRICKY)
)


@given(TEXTS | st.integers(-9, 2**64) | st.floats(allow_nan=False, allow_infinity=False))
def test_the_canonical_form_is_what_the_emitter_of_the_reference_writes(value: str | int | float) -> None:
    """PyYAML with the settings that the specification names."""
    fields = {"b": value, "a": {"y": value, "x": 1}}
    theirs = yaml.safe_dump(fields, sort_keys=True, width=float("inf"), allow_unicode=True)
    assert canonical_yaml(fields) == theirs


IMAGENET = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
HOUSING = "9999888877776666555544443333222211110000aaaaffffeeeeddddccccbbbb"
MINIMAL: dict[str, Any] = {
    "version": "prml/0.1", "claim_id": "01900000-0000-7000-8000-000000000000",
    "created_at": "2026-05-01T12:00:00Z", "metric": "accuracy",
    "comparator": ">=", "threshold": 0.85, "seed": 42,
    "dataset": {"id": "imagenet-val-2012", "hash": IMAGENET}, "producer": {"id": "studio-11.co"},
}  # fmt: skip
HALF = {
    "dataset": {"id": "test-dataset", "hash": "0" * 64},
    "producer": {"id": "edge.example"},
    "threshold": 0.5,
}
PUBLISHED: list[tuple[dict[str, Any], str]] = [
    ({}, "1a3466cc08ee7fb60a726ea1c4db6ecf48a9f847b9b7523bfb54b2ffaefee546"),
    ({"threshold": 0.86}, "b96b5b8d613e29d8c28c1cf91c03821b02224c41188c6128743fa2d55639d4bb"),
    (
        {"claim_id": MINIMAL["claim_id"][:-1] + "2", "producer": {"id": "üniversite.edu.tr"}},
        "6cf48a868f8f2fec59647d4b8327a27aba7dc219c14ab799ad85398a5aa9e1b6",
    ),
    (
        {**HALF, "claim_id": MINIMAL["claim_id"][:-1] + "3", "seed": 2**64 - 1},
        "57c71c567e0c4d86c691e311634730cd1ff0c65308f3a917d62d89d36d31c81d",
    ),
    (
        {**HALF, "claim_id": MINIMAL["claim_id"][:-1] + "4", "seed": 0},
        "766d6ca6ee06b619bf4e49f586eff0e979adcd034abae31d2c52b93d00ef7b92",
    ),
    (
        {
            "claim_id": MINIMAL["claim_id"][:-1] + "9", "created_at": "2026-09-01T15:00:00Z", "metric": "mae",
            "comparator": "<=", "threshold": 2.5, "seed": 1,
            "dataset": {"id": "boston-housing", "hash": HOUSING},
        },
        "ec1d18427451f0bd7886c6ac4027f07a779f899035c27ea52cb2765212866424",
    ),
    ({"notes": "?x"}, "fac9ecb864cd16e8238b8bd9a5f1e0103c9eded446ae557c5173d21410accb35"),
    ({"notes": "-"}, "3a089d06e2bb2710a496d553f74ee2beb4f5eae06bd59d52ef4ff7a8036ee84e"),
    ({"notes": "yes"}, "3660e743ca12e3c48241082c2331fbc97ab8f77ebb6986287f76353b35dd5d09"),
    ({"notes": "1e5"}, "3ec0cf0e6b54d1b5500b34480c01bc25f4d76d1830127e0beeecf3b4f7682bd2"),
    ({"notes": "0b101"}, "82ed2f0d06ac45dffb2ff0afe9f371d8578e5391ff8095190170c716c141e57f"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "published"), PUBLISHED)
def test_the_hash_of_a_conformance_vector_is_the_published_one(
    changes: dict[str, Any], published: str
) -> None:
    """TV-001, 003, 005, 006, 007 and 012 of PRML 0.1, and five of its edge suite."""
    assert sha256(canonical_yaml({**MINIMAL, **changes}).encode()).hexdigest() == published


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with nine claims that PRML can say, reported, with its manifests and its bundle."""
    folder = tmp_path_factory.mktemp("claims")
    store = graded(folder)
    (folder / "results" / "graded").mkdir(parents=True)
    store.rename(folder / "results" / "graded" / store.name)
    study = gridc.open(folder)
    study.report()
    study.export("prml", producer="@O'Neil")
    study.bundle(folder / "bundle")
    return folder


@pytest.fixture
def study(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "study"))


def test_each_field_is_that_of_the_lock(finished: Path) -> None:
    lock = json.loads((finished / "gridcard.lock").read_text("utf-8"))
    claims = finished / "results" / "graded.prml"
    read = {path.name: yaml.safe_load(path.read_text("utf-8")) for path in claims.glob("*.prml")}
    stated = {f"hypothesis.{one['id']}.prml": one for one in lock["content"]["spec"]["hypothesis"]}
    stated |= {f"falsification.{one['id']}.prml": one for one in lock["content"]["spec"]["falsification"]}
    assert stated.keys() - read.keys() == {"hypothesis.H1.prml"}
    assert (claims / "left-out.txt").read_text("utf-8").startswith("hypothesis.H1: two numbers decide it")
    for name, fields in read.items():
        assert json.loads(fields["metric_args"]["stated"]) == stated[name]
        assert fields["metric_args"]["stamp"] == lock["stamp"]
        assert fields["seed"] == 7
        assert fields["producer"] == {"id": "@O'Neil"}
        assert datetime.fromisoformat(fields["created_at"]) == datetime.fromisoformat(lock["created"])
        identity = UUID(fields["claim_id"])
        assert (identity.int >> 76 & 15, identity.variant) == (7, "specified in RFC 4122")
        assert datetime.fromtimestamp((identity.int >> 80) / 1000, UTC).isoformat() == lock["created"]
        digest = (claims / f"{name}.sha256").read_text("utf-8")
        assert digest == sha256((claims / name).read_bytes()).hexdigest() + "\n"
    assert len({fields["claim_id"] for fields in read.values()}) == len(read) == 9
    one, all_of_them = read["hypothesis.V.prml"], read["falsification.read.prml"]
    assert one["dataset"] == {
        "id": "families",
        "hash": sha256((finished / "pocket_bbq.jsonl").read_bytes()).hexdigest(),
    }
    assert all_of_them["dataset"] == {
        "id": "families, single, prompts, opinions",
        "hash": sha256(rfc8785.dumps(lock["content"]["inputs"]["benchmarks"])).hexdigest(),
    }
    assert (all_of_them["comparator"], all_of_them["threshold"]) == (">=", 0.8)
    assert all_of_them["metric"].endswith("docs/prml.md#parse_rate")
    files = lock["content"]["inputs"]["models"]["qwen2"]["files"]
    assert all_of_them["model"] == {
        "id": "builtin:pocket-qwen2",
        "hash": sha256(rfc8785.dumps(files)).hexdigest(),
    }
    assert "model" not in one


def test_what_prml_cannot_say_is_listed_with_the_reason(finished: Path) -> None:
    lock = lock_of(finished)
    spec = dict(lock.content["spec"])
    margin = {
        "kind": "noninferiority",
        "axis": "template",
        "level": "T3",
        "reference": "T1",
        "side": "greater",
    }
    spec["hypothesis"] = [
        {"id": "N", **margin, "where": {"benchmark": "single"}, "margin": {"pp": 5}},
        {"id": "C", **margin, "kind": "null_control", "side": "two-sided", "margin": {"pp": 5}},
        {"id": "R", "kind": "ranking", "order": ["qwen2", "llama"]},
    ]
    bounded = {"statistic": "rho_flip", "at_most": 0.1}
    spec["model"] = [{**spec["model"][0], "source": "path:e\u0301"}, *spec["model"][1:]]
    kept = {"keeps": ["R"], "where": {"template": "T3"}}
    spec["falsification"] = [
        {"id": "K", "category": "c", "test": "t", "criterion": kept},
        {"id": "P", "category": "c", "test": "t", "passes": "they agree", "fails": "they do not"},
        {"id": "B", "category": "c", "test": "t", "criterion": {**bounded, "where": {"model": "qwen2"}}},
    ]
    mark = {"at": 0.5, "declared": "ex_ante", "source": "s"}
    spec["analysis"] = {**spec["analysis"], "evidence": "descriptive", "alpha": 0.01, "thresholds": [mark]}
    files = manifests(replace(lock, content={**lock.content, "spec": spec}), "example.org")
    assert list(files) == ["hypothesis.N.prml", "hypothesis.N.prml.sha256", "left-out.txt"]
    assert "\nthreshold: 0.01\n" in files["hypothesis.N.prml"]
    reasons = dict(line.split(": ", 1) for line in files["left-out.txt"].splitlines())
    assert reasons == {
        "hypothesis.C": "two numbers decide it, p of support and p of refutation, and PRML compares one",
        "hypothesis.R": "the scores on the items that are asked decide",
        "falsification.K": "it asks for verdicts, and PRML compares a number",
        "falsification.P": "for people to do; passes: they agree; fails: they do not",
        "falsification.B": "it has a character that PRML forbids",
        "threshold.0.5": "a pass mark, by which flips are counted, claims no result",
    }
    inputs = dict(lock.content["inputs"])
    inputs["benchmarks"] = {**inputs["benchmarks"], "single": {"unpinned": "no data are here"}}
    unpinned = manifests(
        replace(lock, content={**lock.content, "spec": spec, "inputs": inputs}), "example.org"
    )
    assert "hypothesis.N: the stamp has no digest of the items of single\n" in unpinned["left-out.txt"]
    spec["sampling"] = {**spec["sampling"], "seed": 2**64}
    large = manifests(replace(lock, content={**lock.content, "spec": spec}), "example.org")
    assert "hypothesis.N: PRML has no seed above 18446744073709551615\n" in large["left-out.txt"]


def test_what_a_claim_is_about_and_the_digests_of_it(finished: Path) -> None:
    lock = lock_of(finished)
    spec, inputs = dict(lock.content["spec"]), dict(lock.content["inputs"])
    criteria = {
        "slice": {"statistic": "score", "at_most": 0.9, "slice": "part"},
        "primary": {"statistic": "score", "at_most": 0.9},
        "labels": {"statistic": "audit_kappa", "at_least": 0.6},
    }
    spec["falsification"] = [
        {"id": id, "category": "c", "test": "t", "criterion": criterion} for id, criterion in criteria.items()
    ]
    part = {"where": {"benchmark": "single", "model": "qwen2"}, "declared": "ex_ante"}
    spec |= {"hypothesis": [], "slice": [{"id": "part", **part}]}
    spec["analysis"] = {**spec["analysis"], "primary": {"benchmark": {"not": "prompts"}}}
    single = {**inputs["benchmarks"]["single"], "variants": {"de": {"files": {}, "items": {}}}}
    inputs["benchmarks"] = {**inputs["benchmarks"], "single": single}
    inputs["models"] = {**inputs["models"], "qwen2": {"source": "hf:a/b", "revision": "0" * 40}}
    spec["model"] = [{**model, "source": "hf:a/b"} for model in spec["model"]]
    content = {**lock.content, "spec": spec, "inputs": inputs}
    files = manifests(replace(lock, content=content, created="2026-01-01T01:00:00+02:00"), "example.org")
    read = {id: yaml.safe_load(files[f"falsification.{id}.prml"]) for id in criteria}
    assert {id: fields["dataset"]["id"] for id, fields in read.items()} == {
        "slice": "single",
        "primary": "families, single, opinions",
        "labels": "families, single, prompts, opinions",
    }
    assert read["slice"]["dataset"]["hash"] == sha256(rfc8785.dumps({"single": single})).hexdigest()
    assert read["slice"]["model"] == {"id": f"hf:a/b@{'0' * 40}"}
    assert read["slice"]["created_at"] == "2025-12-31T23:00:00Z"


def lock_of(folder: Path) -> Lock:
    lock = gridc.open(folder)._place.compiled().lock
    assert lock is not None
    return lock


@pytest.fixture(scope="module")
def falsify(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., int]:
    """PRML's reference in Python, as its package index has it: a command's exit status."""
    folder = tmp_path_factory.mktemp("reference")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), REFERENCE]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{REFERENCE} cannot be installed here: {done.stderr.strip().splitlines()[-1]}")
    environment = {**os.environ, "PYTHONPATH": str(folder)}

    def status(*arguments: str) -> int:
        said = [sys.executable, "-m", "falsify_prml", *arguments]
        return subprocess.run(said, env=environment, capture_output=True, check=False).returncode

    return status


def test_the_reference_verifies_each_and_decides_as_gridc_does(
    study: Path, falsify: Callable[..., int]
) -> None:
    certificate = json.loads((study / "results" / "graded" / "certificate.json").read_text("utf-8"))
    claims, decided = study / "results" / "graded.prml", {}
    for row in certificate["hypotheses"]:
        decided[f"hypothesis.{row['id']}"] = (row["support"], row["verdict"] == "supported")
    for row in certificate["falsifications"]:
        observed = row["value"] if row["limit"] is None else row["limit"]
        decided[f"falsification.{row['id']}"] = (observed, row["result"] == "pass")
    seen = set()
    for path in sorted(claims.glob("*.prml")):
        value, holds = decided[path.stem]
        assert falsify("verify", str(path), "--observed", str(value)) == (0 if holds else 10), path.name
        seen.add(holds)
    assert seen == {True, False}
    one = claims / "hypothesis.V.prml"
    assert falsify("verify", str(one), "--dataset", str(study / "pocket_bbq.jsonl")) == 0
    one.write_text(one.read_text("utf-8").replace("threshold: 0.05", "threshold: 0.06"), "utf-8")
    assert falsify("verify", str(one)) == 3


def edited(old: str, new: str, name: str = "hypothesis.V.prml") -> Callable[[Path], None]:
    """A change of a manifest with a digest that fits."""

    def edit(claims: Path) -> None:
        path = claims / name
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new), "utf-8")
        (claims / f"{name}.sha256").write_text(f"{sha256(path.read_bytes()).hexdigest()}\n", "utf-8")

    return edit


def removed(name: str) -> Callable[[Path], None]:
    return lambda claims: (claims / name).unlink()


def written(name: str, text: str) -> Callable[[Path], None]:
    def write(claims: Path) -> None:
        (claims / name).write_text(text, "utf-8")

    return write


CHANGES = [
    (edited("threshold: 0.05", "threshold: 0.06"), "`threshold` is 0.06, and by the stamp 0.05"),
    (removed("hypothesis.V.prml"), "it is missing, and the stamp has the claim"),
    (edited("seed: 7", "seed: 8"), "`seed` is 8, and by the stamp 7"),
    (edited("  hash: ", "  hash: 0"), "`dataset.hash` is 0"),
    (edited("seed: 7", "notes: none\nseed: 7"), "`notes` is none, and by the stamp absent"),
    (edited("  stamp: ", "  stamp: 0"), "it is of another study: its stamp is 0"),
    (edited("seed: 7", "seed:  7"), "it is not in PRML's canonical form"),
    (edited("'@O''Neil'", ""), "it names no producer"),
    (written("hypothesis.V.prml", "\x00"), "it names no producer"),
    (removed("hypothesis.V.prml.sha256"), "it does not hold the digest of its manifest"),
    (written("hypothesis.V.prml.sha256", "0" * 64), "it does not hold the digest of its manifest"),
    (written("hypothesis.H1.prml", "version: prml/0.1\n"), "the stamp has no claim of this name"),
    (written("left-out.txt", ""), "it does not list what PRML cannot say"),
]


@pytest.mark.parametrize(("change", "finding"), CHANGES)
def test_what_does_not_follow_from_the_stamp_is_found(
    change: Callable[[Path], None], finding: str, finished: Path, tmp_path: Path
) -> None:
    claims = Path(shutil.copytree(finished / "results" / "graded.prml", tmp_path / "graded.prml"))
    lock = lock_of(finished)
    assert list(manifest_differences(lock, claims)) == []
    change(claims)
    assert [(one.code, one.message.startswith(finding)) for one in manifest_differences(lock, claims)] == [
        ("GC715", True)
    ]


@pytest.mark.parametrize(("change", "finding"), CHANGES[:2])
def test_verify_refuses_what_does_not_follow_from_the_stamp(
    change: Callable[[Path], None], finding: str, study: Path
) -> None:
    """Beside the study and in its bundle, whatever the change: it asks what the test above asks."""
    change(study / "results" / "graded.prml")
    with pytest.raises(VerificationError) as refused:
        gridc.open(study).verify()
    assert [(one.code, one.message.startswith(finding)) for one in refused.value.diagnostics] == [
        ("GC715", True)
    ]
    change(study / "bundle" / "prml")
    relist(study / "bundle")
    with pytest.raises(VerificationError) as refused:
        gridc.open(study / "bundle").verify()
    assert "GC715" in {one.code for one in refused.value.diagnostics}


def relist(bundle: Path) -> None:
    """Make the bundle's own list agree with its files, as a forger would."""
    files = (path for path in bundle.rglob("*") if path.is_file() and path.name != MANIFEST)
    listed = {path.relative_to(bundle).as_posix(): digest_bytes(path.read_bytes()) for path in files}
    (bundle / MANIFEST).write_text("".join(f"{listed[name]}  {name}\n" for name in sorted(listed)))


def test_verify_says_what_it_compared_and_another_producer_may_sign(study: Path) -> None:
    said = "the PRML manifests in {}, 9 of them, say what was stamped"
    assert said.format("prml") in gridc.open(study / "bundle").verify().checked
    edited("'@O''Neil'", "éxample.org")(study / "results" / "graded.prml")
    assert said.format("graded.prml") in gridc.open(study).verify().checked
    shutil.rmtree(study / "results" / "graded.prml")
    assert not any("PRML" in line for line in gridc.open(study).verify().checked)


def test_manifests_of_another_stamp_of_the_same_spec_are_refused(study: Path) -> None:
    """Beside other findings, since none hides another."""
    lock = json.loads((study / "gridcard.lock").read_text("utf-8"))
    again = manifests(replace(lock_of(study), created="2020-01-01T00:00:00+00:00"), "example.org")
    claims = study / "results" / "graded.prml"
    for name, text in again.items():
        (claims / name).write_text(text, "utf-8")
    (study / "results" / "graded" / "certificate.json").write_text("{}", "utf-8")
    with pytest.raises(VerificationError) as refused:
        gridc.open(study).verify()
    fields = {one.message.split(" ")[0] for one in refused.value.diagnostics if one.code == "GC715"}
    assert fields == {"`claim_id`", "`created_at`"}
    assert "GC707" in {one.code for one in refused.value.diagnostics}
    assert lock["created"] > "2026"


def test_a_stamp_is_enough_and_the_producer_is_asked_for(study: Path) -> None:
    shutil.rmtree(study / "results")
    refused = command("export", "prml", cwd=study)
    assert refused.returncode == 2
    assert "--producer" in refused.stderr
    done = command("export", "prml", "--producer", "example.org", "--to", "claims", cwd=study)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("claims: publish it before the run")
    assert len(list((study / "claims").glob("*.prml"))) == 9
    for producer in "", "a\u0301", "a\nb":
        with pytest.raises(UsageError, match="PRML allows no empty name"):
            gridc.open(study).export("prml", study / "no", producer=producer)
    with pytest.raises(UsageError, match="`prml` names who publishes it"):
        gridc.open(study).export("prml", study / "no")
    with pytest.raises(UsageError, match="`bundle` has no producer"):
        gridc.open(study).export("bundle", study / "no", producer="example.org")
    assert not (study / "no").exists()


def test_a_study_of_which_prml_can_say_nothing_is_told_why(tmp_path: Path) -> None:
    make_study(tmp_path)
    study = gridc.open(tmp_path)
    study.stamp()
    with pytest.raises(UsageError, match="PRML can say nothing of this study") as refused:
        study.export("prml", producer="example.org")
    (found,) = refused.value.diagnostics
    assert found.help is not None
    assert [line.split(":")[0] for line in found.help.split("; ")] == ["hypothesis.H1", "threshold.0.5"]
    assert not list(tmp_path.glob("results/*"))
