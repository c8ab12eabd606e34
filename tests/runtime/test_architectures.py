"""Every architecture against plain transformers, call by call, on whichever path it takes.

The oracle is `model(input_ids)` with the model's own attention, without any cache, a whole sequence a step.
"""

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridc.compiler.lowering.calls import Prompt
from gridc.diagnostics.errors import GridcError
from gridc.runtime.engines.protocol import Call
from gridc.schema.spec import EngineSettings

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from gridc.runtime.engines.hf.engine import HfEngine  # noqa: E402
from gridc.runtime.engines.hf.sampling import uniforms  # noqa: E402
from tests.runtime import zoo  # noqa: E402

HEAD = "The Sorrin and the Lomer were at the market.\nWho sang?\nA. The Lomer\nB. The Sorrin\n\nAnswer: A\n\n"
TEXTS = (
    "Who sang?",
    f"{HEAD}The Vintel and the Dapper were at the mill.\nWho lost the keys?\nAnswer:",
    f"{HEAD}The Vintel and the Dapper were at the mill.\nWho sang?\nAnswer:",
)
CANDIDATES = ["The Vintel", "Not known", "A"]
DOCS = Path(__file__).with_name("architectures.md")


def calls() -> list[Call]:
    """For each prompt a greedy answer, three sampled ones (one of them cut at top_p 0.8) and a ranking."""
    made = []
    for number, text in enumerate(TEXTS):
        prompt = Prompt((("user", text),), chat_template=False)
        greedy = {"max_tokens": 8, "temperature": 0.0}
        made.append(Call(f"{number:064x}", "generate", prompt, greedy))
        for replicate, top_p in enumerate((1.0, 1.0, 0.8)):
            sampled = {"max_tokens": 8, "temperature": 0.9, "top_p": top_p}
            name = f"{(number + 7) * 2**200 + (replicate + 1) * 2**140:064x}"
            made.append(Call(name, "generate", prompt, sampled))
        ranking = {"continuations": CANDIDATES}
        made.append(Call(f"{number + 100:064x}", "loglikelihood", prompt, ranking))
    return made


def draw(logits: np.ndarray, temperature: float, top_p: float, uniform: float) -> int:
    """The definition in numpy: tokens in the order of their ids, those outside the nucleus left out."""
    scaled = logits.astype(np.float64) / temperature
    mass = np.exp(scaled - scaled.max())
    mass /= mass.sum()
    order = np.argsort(-mass, kind="stable")
    before = np.cumsum(mass[order]) - mass[order]
    kept = np.sort(order[before < top_p] if top_p < 1 else order)
    running = np.cumsum(mass[kept])
    return int(kept[min(np.searchsorted(running, uniform * running[-1], side="right"), len(kept) - 1)])


class Oracle:
    """Plain transformers, by whole sequences."""

    def __init__(self, folder: Path) -> None:
        config = transformers.AutoConfig.from_pretrained(folder)
        make = transformers.AutoModelForCausalLM.from_pretrained
        self.model = make(folder, config=config, dtype=torch.float32).eval()

    def logits(self, ids: list[int]) -> Any:
        with torch.inference_mode():
            return self.model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].float()

    def generate(self, ids: list[int], call: Call, ends: frozenset[int]) -> list[int]:
        asked = call.parameters
        numbers = uniforms(call.id, asked["max_tokens"])
        made: list[int] = []
        while len(made) < asked["max_tokens"]:
            last = self.logits(ids + made)[-1]
            if asked["temperature"] == 0:
                token = int(last.argmax())
            else:
                token = draw(last.numpy(), asked["temperature"], asked["top_p"], numbers[len(made)])
            if token in ends:
                break
            made.append(token)
        return made

    def likelihood(self, ids: list[int], given: tuple[int, ...]) -> float:
        logs = torch.log_softmax(self.logits([*ids, *given]), dim=-1)
        return sum(float(logs[len(ids) + at - 1, token]) for at, token in enumerate(given))


