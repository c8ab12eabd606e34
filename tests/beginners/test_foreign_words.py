"""What people write who know lm-evaluation-harness, Inspect, promptfoo or a provider's API. Each mistake is
answered by a help that a machine can follow: what it says to write is cut out of it and put where it says,
as often as there is a finding. Then the plan asks what was meant; and without the row of the table that
answered, it does not.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import pytest

from gridc.compiler.compile import Compiled, compile_spec
from gridc.compiler.frontend import foreign_words
from gridc.compiler.frontend.foreign_words import ForeignWord
from gridc.compiler.frontend.lint import lint
from gridc.compiler.frontend.read import read_spec
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.hazards import prove_hazards
from gridc.diagnostics.errors import Diagnostic, GridcError
from gridc.schema.effects import Effects, Match
from gridc.schema.inference import Analysis, AnyHypothesis, Curve, Family, Fork
from gridc.schema.items import Fields
from gridc.schema.judging import Judge
from gridc.schema.models import Model
from gridc.schema.spec import (
    Axis,
    Benchmark,
    Budget,
    EngineSettings,
    Level,
    Sampling,
    Slice,
    Spec,
    StudySection,
)
from gridc.schema.statistics import Statistic

SPEC = Path("gridcard.toml")
STUDY = """\
gridcard = 1

[study]
id = "first"
title = "My first study"
purpose = "descriptive"
not_varied = ["all else"]

[[model]]
id = "one"
engine = "hf"
source = "builtin:pocket-qwen2"

[[benchmark]]
id = "sums"
loader = "rows"
source = "path:items.jsonl"
direction = "higher"
sample = { n = 12, seed = 7 }
loading.fields = { query = "q", references = ["a"] }

[harness]
prompt = "Q: {{ question }}\\nA: {{ answer }}"
method = "match"
match = { as = "number" }
temperature = 0.7
"""
CHOICES = 'loading.fields = { query = "q", options = ["x", "y"], gold = "g" }\noption_order = "file"\n'
AXIS = """
[[axis]]
id = "decoding"

[[axis.level]]
id = "greedy"
tier = "core"
temperature = 0.0
provenance = "ours"

[[axis.level]]
id = "warm"
tier = "core"
temperature = 0.7
provenance = "ours"
"""
CONTRAST = """
[[hypothesis]]
id = "H"
kind = "difference"
axis = "decoding"
level = "warm"
reference = "greedy"

[analysis]
estimator = "none"

[[waive]]
code = "GC521"
why = "a test"

[[waive]]
code = "GC522"
why = "a test"
"""


def rows(answers: Callable[[int], str] = lambda number: str(2 * number + 1)) -> str:
    return "".join(
        json.dumps({
            "q": f"What is {number} plus {number + 1}?", "a": answers(number),
            "x": f"it is {2 * number + 1}", "y": f"it is {2 * number}", "g": 0,
        }) + "\n"
        for number in range(24)
    )  # fmt: skip


# Following a help

PAIR = r"""\s*=\s*(?:"(?:[^"\\]|\\.)*"|'[^']*'|\[[^\]]*\]|\{[^}]*\}|[^,}\]#\s]+)"""
"""What stands behind a key in an inline table or a line."""


def tables(lines: list[str]) -> Iterator[tuple[str, int, int]]:
    """Each table: its header, its first line and the line behind its last one. The top has no header."""
    starts = [-1, *(number for number, line in enumerate(lines) if re.match(r"\[+[A-Za-z.]+\]+", line))]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        header = re.match(r"\[+[A-Za-z.]+\]+", lines[start]) if start >= 0 else None
        yield header[0] if header else "", start + 1, end


def key_of(line: str) -> str:
    return line.partition("=")[0].strip()


def put(lines: list[str], at: int, stated: list[str]) -> None:
    """Write lines behind the line `at` (0-based) of a table, in the place of those that have their keys."""
    (_, start, end), *_ = [table for table in tables(lines) if table[1] - 1 <= at < table[2]]
    keys = {key_of(line) for line in stated}
    behind = [line for line in lines[at + 1 : end] if key_of(line) not in keys or "=" not in line]
    before = [line for line in lines[start : at + 1] if key_of(line) not in keys or "=" not in line]
    lines[start:end] = [*before, *stated, *behind]


def into(lines: list[str], header: str, stated: list[str]) -> None:
    """Write lines into each table of a header, or into a new one where there is none."""
    if header not in [name for name, _, _ in tables(lines)]:
        lines += ["", header]
    count = [name for name, _, _ in tables(lines)].count(header)
    for rank in range(count):
        start = [start for name, start, _ in tables(lines) if name == header][rank]
        put(lines, start - 1, stated)


def without(lines: list[str], at: int, key: str) -> None:
    """Leave a key, or the table whose header has it, out of the line `at`."""
    if lines[at].startswith("["):
        (table,) = [table for table in tables(lines) if table[1] - 1 == at]
        lines[at : table[2]] = []
    elif re.match(rf"(?:[\w.]+\.)?{key}\s*=", lines[at]):
        del lines[at]
    else:  # of an inline table
        lines[at] = re.sub(rf"(,\s*)?\b{key}{PAIR}(?(1)|,?\s*)", "", lines[at], count=1)


