"""What the arguments of a logged run are of: the model, the machine, or the instrument."""

import json
from pathlib import Path

import pytest

from gridc.adapters.logs.lm_eval import _arguments
from gridc.compiler.inputs.logs import read_logs
from gridc.reports.recorded.cells import settings_of

LOGS = Path(__file__).resolve().parents[1] / "logs"


def inspect_settings(tmp_path: Path, **made: object) -> dict[tuple[str, str], object]:
    log = json.loads((LOGS / "inspect" / "epochs.json").read_text())
    log["eval"] |= made
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    (gathered,) = read_logs([path]).runs
    return dict(settings_of(gathered.run))


def test_each_argument_is_of_what_it_says(tmp_path: Path) -> None:
    arguments = {
        "model_path": "/models/mine-7B", "device": "cuda", "seed": 3, "api_key": "s3cret",
        "dtype": "bfloat16", "chat_template_kwargs": {"thinking": False},
        "config": "/serve/mine-7b/fast.toml",
        "chat_template": "/templates/mine-7b.jinja",
    }  # fmt: skip
    found = inspect_settings(tmp_path, model="vllm/mine-7B", model_args=arguments)
    assert {aspect: value for (aspect, path), value in found.items() if path == "model_args.device"} == {
        "environment": "cuda"
    }
    assert found["model", "model_args.model_path"] == "/models/{model}"
    assert found["seed", "model_args.seed"] == 3
    assert found["request", "model_args.dtype"] == "bfloat16"
    assert found["request", "model_args.chat_template_kwargs"] == {"thinking": False}
    assert found["request", "model_args.config"] == "/serve/{model}/fast.toml"
    assert found["request", "model_args.chat_template"] == "/templates/mine-7b.jinja"
    assert not any("s3cret" in str(value) for value in found.values())


def test_a_judge_is_a_part_of_the_task_and_a_limit_of_the_instrument(tmp_path: Path) -> None:
    found = inspect_settings(
        tmp_path, task_args={"model": "openai/judge"}, config={"epochs": 2, "message_limit": 8, "limit": 4}
    )
    assert found["prompt", "task_args.model"] == "openai/judge"
    assert found["request", "limits.message_limit"] == 8
    assert not any(path == "limits.limit" for _, path in found)


@pytest.mark.parametrize(
    ("stated", "parsed"),
    [
        ("pretrained=org/a,dtype=bfloat16,max_length=2048", ["org/a", "bfloat16", 2048]),
        ("add_bos_token=True, parallelize=false", [True, False]),
        ('stop=a,b,extra={"x": 1}', ["a,b", {"x": 1}]),
        ("temperature=NaN,model=", ["NaN", ""]),
        ({"pretrained": "org/a"}, ["org/a"]),
        ("", []),
        (None, []),
    ],
)
def test_arguments_as_a_text_are_those_of_a_table(stated: object, parsed: list[object]) -> None:
    assert list(_arguments(stated).values()) == parsed