def compare(folder: Path) -> tuple[str, float]:
    """The paths that a model's calls take and the largest difference of a likelihood (nats), or why it is
    refused. Fails where a token is another one."""
    engine = HfEngine("m", folder, "fp32", EngineSettings(device=zoo.DEVICE, threads=1))
    try:
        found = zoo.answers(engine, calls())
    except GridcError as error:
        return f"refused: {error.diagnostics[0].message}", 0.0
    worst, untouched = 0.0, Oracle(folder)
    for call in calls():
        oracle = deepcopy(untouched)  # a new one: rotary embeddings may remember the longest input so far
        ids = list(engine.prompts.encode([engine.prompts.as_text(call.prompt)], call.prompt)[0])
        content = found[call.id].content
        if call.kind == "generate":
            if content["near_ties"] == 0:
                assert content["tokens"] == oracle.generate(ids, call, engine._ends()), call
            continue
        for member, value in zip(
            engine.prompts.fitting(call, [engine.prompts.form(call.prompt, 0)]),
            content["loglikelihoods"],
            strict=True,
        ):
            assert member.given is not None
            worst = max(worst, abs(oracle.likelihood(list(member.prompt), member.given) - value))
    paths = engine.effective()["paths"]
    told = []
    for name, path in paths.items():
        reach = f" up to {path['up_to']}" if path["up_to"] else ""
        told.append(name + reach + (f" ({path['why']})" if path["why"] else ""))
    return ", then ".join(told), worst


# A dozen of each kind, as far as there are as many that take less than a second or two.
FAST = {
    "llama": "forest",
    "gpt2": "forest",
    "mixtral": "forest",
    "gemma2": "forest up to 40, then cached",
    "gpt_oss": "forest up to 40, then cached",
    "deepseek_v3": "forest",
    "stablelm": "forest",
    "gemma3": "forest up to 40, then cached",
    "llama4": "forest up to 40, then cached",
    "phi4_multimodal": "forest",
    "bloom": "forest",
    "codegen": "forest",
    "falcon": "forest",
    "gpt_neo": "forest up to 40, then cached",
    "mpt": "forest",
    "diffllama": "cached",
    "qwen3_next": "cached",
    "qwen3_5": "cached",
    "mamba": "cached",
    "deepseek_v32": "cached",
    "dots3_note": "cached",
    "lfm2_moe": "cached",
    "gpt_neox_japanese": "cached",
    "xglm": "cached",
    "trocr": "cached",
    "nemotron_h": "plain",
    "openai-gpt": "plain",
    "recurrent_gemma": "plain",
    "reformer": "plain",
    "xlstm": "plain",
    "zamba2": "plain",
    "bert": "refused",
    "bert-generation": "refused",
    "big_bird": "refused",
    "megatron-bert": "refused",
    "roc_bert": "refused",
    "xlm": "refused",
    "xlm-roberta": "refused",
    "xlnet": "refused",
}


@pytest.mark.parametrize("kind", FAST)
def test_an_architecture_answers_as_plain_transformers_does(kind: str, tmp_path: Path) -> None:
    paths, worst = compare(zoo.save(kind, tmp_path / kind))
    for part in FAST[kind].split(", then "):
        assert part in paths
    assert worst < (1e-4 if paths == "forest" else 1e-3)


LONG = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "short_factor": [1.0 + number / 20 for number in range(8)],
    "long_factor": [2.0 + number for number in range(8)],
    "original_max_position_embeddings": 40,
}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0}


def test_long_rope_beyond_its_original_length(tmp_path: Path) -> None:
    """Up to that length positions are fixed. Beyond it each token is asked for as the model by itself would
    be asked, over the whole sequence, and the frequencies of the long ones never reach the short ones."""
    values: dict[str, Any] = {"sliding_window": None, "original_max_position_embeddings": 40}
    folder = zoo.save("phi3", tmp_path / "m", rope_parameters=LONG, **values)
    paths, worst = compare(folder)
    assert paths == "forest up to 40, then plain (its positions depend on the length beyond 40 tokens)"
    assert worst < 1e-4
    # Both sets of frequencies are decisive: with the short ones throughout, a long text reads differently.
    short = zoo.save(
        "phi3", tmp_path / "s", rope_parameters=LONG | {"long_factor": LONG["short_factor"]}, **values
    )
    ids = list(range(3, 83))
    assert float((Oracle(folder).logits(ids)[-1] - Oracle(short).logits(ids)[-1]).abs().max()) > 0.1


