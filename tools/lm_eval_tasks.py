"""How many of the tasks that lm-evaluation-harness ships are taken, and why others are not.

    python -m tools.lm_eval_tasks [--sample N --seed S]

Every shipped task without a function of its own is opened, on rows that are made up from the columns that its
templates use: texts, lists of texts, right options. It is taken where `gridc.adapters.tasks.lm_eval` gives a
task file of them. It is refused where its configuration is; where no row can be made up that lm_eval renders,
it is not tried. Of tasks with functions only the configuration is looked at: their code reads the columns of
one data set.

Needs the package lm_eval, and no network.
"""

import logging
import random
import re
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jinja2 import Environment, TemplateSyntaxError, nodes

from gridc.adapters.tasks import lm_eval_files
from gridc.adapters.tasks.lm_eval import load
from gridc.adapters.tasks.lm_eval_effects import configured, task_effects

ROWS = 5
LONG = 4
"""Elements of a list."""
LETTERS = "ABCD"
TEMPLATES = ("doc_to_text", "doc_to_target", "doc_to_choice", "description", "gen_prefix")
SPLITS = ("training_split", "validation_split", "test_split", "fewshot_split")
TEXT_METHODS = frozenset(dir(str)) - {"index", "count"}
LIST_FILTERS = ("join", "first", "last", "map", "select", "reject", "list", "sort", "random", "unique")

TARGETS = ("number", "letter", "digit", "option", "texts", "text", "truth")
"""What a right answer can be in a row, in the order in which they are tried."""
CHOICES = ("texts", "literal", "text")
"""What options can be."""


@dataclass
class Column:
    """What templates say of a column, or of what lies in it."""

    keys: dict[str, "Column"] = field(default_factory=dict)
    element: "Column | None" = None
    values: list[Any] = field(default_factory=list)
    """Some of the values that it can have."""
    among: tuple[str, ...] = ()
    """The column and its keys that hold a list of which it is an element."""
    size: int = LONG
    """How many elements it has at least."""
    role: str = ""
    """`target` or `choice` where a template prints nothing else."""


def columns(config: Any) -> dict[str, Column]:
    """The columns that a task's templates use. Raises `TemplateSyntaxError`."""
    found: dict[str, Column] = {}
    environment = Environment()
    environment.filters["regex_replace"] = re.sub
    for holder in (config, config.fewshot_config):
        for key in TEMPLATES:
            template = getattr(holder, key, None)
            role = {"doc_to_target": "target", "doc_to_choice": "choice"}.get(key, "")
            if not isinstance(template, str):
                continue
            if re.fullmatch(r"[A-Za-z_]\w*", template):
                # lm_eval takes it for a column where there is one, and a description mostly is none
                if key != "description":
                    column = found.setdefault(template, Column())
                    column.role = column.role or role
                continue
            tree = environment.parse(template)
            for node in tree.body:
                _follow(node, found, set(), role if len(tree.body) == 1 else "")
    return found


def _follow(node: nodes.Node, found: dict[str, Column], own: set[str], role: str = "") -> None:
    """Note what a part of a template says of columns. `own` are the template's own variables."""
    if isinstance(node, nodes.Output) and len(node.nodes) == 1:
        column = _column(node.nodes[0], found, own)
        if column is not None:
            column.role = column.role or role
            return
    if isinstance(node, nodes.For):
        column = _column(node.iter, found, own)
        if column is not None:
            column.element = column.element or Column()
            if isinstance(node.target, nodes.Name):
                inside = {**found, node.target.name: column.element}
                for part in (*node.body, *node.else_):
                    _follow(part, inside, own - {node.target.name})
                found |= {name: held for name, held in inside.items() if name != node.target.name}
                return
        own = own | {name.name for name in node.target.find_all(nodes.Name)}
        if isinstance(node.target, nodes.Name):
            own = own | {node.target.name}
    if isinstance(node, nodes.Assign):
        own |= {
            name.name for name in (node.target, *node.target.find_all(nodes.Name)) if hasattr(name, "name")
        }
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and node.node.attr == "index":
        argument = _column(_bare(node.args[0]), found, own) if node.args else None
        listed = _column(node.node.node, found, own)
        if listed is not None:
            listed.element = listed.element or Column()
        if argument is not None:
            if isinstance(node.node.node, nodes.List):
                argument.values += [one.value for one in node.node.node.items if isinstance(one, nodes.Const)]
            argument.among = _path(node.node.node)
        return
    if isinstance(node, nodes.Getitem) and isinstance(node.node, nodes.Dict):
        argument = _column(node.arg, found, own)
        if argument is not None:
            argument.values += [one.key.value for one in node.node.items if isinstance(one.key, nodes.Const)]
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Name):
        listed, place = _column(node.node, found, own), _column(node.arg, found, own)
        if listed is not None:
            listed.element = listed.element or Column()
        if place is not None and not place.values:
            place.values = list(range(LONG))
    if isinstance(node, nodes.Getitem) and isinstance(node.node, nodes.List):
        place = _column(_bare(node.arg), found, own)
        if place is not None:
            start = 1 if isinstance(node.arg, nodes.Sub) else 0
            place.values = list(range(start, start + len(node.node.items)))
    if isinstance(node, nodes.Sub) and isinstance(node.right, nodes.Const):
        number = _column(node.left, found, own)
        if number is not None and not number.values:
            number.values = [node.right.value, node.right.value + 1]
    if isinstance(node, nodes.Compare):
        column = _column(node.expr, found, own)
        for operand in node.ops:
            if column is not None and isinstance(operand.expr, nodes.Const):
                column.values.append(operand.expr.value)
    if isinstance(node, nodes.Filter) and node.node is not None and node.name in LIST_FILTERS:
        column = _column(node.node, found, own)
        if column is not None:
            column.element = column.element or Column()
    _column(node, found, own)
    for part in node.iter_child_nodes():
        _follow(part, found, own)


