"""Ties of a lock to a time or a person: real commits, real ssh signatures, real time stamp tokens."""

import json
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest

from gridc.compiler.compile import Compiled
from gridc.compiler.lock.attestation import (
    NO_GIT,
    UNCOMMITTED,
    Attestation,
    attestations,
    in_words,
    strongest_attestation,
)
from gridc.compiler.lock.lock import make_lock, write_lock
from gridc.compiler.lock.trust import NOBODY, Trust
from gridc.diagnostics.errors import StampError
from gridc.schema.canonical import digest_bytes
from tests.authorities import (
    commit,
    make_authority,
    make_chain,
    needs_git,
    needs_openssl,
    needs_ssh,
    shell,
    time_stamp,
)

Compile = Callable[..., Compiled]


@pytest.fixture
def spec(compiled: Compile, small: Path) -> Path:
    """A small spec with its lock."""
    write_lock(make_lock(compiled().study, small), small.with_suffix(".lock"))
    return small


def tie(spec: Path, trust: Trust = NOBODY) -> Attestation:
    return strongest_attestation(attestations(spec.with_suffix(".lock"), spec, trust))


def words(spec: Path, trust: Trust = NOBODY) -> str:
    return in_words(attestations(spec.with_suffix(".lock"), spec, trust))


def misfit(spec: Path, trust: Trust = NOBODY) -> str:
    with pytest.raises(StampError) as caught:
        attestations(spec.with_suffix(".lock"), spec, trust)
    (only,) = caught.value.diagnostics
    assert only.code == "GC406"
    assert only.help
    return only.message


def test_where_git_is_missing_the_words_say_so(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(spec.parent))
    assert words(spec) == UNCOMMITTED, "there is no repository that could hold it"
    (spec.parent / ".git" / "objects").mkdir(parents=True)
    (spec.parent / ".git" / "HEAD").write_text("a" * 40 + "\n")
    assert tie(spec) == Attestation("none", NO_GIT)


@needs_git
def test_a_lock_is_tied_by_the_commit_that_holds_it_while_nothing_has_changed(spec: Path) -> None:
    assert words(spec) == "the lock is not committed"
    shell(spec.parent, "git", "init", "-q")
    assert tie(spec).strength == "unanchored"
    commit(spec.parent)
    head = shell(spec.parent, "git", "rev-parse", "HEAD").decode().strip()
    assert tie(spec) == Attestation("commit", head)
    assert tie(spec).strength == "git"
    (spec.parent / "other").write_text("more")
    commit(spec.parent)
    shell(spec.parent, "git", "gc", "-q")
    assert tie(spec) == Attestation("commit", head), (
        "the commit is the last that changed the lock, packed or not"
    )
    text = spec.read_bytes()
    spec.write_bytes(text.replace(b"\n", b"\r\n"))
    assert tie(spec).strength == "git", "line ends are the work tree's"
    spec.write_bytes(text + b"\n# later\n")
    assert words(spec) == "the spec or the lock differs from what is committed"


