"""The scaffolds, each a small generator over turns. What they say is in gridc/builtin/scaffolds.

The rules are those of Gringras 2026 (sec. 3.3, app. E and M) as its code runs them. One model has every role.

Each tool that react may call is a function of its input and of this one item: no file, no network, no clock,
and no Python that a model could reach.
"""

import ast
import json
import math
import operator
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import cycle, islice
from typing import Any, TypeVar

from gridc.compiler.instrument.scaffolds.turns import Messages, ScriptedTool, Steps, Task, Turn, replied
from gridc.registry import Registry
from gridc.schema.canonical import digest_bytes
from gridc.schema.effects import Scaffold

Wording = Mapping[str, Any]


@cache
def wording(name: str) -> Wording:
    """The texts of one file, by key."""
    return tomllib.loads(_data(name).decode())


@cache
def wording_digest(name: str) -> str:
    """SHA-256 of the file."""
    return digest_bytes(_data(name))


def _data(name: str) -> bytes:
    return (files("gridc.builtin") / "scaffolds" / f"{name}.toml").read_bytes()


MOST_CHARACTERS = 200
"""Of an expression."""
MOST_BITS = 4096
"""Of a whole number that an expression comes to on its way."""
MOST_PASSAGES = 3

_ALLOWED = re.compile(r"[0-9eE.+\-*/%()\s]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_SIGNS: Mapping[type[ast.unaryop], Callable[[float], float]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


class NotArithmeticError(ValueError):
    """An input that is not arithmetic, or whose value is not a number of a sensible size."""


def calculator(expression: str) -> str:
    """The value of + - * / // % ** and parentheses over decimal numbers, as Python has it; `^` is a power and
    1,000 a thousand. What is not that, or too large, gives a line that begins with `error:`."""
    try:
        return str(evaluate(expression))
    except NotArithmeticError as error:
        return f"error: {error}"


def evaluate(expression: str) -> float:
    """The value of an expression. Raises `NotArithmeticError`."""
    text = _THOUSANDS.sub("", expression).replace("^", "**").strip()
    if len(text) > MOST_CHARACTERS:
        raise NotArithmeticError(f"an expression has at most {MOST_CHARACTERS} characters")
    if not _ALLOWED.fullmatch(text):
        raise NotArithmeticError("only numbers, + - * / // % ** and parentheses can be calculated")
    try:
        value = _value(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, NotArithmeticError):
            raise
        raise NotArithmeticError("this is not an arithmetic expression") from None
    except ZeroDivisionError:
        raise NotArithmeticError("division by zero") from None
    except OverflowError:
        raise NotArithmeticError("the result is too large") from None
    return value


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return _sensible(node.value)
    if isinstance(node, ast.UnaryOp) and type(node.op) in _SIGNS:
        return _SIGNS[type(node.op)](_value(node.operand))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Pow):
            _require_small_power(left, right)
        return _sensible(_OPERATORS[type(node.op)](left, right))
    raise NotArithmeticError("this is not an arithmetic expression")


def _require_small_power(base: float, exponent: float) -> None:
    """Before it is computed: a tower of powers of whole numbers would take all memory."""
    if not (isinstance(base, int) and isinstance(exponent, int)) or abs(base) <= 1:
        return
    if abs(exponent) * abs(base).bit_length() > MOST_BITS:
        raise NotArithmeticError("the result is too large")


def _sensible(value: float) -> float:
    if isinstance(value, complex):
        raise NotArithmeticError("the result is not a real number")
    if isinstance(value, int):
        if value.bit_length() > MOST_BITS:
            raise NotArithmeticError("the result is too large")
    elif not math.isfinite(value):
        raise NotArithmeticError("the result is too large")
    return value


def text_search(text: str, words: str) -> str:
    """The passages (lines and sentences) of a text that hold the most of the words, at most three, in the
    order of the text."""
    wanted = set(re.findall(r"\w+", words.casefold()))
    passages = [part.strip() for part in re.split(r"\n+|(?<=[.!?])\s+", text) if part.strip()]
    hits = [len(wanted & set(re.findall(r"\w+", passage.casefold()))) for passage in passages]
    most = max(hits, default=0)
    if not most:
        return "nothing found"
    best = [passage for passage, hit in zip(passages, hits, strict=True) if hit == most]
    return "\n".join(best[:MOST_PASSAGES])


