"""The test command on other instruction sets: BLAS, numpy and torch choose their kernels by the processor and
round differently. No result, digest or verdict of a test may depend on it, and no byte of a document."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy._core._multiarray_umath as numpy_dispatch  # type: ignore[import-not-found]
import pytest

from tests.reports.documents import documents, tied

ROOT = Path(__file__).parent.parent
_numpy: Any = numpy_dispatch
DISPATCHED = [name for name in _numpy.__cpu_dispatch__ if _numpy.__cpu_features__[name]]
"""What numpy chooses by the processor, of what this one has."""
OLDEST = {
    "OPENBLAS_CORETYPE": "Prescott",
    "ATEN_CPU_CAPABILITY": "default",
    **({"NPY_DISABLE_CPU_FEATURES": " ".join(DISPATCHED)} if DISPATCHED else {}),
}
KERNELS = {
    "oldest": OLDEST,
    "haswell": {"OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "avx2"},
    "skylake": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "sapphire-rapids": {"OPENBLAS_CORETYPE": "SapphireRapids"},
    "zen": {"OPENBLAS_CORETYPE": "Zen"},
}


def missing(environment: dict[str, str]) -> str:
    """Why these kernels cannot run here, empty where they can: a matrix is inverted in a process of its own,
    and OpenBLAS says which kernels it takes."""
    code = "import numpy; numpy.linalg.inv(numpy.eye(64) + numpy.ones((64, 64)))"
    spoken = os.environ | environment | {"OPENBLAS_VERBOSE": "2"}
    ran = subprocess.run([sys.executable, "-c", code], env=spoken, capture_output=True, text=True)
    core = environment["OPENBLAS_CORETYPE"]
    if ran.returncode != 0:
        return f"this processor has no instructions for {core}"
    taken = re.findall(r"^Core: (\w+)$", ran.stdout + ran.stderr, re.M)
    if core != "Prescott" and taken and core not in taken:  # it names an older core for Prescott
        return f"OpenBLAS takes the kernels of {taken[0]} for {core}"
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_suite_passes_with_the_kernels_of_another_processor(kernel: str) -> None:
    if reason := missing(KERNELS[kernel]):
        pytest.skip(reason)
    options = ["-q", "-n", "auto", "--dist", "loadfile", "-p", "no:cacheprovider"]
    suite = [sys.executable, "-m", "pytest", *options]
    ran = subprocess.run(suite, cwd=ROOT, env=os.environ | KERNELS[kernel], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-8000:]


def test_the_documents_of_a_store_are_the_same_bytes_with_every_kernel(tmp_path: Path) -> None:
    spec = tied(tmp_path)
    command = [sys.executable, "-m", "tests.reports.documents", str(spec)]
    own = documents(spec)
    assert len(own) > 15
    for kernel in ("haswell", "oldest"):
        if missing(KERNELS[kernel]):
            continue
        environment = os.environ | KERNELS[kernel]
        ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr[-8000:]
        other = json.loads(ran.stdout)
        assert [name for name in own if other[name] != own[name]] == [], kernel