def test_dynamic_ntk_beyond_its_length_is_refused(tmp_path: Path) -> None:
    """transformers changes the frequencies beyond `max_position_embeddings`, which is where gridc stops."""
    folder = zoo.save("llama", tmp_path / "m", rope_parameters=DYNAMIC, max_position_embeddings=64)
    assert compare(folder)[0].startswith("refused: `m` has room for 64 tokens")


REDUCED = ("bf16", "int8", "nf4")
EITHER = {"glm_moe_dsa"}
"""Of which it depends on the processor whether the cached path is proved: the scores by which a sparse
attention chooses its tokens are near ties."""


WORDS = {
    "not every layer attends through transformers' interface": "own attention",
    "a token changes the logits before it, so this is not a causal language model": "encoder",
    r"it sees \d+ tokens back": "window",
    r"the (\w+) path moves logits by (\S+) where (\S+) may be": r"\1 off by \2, not \3",
    "its code does not take part": "takes no part",
    "so each prompt is computed in one piece": "in one piece",
}
"""By what gridc says of a path: how the table says it."""


def reduced(folder: Path, precision: str) -> str:
    """The path of a model's short calls in a precision, and how far it moves a logit from the model's own."""
    try:
        paths = HfEngine("m", folder, precision, EngineSettings(device=zoo.DEVICE, threads=1)).effective()[
            "paths"
        ]
    except GridcError:
        return "refused"
    name, route = next(iter(paths.items()))
    return f"{name} {route['check']['deviation']:.1g}"


def row(kind: str, folder: Path) -> str:
    """The line of an architecture in the table."""
    try:
        zoo.save(kind, folder)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0][:160].replace("|", "/")
        return f"| {kind} | not built here | {reason} | | | | |"
    paths, worst = compare(folder)
    path, _, why = paths.partition(" (")
    if path.startswith("refused"):
        path, why = "refused", paths.removeprefix("refused: ").rpartition("; ")[2]
        why = why.removeprefix("`m` at fp32: ")
    moved = "" if path == "refused" else f"{worst:.0e}"
    rounded = " | ".join(shorter(path, reduced(folder, precision)) for precision in REDUCED)
    why = worded(why.removesuffix(")").replace("|", "/")[:160])
    return f"| {kind} | {path} | {why} | {moved} | {rounded} |"


def shorter(path: str, column: str) -> str:
    """The column of another precision: the path is named where short calls take another one there."""
    return column.removeprefix(f"{path.split()[0]} ")


def worded(why: str) -> str:
    """A reason in the words that the page explains."""
    for said, word in WORDS.items():
        why = re.sub(said, word, why)
    return why


def stated(line: str) -> tuple[str, ...]:
    """What of a line is the same on every processor: of each precision the path, of fp32 why it is taken."""
    _, kind, path, why, _, *rounded, _ = (column.strip() for column in line.split("|"))
    if kind in EITHER:
        return (kind,)
    return (kind, path, why, *(re.sub(r"\S*\d\S*$", "", column).strip() for column in rounded))


@pytest.mark.slow
def test_the_table_of_architectures_is_true(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Every architecture that transformers registers and that can be built tiny. `--update-golden` writes the
    table; likelihoods differ by at most a thousandth of a nat everywhere, tokens nowhere. In other precisions
    only paths are held against it."""
    rows = [row(kind, tmp_path / kind) for kind in zoo.KINDS]
    before, _, rest = DOCS.read_text("utf-8").partition("<!-- architectures -->\n")
    written, _, after = rest.partition("<!-- /architectures -->")
    head = "| architecture | path | why no better one | nats | bf16 | int8 | nf4 |\n" + "|---" * 7 + "|\n"
    table = head + "\n".join(rows) + "\n"
    if request.config.getoption("--update-golden"):
        text = f"{before}<!-- architectures -->\n{table}<!-- /architectures -->{after}"
        DOCS.write_text(text, "utf-8")
        return
    assert list(map(stated, written.splitlines()[2:])) == list(map(stated, rows))