def followed(text: str, finding: Diagnostic) -> str:
    """The spec after what the help of its finding says."""
    assert finding.span is not None and finding.help is not None, finding
    lines, at, help = text.removesuffix("\n").split("\n"), finding.span.line - 1, finding.help
    found = lines[at][finding.span.column - 1 :][: finding.span.length]
    key = re.sub(r"[\[\]]", "", found)
    if help.startswith("leave"):
        named = re.match(r"leave `(\w+)` out", help)
        value = (
            finding.span.column > 1
            and re.match(r"\s*=", lines[at][finding.span.column - 1 + len(found) :]) is None
        )
        without(lines, at, named[1] if named else key_of(lines[at]) if value else key)
    elif meant := re.match(r"did you mean `([^`]+)`", help):
        lines[at] = lines[at].replace(found, f'"{meant[1]}"' if found.startswith('"') else meant[1])
    elif stated := re.search(r"(?:write it .+?|write the number as|write a list): ?(.+)|as (0\.\d+)", help):
        lines[at] = lines[at][: finding.span.column - 1] + re.sub(
            re.escape(found) if "list" in help else r"[^\s,}]+", lambda _: stated[1] or stated[2],
            lines[at][finding.span.column - 1 :], count=1,
        )  # fmt: skip
    elif drawn := re.match(r"`(sample = [^`]+)` leaves as many to show", help):
        put(lines, at, [drawn[1]])
    elif excluded := re.match(r"\[\[exclude\]\] (when = \{.+?\}) and a `why`", help):
        lines += ["", "[[exclude]]", excluded[1], 'why = "as the help says"']
    elif variable := re.match(r"write (\{\{ [\w.]+ \}\})", help):
        unknown = re.search(r"unknown template variable `(\w+)`", finding.message)
        assert unknown is not None
        lines[at] = re.sub(rf"\{{\{{\s*{unknown[1]}\s*\}}\}}", variable[1], lines[at])
    else:
        assert help.startswith("write `"), help
        place(lines, at, key, help.removeprefix("write "))
    return "\n".join(lines) + "\n"


STATED = r"`([^`]+)`"
PART = re.compile(
    rf"((?:{STATED}(?:, | and )?)+) (here|beside it|in `loading\.fields`(?: of each \[\[benchmark\]\])?"
    r"|in (?:each )?(\[+[\w.]+\]+)|in a new (\[\[\w+\]\]))(?:, in place of [^;]*? there)?(?:, and )?"
)


def place(lines: list[str], at: int, key: str, help: str) -> None:
    """Put each part of "`A` and `B` here, and `C` in [harness]" where it says."""
    header, inline = lines[at].startswith("["), not re.match(r"\[|[\w. ]+\s*[=:]|//", lines[at])
    inner = re.search(rf"[{{,]\s*{key}{PAIR}", lines[at]) is not None and not re.match(
        rf"{key}\s*=", lines[at]
    )
    assert not inline, lines[at]
    parts, end = [], 0
    while (part := PART.match(help, end)) is not None:
        parts.append((re.findall(STATED, part[1]), part[3], part[4], part[5]))
        end = part.end()
    assert parts and help[end : end + 1] in ("", ";", ":"), help
    here = next((stated for stated, where, _, _ in parts if where == "here"), None)
    if here is not None and header and here[0].startswith("["):
        lines[at] = here[0]
    elif here is not None and inner:
        lines[at] = re.sub(rf"\b{key}{PAIR}", lambda _: ", ".join(here), lines[at], count=1)
    elif here is not None:
        mark = lines[at]
        put(lines, at, here)
        lines.remove(mark) if mark in lines and mark not in here else None
    elif not any(where == "beside it" for _, where, _, _ in parts):
        without(lines, at, key)
    for stated, where, table, new in parts:
        if where == "beside it":
            put(lines, at, stated)
        elif table:
            into(lines, table, stated)
        elif new:
            lines += ["", new, *stated]
        elif where.startswith("in `loading"):
            (row,) = [number for number, line in enumerate(lines) if line.startswith("loading.fields")]
            without(lines, row, key_of(stated[0]))
            lines[row] = lines[row].replace(" }", f", {stated[0]} }}")


# What is asked

Asked = Mapping[str, Any]


def asked(compiled: Compiled) -> Asked:
    """What the plan asks, by the names of another package's settings."""
    plan = Plan(compiled.study)
    cells = list(plan.cells())
    settings = [cell.setting for cell in cells]
    samples = [sample for cell in cells for sample in plan.samples(cell)]
    requests = [request for sample in samples for request in sample.requests]
    prompts = [request.prompt.messages for request in requests]
    return {
        "shots": {prompt[-1][1].count("\nA: ") - 1 for prompt in prompts},
        "answers": {len(list(plan.samples(cell))) // len({
            sample.item.id for sample in plan.samples(cell)}) for cell in cells},
        "items": {len({sample.item.id for sample in samples})},
        "temperature": {setting.temperature for setting in settings},
        "top_p": {setting.top_p for setting in settings},
        "max_tokens": {request.parameters.get("max_tokens") for request in requests},
        "stop": {setting.stop for setting in settings},
        "system": {prompt[0][1] if prompt[0][0] == "system" else None for prompt in prompts},
        "scaffold": {setting.scaffold.kind if setting.scaffold else "direct" for setting in settings},
        "method": {setting.method for setting in settings},
        "match": {setting.match.kind if setting.match else None for setting in settings},
        "normalise": {setting.normalise for setting in settings},
        "seed": compiled.spec.sampling.seed,
        "exemplar seed": {each.exemplars and each.exemplars.seed for each in compiled.spec.benchmark},
        "precision": {request.precision for request in requests},
        "models": [(model.id, model.engine, model.source, model.base_url) for model in compiled.spec.model],
        "direction": [benchmark.direction for benchmark in compiled.spec.benchmark],
        "heads": {prompt[-1][1].partition("\n")[0][:9] for prompt in prompts},
        "thinking": {setting.thinking for setting in settings},
        "concurrency": {compiled.spec.engine.concurrency},
        "usd": {compiled.spec.budget.usd},
        "levels": {axis.id: [level.id for level in axis.level] for axis in compiled.spec.axis},
        "option_order": {setting.option_order for setting in settings},
        "references": {answer for sample in samples for answer in sample.item.references},
        "contrasts": [(hypothesis.axis, hypothesis.reference) for hypothesis in compiled.spec.hypothesis
                      if hypothesis.kind == "difference"],
        "title": compiled.spec.study.title,
        "gold": {sample.item.gold for sample in samples},
    }  # fmt: skip


@dataclass(frozen=True)
class Mistake:
    """A text of the study, or behind a text of it (`after`), what is written there, and what was meant by it:
    values of `asked`."""

    wrong: str
    meant: Asked
    after: str = "[harness]\n"
    right: str = ""
    base: str = STUDY
    files: Mapping[str, str] = field(default_factory=dict)
    rows: bool = True

    @property
    def text(self) -> str:
        assert self.base.count(self.after + self.right) == 1, self.after + self.right
        return self.base.replace(self.after + self.right, self.after + self.wrong)


