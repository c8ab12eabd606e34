"""Nothing that lies in a study's folder is run, and no child process finds a key that it was not given.

Each command works in a folder full of traps under strace, which sees every program that is started, with its
environment, and every file that is opened, by whichever process.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.authorities import commit, needs_git, needs_ssh, shell
from tests.e2e.conftest import make_study
from tests.e2e.test_served import CROWD, SERVED
from tests.replaced import replaced

ROOT = Path(__file__).parents[2]
GRIDC = str(Path(sys.executable).with_name("gridc"))
SECRET = "s3cr3t-of-the-person-who-runs-it"
KEYS = (
    "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN",
    "VLLM_API_KEY", "GRIDC_TEST_KEY", "DB_PASSWORD", "PLAIN_LOOKING",
)  # fmt: skip
MODULES = (
    "torch", "numpy", "json", "subprocess", "transformers", "tokenizers", "safetensors", "huggingface_hub",
    "ray", "vllm", "pip", "ensurepip", "scorers", "sitecustomize", "usercustomize", "conftest", "steady",
    "yaml", "PIL",
)  # fmt: skip
PROGRAMS = ("git", "ssh-keygen", "sh", "env", "uname", "vllm", "gcc", "ldconfig", "nvidia-smi", "lscpu")

pytestmark = pytest.mark.skipif(
    shutil.which("strace") is None or not os.access("/proc/self/mem", os.W_OK),
    reason="strace is not here (apt-get install strace)",
)


@dataclass
class Process:
    """A process of a trace: its program, the environment that it was started with, and what it opened or
    looked for. A `copy` runs the program of another process, and has put its environment away:
    `tests/test_confined.py` looks at what is left."""

    program: str = ""
    environment: str = ""
    opened: list[Path] = field(default_factory=list)
    copy: bool = False


@dataclass
class Trapped:
    """A study's folder with traps, each of which leaves its name in `sprung` when it is run."""

    folder: Path
    sprung: Path
    traps: set[Path]

    def run(self, *command: str, ended: int = 0, **environment: str) -> list[Process]:
        """Run a command in the folder, under strace. The first process is the command itself."""
        log = self.sprung.with_name("trace")
        keys = dict.fromkeys(KEYS, SECRET)
        found = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        # An empty entry is whatever folder somebody works in.
        found |= {"PATH": f":{os.environ['PATH']}", "NO_COLOR": "1", "GRIDC_CACHE": ""} | keys | environment
        calls = "trace=execve,open,openat,clone,clone3,fork,vfork"
        strace = ["strace", "-f", "-qq", "--seccomp-bpf", "-y", "-v", "-s", "300", "-e", calls]
        done = subprocess.run(
            [*strace, "-e", "signal=none", "-o", str(log), *command], cwd=self.folder, env=found,
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == ended, done.stderr + done.stdout
        return processes(log.read_text("utf-8", "replace"))

    def require_unsprung(self, traced: Sequence[Process], named: Sequence[str]) -> None:
        """Nothing ran, and children opened nothing here but git's objects and what lies below the names."""
        assert sorted(path.name for path in self.sprung.iterdir()) == []
        allowed = [self.folder / name for name in (".git/objects", *named)]
        for process in traced:
            assert not self.traps.intersection(process.opened), process.program
        for child in traced[1:]:
            here = {path for path in child.opened if path.is_relative_to(self.folder)}
            strange = [path for path in here if not any(path.is_relative_to(each) for each in allowed)]
            assert not strange, (child.program, strange)
            if not (child.copy and child.program == traced[0].program):
                assert SECRET not in child.environment, (child.program, child.environment)


def processes(log: str) -> list[Process]:
    """The processes of a trace, the first one first. Threads are part of their process."""
    waiting: dict[str, str] = {}
    calls: list[tuple[str, str]] = []
    for line in log.splitlines():
        thread, _, call = line.partition(" ")
        call = call.strip()
        if call.endswith("<unfinished ...>"):
            waiting[thread] = call.removesuffix("<unfinished ...>").rstrip()
        elif resumed := re.match(r"<\.\.\. \w+ resumed>", call):
            calls.append((thread, waiting.pop(thread, "") + call[resumed.end() :]))
        else:
            calls.append((thread, call))
    begun, joined = dict[str, str](), dict[str, str]()
    for thread, call in calls:
        made = re.search(r"\) += (\d+)(<.*>)?$", call)
        if call.startswith(("clone", "fork", "vfork")) and made:
            (joined if "CLONE_THREAD" in call else begun)[made[1]] = thread
    first = calls[0][0]
    found: dict[str, Process] = {first: Process()}
    for thread, call in calls:
        process = thread
        while process in joined:
            process = joined[process]
        if process not in found:
            parent = begun[process]
            while parent in joined:
                parent = joined[parent]
            before = found.setdefault(parent, Process())
            found[process] = Process(before.program, before.environment, copy=True)
        _note(found[process], call)
    return list(found.values())


def _note(process: Process, call: str) -> None:
    if started := re.match(r'execve\("([^"]*)", (\[.*?\]), (\[.*\])', call):
        if call.endswith("= 0"):
            process.program, process.environment = f"{started[1]} {started[2]}", started[3]
            process.copy = False
        process.opened.append(Path(started[1]))
    elif opened := re.match(r'open(?:at)?\((?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"([^"]*)"', call):
        process.opened.append(Path(os.path.normpath(Path(opened[1] or "/", opened[2]))))


@pytest.fixture
def trapped(tmp_path: Path) -> Trapped:
    """A study of one model, whose files do not ship with gridc, in a repository, and the traps."""
    folder, sprung = tmp_path / "study", tmp_path / "sprung"
    sprung.mkdir()
    make_study(folder, 4)
    config = folder / "models" / "qwen2" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text("utf-8")), indent=4), "utf-8")
    shutil.rmtree(folder / "models" / "llama")
    shell(folder, "git", "init", "-q")
    commit(folder)
    traps = {folder / f"{name}.py": f"open({str(sprung / name)!r}, 'w').close()\n" for name in MODULES}
    traps[folder / "trap.pth"] = f"import sys; open({str(sprung / 'pth')!r}, 'w').close()\n"
    for name in ("ssh_config", ".env", "pip.conf", "setup.cfg", "pyvenv.cfg"):
        traps[folder / name] = f"ProxyCommand touch {sprung / name}\n"
    runs = {folder / name: f"#!/bin/sh\n: > {sprung / name}\nexit 1\n" for name in PROGRAMS}
    runs |= {
        folder / ".git" / "hooks" / name: f"#!/bin/sh\n: > {sprung / name}\n"
        for name in ("pre-commit", "post-checkout", "post-index-change", "reference-transaction")
    }
    program = folder / "trap.sh"
    runs[program] = f"#!/bin/sh\n: > {sprung / 'configured'}\n"
    traps[folder / ".gitattributes"] = "* filter=evil diff=evil\n"
    settings = ("core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "filter.evil.clean",
                "filter.evil.smudge", "diff.evil.textconv", "gpg.program", "gpg.ssh.program")  # fmt: skip
    for path, text in (traps | runs).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    for path in runs:
        path.chmod(0o755)
    for setting in settings:
        shell(folder, "/usr/bin/git", "config", setting, str(program))
    shutil.rmtree(sprung)  # of what git itself did to write this
    sprung.mkdir()
    return Trapped(folder, sprung, {*traps, *runs, folder / ".git" / "config"})


