"""Kept proofs: one that holds is taken, and one that is for something else, or was touched, never."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.runtime.store.events import ModelLoaded
from gridc.schema.spec import EngineSettings as Settings

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from gridc.runtime.engines.hf import engine as hf  # noqa: E402
from gridc.runtime.engines.hf import gate, kept_proofs, loading  # noqa: E402
from gridc.runtime.engines.hf.engine import HfEngine  # noqa: E402
from gridc.runtime.engines.hf.forest import Forest  # noqa: E402
from tests.runtime import zoo  # noqa: E402


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRIDC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return zoo.save("llama", tmp_path_factory.mktemp("m") / "llama")


@pytest.fixture(scope="module")
def kept(llama: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a user's folders hold after the proof of this model."""
    folder = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRIDC_CACHE", str(folder / "cache"))
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        assert not reused(llama)
    return folder


@pytest.fixture
def proved(kept: Path, home: Path) -> Path:
    """The home where the proof is kept."""
    shutil.copytree(kept, home, dirs_exist_ok=True)
    return home


def effective(folder: Path, precision: str = "fp32", longest: int = 1, **settings: Any) -> dict[str, Any]:
    engine = HfEngine("m", folder, precision, Settings(device="cpu", **{"threads": 1} | settings))
    engine._longest = longest
    return engine.effective()


def reused(*values: Any, **named: Any) -> bool:
    taken: bool = effective(*values, **named)["proved"]["reused"]
    return taken


def proof_files(home: Path) -> list[Path]:
    return sorted((home / "cache" / "proofs").glob("*.json"))


