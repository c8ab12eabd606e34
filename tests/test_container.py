"""The Dockerfile and the development container install what the Makefile does, and they build."""

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TORCH = re.compile(r"torch==([\d.]+)")


def docker(*words: str, within: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=False, timeout=within)


def has_docker() -> bool:
    try:
        return docker("info").returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def test_torch_is_the_one_that_the_tests_run_on() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    image = (ROOT / "Dockerfile").read_text("utf-8")
    assert TORCH.findall(image) == TORCH.findall(makefile)[:1]


def test_the_development_container_runs_a_target_of_the_makefile() -> None:
    stated = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8"))
    target = stated["postCreateCommand"].removeprefix("make ")
    assert re.search(rf"^{re.escape(target)}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


@pytest.mark.slow
def test_the_image_runs_a_study(tmp_path: Path) -> None:
    if not has_docker():
        pytest.skip("no Docker daemon is running here")
    built = docker("build", "--tag", "gridc-test", str(ROOT), within=1800)
    assert built.returncode == 0, built.stderr
    tmp_path.chmod(0o777)  # the image's user is another
    for step in (("init", "--yes"), ("run",), ("report",), ("verify",)):
        done = docker("run", "--rm", "--volume", f"{tmp_path}:/study", "gridc-test", *step, within=900)
        assert done.returncode == 0, done.stderr
