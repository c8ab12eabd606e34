"""Which tensors a model is made of: folders as people keep them, what becomes of each, and what the installed
transformers itself makes of those that are loaded."""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.compiler.inputs.models import ModelIdentity, hash_files
from gridc.diagnostics.errors import UnavailableError
from gridc.runtime.engines import open_vllm
from gridc.schema.spec import EngineSettings

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
    AutoModelForCausalLM,
    BertConfig,
    BertForPreTraining,
    LlamaForCausalLM,
)

from gridc.runtime.engines.hf.engine import HfEngine
from tests.runtime import zoo

LLAMA = Path(gridc.__file__).parent / "builtin" / "models" / "pocket-llama"
SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
Damage = Callable[[Path], object]
ONE = torch.ones(4, 4)


def engine(folder: Path) -> HfEngine:
    settings = EngineSettings(device="cpu", threads=1)
    return HfEngine("m", folder, "fp32", settings, files=dict(hash_files(folder)))


def edit(name: str = "config.json", **values: Any) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / name
        stated = json.loads(path.read_text("utf-8")) if path.exists() else {}
        path.write_text(json.dumps(stated | values), "utf-8")

    return damage


def add(**tensors: torch.Tensor) -> Damage:
    """Further tensors in the weights' file; `__` in a name stands for a dot."""
    named = {name.replace("__", "."): tensor for name, tensor in tensors.items()}

    def damage(folder: Path) -> None:
        further = {name: tensor.clone() for name, tensor in named.items()}
        save_file(load_file(folder / SINGLE) | further, folder / SINGLE, {"format": "pt"})

    return damage


def drop(name: str) -> Damage:
    def damage(folder: Path) -> None:
        left = {key: tensor for key, tensor in load_file(folder / SINGLE).items() if key != name}
        save_file(left, folder / SINGLE, {"format": "pt"})

    return damage


def beside(name: str, factor: float = 1.0) -> Damage:
    """A copy of the weights under another name, times a number."""

    def damage(folder: Path) -> None:
        weights = {key: tensor * factor for key, tensor in load_file(folder / SINGLE).items()}
        save_file(weights, folder / name, {"format": "pt"})

    return damage