@needs_git
def test_second_work_trees_and_shallow_clones_have_their_commit(spec: Path, tmp_path: Path) -> None:
    folder = spec.parent
    shell(folder, "git", "init", "-q", "-b", "main")
    commit(folder)
    (folder / "other").write_text("more")
    commit(folder)
    shell(folder, "git", "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "second")
    assert tie(tmp_path / "tree" / spec.name) == tie(spec)
    shell(tmp_path, "git", "clone", "-q", "--depth", "1", folder.as_uri(), "shallow")
    assert tie(tmp_path / "shallow" / spec.name).strength == "git"


@needs_ssh
def test_a_signature_is_a_strength_by_whom_the_verifier_names(spec: Path, tmp_path: Path) -> None:
    folder, lock = spec.parent, spec.with_suffix(".lock").name
    for name in ("key", "other"):
        shell(
            tmp_path, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", name, "-C", f"{name}@example.org"
        )
    shell(folder, "ssh-keygen", "-q", "-Y", "sign", "-f", str(tmp_path / "key"), "-n", "gridc", lock)
    assert tie(spec).strength == "unanchored"
    assert "whose key it is was not checked" in words(spec)
    key = attestations(spec.with_suffix(".lock"), spec)[1].fact.removeprefix("key ")
    public = (tmp_path / "key.pub").read_text()
    (tmp_path / "allowed").write_text(f"ada@example.org {public}")
    (tmp_path / "expired").write_text(f'ada@example.org valid-before="20200101" {public}')
    signers = {
        key: "the key that the verifier named",
        str(tmp_path / "key.pub"): "key@example.org",
        str(tmp_path / "allowed"): "ada@example.org",
        str(tmp_path / "other.pub"): None,
        str(tmp_path / "expired"): None,
        "SHA256:" + "A" * 43: None,
    }
    for signer, by in signers.items():
        found = tie(spec, Trust(signers=(signer,)))
        assert (found.strength, found.by) == (("signed", by) if by else ("unanchored", None)), signer
    (folder / lock).write_text((folder / lock).read_text() + " ")
    assert misfit(spec) == "the signature is not one of this lock"


@needs_ssh
def test_a_signature_made_for_another_purpose_is_none(spec: Path) -> None:
    folder, lock = spec.parent, spec.with_suffix(".lock").name
    shell(folder, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key", "-C", "t")
    shell(folder, "ssh-keygen", "-q", "-Y", "sign", "-f", "key", "-n", "git", lock)
    assert misfit(spec) == "the signature is not one of this lock"


@needs_openssl
def test_a_token_ties_to_a_time_under_the_roots_that_the_verifier_names(
    spec: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pytest.importorskip("rfc3161_client")
    lock = spec.with_suffix(".lock")
    folder = tmp_path_factory.mktemp("authorities")
    ours, other = make_authority(folder, "ours"), make_authority(folder, "other")
    time_stamp(ours, lock)
    (_, token) = attestations(lock, spec)
    assert token.strength == "unanchored"
    assert "its authority was not checked" in words(spec)
    found = tie(spec, Trust(roots=(ours / "root.pem",)))
    assert found.strength == "timestamped"
    assert found.time == found.fact
    assert found.by == "`CN=ours root` (a root that the verifier named, root.pem)"
    assert tie(spec, Trust(roots=(other / "root.pem",))).strength == "unanchored"
    lock.write_text(lock.read_text() + " ")
    assert misfit(spec) == "the token is not one of this lock"
    lock.with_name("gridcard.lock.tsr").write_bytes(b"not a token")
    assert misfit(spec).startswith("not an RFC 3161 response")


@needs_openssl
def test_a_token_may_hold_its_chain_in_any_order(
    spec: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pytest.importorskip("rfc3161_client")
    lock = spec.with_suffix(".lock")
    folder = tmp_path_factory.mktemp("authorities")
    chained = make_chain(make_authority(folder, "ours"), ("one", "two"))
    other = make_authority(folder, "other")
    for chain in permutations(("root", "one", "two")):
        time_stamp(chained, lock, chain)
        assert tie(spec).strength == "unanchored", "a root in the token is nobody's word"
        assert tie(spec, Trust(roots=(other / "root.pem",))).strength == "unanchored"
        assert tie(spec, Trust(roots=(chained / "root.pem",))).strength == "timestamped", chain
    token = lock.with_name("gridcard.lock.tsr").read_bytes()
    for length in range(0, len(token), 97):
        lock.with_name("gridcard.lock.tsr").write_bytes(token[:length])
        assert misfit(spec).startswith("not an RFC 3161 response")
    time_stamp(chained, lock, ("one",))
    assert tie(spec, Trust(roots=(chained / "root.pem",))).strength == "unanchored", "a link is missing"


@pytest.mark.parametrize("text", ["10.17605/OSF.IO/AB123\n", "https://doi.org/10.17605/OSF.IO/AB123"])
def test_a_doi_alone_is_given_and_not_checked(spec: Path, text: str) -> None:
    spec.with_name("gridcard.lock.doi").write_text(text)
    assert tie(spec).strength == "unanchored"
    assert words(spec) == "the lock is not committed; DOI 10.17605/OSF.IO/AB123 given, not checked"


def test_what_is_no_doi_registers_nothing(spec: Path) -> None:
    spec.with_name("gridcard.lock.doi").write_text("soon")
    assert misfit(spec) == "'soon' is not a DOI"


def osf(**said: object) -> dict[str, object]:
    """A record as OSF's API gives it."""
    dates = {"date_registered": "2026-03-01T10:00:00.000000", "date_modified": "2026-03-02T10:00:00.000000"}
    return {"data": {"id": "ab123", "type": "registrations", "attributes": dates | said}}


def zenodo(text: str, **said: object) -> dict[str, object]:
    dates = {"created": "2020-01-01T00:00:00+00:00", "modified": "2026-03-05T00:00:00+00:00"}
    return {"doi": "10.5281/zenodo.1", "metadata": {"description": text}, **dates, **said}


def test_a_record_that_the_verifier_fetched_registers_what_it_holds(spec: Path, tmp_path: Path) -> None:
    lock, record = spec.with_suffix(".lock"), tmp_path / "record.json"
    stamp, digest = json.loads(lock.read_text())["stamp"], digest_bytes(lock.read_bytes())
    text, trust = f"stamp {stamp}, lock {digest}", Trust(records=(record,))

    def write(document: object) -> None:
        record.write_text(json.dumps(document))

    write(osf(description=text))
    found = tie(spec, trust)
    assert (found.strength, found.fact) == ("registered", "10.17605/OSF.IO/AB123")
    assert found.time == "2026-03-02T10:00:00+00:00", "what it holds may have come with its last change"
    spec.with_name("gridcard.lock.doi").write_text("10.17605/osf.io/ab123")
    assert len(attestations(lock, spec, trust)) == 2, "the DOI is the record's"
    write(zenodo(text))
    found = tie(spec, trust)
    assert (found.strength, found.time) == ("registered", "2026-03-05T00:00:00+00:00")
    assert "10.17605/osf.io/ab123 given, not checked" in words(spec, trust)
    wrong: tuple[object, ...] = (
        osf(description=stamp), osf(description=digest), osf(description=text, withdrawn=True), [],
        {"stamp": stamp}, zenodo(text, state="inprogress"), osf(description=text, date_registered="soon"),
    )  # fmt: skip
    for document in wrong:
        write(document)
        misfit(spec, trust)


def test_evidence_that_is_no_file_is_an_error(spec: Path) -> None:
    import os

    os.mkfifo(spec.with_name("gridcard.lock.sig"))
    assert "not a regular file" in misfit(spec)
