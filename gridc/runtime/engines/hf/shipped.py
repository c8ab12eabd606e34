"""Checkpoints as they are shipped: in the number format that their config.json states, quantised or not.

Formats of which only some hardware multiplies the packed numbers are unpacked when the model is loaded, so
that a model is the same on every machine and no kernel is downloaded that would run here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

AS_SHIPPED = "as_shipped"


@dataclass(frozen=True, slots=True)
class PackedFormat:
    """How quantised weights are loaded: by these `packages`; `unpacked` into the model's own number format,
    or multiplied as they are, which may take a `gpu`."""

    unpacked: bool
    packages: tuple[str, ...] = ()
    gpu: bool = False

    def require(self, method: str, device: str) -> None:
        """Raise `ValueError` where a package is not installed, or this kind of device does not do."""
        absent = " ".join(name for name in self.packages if not _installed(name))
        needed = [f"the packages of `pip install {absent}`"] if absent else []
        if self.gpu and device != "cuda":
            needed.append("a CUDA GPU")
        if needed:
            raise ValueError(
                f"its weights are in the format {method}, which takes {' and '.join(needed)}; or take an "
                "unquantised model, or serve this one and ask it as an api model with base_url"
            )


_GPTQMODEL = PackedFormat(False, ("gptqmodel", "optimum"), gpu=True)
FORMATS: Mapping[str, PackedFormat] = {
    "mxfp4": PackedFormat(True),
    "fp8": PackedFormat(True),
    "compressed-tensors": PackedFormat(True, ("compressed-tensors",)),
    "bitsandbytes": PackedFormat(False, ("bitsandbytes",)),
    "gptq": _GPTQMODEL,
    "awq": _GPTQMODEL,
}
"""By the name in `quantization_config`. What stands in no row was never tried, and is refused."""


def packed_format(config: Any) -> str | None:
    """The name of the format that a configuration says its weights are packed in. None where they are not."""
    stated = getattr(config, "quantization_config", None)
    if not stated:
        return None
    if stated.get("load_in_4bit") or stated.get("load_in_8bit"):
        return "bitsandbytes"  # older files name no method
    return str(stated.get("quant_method"))


def check_format(config: Any, precision: str, device: str) -> None:
    """Raise `ValueError` where there are no such weights at a precision on a kind of device, with a way
    out."""
    method = packed_format(config)
    if precision != AS_SHIPPED:
        if method is not None:
            raise ValueError(
                f"its config.json says that the weights are quantised ({method}): precision = "
                f'"{AS_SHIPPED}" takes them so; or name the unquantised model'
            )
        return
    if method is None:
        shipped_type(config)
        return
    if method not in FORMATS:
        raise ValueError(
            f"its weights are in the format {method}, and gridc loads {', '.join(FORMATS)}: take an "
            "unquantised model, or serve this one and ask it as an api model with base_url"
        )
    FORMATS[method].require(method, device)


def shipped_type(config: Any) -> torch.dtype:
    """The number format that a configuration states for what is not packed. Raises `ValueError` where it
    states none."""
    stated = getattr(config, "dtype", None) or getattr(config.get_text_config(decoder=True), "dtype", None)
    dtype = getattr(torch, stated, None) if isinstance(stated, str) else stated
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ValueError(
            "its config.json states no number format (`dtype`) to take the weights in: name a precision, "
            "such as bf16"
        )
    return dtype


def prepare(config: Any) -> None:
    """Have transformers unpack what is to be unpacked."""
    method = packed_format(config)
    if method is not None and FORMATS[method].unpacked:
        config.quantization_config = {**config.quantization_config, "dequantize": True}


def manifest(config: Any) -> dict[str, Any]:
    """What was shipped and what became of it, and the versions of the packages that this took."""
    method, dtype = packed_format(config), str(shipped_type(config)).removeprefix("torch.")
    if method is None:
        return {AS_SHIPPED: f"{dtype} weights"}
    row = FORMATS[method]
    made = f"unpacked to {dtype}" if row.unpacked else f"multiplied as they are, in {dtype}"
    packages = "".join(f", {name} {version(name)}" for name in row.packages)
    return {AS_SHIPPED: f"{method} weights, {made}{packages}"}


def most_numbers(config: Any, weights: Mapping[str, torch.Tensor]) -> int:
    """How many numbers these weights can stand for: no packed format has fewer than two bits for one."""
    if packed_format(config) is None:
        return sum(weight.numel() for weight in weights.values())
    return sum(weight.nbytes * 4 for weight in weights.values())


def _installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True
