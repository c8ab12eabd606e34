# ruff: noqa: E501  # a refusal reads as one row
"""Bits per byte, from a stamp to `verify`: beside transformers' own loss, and counted again by numpy."""

import json
from collections.abc import Iterator, Mapping
from math import log
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

from gridc.diagnostics.errors import GridcError
from gridc.study import OpenStudy
from tests import studies
from tests.e2e.conftest import PACKAGE
from tests.recount.unit_limits import difference, unbounded
from tools.servers.http import Server
from tools.servers.model import ModelServer

MODELS = {"one": "pocket-qwen2", "two": "pocket-llama"}
WORDS = "the answer is a careful and naïve 日本 river Zürich old keys who forgot B C why not said so".split()  # noqa: SIM905
ROWS = [
    {
        "id": f"t{n:02}",
        "text": " ".join(WORDS[(7 * n + k * k) % len(WORDS)] for k in range(4 + n % 9)),
        "asked": f"Question {n}: which one?\nAnswer:",
        "said": [" The answer is B.", " A", " not one of them, as far as I know"][n % 3],
        "group": f"g{n // 2}",
    }
    for n in range(48)
]
SPEC = """\
harness = { method = "text_likelihood", prompt = "builtin:nothing", chat_template = falsePREMISE }
"""
TEXTS = 'query = "text", id = "id", family = "group"'
SAID = 'query = "asked", references = ["said"], id = "id", family = "group"'
BEHIND = studies.benchmark("answers", SAID, 'prompt = "{{ query }}"')
LOCAL = studies.pocket(one="qwen2", two="llama")


def written(
    folder: Path, models: Mapping[str, str] = LOCAL, more: str = BEHIND, premise: str = "", waived: str = ""
) -> OpenStudy:
    spec = studies.head("bits", models, waived=waived) + SPEC.replace("PREMISE", premise)
    return studies.written(folder, spec + studies.benchmark("texts", TEXTS) + more, ROWS)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> studies.Finished:
    study = written(tmp_path_factory.mktemp("bits"))
    study.validate(check=True)
    return studies.carried_out(study)


def likelihoods(done: studies.Finished) -> dict[tuple[str, str, str], tuple[float, int]]:
    """By model, benchmark and item the stored log-likelihood and the score."""
    rows = done.rows(
        """SELECT cell.model, benchmark, item, json_extract(answer, '$.loglikelihoods[0]'), score FROM sample
           JOIN cell ON cell.id = sample.cell JOIN trace USING (cell, item, replicate)
           JOIN call ON call.id = trace.call"""
    )
    return {(model, benchmark, item): (value, score) for model, benchmark, item, value, score in rows}


class Plain:
    """A model as transformers runs it."""

    def __init__(self, source: str) -> None:
        folder = PACKAGE / "builtin" / "models" / source
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        begins = json.loads((folder / "config.json").read_text("utf-8"))
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        self.begin = begins["eos_token_id"] if begins["bos_token_id"] is None else begins["bos_token_id"]

    def loss(self, before: str, text: str) -> float:
        """The sum of transformers' loss over the tokens of a text behind others, in nats."""
        whole = self.tokenizer.encode(before + text, add_special_tokens=False).ids
        start = len(self.tokenizer.encode(before, add_special_tokens=False).ids)
        lead = [] if before else [self.begin]  # neither tokenizer puts one before a text
        ids = torch.tensor([[*lead, *whole]])
        labels = ids.clone()
        labels[0, : len(lead) + start] = -100
        with torch.inference_mode():
            return float(self.model(ids, labels=labels).loss) * (len(whole) - start)


@pytest.fixture(scope="module")
def plain() -> dict[str, Plain]:
    return {name: Plain(source) for name, source in MODELS.items()}


@pytest.mark.parametrize("model", MODELS)
def test_it_is_the_loss_of_transformers(done: studies.Finished, plain: dict[str, Plain], model: str) -> None:
    stored = likelihoods(done)
    for row in ROWS:
        alone, behind = (stored[model, name, str(row["id"])][0] for name in ("texts", "answers"))
        assert -alone == pytest.approx(plain[model].loss("", str(row["text"])), rel=1e-5)
        assert -behind == pytest.approx(plain[model].loss(str(row["asked"]), str(row["said"])), rel=1e-4)


