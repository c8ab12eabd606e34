"""Graphs and agents of other frameworks as scaffolds, end to end: on a model here and behind an address.

What needs a framework is skipped where it is not installed: `pip install 'gridc[langgraph,openai-agents]'`.
"""

import importlib
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gridc
from tests.e2e.test_scaffolds import CHAINS

# A minute or more of every run: one of the eight parts of `.ci/run` has it.
pytestmark = pytest.mark.slow

CODE = {
    "langgraph": '''
import operator
import random
from functools import cache
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph

from gridc.adapters.frameworks import langchain


class State(TypedDict):
    task: Any
    views: Annotated[list, operator.add]
    answer: Any


@cache
def graph(model):
    """Three readers side by side, and one who decides."""
    def reader(name):
        def read(state):
            return {"views": [model.invoke([*state["task"].opening(f"You are {name}."), ]).content]}
        return read

    def decide(state):
        return {"answer": model.invoke([*state["task"].opening("\\n".join(state["views"]))])}

    built = StateGraph(State)
    for name in ("Ann", "Ben", "Cem"):
        built.add_node(name, reader(name))
        built.add_edge(START, name)
    built.add_node("decide", decide)
    built.add_edge(["Ann", "Ben", "Cem"], "decide")
    built.add_edge("decide", END)
    return built.compile()


REVIEW = langchain(lambda scaffold, task, model: graph(model).invoke({"task": task, "views": []})["answer"])


def loops(scaffold, task, model):
    """Goes on until the model says STOP, which no model of these tests does."""
    built = StateGraph(State)
    built.add_node("think", lambda state: {"answer": model.invoke([*task.opening()])})
    built.add_edge(START, "think")
    built.add_conditional_edges("think", lambda state: END if "STOP" in state["answer"].content else "think")
    return built.compile().invoke({"task": task, "views": []}, {"recursion_limit": 1000})["answer"]


LOOPS = langchain(loops)


def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


TOOLS = langchain(lambda scaffold, task, model: model.bind_tools([add]).invoke("?"))
SHAPE = langchain(lambda scaffold, task, model: model.with_structured_output({"title": "x"}).invoke("?"))
STOPS = langchain(lambda scaffold, task, model: model.invoke("?", stop=["\\n"]))
WARM = langchain(lambda scaffold, task, model: model.bind(temperature=1).invoke("?"))
PICTURE = langchain(
    lambda scaffold, task, model: model.invoke([("human", [{"type": "image_url", "image_url": "x"}])])
)
CHANCE = langchain(lambda scaffold, task, model: model.invoke(model.invoke(str(random.random())).content))
''',
    "openai_agents": '''
from dataclasses import dataclass

from agents import Agent, ModelSettings, Runner, function_tool

from gridc.adapters.frameworks import openai_agents


def pair(scaffold, task, model):
    """An answer, and a second agent who answers again knowing the first."""
    first = Agent(name="first", instructions=task.system, model=model)
    second = Agent(name="second", instructions=f"{task.system} Doubt what was said.", model=model)
    one = Runner.run_sync(first, task.question)
    again = [*one.to_input_list(), {"role": "user", "content": "Are you sure? Answer again."}]
    return Runner.run_sync(second, again).final_output


REVIEW = openai_agents(pair)


def once(**settings):
    def run(scaffold, task, model):
        return Runner.run_sync(Agent(name="a", model=model, **settings), task.question).final_output

    return openai_agents(run)


@function_tool
def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


@dataclass
class Shape:
    letter: str


TOOLS = once(tools=[add])
HANDS = once(handoffs=[Agent(name="b")])
SHAPE = once(output_type=Shape)
WARM = once(model_settings=ModelSettings(temperature=1.0))
''',
}
DOCUMENTED = {"langgraph": "REVIEW", "openai_agents": "ASK_ONCE"}
"""What the block of docs/scaffolds.md about each framework offers."""
NAMES = {
    "langgraph": ("REVIEW", "LOOPS", "TOOLS", "SHAPE", "STOPS", "WARM", "PICTURE", "CHANCE"),
    "openai_agents": ("REVIEW", "TOOLS", "HANDS", "SHAPE", "WARM"),
}
MODULE = {"langgraph": "langgraph", "openai_agents": "agents"}
STEPS = {
    "langgraph": ("Ann_0", "Ben_0", "Cem_0", "decide_0", "answer"),
    "openai_agents": ("call_0", "call_1", "answer"),
}
LEVEL = """[[axis.level]]
id = "theirs"
tier = "core"
scaffold = { kind = "plugin:%s" }
provenance = "a test"
"""