def _column(node: nodes.Node, found: dict[str, Column], own: set[str]) -> Column | None:
    """The column that an expression is, noted; None where it is something else."""
    if isinstance(node, nodes.Name):
        return None if node.name in own or node.ctx != "load" else found.setdefault(node.name, Column())
    if isinstance(node, nodes.Getattr):
        column = _column(node.node, found, own)
        if column is None or node.attr in TEXT_METHODS or node.attr in ("index", "items", "keys", "values"):
            return None
        return column.keys.setdefault(node.attr, Column())
    if isinstance(node, nodes.Getitem):
        column = _column(node.node, found, own)
        if column is None:
            return None
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            return column.keys.setdefault(node.arg.value, Column())
        if isinstance(node.arg, nodes.Const):
            column.element = column.element or Column()
            column.size = max(column.size, int(node.arg.value) + 1)
            return column.element
    return None


def _bare(node: nodes.Node) -> nodes.Node:
    """An expression without the methods, filters and sums around it that keep its kind."""
    while True:
        if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
            if node.node.attr not in TEXT_METHODS:
                return node
            node = node.node.node
        elif isinstance(node, nodes.Filter) and node.node is not None:
            node = node.node
        elif isinstance(node, nodes.Sub):
            node = node.left
        else:
            return node


def _path(node: nodes.Node) -> tuple[str, ...]:
    if isinstance(node, nodes.Name):
        return (node.name,)
    if isinstance(node, nodes.Getattr) and (before := _path(node.node)):
        return (*before, node.attr)
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) and (before := _path(node.node)):
        return (*before, str(node.arg.value))
    return ()


def row(known: Mapping[str, Column], number: int, target: str, choice: str) -> dict[str, Any]:
    """A row in which right answers and options are of these kinds."""
    made = {name: _value(name, column, number, target, choice) for name, column in known.items()}
    for name, column in known.items():
        if column.among and not column.values:
            listed: Any = made
            for key in column.among:
                listed = listed.get(key) if isinstance(listed, dict) else None
            if isinstance(listed, list) and listed:
                made[name] = listed[number % len(listed)]
    return made


def _value(name: str, column: Column, number: int, target: str, choice: str) -> Any:
    if column.values and column.element is None and not column.keys:
        return column.values[number % len(column.values)]
    if column.element is not None:
        inner = column.element
        if not inner.keys and inner.element is None and not inner.values:
            return (
                list(LETTERS)
                if "label" in name
                else [f"{name} {number} {place}" for place in range(column.size)]
            )
        return [_value(name, inner, number + place, target, choice) for place in range(column.size)]
    if column.keys:
        return {key: _value(key, held, number, target, choice) for key, held in column.keys.items()}
    texts = [f"{name} {number} {place}" for place in range(LONG)]
    if column.role == "choice":
        return {"texts": texts, "literal": repr(texts), "text": texts[0]}[choice]
    if column.role == "target" or column.among:
        kinds = {
            "number": number % 2,
            "letter": LETTERS[number % 2],
            "digit": str(number % 2),
            "option": texts[0],
            "texts": texts,
            "text": f"answer {number}, written out in some more words",
            "truth": number % 2 == 0,
        }
        return kinds[target]
    return list(LETTERS) if name in ("labels",) else f"{name} {number}, written out in some more words"


def attempt(name: str, config: Any, folder: str) -> str:
    """Try to take a task: empty where it is taken, else what the last rows came to."""
    try:
        known = columns(config)
    except TemplateSyntaxError as error:
        return f"its template cannot be read: {error}"
    if not known:
        known = {"made_up": Column()}
    splits = {getattr(config, key) for key in SPLITS} | {config.fewshot_config.split}
    shots = [0] if config.num_fewshot == 0 else [0, 2]
    said = ""
    for target, choice in product(TARGETS, CHOICES):
        rows = [row(known, number, target, choice) for number in range(ROWS)]
        try:
            load(name, folder, {"custom_dataset": _Made(rows, splits - {None})}, shots)
            return ""
        except ValueError as error:
            said = said or str(error)
        if not any(column.role or column.keys or column.element for column in known.values()):
            break  # the kinds change nothing
    return said


