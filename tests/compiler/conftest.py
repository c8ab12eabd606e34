"""A small study on invented items, as one folder, for the compiler's tests."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.compile import Compiled, compile_spec
from tests.replaced import replaced
from tests.studies import axis

REPOSITORY = Path(__file__).resolve().parents[2]

AXES = {
    "template": {
        "plain": r'prompt = "{{ question }}\nAnswer:{{ answer }}"',
        "file": 'prompt = "path:prompts/mine.jinja"',
    },
    "decoding": {"greedy": "temperature = 0.0", "warm": "temperature = 0.7\nreplicates = 2"},
    "scoring": {"read": 'method = "extract"', "rank": 'method = "loglikelihood"'},
}
SMALL = """\
gridcard = 1

[study]
id = "small"
title = "Two models on invented items"
purpose = "comparative"

[[model]]
id = "left"
engine = "hf"
source = "path:models/left"

[[model]]
id = "right"
engine = "hf"
source = "path:models/right"

[[benchmark]]
id = "facts"
loader = "truthfulqa_mc1"
source = "path:facts.json"
direction = "higher_is_better"
sample = { n = 4, seed = 1 }
option_order = "shuffled:1"
exemplars = { pool = "rest", seed = 1 }

[harness]
shots = 2

AXES
[[exclude]]
when = { scoring = "rank", decoding = { not = "greedy" } }
why = "a ranking is not sampled"

[[slice]]
id = "calm"
declared = "ex_ante"
where = { decoding = "greedy" }

[[hypothesis]]
id = "H1"
kind = "ranking"
order = ["left", "right"]
where = { benchmark = "facts" }

[sampling]
seed = 7

[analysis]
thresholds = [{ at = 0.5, declared = "ex_ante", source = "ours" }]
evidence = "descriptive"
""".replace("AXES", "\n".join(axis(name, levels, ["file"], "ours") for name, levels in AXES.items()))

Build = Callable[[Path], Path]


def questions(count: int) -> list[dict[str, Any]]:
    """Items in TruthfulQA's format, the true option first."""
    things = (
        "kettle",
        "ladder",
        "anchor",
        "basket",
        "candle",
        "hammer",
        "saddle",
        "mirror",
        "barrel",
        "needle",
    )
    return [
        {
            "question": f"Which tool is number {number}?",
            "mc1_targets": {f"The {things[(number + k) % 10]}.": int(k == 0) for k in range(2 + number % 4)},
        }
        for number in range(count)
    ]


def make_model(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"model_type": "invented"}')
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(folder.name.encode())


def make_study(folder: Path) -> Path:
    """Write everything that the small spec names into a folder, and give the spec's path."""
    make_model(folder / "models" / "left")
    make_model(folder / "models" / "right")
    (folder / "prompts").mkdir()
    (folder / "prompts" / "mine.jinja").write_text("{{ stem }}\n{{ options }}\nSo: {{ answer }}")
    (folder / "facts.json").write_text(json.dumps(questions(8)))
    spec = folder / "gridcard.toml"
    spec.write_text(SMALL, "utf-8")
    return spec


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The path of a small spec that compiles, alone in a folder with all that it names."""
    return make_study(tmp_path)


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of another such spec, for property tests, which may only rewrite it."""
    return make_study(tmp_path_factory.mktemp("workshop"))


@pytest.fixture(scope="session")
def small_text() -> str:
    return SMALL


@pytest.fixture(scope="session")
def card() -> Path:
    """The repository's own spec."""
    return REPOSITORY / "gridcard.toml"


@pytest.fixture
def compiled(small: Path) -> Callable[..., Compiled]:
    """Compile the small spec after replacements, each of which must apply exactly once."""

    def after(*edits: tuple[str, str], data: Path | None = None) -> Compiled:
        small.write_text(replaced(small.read_text("utf-8"), *edits), "utf-8")
        return compile_spec(small, data)

    return after