@pytest.fixture(params=CODE)
def framework(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A framework that is installed, with a package that offers its graphs or agents."""
    name = str(request.param)
    pytest.importorskip(MODULE[name], reason=f"needs `pip install 'gridc[{name.replace('_', '-')}]'`")
    site = tmp_path / "site"
    info = site / "theirs-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "theirs.py").write_text(CODE[name])
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    offers = "".join(f"{each.lower()} = theirs:{each}\n" for each in NAMES[name])
    (info / "entry_points.txt").write_text(f"[gridc.scaffolds]\n{offers}")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "theirs", raising=False)
    importlib.invalidate_caches()
    return name


def write(folder: Path, plugin: str, extra: str = "", scaffold: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "gridcard.toml"
    level = LEVEL % plugin
    path.write_text(CHAINS + level.replace(" }", f"{scaffold} }}") + extra, "utf-8")
    return path


def traces(path: Path) -> dict[tuple[str, str], str]:
    with sqlite3.connect(gridc.open(path).store) as db:
        found = db.execute(
            "SELECT item, name, json_extract(answer, '$.text') FROM trace JOIN call ON call.id = call"
        )
        return {(item, name): text for item, name, text in found}


def test_a_framework_runs_on_a_model_here_stops_at_a_budget_and_resumes(
    framework: str, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    whole = write(tmp_path / "whole", "review")
    results = gridc.open(whole).run().results
    assert gridc.open(whole).verify().complete
    steps = traces(whole)
    assert {name for _, name in steps} == set(STEPS[framework])
    stated = json.loads((whole.parent / "gridcard.lock").read_text())
    (plugin,) = stated["content"]["inputs"]["plugins"].values()
    assert plugin["packages"].keys() <= {"langgraph", "langchain-core", "openai-agents"}
    assert plugin["packages"]

    cut = write(tmp_path / "cut", "review", "\n[budget]\ncalls = 5\n")
    with pytest.raises(gridc.GridcError, match="GC611"):
        gridc.open(cut).run()
    before = traces(cut)
    cut.write_text(cut.read_text().replace("calls = 5", "calls = 500"), "utf-8")
    assert gridc.open(cut).run().results == results
    assert {key: text for key, text in before.items() if text is not None}.items() <= traces(cut).items()


def test_a_framework_gives_the_same_texts_behind_an_address(framework: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("httpx")
    from tools.servers.http import Server
    from tools.servers.model import ModelServer

    here = write(tmp_path / "here", "review")
    gridc.open(here).run()
    with Server(ModelServer("pocket-qwen2")) as server:
        there = write(tmp_path / "there", "review")
        price = 'price = { input = 1, output = 2, as_of = "2026-01-01" }'
        behind = f'engine = "api"\nsource = "qwen2-2026-01-01"\nbase_url = "{server.url}"\n{price}'
        text = there.read_text().replace('engine = "hf"\nsource = "builtin:pocket-qwen2"', behind)
        there.write_text(text, "utf-8")
        gridc.open(there).run()
    assert traces(there) == traces(here)


def test_what_the_documentation_shows_runs(framework: str, tmp_path: Path) -> None:
    """The block of the page, word for word, is the package."""
    page = (Path(gridc.__file__).parents[1] / "docs" / "scaffolds.md").read_text("utf-8")
    offered = DOCUMENTED[framework]
    (block,) = re.findall(rf"```python\n((?:(?!```).)*^{offered} = .*?)```", page, re.DOTALL | re.MULTILINE)
    (tmp_path / "site" / "theirs.py").write_text(block.replace(f"\n{offered} = ", "\nREVIEW = "))
    path = write(tmp_path / "study", "review")
    gridc.open(path).run()
    found = traces(path)
    assert {name for _, name in found if name} >= {"answer"}
    step = "answer_0" if framework == "langgraph" else "call_0"
    answers = {item: text for (item, name), text in found.items() if name == step}
    assert len(answers) == 4
    assert gridc.open(path).verify().complete


@pytest.mark.parametrize(
    ("plugin", "code", "said"),
    [
        ("tools", "GC343", "tools to call"),
        ("shape", "GC343", "structured output"),
        ("warm", "GC343", "parameters of its own (temperature)"),
        ("stops", "GC343", "stop strings of its own"),
        ("picture", "GC343", "image_url"),
        ("hands", "GC343", "agents to hand over to"),
        ("loops", "GC343", "more than 100 calls"),
        ("chance", "GC344", "a different text"),
    ],
)
def test_what_no_call_gives_is_refused_before_anything_is_asked(
    framework: str, tmp_path: Path, plugin: str, code: str, said: str
) -> None:
    if plugin.upper() not in NAMES[framework]:
        pytest.skip(f"{framework} has no such thing here")
    path = write(tmp_path / "study", plugin)
    with pytest.raises(gridc.GridcError) as caught:
        gridc.open(path).plan()
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert said in found.message
    assert found.help


def test_rounds_cap_a_graph_that_goes_on(framework: str, tmp_path: Path) -> None:
    if "LOOPS" not in NAMES[framework]:
        pytest.skip(f"{framework} stops by itself")
    path = write(tmp_path / "study", "loops", scaffold=", rounds = 3")
    later: dict[str, Any] = gridc.open(path).plan().as_json()["counts"]["models"]["qwen2"]["later"]
    assert later["most"]["calls"] == later["least"]["calls"] > 0


def test_a_clone_brings_no_plug_in_along(tmp_path: Path) -> None:
    """A folder that looks like an installed package, beside the spec and in the current folder, is none."""
    path = write(tmp_path / "clone", "mine")
    (path.parent / "theirs.py").write_text("open('ran', 'w').close()\nMINE = None\n")
    shutil.copy(path.parent / "theirs.py", path.parent / "tomllib.py")
    info = path.parent / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[gridc.scaffolds]\nmine = theirs:MINE\n")
    for command in ("validate", "stamp", "plan"):
        done = subprocess.run(
            [sys.executable, "-m", "gridc", command], cwd=path.parent, capture_output=True, text=True
        )
        assert done.returncode == 3, done.stdout
        assert "GC341" in done.stderr
    assert not (path.parent / "ran").exists()