@dataclass
class _Made:
    """A data set of made-up rows, the same in every split."""

    rows: Sequence[Mapping[str, Any]]
    splits: set[str]

    def __call__(self, **_: Any) -> dict[str, Any]:
        from datasets import Dataset

        return {split: Dataset.from_list([dict(row) for row in self.rows]) for split in self.splits}


def shipped() -> Iterator[tuple[str, dict[str, Any], frozenset[str]]]:
    """The tasks by name, each with its configuration and the keys of its files that name functions."""
    import lm_eval
    from lm_eval.tasks._index import TaskIndex

    seen: set[str] = set()
    for path in TaskIndex._iter_yaml_files(Path(lm_eval.__file__).resolve().parent / "tasks"):
        try:
            config = lm_eval_files._config(path)
        except lm_eval_files.Refused:
            continue
        name = config.get("task")
        if not isinstance(name, str) or ("group" in config and "class" not in config) or name in seen:
            continue
        seen.add(name)
        yield name, config, _function_keys(lm_eval_files._included(path))


_KEYS: dict[Path, frozenset[str]] = {}


def _function_keys(paths: set[Path]) -> frozenset[str]:
    """The first-level keys under which files name functions."""
    import yaml

    for path in paths - _KEYS.keys():
        keys: set[str] = set()
        if b"!function" in (data := path.read_bytes()):
            read: Any = yaml.compose(data, Loader=yaml.SafeLoader)
            for key, value in read.value:
                if "!function" in yaml.serialize(value):
                    keys.add(key.value)
        _KEYS[path] = frozenset(keys)
    return frozenset().union(*(_KEYS[path] for path in paths))


def refusal(name: str, config: Mapping[str, Any]) -> str:
    """Why a configuration is refused; empty where it is not."""
    try:
        task_effects(lm_eval_files.Leaf(name, config), None)
    except lm_eval_files.Refused as error:
        return str(error)
    return ""


def reason(name: str, said: str) -> str:
    """What was said of a task, without its name."""
    said = said.replace(f"the task {name}", "the task").replace(name, "...")
    if (match := re.search(r"no (metric|filter) that gridc \w+ \((.*)\)$", said)) is not None:
        of = dict.fromkeys(re.findall(rf"{match[1]} ([^:;]+):", match[2]))
        return f"no {match[1]} that gridc has ({', '.join(of)})"
    return re.sub(r"\d+", "N", said)[:110]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sample", type=int, help="open so many tasks, drawn by --seed (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    try:
        import datasets
        import lm_eval  # noqa: F401
    except ImportError:
        print("the package lm_eval is not installed", file=sys.stderr)
        return 1
    logging.disable(logging.ERROR)
    datasets.disable_progress_bars()

    tasks = list(shipped())
    classes = [name for name, config, _ in tasks if "class" in config]
    with_functions = [keys for _, config, keys in tasks if keys and "class" not in config]
    configured_so = [
        keys for name, config, keys in tasks if keys and "class" not in config and not refusal(name, config)
    ]
    plain = [(name, config) for name, config, keys in tasks if not keys and "class" not in config]
    opened = plain
    if asked.sample is not None and asked.sample < len(plain):
        opened = random.Random(asked.seed).sample(plain, asked.sample)
    taken = 0
    refused, not_tried = Counter[str](), Counter[str]()
    with TemporaryDirectory() as folder:
        for name, config in opened:
            if why := refusal(name, config):
                refused[reason(name, why)] += 1
                continue
            said = attempt(name, configured(lm_eval_files.Leaf(name, config)), folder)
            if said:
                not_tried[reason(name, said)] += 1
            else:
                taken += 1

    scored = sum("process_results" in keys for keys in with_functions)
    lines = [
        ("tasks that lm_eval ships", len(tasks)),
        ("a Python class: refused", len(classes)),
        ("with functions of their own: not opened here", len(with_functions)),
        ("... with no function but process_docs", with_functions.count(frozenset(["process_docs"]))),
        ("... with process_results: refused", scored),
        ("... whose configuration is one that gridc takes", len(configured_so)),
        ("... of these, with no function but process_docs", configured_so.count(frozenset(["process_docs"]))),
        ("without functions", len(plain)),
        ("opened", len(opened)),
        ("... taken", taken),
        ("... refused", refused.total()),
        ("... not tried: no rows could be made up", not_tried.total()),
    ]  # fmt: skip
    print("| | tasks |\n|---|---:|")
    for text, count in lines:
        print(f"| {text} | {count:,} |")
    for title, counts in (("refused because", refused), ("not tried because", not_tried)):
        print(f"\n| {title} | tasks |\n|---|---:|")
        for text, count in counts.most_common(15):
            print(f"| {text.replace('|', chr(92) + '|')} | {count:,} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
