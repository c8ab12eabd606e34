"""The test command on other instruction sets: BLAS and torch choose their kernels by the processor, and round
differently. No result, digest or verdict of a test may depend on it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
KERNELS = {
    "oldest": {"OPENBLAS_CORETYPE": "Prescott", "ATEN_CPU_CAPABILITY": "default"},
    "haswell": {"OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "avx2"},
    "skylake": {"OPENBLAS_CORETYPE": "SkylakeX"},
}


def runs_here(environment: dict[str, str]) -> bool:
    """Whether this processor has the instructions: a matrix is inverted in a process of its own."""
    code = "import numpy; numpy.linalg.inv(numpy.eye(64) + numpy.ones((64, 64)))"
    return subprocess.run([sys.executable, "-c", code], env=os.environ | environment).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_suite_passes_with_the_kernels_of_another_processor(kernel: str) -> None:
    if not runs_here(KERNELS[kernel]):
        pytest.skip(f"this processor has no instructions for {KERNELS[kernel]['OPENBLAS_CORETYPE']}")
    options = ["-q", "-n", "auto", "--dist", "loadfile", "-p", "no:cacheprovider"]
    suite = [sys.executable, "-m", "pytest", *options]
    ran = subprocess.run(suite, cwd=ROOT, env=os.environ | KERNELS[kernel], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-8000:]