def test_scores_are_the_bits_that_are_saved(done: studies.Finished) -> None:
    stored, texts = likelihoods(done), {row["id"]: row for row in ROWS}
    seen = set()
    for (_, benchmark, item), (value, score) in stored.items():
        text = str(texts[item]["text" if benchmark == "texts" else "said"])
        saved = max(0, 1 - (-value / log(2)) / (8 * len(text.encode())))
        assert score == pytest.approx(10_000 * saved, abs=0.5 + 1e-6)
        seen.add(score > 0)
    assert seen == {False, True}, "some texts are worth less than nothing saved"


@pytest.mark.parametrize("benchmark", ["texts", "answers"])
def test_bits_per_byte_are_counted_again(done: studies.Finished, benchmark: str) -> None:
    stored = likelihoods(done)
    sizes = np.array([len(str(row["text" if benchmark == "texts" else "said"]).encode()) for row in ROWS])
    bits = {
        model: np.array([-stored[model, benchmark, str(row["id"])][0] for row in ROWS]) / log(2)
        for model in MODELS
    }
    for name, values in (
        (f"bits_per_byte/one/{benchmark}", bits["one"]),
        (f"bits_per_byte/two/{benchmark}", bits["two"]),
        (f"bits_per_byte_gap/one/two/{benchmark}", bits["one"] - bits["two"]),
    ):
        row = done.estimates[f"{name}/the only one"]
        assert row["estimate"] == pytest.approx(values.sum() / sizes.sum(), rel=1e-6) and row["n"] == 48
        groups = [str(at // 2) for at in range(48)]
        rows = [(group, (size, value)) for group, size, value in zip(groups, sizes, values, strict=True)]
        _, ends = (difference if "gap" in name else unbounded)(rows)
        assert row["interval"] == (ends and pytest.approx(list(ends), rel=1e-4))
        assert ends


def test_it_verifies_and_is_printed(done: studies.Finished) -> None:
    assert done.study.verify().complete
    page = " ".join((done.results / "report.html").read_text("utf-8").split())
    assert 'href="#bits"' in page and "Bits per byte on texts, under the only one, fewer are better" in page


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with Server(ModelServer("pocket-qwen2")) as server:
        yield server.url


def test_a_server_that_echoes_weighs_as_transformers_does(
    tmp_path: Path, server: str, plain: dict[str, Plain]
) -> None:
    models = {"one": f'engine = "api", source = "pocket-qwen2", base_url = "{server}"'}
    study = written(tmp_path, models, "", ', premise = "\\n"', "GC507")
    study.run()
    stored = likelihoods(studies.Finished(study))
    for row in ROWS[:20]:
        loss = plain["one"].loss("\n", str(row["text"]))
        assert -stored["one", "texts", str(row["id"])][0] == pytest.approx(loss, rel=1e-4)
    assert study.verify().complete


HERE = LOCAL["one"]
API = 'engine = "api", source = "m-2026-01-01"'


@pytest.mark.parametrize(
    ("edit", "code", "message", "help"),
    [
        (("builtin:nothing", "builtin:T1"), "GC313", "is the very text that is weighed", 'prompt = "builtin:nothing"'),
        (("method =", 'normalise = "char", method ='), "GC313", "a text is weighed as a whole, and `normalise`", "leave `normalise` out"),
        (("method =", 'candidates = "letter", method ='), "GC313", "a text is weighed as a whole, and `candidates`", "leave `candidates` out"),
        (("method =", 'temperature = 1.0, method ='), "GC313", "combined with sampled decoding", "[[exclude]]"),
        ((", chat_template = false", ""), "GC518", "texts are compared as replies in a chat", "set chat_template = false"),
        ((HERE, API), "GC636", "cannot rank given candidates", "base_url"),
        ((HERE, API + ', base_url = "http://127.0.0.1:1/v1"'), "GC636", "cannot weigh a text without a prefix", 'premise = "\\n"'),
    ],
)  # fmt: skip
def test_what_cannot_be_weighed_is_said_before_a_stamp(
    tmp_path: Path, edit: tuple[str, str], code: str, message: str, help: str
) -> None:
    study = written(tmp_path, {"one": HERE}, more="")
    spec = tmp_path / "gridcard.toml"
    assert spec.read_text("utf-8").count(edit[0]) == 1
    spec.write_text(spec.read_text("utf-8").replace(*edit), "utf-8")
    with pytest.raises(GridcError) as refused:
        study.validate(check=True)
    (found,) = (each for each in refused.value.diagnostics if each.code == code)
    assert message in found.message and help in str(found.help), found