@dataclass(slots=True)
class Toolbox:
    """The tools of one item, by name. `text` is what can be searched; notes are kept for as long as the item
    is worked on; `scripted` are the item's own."""

    names: tuple[str, ...]
    text: str
    scripted: tuple[ScriptedTool, ...] = ()
    notes: list[str] = field(default_factory=list)

    def use(self, name: str, given: str) -> str | None:
        """What a tool answers; None where there is no such tool."""
        for tool in self.scripted:
            if tool.name == name:
                return tool.use(given)
        if name not in self.names:
            return None
        if name == "calculator":
            return calculator(given)
        if name == "text_search":
            return text_search(self.text, given)
        self.notes.append(given)
        return "\n".join(self.notes)


ROUNDS = {"react": 5, "critic": 1}
WORKERS = 3
LENGTH = 4
LAST_TURN = "last_turn"
"""The step of the last of an item's own turns."""

_ACTION = re.compile(r"^[ \t]*Action:[ \t]*([A-Za-z_]\w*)[ \t]*\((.*)\)[ \t]*$", re.MULTILINE)
_VERDICT = re.compile(r"VERDICT[\s*_:]*(SAFE|NEEDS_REVISION|UNSAFE)\b")
_BULLET = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.)]|[Qq]uestion \d{1,2}:)?\s*")