def crowd(folder: Path, model: str, *changes: tuple[str, str]) -> None:
    usual = ("MODEL", model), ("MOST", "8"), ("n = 60", "n = 4"), ("noise_sample = 8", "noise_sample = 0")
    (folder / "gridcard.toml").write_text(replaced(CROWD, *usual, *changes))


SCORER = """\
def said(item, response):
    import os
    assert not [name for name in os.environ if "KEY" in name or "TOKEN" in name.replace("TOKENIZERS", "")]
    try:
        import steady
    except ImportError:
        return {"said": 1.0 if response else 0.0}

def said_responders(item):
    return {"perfect": "x", "worst": ""}
"""


@needs_git
@needs_ssh
def test_readers_scorers_git_and_ssh_keygen(trapped: Trapped, tmp_path: Path) -> None:
    folder = trapped.folder
    (folder / "grader.py").write_text(SCORER)
    scored = 'method = "scorer"\nscorer = { function = "python:grader.py:said", score = "said" }'
    crowd(folder, 'engine = "hf"\nsource = "path:models/qwen2"', ('method = "extract"', scored))
    allowed = f"sha256:{sha256((folder / 'grader.py').read_bytes()).hexdigest()}"
    ran = trapped.run(GRIDC, "run", GRIDC_ALLOW=allowed)
    trapped.require_unsprung(ran, ["models/qwen2/tokenizer.json"])
    assert sum("_nurse" in each.program for each in ran) >= 2, "a nursery and a scorer"
    copies = [each for each in ran if each.copy and each.program == ran[0].program]
    assert len(copies) >= 2, "a nursery that shares what the run imported, and a reader"
    shell(tmp_path, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key", "-C", "ada")
    signed = trapped.run(GRIDC, "anchor", "--key", str(tmp_path / "key"))
    trapped.require_unsprung(signed, [])
    checked = trapped.run(GRIDC, "verify", "--signer", str(tmp_path / "key.pub"), GRIDC_ALLOW=allowed)
    trapped.require_unsprung(checked, ["models/qwen2/tokenizer.json"])
    for name, traced in {"git": signed, "ssh-keygen": checked}.items():
        assert any(f'["{name}"' in each.program for each in traced), name


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_the_server_that_gridc_starts(trapped: Trapped) -> None:
    crowd(trapped.folder, 'engine = "vllm"\nsource = "path:models/qwen2"')
    notes = trapped.sprung.with_name("notes")
    bare = f"{sys.executable} -m tools.servers.vllm"
    program = f"env PYTHONPATH={ROOT} {bare}"
    ran = trapped.run(GRIDC, "run", "--reference", "0", GRIDC_VLLM=program, VLLM_STAND_IN=str(notes))
    trapped.require_unsprung(ran, ["models/qwen2"])
    assert any("tools.servers.vllm" in each.program for each in ran)
    assert notes.is_file()


def test_the_server_of_a_command(trapped: Trapped) -> None:
    """It finds the key that its model is asked with, and no other."""
    url = f"http://127.0.0.1:{(port := free_port())}/v1"
    served = SERVED.format("vllm", url) + '\nkey_env = "GRIDC_TEST_KEY"'
    crowd(trapped.folder, served)
    own = f"env PYTHONPATH={ROOT} {sys.executable} -m tools.servers.tokens vllm --port {port}"
    allowed = f"http://127.0.0.1:{port}:GRIDC_TEST_KEY"
    ran = trapped.run(
        GRIDC, "run", "--reference", "0", "--serve", f"served={own}", GRIDC_ALLOW=allowed,
        GRIDC_TEST_KEY="a key of its own", GRIDC_PASS="DB_PASSWORD", DB_PASSWORD="another that is passed",
    )  # fmt: skip
    trapped.require_unsprung(ran, ["models/qwen2/tokenizer.json"])
    (server,) = (
        each for each in ran if each.program.startswith(sys.executable) and own.split()[-1] in each.program
    )
    assert "GRIDC_TEST_KEY=a key of its own" in server.environment
    assert "DB_PASSWORD=another that is passed" in server.environment


@pytest.mark.slow
def test_the_installation_of_a_server(trapped: Trapped, tmp_path: Path) -> None:
    ran = trapped.run(
        GRIDC, "serve", "--install", ended=6, GRIDC_CACHE=str(tmp_path / "cache"), GRIDC_VLLM="",
        PIP_NO_INDEX="1", PIP_FIND_LINKS="", PIP_CONFIG_FILE=os.devnull,
    )  # fmt: skip
    trapped.require_unsprung(ran, [])
    assert any('"pip", "--quiet"' in each.program for each in ran)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed")
def test_the_workers_of_a_cluster(trapped: Trapped) -> None:
    crowd(trapped.folder, 'engine = "hf"\nsource = "path:models/qwen2"')
    ran = trapped.run(GRIDC, "run", "--engine", "ray", "--workers", "1")
    trapped.require_unsprung(ran, ["models/qwen2"])
    assert any("default_worker.py" in each.program for each in ran)


@pytest.mark.parametrize("how", ["console", "-m", "-P -m"])
def test_the_command_itself(how: str, trapped: Trapped) -> None:
    """`python -m` looks into the folder before gridc can forbid it: for names that Python itself imports at
    its start, `-P` is what helps."""
    crowd(trapped.folder, 'engine = "hf"\nsource = "path:models/qwen2"')
    begun = {"console": [GRIDC], "-m": [sys.executable, "-m", "gridc"]}
    start = begun.get(how, [sys.executable, "-P", "-m", "gridc"])
    trapped.require_unsprung(trapped.run(*start, "plan"), ["models/qwen2/tokenizer.json"])
    (trapped.folder / "contextlib.py").write_text(
        f"open({str(trapped.sprung / 'early')!r}, 'w')\nraise SystemExit"
    )
    done = subprocess.run([*start, "--version"], cwd=trapped.folder, capture_output=True, check=False)
    assert [path.name for path in trapped.sprung.iterdir()] == (["early"] if how == "-m" else [])
    assert done.stdout.startswith(b"gridc") == (how != "-m")


def test_a_notebook_and_a_script(trapped: Trapped) -> None:
    """Python itself imports from their folder. The children that they start do not."""
    script = trapped.folder / "cell.py"
    script.write_text(
        "from gridc.confined import Confined\n"
        "child = Confined('gridc.compiler.inputs.children:TokenCounter')\n"
        f"assert child.ask('tokens', {str(trapped.folder / 'models/qwen2/tokenizer.json')!r}, ['one two'])\n"
    )
    for path in trapped.folder.glob("*.py"):
        if path.stem in ("json", "subprocess", "sitecustomize", "usercustomize"):
            path.unlink()  # what the script's own process imports
    for command in ([str(script)], ["-c", script.read_text()]):
        ran = trapped.run(sys.executable, *command)
        trapped.require_unsprung(ran, ["models/qwen2/tokenizer.json"])


def test_threads_are_no_processes() -> None:
    log = (
        '10 execve("/a", ["a"], ["K=1"]) = 0\n'
        "10 clone3({flags=CLONE_VM|CLONE_THREAD}, 88 <unfinished ...>\n"
        '11 openat(AT_FDCWD</s>, "x", O_RDONLY) = 3</s/x>\n'
        "10 <... clone3 resumed>) = 11\n"
        "11 vfork() = 12\n"
        '12 execve("b", ["b"], []) = -1 ENOENT\n'
        '12 execve("/c", ["c"], []) = 0\n'
        '12 openat(5</t>, "../y", O_RDONLY) = -1 ENOENT\n'
    )
    first, child = processes(log)
    assert (first.program, first.opened[1:]) == ('/a ["a"]', [Path("/s/x")])
    assert (child.program, child.environment, child.opened[-1]) == ('/c ["c"]', "[]", Path("/y"))