def compiled(text: str, files: Mapping[str, str]) -> Compiled:
    SPEC.write_text(text, "utf-8")
    for name, content in {"items.jsonl": rows(), **files}.items():
        Path(name).write_text(content, "utf-8")
    study = compile_spec(SPEC)
    prove_hazards(study.study, study.source)
    return study


def ended(mistake: Mistake) -> tuple[Asked, list[str]]:
    """What is asked once every help was followed, and the helps."""
    text, helps = mistake.text, list[str]()
    for _ in range(4):
        try:
            return asked(compiled(text, mistake.files)), helps
        except GridcError as error:
            finding = error.diagnostics[0]
            helps.append(finding.help or "")
            text = followed(text, finding)
    return asked(compiled(text, mistake.files)), helps


TOP, MODEL, BENCHMARK = "gridcard = 1\n", 'source = "builtin:pocket-qwen2"\n', 'direction = "higher"\n'
LAST = "temperature = 0.7\n"
WARM = 'id = "warm"\n'
METHOD = 'method = "match"\nmatch = { as = "number" }\n'
PROMPT = 'prompt = "Q: {{ question }}\\nA: {{ answer }}"\n'
FIELDS = 'loading.fields = { query = "q", references = ["a"] }\n'
OF_CHOICES = STUDY.replace(FIELDS, CHOICES).replace(METHOD, 'method = "extract"\n')
RANKED = OF_CHOICES.replace("temperature = 0.7\n", "chat_template = false\n").replace('"extract"', '"match"')
SERVED = STUDY.replace(
    'engine = "hf"\nsource = "builtin:pocket-qwen2"\n', 'engine = "hf"\nsource = "served-2026-01-01"\n'
)
KEY = 'base_url = "http://127.0.0.1:8000/v1"\n'
AT_SERVER = {"models": [("one", "api", "served-2026-01-01", "http://127.0.0.1:8000/v1")]}


def meant(**stated: object) -> Asked:
    """One value of each setting, or the whole where it is a list."""
    whole = ("seed", "title", "levels")
    return {
        name: value if isinstance(value, list) or name in whole else {value} for name, value in stated.items()
    }