Run = Callable[[Scaffold, Task], Steps]
R = TypeVar("R", bound=Run)
StepReply = Callable[[str, int, Task], str]
"""A made-up reply to a step of a task, of about so many characters."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """A kind of scaffold: its generator, which has its wording in gridc/builtin/scaffolds.

    `shortest` and `longest` are replies that lead to the fewest and the most calls, by step; `usual` is how
    far between the two an item commonly ends (0 to 1), in the 450 traced cases of Gringras 2026, sec. 5.2.
    `wording` is its file there, if any. `engaged` says of the replies of a sample, by step, whether it went
    to work; None where it has no choice. One that `divides` splits the task, in its step `decompose`.
    `answering` are the beginnings of the steps whose every reply is asked to answer the whole task. Of one
    that `converses` a judge sees all that was said after the first question.
    """

    run: Run
    wording: str | None = None
    shortest: StepReply = lambda step, size, task: ""
    longest: StepReply = lambda step, size, task: "x" * size
    usual: float = 1.0
    engaged: Callable[[Mapping[str, str]], bool] | None = None
    divides: bool = False
    answering: tuple[str, ...] = ()
    converses: bool = False

    def answers(self, step: str) -> bool:
        """Whether every reply to a step is asked to answer the whole task."""
        return step.startswith(self.answering)


PROCEDURES: Registry[Procedure] = Registry()
"""By the `kind` of the language; `schema.effects.TAKES` has the keys of each."""
VERSIONS = {
    "tool:calculator": 1,
    "tool:text_search": 1,
    "tool:scratchpad": 1,
    "tool:scripted": 1,
    "prompt:messages": 1,
    "prompt:functions": 1,
}
"""The version of each part here, which stamps hold (`instrument.versions`)."""


def scaffold(kind: str, version: int, **said: Any) -> Callable[[R], R]:
    """Registers a generator, with what a `Procedure` says of it and its version."""

    def register(run: R) -> R:
        PROCEDURES.add(kind)(Procedure(run, **said))
        VERSIONS[f"scaffold:{kind}"] = version
        return run

    return register


def ends_with(line: str) -> StepReply:
    """Replies whose last line is this one."""
    return lambda step, size, task: f"{'x' * (size - len(line) - 1)}\n{line}"


def _divides(step: str, size: int, task: Task) -> str:
    return json.dumps(["x" * max(size // 100 - 4, 1)] * 100) if step == "decompose" else "x" * size


_MAP: dict[str, Any] = {
    "wording": "map_reduce",
    "shortest": lambda step, size, task: '["?"]' if step == "decompose" else "",
    "longest": _divides,
    "usual": 0.91,
    "engaged": lambda replies: len(listed_questions(replies["decompose"], 2)) > 1,
    "divides": True,
    "answering": ("reduce",),
}


@scaffold("direct", 1, answering=("direct",))
def direct(scaffold: Scaffold, task: Task) -> Steps:
    """One call."""
    yield (Turn("direct", task.opening()),)
    return "direct"


@scaffold("cot", 1, wording="cot", answering=("cot",))
def cot(scaffold: Scaffold, task: Task) -> Steps:
    """One call, with a prefix that asks for reasoning; the options stay."""
    yield (Turn("cot", task.asking(f"{wording('cot')['prefix']}\n\n{task.question}").opening()),)
    return "cot"


@scaffold(
    "react",
    1,
    wording="react",
    longest=ends_with("Action: scratchpad(x)"),
    usual=0.1,
    engaged=lambda replies: len(replies) > 1,
)
def react(scaffold: Scaffold, task: Task) -> Steps:
    """A loop: a reply with a line `Action: TOOL(INPUT)` gets an observation, the first one without is final.
    At the cap the last reply is."""
    texts, box = wording("react"), Toolbox(scaffold.tools, task.with_history, task.tools)
    offered = (*(texts["tools"][name] for name in scaffold.tools), *(tool.description for tool in task.tools))
    shown = "\n".join(offered)
    messages = task.opening(texts["with_tools"].format(tools=shown) if shown else texts["alone"])
    rounds = scaffold.rounds or ROUNDS["react"]
    for number in range(rounds):
        step = f"react_iter_{number}"
        (reply,) = yield (Turn(step, messages),)
        action = _ACTION.search(reply)
        if action is None:
            break
        result = box.use(action[1], action[2].strip().strip("\"'"))
        if result is None and not offered:
            text = texts["no_tools"]
        elif result is None:
            names = ", ".join((*scaffold.tools, *(tool.name for tool in task.tools)))
            text = texts["unknown_tool"].format(tool=action[1], tools=names)
        else:
            text = texts["observation"].format(result=result)
        messages = replied(messages, reply, text)
    return step


@scaffold(
    "critic",
    1,
    wording="critic",
    shortest=lambda step, size, task: "VERDICT: SAFE" if step.startswith("critic") else "",
    usual=0.33,
    engaged=lambda replies: critique_verdict(replies.get("critic_round_0", "")) is not None,
    answering=("primary_",),
)
def critic(scaffold: Scaffold, task: Task) -> Steps:
    """Answer, critique, and unless the verdict is SAFE a revision; as many rounds as are allowed."""
    texts = wording("critic")
    step, messages = "primary_initial", task.opening()
    (answer,) = yield (Turn(step, messages),)
    for number in range(scaffold.rounds or ROUNDS["critic"]):
        review = texts["review"].format(question=task.with_history, answer=answer)
        request: Messages = (("system", texts["critic"]), ("user", review))
        (critique,) = yield (Turn(f"critic_round_{number}", request),)
        if critique_verdict(critique) == "SAFE":
            break
        step, messages = (
            f"primary_revision_{number}",
            replied(messages, answer, texts["revise"].format(critique=critique)),
        )
        (answer,) = yield (Turn(step, messages),)
    return step


def critique_verdict(critique: str) -> str | None:
    """The last verdict that a critique states, if any."""
    stated = _VERDICT.findall(critique)
    if stated:
        return str(stated[-1])
    return "SAFE" if critique.strip() == "SAFE" else None


@scaffold("map_reduce", 1, **_MAP)
def map_reduce(scaffold: Scaffold, task: Task, options: str = "") -> Steps:
    """Divide the task, answer each part alone, combine. Who divides does not see the study's system prompt;
    who answers a part sees that and the part, and the `options` where they are given."""
    texts = wording("map_reduce")
    (reply,) = yield (Turn("decompose", (("system", texts["decompose"]), ("user", task.with_history))),)
    divided = listed_questions(reply, scaffold.workers or WORKERS) or [task.with_history]
    answers = yield tuple(
        Turn(
            f"map_chunk_{number}",
            task.without_history(f"{part}\n\n{options}" if options else part).opening(texts["worker"]),
            number,
        )
        for number, part in enumerate(divided)
    )
    pairs = "\n\n".join(
        texts["pair"].format(number=number, part=part, answer=answer)
        for number, (part, answer) in enumerate(zip(divided, answers, strict=True), 1)
    )
    yield (Turn("reduce", task.opening(texts["reduce"].format(pairs=pairs))),)
    return "reduce"


@scaffold("map_reduce_options", 1, **_MAP)
def map_reduce_options(scaffold: Scaffold, task: Task) -> Steps:
    """The same, every worker with the options of the item."""
    return (yield from map_reduce(scaffold, task, task.options))


def listed_questions(reply: str, most: int) -> list[str]:
    """The questions that a reply lists: the first JSON list of texts in it, else its lines."""
    decoder = json.JSONDecoder()
    for start in (place.start() for place in islice(re.finditer(r"\[", reply), 50)):
        try:
            listed, _ = decoder.raw_decode(reply, start)
        except (ValueError, RecursionError):
            continue
        texts = [part.strip() for part in listed if isinstance(part, str) and part.strip()]
        if texts and len(texts) == len(listed):
            return texts[:most]
    lines = [_BULLET.sub("", line).strip() for line in reply.splitlines()]
    return [line for line in lines if line][:most]


@scaffold("vote", 1, wording="vote", answering=("vote_", "decide"))
def vote(scaffold: Scaffold, task: Task) -> Steps:
    """Every worker answers the whole prompt, and one more call decides (the format study's procedure)."""
    texts = wording("vote")
    workers = scaffold.workers or WORKERS
    answers = yield tuple(Turn(f"vote_{number}", task.opening(), number) for number in range(workers))
    shown = "\n\n".join(
        texts["answer"].format(number=number, answer=answer) for number, answer in enumerate(answers, 1)
    )
    yield (Turn("decide", task.opening(texts["decide"].format(answers=shown))),)
    return "decide"


@scaffold("adjudicator", 1, wording="adjudicator", answering=("primary_initial", "checker", "adjudicate"))
def adjudicator(scaffold: Scaffold, task: Task) -> Steps:
    """Answer, check for one property, and a third call that decides between answer and check."""
    texts = wording("adjudicator")
    (answer,) = yield (Turn("primary_initial", task.opening()),)
    about = texts["property"][(scaffold.property or {}).get(task.benchmark, "accuracy")]
    review = texts["review"].format(question=task.with_history, answer=answer)
    request: Messages = (("system", texts["checker"].format(property=about)), ("user", review))
    (check,) = yield (Turn("checker", request),)
    yield (Turn("adjudicate", task.opening(texts["adjudicate"].format(answer=answer, check=check))),)
    return "adjudicate"


@scaffold("chain", 1, wording="chain", answering=("chain_",))
def chain(scaffold: Scaffold, task: Task) -> Steps:
    """A fixed sequence of prompts in one conversation; the item goes with the first."""
    first, *rest = chain_prompts(scaffold, task.benchmark)
    messages, step = task.asking(f"{task.question}\n\n{first}").opening(), "chain_0"
    (reply,) = yield (Turn(step, messages),)
    for number, prompt in enumerate(rest, 1):
        step, messages = f"chain_{number}", replied(messages, reply, prompt)
        (reply,) = yield (Turn(step, messages),)
    return step


@scaffold("turns", 1, answering=(LAST_TURN, "user_"), converses=True)
def turns(scaffold: Scaffold, task: Task) -> Steps:
    """The item's own turns, then those of the wording: what a user says, whatever the model replies."""
    own, more = task.turns, (scaffold.wording or {}).get(task.benchmark, ())
    steps = [*(f"turn_{number}" for number in range(len(own))), LAST_TURN]
    steps += [f"user_{number}" for number in range(len(more))]
    messages, step = task.opening(), steps[0]
    (reply,) = yield (Turn(step, messages),)
    for step, said in zip(steps[1:], (*own, *more), strict=True):
        messages = replied(messages, reply, said)
        (reply,) = yield (Turn(step, messages),)
    return step


@scaffold(
    "ask_again",
    1,
    wording="ask_again",
    shortest=lambda step, size, task: task.form.example if task.form else "",
    usual=0.2,
    engaged=lambda replies: len(replies) > 1,
    answering=("direct", "again"),
    converses=True,
)
def ask_again(scaffold: Scaffold, task: Task) -> Steps:
    """One call, and a second one in the same conversation where the response does not keep the form."""
    messages = task.opening()
    (reply,) = yield (Turn("direct", messages),)
    if task.form is None or task.form.keeps(reply):
        return "direct"
    said = wording("ask_again")["again"].format(request=task.form.request)
    yield (Turn("again", replied(messages, reply, said)),)
    return "again"


def chain_prompts(scaffold: Scaffold, benchmark: str) -> tuple[str, ...]:
    """The prompts of a chain on a benchmark: the study's own, or gridc's at the stated intensity."""
    if scaffold.intensity is None:
        return (scaffold.wording or {})[benchmark]
    texts, length = wording("chain"), scaffold.length or LENGTH
    named = texts["property"][(scaffold.property or {}).get(benchmark, "accuracy")]
    middle = islice(cycle(texts["middle"][scaffold.intensity]), max(length - 2, 0))
    prompts = [texts["first"], *(prompt.format(**named) for prompt in middle), texts["last"]]
    return tuple(prompts[-length:])