@pytest.mark.parametrize(
    ("kind", "precision", "longest"),
    [("llama", "fp32", 1), ("qwen3_moe", "bf16", 1), ("mistral", "fp32", 100), ("mamba", "fp32", 1)],
)
def test_a_proof_is_made_once(
    kind: str, precision: str, longest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is reused says what was proved, of the forest, of a cache with and without shared prefixes."""
    folder = zoo.save(kind, tmp_path / "m")
    first = effective(folder, precision, longest)
    monkeypatch.setattr(gate, "_next_route", lambda *_: pytest.fail("it is proved again"))
    second = effective(folder, precision, longest)
    assert (first["proved"]["reused"], second["proved"]["reused"]) == (False, True)
    assert first["proved"]["made"] == second["proved"]["made"]
    assert first["paths"] == second["paths"]
    before, after = (ModelLoaded(stamp="s", identity="m", **ran) for ran in (first, second))
    assert before.ran == after.ran  # so that a certificate names one environment


def test_answers_are_those_of_the_proved_path(llama: Path) -> None:
    """The path that is made from a kept proof computes what the one of the proof did."""
    engines = [HfEngine("m", llama, "fp32", Settings(device="cpu", threads=1)) for _ in range(2)]
    assert [engine.effective()["proved"]["reused"] for engine in engines] == [False, True]
    first, second = (engine._routes[0].path for engine in engines)
    assert isinstance(first, Forest)
    assert isinstance(second, Forest)
    assert first._shape == second._shape


CHANGES: dict[str, Callable[[pytest.MonkeyPatch, Path], dict[str, Any]]] = {
    "precision": lambda patch, folder: {"precision": "bf16"},
    "room": lambda patch, folder: {"kv_mib": 512},
    "threads": lambda patch, folder: {"threads": 2},
    "demanded": lambda patch, folder: {"reuse_proofs": False},
    "version": lambda patch, folder: versions(patch, "transformers"),
    "numpy": lambda patch, folder: versions(patch, "numpy"),
    "processor": lambda patch, folder: patch.setattr(loading, "_processor", lambda: "another") or {},
    "code": lambda patch, folder: patch.setattr(hf, "proof_digest", lambda model: "another") or {},
    "weights": lambda patch, folder: trained(folder),
}


def versions(patch: pytest.MonkeyPatch, changed: str) -> dict[str, Any]:
    patch.setattr(loading, "version", lambda name: "0.1" if name == changed else version(name))
    return {}


def trained(folder: Path) -> dict[str, Any]:
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-2] ^= 1  # the last number, by a little
    weights.write_bytes(content)
    return {}


@pytest.mark.parametrize("change", CHANGES)
def test_a_proof_for_something_else_is_not_taken(
    change: str, llama: Path, proved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = proved / "m"
    shutil.copytree(llama, folder)
    assert reused(folder)
    assert not reused(folder, **CHANGES[change](monkeypatch, folder))


def test_the_code_is_the_engines_and_the_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Beside gridc's own files, the file of every class of the model's modules, whatever its version."""
    model = zoo.build("llama")
    names = {path.name for path in kept_proofs._sources(model)}
    assert {"modeling_llama.py", "modeling_utils.py", "linear.py"} <= names
    before = kept_proofs.proof_digest(model)
    other = tmp_path / "modeling_llama.py"
    module = sys.modules[type(model).__module__]
    other.write_text(Path(str(module.__file__)).read_text() + "\n# patched\n")
    monkeypatch.setattr(module, "__file__", str(other))
    assert kept_proofs.proof_digest(model) != before


def edited(path: Path, home: Path) -> None:
    """The limit of a path is raised by hand."""
    document = json.loads(path.read_text())
    document["proof"]["routes"][0]["limit"] = 10**6
    path.write_text(json.dumps(document))


def sealed_by_another(path: Path, home: Path) -> None:
    """Somebody else, who can write here and does not know the secret, seals it with a digest."""
    document = json.loads(path.read_text())
    body = json.dumps(document["proof"], sort_keys=True).encode()
    document["seal"] = hashlib.sha256(body).hexdigest()
    path.write_text(json.dumps(document))


def of_another(path: Path, home: Path) -> None:
    """A good proof of another model, under this one's name."""
    effective(zoo.save("gpt2", home / "other"))
    (made,) = (proof for proof in proof_files(home) if proof != path)
    shutil.copyfile(made, path)


def cut(path: Path, home: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def nested(path: Path, home: Path) -> None:
    path.write_text("[" * 100_000)


def without_seal(path: Path, home: Path) -> None:
    path.write_text(json.dumps({"proof": json.loads(path.read_text())["proof"], "seal": None}))


def piped(path: Path, home: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def new_secret(path: Path, home: Path) -> None:
    (home / "config" / "gridc" / "proof-secret").write_bytes(b"1" * 32)


def public_secret(path: Path, home: Path) -> None:
    """Who can read the secret could have written the proof."""
    (home / "config" / "gridc" / "proof-secret").chmod(0o644)


@pytest.mark.parametrize(
    "touch",
    [edited, sealed_by_another, of_another, cut, nested, without_seal, piped, new_secret, public_secret],
)
def test_a_proof_that_was_touched_is_not_taken(
    touch: Callable[[Path, Path], None], llama: Path, proved: Path
) -> None:
    (path,) = proof_files(proved)
    touch(path, proved)
    ran = effective(llama)
    assert ran["proved"]["reused"] is False
    assert ran["paths"]["forest"]["up_to"] is None
    assert reused(llama) is (touch is not public_secret)  # what was proved anew takes its place


def test_a_proof_reaches_as_far_as_it_was_made(tmp_path: Path) -> None:
    """Beyond the window of a model longer calls take another path, which has to be proved as well."""
    folder = zoo.save("mistral", tmp_path / "m")
    assert list(effective(folder)["paths"]) == ["forest"]
    longer = effective(folder, longest=100)
    assert (list(longer["paths"]), longer["proved"]["reused"]) == (["forest", "cached"], False)
    shorter = effective(folder)
    assert (list(shorter["paths"]), shorter["proved"]["reused"]) == (["forest"], True)
    assert reused(folder, longest=100)


def test_without_a_cache_folder_nothing_is_kept(
    llama: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRIDC_CACHE", "")
    assert not reused(llama)
    assert not reused(llama)
    assert not (home / "config").exists()


WRITER = """
import sys
from gridc.runtime.engines.hf.kept_proofs import KeptProof, ProofKeeper
keeper = ProofKeeper({"files": {}})
for number in range(40):
    keeper.keep(KeptProof(sys.argv[1], [{"number": number, "more": "x" * 50_000}]))
    proof = keeper.recall()
    assert proof is not None and len(proof.routes[0]["more"]) == 50_000
"""


def test_writers_at_the_same_time_leave_whole_proofs_and_one_secret(home: Path) -> None:
    """Each sees a whole proof after every write, its own or another's, which only one secret can seal."""
    folder = str(Path(gridc.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": folder}
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, name], env=environment, stderr=subprocess.PIPE)
        for name in ("a", "b", "c")
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert writer.returncode == 0, errors.decode()
    assert len(list((home / "cache" / "proofs").iterdir())) == 1
    assert (home / "config" / "gridc" / "proof-secret").stat().st_mode & 0o777 == 0o600