MISTAKES = {
    "num_fewshot": Mistake("num_fewshot = 5\n", meant(shots=5, items=12)),
    "num_fewshot, where every item is asked": Mistake(
        "num_fewshot = 5\n",
        meant(shots=5, items=19),
        base=STUDY.replace("sample = { n = 12, seed = 7 }\n", ""),
    ),
    "num_fewshot of a benchmark": Mistake("num_fewshot = 2\n", meant(shots=2), BENCHMARK),
    "num_fewshot at the top": Mistake("num_fewshot = 2\n", meant(shots=2), TOP),
    "fewshot": Mistake("fewshot = 3\n", meant(shots=3)),
    "n_shot in a level": Mistake("n_shot = 1\n", {"shots": {0, 1}}, WARM, base=STUDY + AXIS),
    "fewshot_seed": Mistake("shots = 2\nfewshot_seed = 9\n", {"shots": {2}, "exemplar seed": {9}}),
    "epochs": Mistake("epochs = 3\n", meant(answers=3)),
    "epochs at the top": Mistake("epochs = 3\n", meant(answers=3), TOP),
    "epochs, one level of which is greedy": Mistake("epochs = 3\n", {"answers": {1, 3}}, base=STUDY + AXIS),
    "repeats": Mistake("repeats = 4\n", meant(answers=4)),
    "num_samples": Mistake("num_samples = 2\n", meant(answers=2, items=12)),
    "num_samples of a benchmark": Mistake("num_samples = 5\n", meant(answers=1, items=5), BENCHMARK),
    "n": Mistake("n = 5\n", meant(answers=5, items=12)),
    "n in [sampling]": Mistake("\n[sampling]\nseed = 1\nn = 5\n", meant(answers=5), LAST),
    "limit": Mistake("limit = 10\n", meant(items=10)),
    "limit at the top": Mistake("limit = 10\n", meant(items=10), TOP),
    "limit, a share": Mistake("limit = 0.25\n", meant(items=6), BENCHMARK),
    "sample, a number": Mistake("sample = 8\n", meant(items=8), BENCHMARK, "sample = { n = 12, seed = 7 }\n"),
    "seed at the top": Mistake("seed = 3\n", meant(seed=3), TOP),
    "seed in [harness]": Mistake("seed = 3\n", meant(seed=3)),
    "seed of a model": Mistake("seed = 3\n", meant(seed=3), MODEL),
    "seed of a level": Mistake("seed = 3\n", meant(seed=3), WARM, base=STUDY + AXIS),
    "seed in [decoding]": Mistake("\n[decoding]\nseed = 3\ntop_p = 0.5\n", meant(seed=3, top_p=0.5), LAST),
    "top_k": Mistake("top_k = 40\n", meant(temperature=0.7)),
    "top_k = 1": Mistake("top_k = 1\n", meant(temperature=0.0)),
    "do_sample": Mistake("do_sample = false\n", meant(temperature=0.0)),
    "temperature of a model": Mistake("temperature = 0.3\n", meant(temperature=0.3), MODEL, rows=False),
    "temperature at the top": Mistake("temperature = 0.3\n", meant(temperature=0.3), TOP, rows=False),
    "temperature of a model, which an axis varies": Mistake(
        "temperature = 0.3\n", {"temperature": {0.0, 0.7}}, MODEL, base=STUDY + AXIS, rows=False
    ),
    "max_new_tokens, which an axis varies": Mistake(
        "max_new_tokens = 64\n",
        {"max_tokens": {8, 16}},
        base=STUDY
        + '\n[[axis]]\nid = "length"\nvalues = { max_tokens = [8, 16] }\n'
        + 'tier = "core"\nprovenance = "ours"\n',
    ),
    "temperature in [sampling]": Mistake(
        "\n[sampling]\nseed = 1\ntemperature = 0.2\n", meant(temperature=0.2), LAST, rows=False
    ),
    "max_gen_toks": Mistake("max_gen_toks = 64\n", meant(max_tokens=64)),
    "max_new_tokens": Mistake("max_new_tokens = 64\n", meant(max_tokens=64)),
    "max_tokens of a model": Mistake("max_tokens = 64\n", meant(max_tokens=64), MODEL, rows=False),
    "generation_kwargs": Mistake(
        'generation_kwargs = { until = ["Q:"], max_gen_toks = 64, do_sample = false }\n',
        meant(stop=("Q:",), max_tokens=64, temperature=0.0),
    ),
    "gen_kwargs, a text": Mistake(
        'gen_kwargs = "temperature=0.2,top_p=0.5"\n', meant(temperature=0.2, top_p=0.5), rows=False
    ),
    "[defaults]": Mistake(
        '\n[defaults]\nsystem_prompt = "Be exact."\ntop_p = 0.5\n', meant(system="Be exact.", top_p=0.5), LAST
    ),
    "stop_sequences": Mistake('stop_sequences = ["Q:"]\n', meant(stop=("Q:",))),
    "until": Mistake('until = "Q:"\n', meant(stop=("Q:",))),
    "stop, a text": Mistake('stop = "Q:"\n', meant(stop=("Q:",)), rows=False),
    "stop at the cue": Mistake('stop = ["A:"]\n', meant(stop=("Q:",)), rows=False),
    "system_prompt": Mistake('system_prompt = "Be exact."\n', meant(system="Be exact.")),
    "system_message of a model": Mistake('system_message = "Be exact."\n', meant(system="Be exact."), MODEL),
    "cot": Mistake("cot = true\n", meant(scaffold="cot")),
    "cot, where a level ranks": Mistake(
        "cot = true\n",
        {"scaffold": {"cot"}, "method": {"extract"}},
        base=OF_CHOICES.replace(LAST, "").replace('method = "extract"\n', "")
        + '\n[[axis]]\nid = "scoring"\nvalues = { method = ["extract", "loglikelihood"] }\n'
        + 'tier = "core"\nprovenance = "ours"\n',
    ),
    "metric of a benchmark, which an axis varies": Mistake(
        'metric = "acc"\n',
        {"method": {"extract", "loglikelihood"}},
        BENCHMARK,
        base=OF_CHOICES.replace(LAST, "chat_template = false\n").replace('method = "extract"\n', "")
        + '\n[[axis]]\nid = "scoring"\nvalues = { method = ["extract", "loglikelihood"] }\n'
        + 'tier = "core"\nprovenance = "ours"\n',
        rows=False,
    ),
    "doc_to_text that begins with a variable": Mistake(
        'doc_to_text = "{{q}} Sum:"\n',
        meant(heads="What is 6"),
        BENCHMARK,
        base=STUDY.replace("n = 12", "n = 1"),
    ),
    "no cot": Mistake("cot = false\n", meant(scaffold="direct")),
    "solver": Mistake('solver = ["chain_of_thought", "generate"]\n', meant(scaffold="cot")),
    "enable_thinking": Mistake("enable_thinking = false\n", meant(thinking=False)),
    "metric": Mistake('metric = "exact_match"\n', meant(method="match", match="exact"), right=""),
    "metric of a benchmark": Mistake(
        'metric = "includes"\n', meant(method="match", match="contains"), BENCHMARK
    ),
    "metric_list": Mistake('metric_list = [{ metric = "exact_match" }]\n', meant(match="exact"), BENCHMARK),
    "scorer, a text": Mistake('scorer = "includes"\n', meant(match="contains")),
    "assert": Mistake('assert = [{ type = "equals" }]\n', meant(match="exact")),
    "match, a text": Mistake(
        'match = "exact_match"\n',
        meant(match="exact"),
        right="",
        after='method = "match"\n',
        base=STUDY.replace('match = { as = "number" }\n', ""),
    ),
    "method = exact_match": Mistake('method = "exact_match"\n', meant(match="exact"), PROMPT, METHOD),
    "method = accuracy": Mistake(
        'method = "accuracy"\n', meant(method="extract"), PROMPT, 'method = "match"\n', base=RANKED
    ),
    "output_type": Mistake('output_type = "multiple_choice"\n', meant(method="loglikelihood"), base=RANKED),
    "metric = acc_norm": Mistake(
        'metric = "acc_norm"\n', meant(method="loglikelihood", normalise="char"), base=RANKED
    ),
    "doc_to_text": Mistake('doc_to_text = "Sum {{q}}"\n', meant(heads="Sum What "), BENCHMARK),
    "doc_to_text, a column": Mistake(
        'doc_to_text = "q"\n',
        meant(heads="Q: What i"),
        BENCHMARK,
        base=STUDY.replace('query = "q"', 'query = "a"'),
    ),
    "prompt_template": Mistake('prompt_template = "Add: {{ question }}"\n', meant(heads="Add: What")),
    "prompt at the top": Mistake(
        'prompt = "Add: {{ question }}"\n', meant(heads="Add: What"), TOP, rows=False
    ),
    "prompts": Mistake(
        'prompts = ["Add: {{ question }}", "Sum: {{ question }}"]\n',
        {"heads": {"Add: What", "Sum: What"}, "levels": {"prompt": ["p1", "p2"]}},
        TOP,
    ),
    "prompt, a file": Mistake(
        'prompt = "file://mine.txt"\n',
        meant(heads="File: Wha"),
        right=PROMPT,
        files={"mine.txt": "File: {{ question }}"},
        rows=False,
    ),
    "doc_to_target": Mistake(
        'doc_to_target = "{{a}}"\n',
        {"references": {str(2 * n + 1) for n in range(24)}},
        BENCHMARK,
        base=STUDY.replace('references = ["a"]', 'references = ["x"]').replace(
            "sample = { n = 12, seed = 7 }\n", ""
        ),
    ),
    "doc_to_target, of options": Mistake(
        'doc_to_target = "g"\n',
        meant(method="extract", gold=0),
        BENCHMARK,
        base=OF_CHOICES.replace(', gold = "g"', ""),
    ),
    "choices and answer": Mistake(
        'loading.fields = { question = "q", choices = ["x", "y"], answer = "g" }\n',
        meant(method="extract", gold=0),
        "seed = 7 }\n",
        CHOICES.partition("\n")[0] + "\n",
        base=OF_CHOICES,
    ),
    "input and target": Mistake(
        'loading.fields = { input = "q", target = "a" }\n', meant(heads="Q: What i"), "seed = 7 }\n", FIELDS
    ),
    "references, a text": Mistake(
        'loading.fields = { query = "q", references = "a" }\n',
        meant(items=12),
        "seed = 7 }\n",
        FIELDS,
        rows=False,
    ),
    "dataset": Mistake(
        'dataset = "items.jsonl"\n', meant(items=12), 'loader = "rows"\n', 'source = "path:items.jsonl"\n'
    ),
    "task of a benchmark": Mistake('task = "gsm8k"\n', meant(items=12), BENCHMARK),
    "dataset_name": Mistake('dataset_name = "main"\n', meant(items=12), BENCHMARK),
    "[[task]]": Mistake("[[task]]\n", meant(items=12), MODEL + "\n", "[[benchmark]]\n"),
    "[benchmark]": Mistake("[benchmark]\n", meant(items=12), MODEL + "\n", "[[benchmark]]\n", rows=False),
    "higher_is_better": Mistake(
        "higher_is_better = true\n",
        meant(direction=["higher_is_better"]),
        'source = "path:items.jsonl"\n',
        BENCHMARK,
    ),
    "maximize": Mistake(
        'direction = "maximize"\n',
        meant(direction=["higher_is_better"]),
        'source = "path:items.jsonl"\n',
        BENCHMARK,
    ),
    "shuffle_choices": Mistake(
        "shuffle_choices = true\n", meant(option_order="shuffled:42"), BENCHMARK, base=OF_CHOICES
    ),
    "model_args": Mistake('model_args = "dtype=bfloat16"\n', meant(precision="bf16"), MODEL),
    "model_args at the top": Mistake('model_args = { dtype = "float16" }\n', meant(precision="fp16"), TOP),
    "dtype": Mistake('dtype = "float16"\n', meant(precision="fp16"), MODEL),
    "precision of another name": Mistake('precision = "bfloat16"\n', meant(precision="bf16"), MODEL),
    "load_in_4bit": Mistake("load_in_4bit = true\n", meant(precision="nf4"), MODEL),
    "name of a model": Mistake(
        'name = "one"\n',
        meant(models=[("one", "hf", "builtin:pocket-qwen2", None)]),
        "[[model]]\n",
        'id = "one"\n',
    ),
    "api_key": Mistake('api_key = "sk-1"\n', meant(items=12), MODEL),
    "base_url in [harness]": Mistake(KEY, AT_SERVER, base=SERVED),
    "base_url in [engine]": Mistake("\n[engine]\n" + KEY, AT_SERVER, LAST, base=SERVED),
    "base_url of a local model": Mistake(
        KEY, AT_SERVER, 'source = "served-2026-01-01"\n', base=SERVED, rows=False
    ),
    "api_base": Mistake(
        KEY.replace("base_url", "api_base"), AT_SERVER, 'source = "served-2026-01-01"\n', base=SERVED
    ),
    "base_url with a slash": Mistake(
        KEY.replace('/v1"', '/v1/"'),
        AT_SERVER,
        'source = "served-2026-01-01"\n',
        base=SERVED.replace('"hf"', '"api"'),
    ),
    "base_url without a scheme": Mistake(
        KEY.replace("http://", ""),
        AT_SERVER,
        'source = "served-2026-01-01"\n',
        base=SERVED.replace('"hf"', '"api"'),
    ),
    "base_url of this machine alone": Mistake(
        'base_url = "127.0.0.1:8000"\n',
        AT_SERVER,
        'source = "served-2026-01-01"\n',
        base=SERVED.replace('"hf"', '"api"'),
    ),
    "base_url of a machine alone, with a slash": Mistake(
        'base_url = "http://127.0.0.1:8000/"\n',
        AT_SERVER,
        'source = "served-2026-01-01"\n',
        base=SERVED.replace('"hf"', '"api"'),
    ),
    "base_url of a host without a scheme": Mistake(
        'base_url = "llm.example.org/v1"\n',
        {"models": [("one", "api", "served-2026-01-01", "https://llm.example.org/v1")]},
        'source = "served-2026-01-01"\n',
        base=SERVED.replace('"hf"', '"api"'),
    ),
    "provider:model": Mistake(
        'source = "openai:chat:gpt-4o-2024-08-06"\n',
        meant(models=[("one", "api", "openai/gpt-4o-2024-08-06", None)]),
        'engine = "api"\n',
        'source = "served-2026-01-01"\n',
        base=SERVED.replace('"hf"', '"api"'),
        rows=False,
    ),
    "max_connections": Mistake("max_connections = 8\n", meant(concurrency=8), TOP),
    "max_cost": Mistake("\n[budget]\nmax_cost = 8\n", meant(usd=8), LAST),
    "curly quotes": Mistake(
        "title = “My first study”\n",
        meant(title="My first study"),
        'id = "first"\n',
        'title = "My first study"\n',
        rows=False,
    ),
    "single curly quotes": Mistake(
        "title = 'My first study’\n",
        meant(title="My first study"),
        'id = "first"\n',
        'title = "My first study"\n',
        rows=False,
    ),
    "a byte order mark": Mistake("\ufeffgridcard = 1\n", meant(items=12), "", TOP, rows=False),
    "[[axis.levels]]": Mistake(
        '[[axis.levels]]\nid = "warm"\n',
        meant(levels={"decoding": ["greedy", "warm"]}),
        'provenance = "ours"\n\n',
        '[[axis.level]]\nid = "warm"\n',
        base=STUDY + AXIS,
    ),
    "axis = temperature": Mistake(
        'axis = "temperature"\n',
        meant(contrasts=[("decoding", "greedy")]),
        'kind = "difference"\n',
        'axis = "decoding"\n',
        base=STUDY + AXIS + CONTRAST,
        rows=False,
    ),
    "baseline": Mistake(
        'baseline = "greedy"\n',
        meant(contrasts=[("decoding", "greedy")]),
        'level = "warm"\n',
        'reference = "greedy"\n',
        base=STUDY + AXIS + CONTRAST,
    ),
    "an axis whose name sets nothing": Mistake(
        '\n[[axis]]\nid = "temperature"\n\n[[axis.level]]\nid = "0.2"\ntier = "core"\nprovenance = "ours"\n',
        meant(temperature=0.2),
        LAST,
        rows=False,
    ),
    "where temperature = 0.7": Mistake(
        "where = { decoding = 7 }\n",
        meant(levels={"decoding": ["greedy", "7"]}),
        'declared = "ex_ante"\n',
        "where = {}\n",
        base=STUDY
        + AXIS.replace('"warm"', '"7"')
        + '\n[[slice]]\nid = "s"\ndeclared = "ex_ante"\nwhere = {}\n',
        rows=False,
    ),
    "nan": Mistake("max_tokens = nan\n", meant(max_tokens=32), rows=False),
    "nan, a text": Mistake('top_p = "nan"\n', meant(top_p=1.0)),
    "None": Mistake("top_p = None\n", meant(top_p=1.0), rows=False),
    "True": Mistake("chat_template = True\n", meant(items=12), rows=False),
    "a number without its zero": Mistake("top_p = .5\n", meant(top_p=0.5), rows=False),
    "a colon": Mistake("top_p: 0.5\n", meant(top_p=0.5), rows=False),
    "a comment of another language": Mistake("// at last\n", meant(items=12), rows=False),
    "a key of two words": Mistake("max tokens = 64\n", meant(max_tokens=64), rows=False),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_its_help_followed_to_the_letter_asks_what_was_meant(name: str) -> None:
    mistake = MISTAKES[name]
    found, helps = ended(mistake)
    assert {key: found[key] for key in mistake.meant} == mistake.meant, helps
    assert helps or name == "a byte order mark"


def ends_right(mistake: Mistake) -> bool:
    """Whether every help can be followed, and what is asked then is what was meant."""
    try:
        found, _ = ended(mistake)
    except (AssertionError, GridcError):
        return False
    return {key: found[key] for key in mistake.meant} == mistake.meant


def first_help(mistake: Mistake) -> str | None:
    with pytest.raises(GridcError) as caught:
        compiled(mistake.text, mistake.files)
    return caught.value.diagnostics[0].help


def candidates(mistake: Mistake) -> Iterator[tuple[str, int]]:
    """The rows that may answer: those that fit a word of what was written."""
    words = [*re.findall(r"\w+", mistake.wrong), *re.findall(r'"([^"]*)"', mistake.wrong)]
    for number, row in enumerate(foreign_words.KEYS):
        if any(re.fullmatch(row.key, word) for word in words):
            yield "KEYS", number
    for number, row in enumerate(foreign_words.VALUES):
        if any(re.fullmatch(row.key, word) or re.fullmatch(row.value, word) for word in words):
            yield "VALUES", number


@pytest.mark.parametrize("name", [name for name, mistake in MISTAKES.items() if mistake.rows])
def test_without_the_row_that_answers_it_does_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake = MISTAKES[name]
    help, answering = first_help(mistake), 0
    for table, number in candidates(mistake):
        rows = getattr(foreign_words, table)
        with monkeypatch.context() as patch:
            patch.setattr(foreign_words, table, (*rows[:number], *rows[number + 1 :]))
            if first_help(mistake) != help:
                answering += 1
                by_spelling = (first_help(mistake) or "").startswith("did you mean")
                assert by_spelling or not ends_right(mistake), rows[number]
    assert answering


def notes(text: str) -> list[str]:
    SPEC.write_text(text, "utf-8")
    Path("items.jsonl").write_text(rows(), "utf-8")
    return list(lint(read_spec(SPEC).spec))


OTHERS = """
[[model]]
id = "two"
engine = "hf"
source = "builtin:pocket-llama"

[[model]]
id = "three"
engine = "hf"
source = "builtin:pocket-mistral"
"""


def ranking(name: str, *order: str, where: str = "{}") -> str:
    return (
        f'\n[[hypothesis]]\nid = "{name}"\nkind = "ranking"\norder = {json.dumps(order)}\nwhere = {where}\n'
    )


@pytest.mark.parametrize(
    ("first", "second", "opposed"),
    [
        (ranking("a", "one", "two", "three"), ranking("b", "three", "one"), True),
        (ranking("a", "one", "two", "three"), ranking("b", "one", "three"), False),
        (ranking("a", "one", "two"), ranking("b", "two", "one", where='{ decoding = "warm" }'), False),
        (CONTRAST.replace("[analysis]", 'side = "greater"\n[analysis]'), 'side = "less"', True),
        (CONTRAST.replace("[analysis]", 'side = "greater"\n[analysis]'), 'side = "greater"', False),
        (CONTRAST.replace("[analysis]", 'side = "greater"\n[analysis]'), 'side = "two-sided"', False),
    ],
)  # fmt: skip
def test_rival_predictions_are_noted(first: str, second: str, opposed: bool) -> None:
    if second.startswith("side"):
        other = first.partition("[analysis]")[0].replace('"H"', '"b"').replace('side = "greater"', second)
        second = other
    found = notes(STUDY + AXIS + OTHERS + second + first)
    assert any("at most one of them can be supported" in note for note in found) is opposed, found


def test_what_an_axis_overrides_is_noted() -> None:
    (note,) = notes(STUDY + AXIS)
    assert note == "`temperature` of [harness] says nothing: each level of the axis `decoding` sets it"
    assert not notes(STUDY + AXIS.replace("temperature = 0.0", "top_p = 0.5"))


def test_what_is_never_run_is_noted() -> None:
    out = '\n[[exclude]]\nwhen = { decoding = "warm" }\nwhy = "too dear"\n'
    *_, note = notes(STUDY + AXIS + out)
    assert note == "`warm` of axis `decoding` is never run: [[exclude]] takes it out everywhere"
    some = out.replace('decoding = "warm"', 'model = "two", decoding = "warm"')
    assert not any("never run" in note for note in notes(STUDY + AXIS + OTHERS + some))


@pytest.mark.parametrize("text", ["nan", "NaN", "inf", "null", "None", "N/A"])
def test_an_option_that_reads_like_no_value_is_a_text(text: str) -> None:
    items = json.dumps({"q": "Which?", "x": text, "y": "this", "g": 0}) + "\n"
    study = compiled(OF_CHOICES.replace("sample = { n = 12, seed = 7 }\n", ""), {"items.jsonl": items})
    (item,) = study.study.items["sums"].sampled or ()
    assert item.options == (text, "this")


OTHER_WORDS = {
    "harness.fewshot_as_multiturn": (True, 'exemplars_as = "turns"'),
    "harness.fewshot_split": ("train", "leave it out: exemplars"),
    "harness.limit": (5, "`sample = { n = 5, seed = 42 }` in each [[benchmark]]"),
    "harness.do_sample": (True, "`temperature = 1.0` here"),
    "harness.stop_token_ids": ([2], "leave it out: `stop`"),
    "harness.logprobs": (True, "leave it out: it is asked for"),
    "harness.response_format": ("json", "leave it out: the words"),
    "prompts": (["{{ question }}"], '`prompt = "{{ question }}"` in [harness]'),
    "benchmark.doc_to_choice": ("{{ x }}", '`loading.fields = { options = ["x"] }` here'),
    "benchmark.choices": (["x", "y"], '`loading.fields = { options = ["x", "y"] }` here'),
    "harness.description": ("Add.", "leave it out: its words"),
    "harness.apply_chat_template": (True, "`chat_template = true` here"),
    "model.chat_template_name": ("chatml", "leave it out: a model's chat template"),
    "harness.target_delimiter": (" ", '`delimiter = " "` here'),
    "harness.fewshot_delimiter": ("\n", '`separators = { blocks = "\\n" }` here'),
    "harness.shuffle": (False, '`option_order = "file"` here'),
    "harness.solver": ("self_critique", '`scaffold = { kind = "critic" }` here'),
    "level.solver": ("basic_agent", '`scaffold = { kind = "react" }` here'),
    "solver": ("generate", "leave it out: a plain call"),
    "model.reasoning_effort": ("low", '`thinking = "low"` here'),
    "model.budget_tokens": (2048, "`thinking = 2048` here"),
    "harness.reasoning": (True, "`thinking = true` here"),
    "harness.epochs_reducer": ("mode", "leave it out: `aggregate`"),
    "harness.filter_list": (["x"], "leave it out: match ="),
    "benchmark.higher_is_better": (False, '`direction = "lower"` here'),
    "harness.threshold": (0.5, "in [analysis]"),
    "benchmark.dataset_path": ("openai/gsm8k", '"hf:openai/gsm8k@REVISION'),
    "tasks": (["gsm8k"], "leave it out: what is asked is a [[benchmark]]"),
    "tests": ([], "leave it out: items are rows"),
    "providers": ([{"id": "x"}], "write `[[model]]` here"),
    "harness.provider": (
        "openai:gpt-4",
        '`id = "gpt-4"`, `engine = "api"` and `source = "openai/gpt-4"` in a new [[model]]',
    ),
    "model.provider": ("openai", '`engine = "api"` here'),
    "model.backend": ("transformers", '`engine = "hf"` here'),
    "model.model_path": ("org/name", '`source = "hf:org/name"` and `engine = "hf"` here'),
    "model.pretrained": ("gpt2", '`source = "hf:gpt2"` and `engine = "hf"` here'),
    "model.model": ("gpt-4", '`source = "gpt-4"` here'),
    "model.description": ("ours", '`note = "ours"` here'),
    "model.load_in_8bit": (True, '`precision = "int8"` here'),
    "model.load_in_4bit": (False, "leave it out"),
    "harness.device": ("cuda:0", '`device = "cuda"` in [engine]'),
    "harness.batch_size": (8, "`batch_prompts = 8` in [engine]"),
    "engine.batch_size": ("auto", "leave it out: a batch"),
    "engine.max_retries": (3, "`attempts = 3` here"),
    "engine.timeout": (60, "`timeout_s = 60` here"),
    "time_limit": (60, "`wall_s = 60` in [budget]"),
    "budget.limit": (9, "`calls = 9` here"),
    "budget.max_tokens": (9, "`tokens = 9` here"),
    "sandbox": ("docker", "leave it out: it has no counterpart"),
    "judge.model": ("gpt-4", '`source = "gpt-4"` here'),
    "judge.criteria": ("Is it?", '`rubric = "Is it?"` here'),
    "judge.temperature": (0, "leave it out: judges"),
    "fields.choices": (["x"], '`options = ["x"]` here'),
    "match.regex": ("x", '`method = "scorer"`'),
    "match.type": ("number", '`as = "number"` here'),
    "match.ignore_case": (True, 'leave it out: as = "text"'),
    "match.tolerance": (0.1, "`within = 0.1` here"),
    "match.prefix": ("So", '`after = "So"` here'),
    "hypothesis.treatment": ("warm", '`level = "warm"` here'),
    "hypothesis.type": ("trend", '`kind = "trend"` here'),
    "hypothesis.alternative": ("less", '`side = "less"` here'),
    "level.source": ("path:p.csv", "in the axis: levels ="),
    "values.models": (["one"], "models are levels already"),
    "harness.image": ("x.png", "leave it out: gridc asks only texts"),
}
OTHER_VALUES: Mapping[str, Mapping[Any, str | None]] = {
    "method": {
        "python:a.py:f": '`scorer = { function = "python:a.py:f" }`',
        "ppl": '`method = "text_likelihood"`',
        "pass@10": "aggregate = { pass_at = 5 }",
        "unit_tests": "gridc runs no code",
        "acc_bytes": '`normalise = "byte"`',
        "numeric": '`match = { as = "number" }`',
        "text": '`match = { as = "text" }`',
        "bleu": '`id = "bleu"`',
        "rouge": '`method = "scorer"`',
        "llm-rubric": '`method = "judge"`',
        "win_rate": "`compares` in [judge]",
        "anything": None,
    },
    "as": {"regex": '`method = "scorer"`'},
    "match": {"number": '`match = { as = "number" }`', "includes": '`match = { as = "contains" }`'},
    "sample": {0.5: "`sample = { share = 0.5, seed = 42 }`"},
    "aggregate": {
        "pass@10": "`aggregate = { pass_at = 10 }`",
        "best_of_3": "`aggregate = { pass_at = 3 }`",
        "any": "`aggregate = { pass_at = 5 }`",
        "pass_all": "`aggregate = { pass_all = 5 }`",
        "maj@8": '`aggregate = "majority"`',
    },
    "all_of": {"pair": '`all_of = "family"`'},
    "thinking": {
        "on": "`thinking = true`",
        "off": "`thinking = false`",
        "4096": "`thinking = 4096`",
        0: "a whole number from 2",
    },
    "tools": {"look": "`loading.fields.tools`"},
    "precision": {
        "float32": '"fp32"',
        "8bit": '"int8"',
        "int4": '"nf4"',
        "auto": '"as_shipped"',
        "bf": None,
    },
    "direction": {"minimize": '`direction = "lower"`'},
    "engine": {
        "sglang": '`server = "sglang"`',
        "ollama": '`engine = "api"` here; its address',
        "azure": '`engine = "api"` here',
    },
    "loader": {"gsm8k": '`loader = "rows"`'},
    "kind": {
        "ece": '`kind = "calibration_error"`',
        "roc_auc": '`kind = "auroc"`',
        "mcc": '`kind = "matthews"`',
        "elo": '`kind = "strength"`',
        "mean_win_rate": '`kind = "win_rate"`',
        "BLEU": '`kind = "bleu"`',
        "chrF++": '`kind = "chrf"`',
        "macro": '`kind = "macro_mean"`',
        "pass@10": 'write `kind = "pass_at"` and `k = 10` here',
        "pass^3": 'write `kind = "pass_all"` and `k = 3` here',
    },
    "source": {"openai/gsm8k": '"hf:openai/gsm8k@REVISION'},
}


def table_path(name: str) -> tuple[str | int, ...]:
    """Where a table of this name stands in a document."""
    within: dict[str, tuple[str | int, ...]] = {
        "fields": ("benchmark", 0, "loading", "fields"), "level": ("axis", 0, "level", 0),
        "match": ("harness", "match"), "values": ("axis", 0, "values"),
    }  # fmt: skip
    return within.get(name, (name, 0) if name else ())


def keys_of(name: str) -> frozenset[str]:
    """The keys that the language has in the tables of this name."""
    aliases: Mapping[str, Any] = {
        "": Spec,
        "harness": Effects,
        "level": Level,
        "values": Effects,
        "judge": Judge,
        "fields": Fields,
        "model": Model,
        "benchmark": Benchmark,
        "engine": EngineSettings,
        "budget": Budget,
        "axis": Axis,
        "sampling": Sampling,
        "analysis": Analysis,
        "study": StudySection,
        "slice": Slice,
        "fork": Fork,
        "curve": Curve,
        "family": Family,
        "match": Match,
        "statistic": Statistic,
    }
    tables = get_args(get_args(AnyHypothesis)[0]) if name == "hypothesis" else (aliases[name],)
    return frozenset(field.alias or key for table in tables for key, field in table.model_fields.items())


def other_helps() -> Iterator[tuple[str, str | None, str | None]]:
    """Each further word with the help that it has, and what that has to hold."""
    for path, (stated, held) in OTHER_WORDS.items():
        table, _, key = path.rpartition(".")
        yield path, foreign_words.key_meant(table_path(table), key, stated, {}, keys_of(table)), held
    for key, values in OTHER_VALUES.items():
        for value, expected in values.items():
            where = ({"source": "benchmark", "kind": "statistic"}.get(key, "harness"), 0, key)
            yield f"{key} = {value}", foreign_words.value_meant(where, value), expected


def test_every_other_word_has_its_help_and_every_row_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    used, find = set[ForeignWord](), foreign_words._Place._first_row

    def seen(*arguments: Any) -> tuple[ForeignWord | None, re.Match[str] | None]:
        found = find(*arguments)
        used.update([found[0]] if found[0] is not None else [])
        return found

    monkeypatch.setattr(foreign_words._Place, "_first_row", seen)
    for word, help, expected in other_helps():
        assert (help is None) if expected is None else expected in (help or ""), (word, help)
    for mistake in MISTAKES.values():
        if mistake.rows:
            first_help(mistake)
    unused = [row for row in (*foreign_words.KEYS, *foreign_words.VALUES) if row not in used]
    assert not unused


def test_a_line_of_the_table_is_one_of_the_language() -> None:
    for row in (*foreign_words.KEYS, *foreign_words.VALUES):
        lines = (*row.write, *row.write_if_missing)
        assert [bool(lines), bool(row.advice), bool(row.alias_of)].count(True) == 1, row
        for line in lines:
            stated = re.fullmatch(r"(?:\[+(\w+)\]+ )?(\w+)(?:\.\w+)* = (.+)", line)
            if stated is None:
                assert line in ("[[model]]", "[[benchmark]]", "[[axis.level]]")
                continue
            own = [name for name in row.table.split("|") if row.table != foreign_words.CALLS]
            header = row.new_table or stated[1]
            where = [header] if header else [*own, "harness", "benchmark", "model"]
            assert any(stated[2] in keys_of(name) for name in where if name != ".*"), line


@pytest.mark.parametrize(
    "text",
    [
        "harness = 3\nnum_fewshot = 5\n",
        'benchmark = "x"\nlimit = 5\n',
        "benchmark = [3]\nlimit = 5\n",
        'benchmark = [{ loading = 3, target = "a" }]\n',
        'benchmark = [{ loading = { fields = 3 }, target = "a" }]\n',
        'model = 3\nbase_url = "http://a/v1"\n',
        "sampling = []\nseed = 3\n",
        "gen_kwargs = 2024-01-01\n",
        f'harness = {{ doc_to_target = "{" " * 100_000}" }}\n',
        f"{'a' * 100_000} = 1\n",
        "metric = []\n",
        "harness = { metric = { } }\n",
        'gen_kwargs = "a=b=c,=,d"\n',
        "n = [[[[[]]]]]\n",
        'level = { n = "$0 $1" }\n',
    ],
)
def test_a_document_of_any_shape_is_answered(text: str) -> None:
    SPEC.write_text("gridcard = 1\n" + text, "utf-8")
    with pytest.raises(GridcError):
        read_spec(SPEC)
