"""Which folders `gridc validate` takes for models, before anything is loaded."""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest
from click.testing import CliRunner
from huggingface_hub import close_session

from gridc.cli import main
from gridc.compiler.frontend.lookup import BUILTIN_MODELS
from tests.replaced import replaced

SPEC = """\
gridcard = 1
[study]
id = "one"
title = "one model"
purpose = "descriptive"
[[model]]
id = "mine"
engine = "hf"
source = "path:model"
[[benchmark]]
id = "items"
loader = "truthfulqa_mc1"
source = "builtin:pocket_truthfulqa.json"
direction = "higher_is_better"
sample = { n = 2, seed = 1 }
[harness]
prompt = "builtin:T1"
method = "extract"
temperature = 0.0
max_tokens = 4
precision = "fp32"
[engine]
noise_sample = 0
"""
ADAPTER = ("adapter_config.json", "adapter_model.safetensors")


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRIDC_CACHE", str(tmp_path / "cache"))
    (tmp_path / "gridcard.toml").write_text(SPEC)
    return tmp_path


def folder(study: Path, *names: str) -> Path:
    """The model's folder, with files of these names, those of a real model where it has them."""
    found = study / "model"
    found.mkdir(exist_ok=True)
    for name in names:
        real = BUILTIN_MODELS / "pocket-llama" / name
        (found / name).write_bytes(real.read_bytes() if real.is_file() else b"{}")
    return found


def gridc(study: Path, *command: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, [*command, str(study / "gridcard.toml")])
    return done.exit_code, done.output


WHOLE = ("config.json", "tokenizer.json", "model.safetensors")


@pytest.mark.parametrize(
    ("names", "problem", "ways"),
    [
        (("m.gguf",), "has only GGUF weights (m.gguf)", ['server = "llama.cpp"', "in safetensors"]),
        ((*WHOLE[:2], "m.gguf"), "has only GGUF weights (m.gguf)", ['server = "llama.cpp"']),
        (ADAPTER, "is an adapter", ["merge_and_unload().save_pretrained", "('BASE')", "BASE is the model"]),
        ((*ADAPTER, "tokenizer.json"), "is an adapter", ["T.from_pretrained('FOLDER')"]),
        ((ADAPTER[0], "adapter_model.bin"), "is an adapter", ["merge_and_unload"]),
        ((*WHOLE, ADAPTER[0]), "is an adapter", ["take adapter_config.json out of it"]),
        (
            (*WHOLE[:2], "pytorch_model-00001-of-00002.bin"), "only pickled weights (pytorch_model-00001",
            ["AutoModelForCausalLM as T"],
        ),
        ((*WHOLE[:2], "consolidated.00.pth"), "only pickled weights (consolidated.00.pth)", ["a copy"]),
        (("params.json", "model.pt"), "only pickled weights (model.pt)", ["a copy"]),
        (("README.md",), "has no *.safetensors", ["name a folder with"]),
    ],
)  # fmt: skip
def test_what_is_no_model_is_found_at_its_place(
    study: Path, names: tuple[str, ...], problem: str, ways: list[str]
) -> None:
    folder(study, *names)
    for command in ("validate", "stamp"):
        code, output = gridc(study, command)
        assert code == 3 and "error[GC314]" in output and problem in output, output
        assert 'source = "path:model"' in output and all(way in output for way in ways), output
    assert not (study / "gridcard.lock").exists()


@pytest.mark.parametrize(
    "beside", ["model.gguf", "pytorch_model.bin", "training_args.bin", "consolidated.pth"]
)
def test_other_files_may_lie_beside_a_model(study: Path, beside: str) -> None:
    folder(study, *WHOLE, beside)
    assert gridc(study, "validate")[0] == 0


def test_a_verdict_ends_with_the_files_that_it_is_about(study: Path) -> None:
    model = folder(study, *WHOLE)
    assert gridc(study, "validate")[0] == 0
    (model / "config.json").write_text("no JSON")
    assert "is not JSON" in gridc(study, "validate")[1]
    folder(study, *WHOLE)
    assert gridc(study, "validate")[0] == 0
    (model / ADAPTER[0]).write_text("{}")
    assert "is an adapter" in gridc(study, "validate")[1]


def test_the_weights_that_a_server_runs_are_looked_at(study: Path) -> None:
    served = 'engine = "api"\nsource = "mine"\nbase_url = "http://127.0.0.1:9/v1"\nserver = "llama.cpp"\n'
    spec = study / "gridcard.toml"
    local = 'engine = "hf"\nsource = "path:model"\n'
    spec.write_text(
        replaced(SPEC, (local, f'{served}weights = "path:model"\n'), ('precision = "fp32"\n', ""))
    )
    code, output = gridc(study, "validate")
    assert code == 3 and "GC309" in output and 'weights = "path:model"' in output, output
    folder(study, "m.gguf")
    assert "has only GGUF weights" in gridc(study, "validate")[1]


def test_pickled_weights_are_converted_by_the_command_of_the_help(study: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file

    model = folder(study, *WHOLE)
    before = load_file(model / "model.safetensors")
    (model / "model.safetensors").unlink()
    torch.save(before, model / "pytorch_model.bin")
    _, output = gridc(study, "validate")
    command = output.partition("write them: ")[2].partition("\n")[0]
    program = shlex.split(command.replace("FOLDER", str(model)))
    subprocess.run([sys.executable, *program[1:]], check=True, capture_output=True)
    after = load_file(model / "model.safetensors")
    assert all(torch.equal(before[name], after[name]) for name in before.keys() & after.keys()) and after
    assert gridc(study, "validate")[0] == 0


class Hub(BaseHTTPRequestHandler):
    """What the hub says of a branch of a model."""

    files: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        siblings = [{"rfilename": name} for name in Hub.files]
        data = json.dumps({"id": "makers/model", "sha": "c" * 40, "siblings": siblings}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    close_session()
    yield
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["config.json", "m.gguf"], "has only GGUF weights"),
        ([*ADAPTER, "tokenizer.json"], "is an adapter"),
        (["config.json", "pytorch_model.bin"], "has only pickled weights"),
        ([*WHOLE, "original/consolidated.00.pth"], ""),
    ],
)
@pytest.mark.usefixtures("hub")
def test_what_the_hub_has_is_found_when_its_commit_is_asked_for(
    study: Path, files: list[str], found: str
) -> None:
    """`validate` asks nobody. A commit that is stated is not asked for: its files show in the run."""
    Hub.files = files
    spec = study / "gridcard.toml"
    spec.write_text(replaced(SPEC, ("path:model", "hf:makers/model")))
    assert gridc(study, "validate")[0] == 0
    code, output = gridc(study, "stamp")
    if found:
        assert code == 3 and f"`hf:makers/model` {found}" in output, output
    else:
        assert "GC314" not in output