def sharded(
    folder: Path,
    factor: float = 1.0,
    single: bool = False,
    second: str = "b.safetensors",
    twice: bool = False,
) -> None:
    """The weights, times a number, in two files with their index, without the single file or beside it."""
    weights = {key: tensor * factor for key, tensor in load_file(folder / SINGLE).items()}
    names = sorted(weights)
    parts = {"a.safetensors": names[: len(names) // 2], second: names[len(names) // 2 :]}
    for file, part in parts.items():
        (folder / file).parent.mkdir(exist_ok=True)
        held = {name: weights[name].clone() for name in ([*part, names[0]] if twice else part)}
        save_file(held, folder / file, {"format": "pt"})
    index = {"metadata": {}, "weight_map": {name: file for file, part in parts.items() for name in part}}
    (folder / INDEX).write_text(json.dumps(index))
    if not single:
        (folder / SINGLE).unlink()


def both(*damages: Damage) -> Damage:
    def damage(folder: Path) -> None:
        for each in damages:
            each(folder)

    return damage


def shard_missing(folder: Path) -> None:
    sharded(folder)
    (folder / "b.safetensors").unlink()


def index_of_the_single(folder: Path) -> None:
    names = load_file(folder / SINGLE)
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": dict.fromkeys(names, SINGLE)}))


def pickled(folder: Path) -> None:
    torch.save(
        {key: tensor * 3 for key, tensor in load_file(folder / SINGLE).items()}, folder / "pytorch_model.bin"
    )


def own_code(folder: Path) -> None:
    edit(auto_map={"AutoModelForCausalLM": "modeling_own.Own", "AutoConfig": "modeling_own.OwnConfig"})(
        folder
    )
    (folder / "modeling_own.py").write_text(f"open({str(folder / 'ran')!r}, 'w')\nraise SystemExit\n")


SHARDS = ["a.safetensors", "b.safetensors"]
LOADED: Mapping[str, tuple[Damage, list[str], dict[str, int]]] = {
    "as it is": (lambda folder: None, [], {}),
    "in two files with an index": (sharded, [], {}),
    "index and single file agree": (partial(sharded, single=True), SHARDS, {}),
    "index and single file differ": (partial(sharded, single=True, factor=2.0), SHARDS, {}),
    "index of the single file": (index_of_the_single, [], {}),
    "pytorch_model.bin beside": (pickled, [], {}),
    "consolidated beside": (beside("consolidated.safetensors", 2.0), ["consolidated.safetensors"], {}),
    "a draft head": (
        add(mtp__layers__0__proj__weight=ONE, mtp__layers__1__proj__weight=ONE),
        [],
        {"mtp.layers.*.proj.weight": 2},
    ),
    "layers that config.json says draft": (
        both(edit(num_nextn_predict_layers=1), add(model__layers__4__eh_proj__weight=ONE)),
        [],
        {"model.layers.*.eh_proj.weight": 1},
    ),
    "frequencies that are computed": (
        add(model__layers__0__self_attn__rotary_emb__inv_freq=ONE, model__rotary_emb__inv_freq=ONE),
        [],
        {"model.layers.*.self_attn.rotary_emb.inv_freq": 1, "model.rotary_emb.inv_freq": 1},
    ),
    "scales of a cache in eight bits": (
        add(
            model__layers__0__self_attn__k_scale=torch.tensor([0.5]),
            model__layers__1__self_attn__k_scale=torch.tensor([0.5]),
            model__layers__0__self_attn__v_proj__v_scale=torch.tensor([0.5]),
        ),
        [],
        {"model.layers.*.self_attn.k_scale": 2, "model.layers.*.self_attn.v_proj.v_scale": 1},
    ),
    "code of its own": (own_code, [], {}),
    "speculators_config": (edit(speculators_config={"verifier": {"name_or_path": "/elsewhere"}}), [], {}),
}  # fmt: skip
"""What is beside the usual files, and which files and tensors nothing reads then."""
NOTHING_READS = "nothing in a LlamaForCausalLM reads 1 of its tensors, such as "
REFUSED: Mapping[str, tuple[Damage, str]] = {
    "a shard is missing": (shard_missing, "names `b.safetensors`, and there is no such file"),
    "an index leads out of it": (partial(sharded, second="../b.safetensors"), "not a weights file of"),
    "a tensor in two shards": (partial(sharded, twice=True), "two of its files have a tensor `"),
    "an adapter in the file": (
        add(model__layers__0__self_attn__q_proj__lora_A__weight=ONE),
        f"{NOTHING_READS}model.layers.0.self_attn.q_proj.lora_A.weight: take",
    ),
    "a layer that config.json does not count": (
        add(model__layers__4__input_layernorm__weight=ONE),
        f"{NOTHING_READS}model.layers.4.input_layernorm.weight",
    ),
    "a head that scores": (add(v_head__summary__weight=ONE), f"{NOTHING_READS}v_head.summary.weight"),
    "eyes of another model": (
        add(vision_tower__patch_embed__weight=ONE), f"{NOTHING_READS}vision_tower.patch_embed.weight",
    ),
    "a bias that its layers do not have": (
        add(model__layers__0__self_attn__q_proj__bias=torch.ones(4)),
        f"{NOTHING_READS}model.layers.0.self_attn.q_proj.bias",
    ),
    "a scale of no cache": (
        add(model__layers__0__self_attn__k_proj__input_scale=torch.ones(1)),
        f"{NOTHING_READS}model.layers.0.self_attn.k_proj.input_scale",
    ),
    "a tensor of another shape": (
        add(model__norm__weight=torch.ones(3)),
        r"its weights make `model\.norm\.weight` \(3,\), and its config\.json describes \(\d+,\)",
    ),
    "a tensor is missing": (drop("model.norm.weight"), "lack 1 tensors, such as model.norm.weight"),
    "an adapter beside": (edit("adapter_config.json", base_model_name_or_path="/x"), "it is an adapter"),
    "quantised, at fp32": (edit(quantization_config={"quant_method": "gptq", "bits": 4}), "quantised"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(LLAMA, tmp_path / "m"))


@pytest.mark.parametrize("case", LOADED)
def test_what_is_loaded_is_what_transformers_loads(case: str, folder: Path) -> None:
    damage, files, tensors = LOADED[case]
    damage(folder)
    opened = engine(folder)
    said = opened.effective()
    assert (said.get("unread_files", []), said.get("unread_tensors", {})) == (files, tensors)
    assert not (folder / "ran").exists()
    by_itself = (LlamaForCausalLM if case == "code of its own" else AutoModelForCausalLM).from_pretrained(
        folder
    )
    theirs, ours = by_itself.state_dict(), opened._model.state_dict()
    assert theirs.keys() == ours.keys()
    assert all(torch.equal(tensor, ours[name]) for name, tensor in theirs.items())


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, folder: Path) -> None:
    damage, why = REFUSED[case]
    damage(folder)
    with pytest.raises(UnavailableError, match=f"GC606.*({why})") as caught:
        engine(folder).effective()
    assert {diagnostic.file for diagnostic in caught.value.diagnostics} <= {str(folder), None}


@pytest.mark.parametrize("tied", [True, False])
def test_tied_weights_need_no_tensor_of_their_own(tied: bool, tmp_path: Path) -> None:
    folder = zoo.save("llama", tmp_path / "m", tie_word_embeddings=tied)
    assert ("lm_head.weight" in load_file(folder / SINGLE)) != tied
    assert "unread_tensors" not in engine(folder).effective()
    if not tied:
        drop("lm_head.weight")(folder)
        with pytest.raises(UnavailableError, match=r"GC606.*lack 1 tensors, such as lm_head\.weight"):
            engine(folder).effective()


@pytest.mark.parametrize(
    ("kind", "lost"),
    [
        ("mixtral", "model.layers.0.block_sparse_moe.experts.1.w1.weight"),
        ("qwen3_moe", "model.layers.0.mlp.experts.1.down_proj.weight"),
    ],
)
def test_a_mixture_that_lacks_a_part_of_an_expert_is_refused_by_its_name(
    kind: str, lost: str, tmp_path: Path
) -> None:
    folder = zoo.save(kind, tmp_path / "m")
    drop(lost)(folder)
    with pytest.raises(UnavailableError, match=f"GC606.*lack 1 tensors, such as {re.escape(lost)}"):
        engine(folder).effective()


def test_the_last_expert_of_a_mixture_is_missing(tmp_path: Path) -> None:
    folder = zoo.save("qwen3_moe", tmp_path / "m")
    for name in load_file(folder / SINGLE):
        if ".experts.3." in name:
            drop(name)(folder)
    said = r"GC606.*its weights make `model\.layers\.0\.mlp\.experts\.\w+` \(3, .*describes \(4, "
    with pytest.raises(UnavailableError, match=said):
        engine(folder).effective()


@pytest.mark.parametrize("decodes", [True, False])
def test_the_pooler_of_an_encoder(decodes: bool, tmp_path: Path) -> None:
    """Beside a decoder it is named and not read. An encoder is refused for what it is."""
    sizes: Any = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16}
    made = BertForPreTraining(BertConfig(vocab_size=512, is_decoder=decodes, **sizes))
    folder = zoo.save("llama", tmp_path / "m")
    made.save_pretrained(folder)
    if decodes:
        unread = engine(folder).effective()["unread_tensors"]
        heads = ("bert.pooler.dense", "cls.seq_relationship")
        assert unread == {f"{head}.{part}": 1 for head in heads for part in ("bias", "weight")}
    else:
        with pytest.raises(UnavailableError, match=r"GC606.*this is not a causal language model"):
            engine(folder).effective()


def test_masks_that_were_stored_once(tmp_path: Path) -> None:
    folder = zoo.save("gptj", tmp_path / "m")
    masks = {"bias": torch.ones(1, 1, 2048, 2048, dtype=torch.bool), "masked_bias": torch.tensor(-1e9)}
    add(**{f"transformer__h__0__attn__{name}": mask for name, mask in masks.items()})(folder)
    said = engine(folder).effective()
    assert said["unread_tensors"] == {f"transformer.h.*.attn.{name}": 1 for name in masks}


@pytest.mark.parametrize("kind", ["llama4", "mllama", "qwen3_5"])
def test_the_text_model_of_one_that_sees(kind: str, tmp_path: Path) -> None:
    """What is left of the whole is named, and what belongs to neither is refused."""
    folder = zoo.save(kind, tmp_path / "m")
    config = zoo.config_of(kind)
    seeing: Any = MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING[type(config)]
    whole = seeing._from_config(config, dtype=torch.float32)
    whole.save_pretrained(folder)
    said = engine(folder).effective()
    assert "unread_files" not in said
    assert said["unread_tensors"]
    assert not [
        name for name in said["unread_tensors"] if re.search(r"lm_head|language_model|text_model", name)
    ]
    add(somewhere__else=ONE)(folder)
    with pytest.raises(UnavailableError, match=r"GC606.*reads 1 of its tensors, such as somewhere\.else"):
        engine(folder).effective()


UNLIKE: Mapping[str, tuple[Damage, str | None]] = {
    "as it is": (lambda folder: None, None),
    "in two files with an index": (sharded, None),
    "pytorch_model.bin beside": (pickled, None),
    "index beside consolidated": (both(beside("consolidated.safetensors"), sharded), None),
    "index and single file": (
        partial(sharded, single=True),
        "vLLM loads a.safetensors, b.safetensors, and transformers model.safetensors",
    ),
    "consolidated without an index": (
        beside("consolidated.safetensors"),
        "vLLM loads consolidated.safetensors, model.safetensors, and transformers model.safetensors",
    ),
    "speculators_config": (
        edit(speculators_config={"verifier": {"name_or_path": "/elsewhere"}}),
        "has `speculators_config`, for which vLLM",
    ),
    "hf_quant_config.json": (
        edit("hf_quant_config.json", quantization={"quant_algo": "FP8"}),
        "as quantised, because hf_quant_config.json says so",
    ),
    "another architecture": (edit(architectures=["Qwen2ForCausalLM"]), "Qwen2ForCausalLM, and that is not"),
    "an architecture of vLLM alone": (edit(architectures=["UltravoxModel"]), "UltravoxModel, and that is"),
    "a shard is missing": (shard_missing, "names `b.safetensors`, and there is no such file"),
    "an index leads out of it": (partial(sharded, second="../b.safetensors"), "not a weights file of the"),
    "an alias of this architecture": (edit(architectures=["LlamaModel"]), None),
}  # fmt: skip
"""What vLLM makes another model of than transformers, and why; None where they agree."""


@pytest.mark.parametrize("case", UNLIKE)
def test_vllm_runs_the_same_model_or_is_refused(
    case: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage, why = UNLIKE[case]
    damage(folder)
    monkeypatch.setenv("GRIDC_VLLM", "false")
    identity = ModelIdentity("path:m", folder, hash_files(folder), server="vllm")
    opened = open_vllm("m", replace(identity), "fp32", EngineSettings(), frozenset())
    said = "GC649.*ended with 1 before it answered" if why is None else f"GC606 `m`: .*{why}"
    with pytest.raises(UnavailableError, match=said):
        opened.effective()
