"""Tasks of lm-evaluation-harness (Gao et al. 2024), rendered by its own code.

The package builds every request itself, in each form that it can send it. What is recorded of a request is
its digest; the parts that gridc builds the same request of are asked for one by one.
"""

import hashlib
import json
import logging
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from gridc.schema.canonical import canonical, digest_bytes

PACKAGE = "lm_eval"
RANKED: Mapping[str, str] = {"acc": "none", "acc_norm": "char", "acc_bytes": "byte"}
"""The metrics of a ranking, each with how it normalises likelihoods."""
IGNORES = {
    "ignore_case": "case",
    "ignore_punctuation": "punctuation",
    "ignore_numbers": "numbers",
    "regexes_to_ignore": "regexes",
}
"""What `exact_match` can be told, and how `match.ignore` says it."""
GENERATION = {"until", "max_gen_toks", "do_sample", "temperature"}
MOST_STOPS = 16
TOKENS = 256
"""The longest answer, in tokens, where a task states none."""
FORMS = ("", ":chat", ":turns")
"""How a request is sent: as plain text, in one turn of a chat, with exemplars as turns of their own."""


class Refused(ValueError):
    """What of a task gridc does not take."""


class Loader:
    """Renders one task, group or tag. `read` keeps the task file, and `part` gives its text."""

    def __init__(self) -> None:
        self._text = ""

    def read(
        self, source: str, folder: str, arguments: Mapping[str, Any], shots: Sequence[int | None], seed: int
    ) -> int:
        """Render the task for these numbers of exemplars, where None is its own number; the number of
        characters of its file. A `source` that ends as YAML files do is one in the folder. Raises
        `ValueError` with what is not taken."""
        members = _loaded(source, folder)
        if not members:
            raise Refused(f"{source} has no task")
        read = [_Task(name, task, folder, seed) for name, task in members.items()]
        for task in read:
            task.render([task.own if count is None else count for count in shots])
        self._text = json.dumps(_together(source, read, seed), ensure_ascii=False, allow_nan=False)
        return len(self._text)

    def part(self, start: int, length: int) -> str:
        """Characters of the task file."""
        return self._text[start : start + length]

    def datasets(self, source: str, folder: str) -> list[dict[str, Any]]:
        """What the data of a task are called on the hub, by its files alone: arguments of `load_dataset`."""
        from lm_eval.tasks import TaskManager
        from lm_eval.tasks._yaml_loader import load_yaml

        index, wanted, ahead = TaskManager().task_index, list[dict[str, Any]](), [source]
        while ahead:
            entry = index.get(ahead.pop())
            if entry is None:
                continue
            stated = load_yaml(entry.yaml_path, resolve_func=False) if entry.yaml_path else {}
            members = stated.get("task") if "group" in stated else sorted(entry.tags) if not stated else []
            for member in members if isinstance(members, list) else []:
                name = member if isinstance(member, str) else member.get("task", member.get("group"))
                ahead += [name] if isinstance(name, str) else []
            if isinstance(path := stated.get("dataset_path"), str) and "/" in path:
                asked = {
                    "path": path,
                    "name": stated.get("dataset_name"),
                    **(stated.get("dataset_kwargs") or {}),
                }
                asked.pop("trust_remote_code", None)
                wanted += [asked] if asked not in wanted else []
        return wanted

    def files(self, source: str, folder: str) -> dict[str, Any]:
        """The digest of each file that a YAML file in the folder is made of, and the names of those that lie
        in the folder. None of them runs."""
        paths = _parts_of(Path(folder, source).resolve())
        named = {_named(path, folder): digest_bytes(path.read_bytes()) for path in sorted(paths)}
        return {"files": named, "code": [name for name in named if not name.startswith(f"{PACKAGE}/")]}


def _loaded(source: str, folder: str) -> Mapping[str, Any]:
    """The tasks of a name or a file, by name."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    logging.disable(logging.CRITICAL)
    from lm_eval import utils
    from lm_eval.tasks import TaskManager

    if not hasattr(utils.env.from_string, "cache_info"):
        # It compiles the template anew for every question, which costs more than all else.
        utils.env.from_string = lru_cache(maxsize=4096)(utils.env.from_string)
    path = Path(folder, source).resolve() if re.search(r"\.ya?ml$", source) else None
    manager = TaskManager(include_path=str(path.parent) if path else None)
    try:
        loaded = manager.load(str(path or source))
    except KeyError:
        raise Refused(f"lm_eval has no task, group or tag `{source}`") from None
    except ConnectionError as error:
        raise Refused(f"its data are not in the cache here: {_first_line(error)}") from None
    tasks: Mapping[str, Any] = loaded["tasks"]
    return tasks


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


class _Task:
    """One task: what is asked of whom, and how it is scored."""

    def __init__(self, name: str, task: Any, folder: str, seed: int) -> None:
        self.name, self._task, self._folder, self._seed = name, task, folder, seed
        self.config = task.config
        _require_plain(name, task)
        self.left_out: list[str] = []
        self.own = int(self.config.num_fewshot or 0)
        self.items: list[dict[str, Any]] = []
        self.exemplars: list[dict[str, Any]] = []
        self.shots: list[int] = []
        self._pool: Sequence[Any] = list(task.sampler.df) if hasattr(task, "sampler") else []
        self._places = {id(doc): place for place, doc in enumerate(self._pool)}
        self._delimiters: Counter[tuple[str, str]] = Counter()
        self.choices = self._choices()
        # Reading another task's rows twice would draw other objects: these are the ones that are rendered.
        self._docs = list(task.eval_docs)

    @property
    def ranks(self) -> bool:
        return str(self._task.OUTPUT_TYPE) == "multiple_choice"

    def render(self, shots: Iterable[int]) -> None:
        """Build the requests for each number of exemplars, and the parts that they are made of."""
        self.shots = sorted(set(shots))
        self.items = [self._item(place, doc) for place, doc in enumerate(self._docs)]
        used: dict[int, int] = {}
        for count in self.shots:
            for form in FORMS:
                requests, drawn = self._requests(count, form)
                for item, asked, places in zip(self.items, requests, drawn, strict=True):
                    item["prompts"][f"{count}{form}"] = digest_bytes(canonical(asked))
                    if count and form == "":
                        item["draws"][str(count)] = [used.setdefault(place, len(used)) for place in places]
        self.exemplars = [self._exemplar(place) for place in used]

    def _requests(self, count: int, form: str) -> tuple[list[list[Any]], list[list[int]]]:
        """What lm_eval would send for each document, and the places of the exemplars that it drew."""
        task, drawn = self._task, list[list[int]]()
        task.set_config("num_fewshot", count)
        task.set_fewshot_seed(seed=self._seed)
        draw = task.sampler.sample if count else None

        def sample(*args: Any, **named: Any) -> Any:
            docs = draw(*args, **named)  # type: ignore[misc]  # it is called only where there are exemplars
            drawn.append([self._place(doc) for doc in docs])
            return docs

        try:
            if count:
                task.sampler.sample = sample
            chat = {"apply_chat_template": True, "chat_template": _messages} if form else {}
            task.build_all_requests(fewshot_as_multiturn=form == ":turns", **chat)
        finally:
            if count:
                del task.sampler.sample
        by_document: dict[int, list[Any]] = {}
        for instance in task.instances:
            arguments = instance.args
            asked = list(arguments[:2]) if self.ranks else arguments[0]
            by_document.setdefault(instance.doc_id, []).append(asked)
        return [by_document[place] for place in sorted(by_document)], drawn or [[] for _ in by_document]

    def _place(self, doc: Any) -> int:
        known = self._places.get(id(doc))
        return self._pool.index(doc) if known is None else known

    def _exemplar(self, place: int) -> dict[str, Any]:
        task, doc, stated = self._task, self._pool[place], self._task.fewshot_cfg
        text = task.doc_to_text(doc, stated.doc_to_text)
        choices = task.doc_to_choice(doc, stated.doc_to_choice) if stated.doc_to_choice else None
        answer = task.doc_to_target(doc, stated.doc_to_target)
        if task.multiple_input and choices is not None:
            text, choices = choices[text], None
        turns = task.build_qa_turn(
            q=text, c=choices, a=answer, gen_prefix=task.resolve_field(doc, stated.gen_prefix),
            tgt_delim=stated.target_delimiter, few_delim=stated.fewshot_delimiter,
        )  # fmt: skip
        if len(turns) != 2:
            raise Refused(f"an exemplar of {self.name} has no answer")
        said, replied = turns
        self._delimiters[said._delimiter, replied._delimiter] += 1
        split = stated.split or self.config.training_split or self.config.validation_split
        name = f"{self.name}-{split or 'samples'}-{place}"
        return {
            "id": name, "member": self.name, "split": split or "samples", "query": said.content,
            "answer": replied.content, "extra": _plain(doc, self.name),
        }  # fmt: skip

    def _item(self, place: int, doc: Any) -> dict[str, Any]:
        task, config, name = self._task, self.config, f"{self.name}-{place}"
        prefix = task.doc_to_prefix(doc)
        asked, answer = task.doc_to_text(doc), task.doc_to_target(doc)
        choices = [str(choice) for choice in task.doc_to_choice(doc)] if config.doc_to_choice else []
        item: dict[str, Any] = {"id": name, "member": self.name, "extra": _plain(doc, self.name)}
        item |= {"prompts": {}, "draws": {}}
        preamble = task.resolve_field(doc, config.description) or ""
        if preamble:
            item["preamble"] = preamble

        def said(text: str, delimiter: str) -> str:
            turns = task.build_qa_turn(
                q=text, c=choices, gen_prefix=prefix, tgt_delim=delimiter, few_delim=""
            )
            return "".join(turn.to_text() for turn in turns)

        if self.ranks and task.multiple_input:
            contexts = [said(choice, "") for choice in choices]
            item |= {"query": contexts[0], "contexts": contexts, "references": [str(answer)]}
            item |= {"options": choices, "gold": _right(asked, choices, name)}
        elif self.ranks:
            item |= {"query": said(asked, config.target_delimiter), "options": choices}
            item["gold"] = _right(answer, choices, name)
        else:
            item["query"] = said(asked, config.target_delimiter)
            right = choices[answer] if choices else answer
            several = isinstance(right, list | tuple) and task.multiple_target
            item["references"] = [str(each) for each in right] if several else [str(right)]
        _require_texts(item, name)
        return item

    def _choices(self) -> dict[str, dict[str, dict[str, Any]]]:
        """What lm_eval reports side by side, as sets of effects: metrics of a ranking, filters of texts."""
        taken: dict[str, dict[str, Any]] = {}
        refused: list[str] = []
        for metric in self._task._metric_fn_list:
            mean = self._task._aggregation_list[metric].__name__ in ("mean", "nanmean")
            known = metric in RANKED if self.ranks else metric == "exact_match"
            better = self._task._higher_is_better[metric]
            if known and mean and better:
                taken[metric] = {"normalise": RANKED[metric]} if self.ranks else {}
            else:
                refused.append(metric)
        if not taken:
            raise Refused(
                f"{self.name} is scored by {', '.join(refused) or 'nothing'}, which gridc does not take"
            )
        self.left_out += [f"metric `{metric}` is not taken" for metric in refused]
        if self.ranks:
            _require_taken_first(self.name, self.config.filter_list)
            return {"metric": taken}
        ignore = _ignored(self.name, self._task._metric_fn_kwargs["exact_match"])
        return {"filter": _filters(self.name, self.config.filter_list, ignore)}

    @property
    def settings(self) -> dict[str, Any]:
        """The effects by which lm_eval measures the task."""
        config = self.config
        shown = self._task.fewshot_cfg
        own = (shown.target_delimiter, shown.fewshot_delimiter)
        delimiter, between = next((each for each, _ in self._delimiters.most_common(1)), own)
        effects: dict[str, Any] = {
            "method": "loglikelihood" if self.ranks else "match",
            "prompt": _template(delimiter), "shots": self.own, "options": "none", "option_order": "file",
        }  # fmt: skip
        if between != "\n\n":
            effects["separators"] = {"blocks": between}
        first = next(iter(next(iter(self.choices.values())).values()))
        if self.ranks:
            effects |= {"candidates": "option_text", "seam": "context_length", "ties": "first", **first}
            if config.target_delimiter != " ":
                effects["delimiter"] = config.target_delimiter
            return effects
        stated = config.generation_kwargs or {}
        until = stated.get("until") or []
        effects["stop"] = [until] if isinstance(until, str) else list(until)
        return effects | {"max_tokens": int(stated.get("max_gen_toks", TOKENS)), **first}

    @property
    def data(self) -> Iterator[tuple[str, list[Any]]]:
        """The rows of each split that is used."""
        config, stated = self.config, self._task.fewshot_cfg
        yield config.test_split or config.validation_split, self._docs
        if self.exemplars:
            split = stated.split or config.training_split or config.validation_split
            yield f"{split or 'samples'} (exemplars)", list(self._pool)

    @property
    def files(self) -> dict[str, str]:
        """The digest of each file that it is made of."""
        path = Path((self.config.metadata or {}).get("config_source", ""))
        paths = _parts_of(path) if path.is_file() else set()
        return {_named(each, self._folder): digest_bytes(each.read_bytes()) for each in sorted(paths)}


def _messages(messages: Sequence[Mapping[str, str]], **_: Any) -> str:
    """In the place of a chat template: the messages themselves."""
    return canonical([[message["role"], message["content"]] for message in messages]).decode()


def _template(delimiter: str) -> str:
    """What prints a question, and behind an exemplar's its answer."""
    shown = json.dumps(delimiter, ensure_ascii=False)
    return (
        "{{ query }}{% if answer %}" + (f"{{{{ {shown} }}}}" if delimiter else "") + "{{ answer }}{% endif %}"
    )


def _require_plain(name: str, task: Any) -> None:
    """Raise `Refused` for a task that gridc does not ask or score."""
    config = getattr(task, "config", None)
    if not hasattr(task, "fewshot_cfg") or config is None:
        raise Refused(f"{name} is a Python class of its own")
    kind = str(task.OUTPUT_TYPE)
    if kind not in ("multiple_choice", "generate_until"):
        raise Refused(f"{name} has output_type {kind}, which gridc does not take")
    for key in ("doc_to_image", "doc_to_audio"):
        if getattr(config, key, None):
            raise Refused(f"{name} shows pictures or sounds ({key})")
    if config.process_results is not None:
        raise Refused(f"{name} is scored by a function of its own (process_results)")
    if config.use_prompt is not None:
        raise Refused(f"{name} takes its prompt from another package (use_prompt)")
    if config.unsafe_code:
        raise Refused(f"{name} runs code that a model writes (unsafe_code)")
    if config.repeats != 1:
        raise Refused(f"{name} asks each question {config.repeats} times (repeats)")
    if kind != "generate_until":
        return
    stated = config.generation_kwargs or {}
    if strange := sorted(set(stated) - GENERATION):
        raise Refused(f"{name} generates with {', '.join(strange)}, which gridc does not take")
    if stated.get("do_sample") and stated.get("temperature", 1.0) > 0:
        raise Refused(f"{name} samples its answers at temperature {stated.get('temperature', 1.0)}")
    until = stated.get("until") or []
    if not isinstance(until, str) and (len(until) > MOST_STOPS or not all(until)):
        raise Refused(f"{name} has {len(until)} stop strings, or an empty one")


def _require_taken_first(name: str, stated: Sequence[Mapping[str, Any]] | None) -> None:
    """A ranking has one answer for each option, which no filter changes."""
    functions = [step["function"] for each in stated or () for step in each["filter"]]
    if set(functions) - {"take_first"}:
        raise Refused(f"{name} filters likelihoods by {', '.join(map(str, functions))}")


def _filters(
    name: str, stated: Sequence[Mapping[str, Any]] | None, ignore: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The filters of a task by name, each as effects."""
    every = {}
    for each in stated or ({"name": "none", "filter": [{"function": "take_first"}]},):
        steps = [dict(step) for step in each["filter"]]
        if not any(step["function"] == "take_first" for step in steps):
            raise Refused(f"the filter {each['name']} of {name} does not take the first answer")
        match: dict[str, Any] = {"as": "filtered"}
        filters = [_filter(name, step) for step in steps if step["function"] != "take_first"]
        match |= {"filters": filters} if filters else {}
        match |= {"ignore": dict(ignore)} if ignore else {}
        every[str(each["name"])] = {"match": match}
    return every


_KEYS = {
    "regex": {"regex_pattern": "pattern", "group_select": "group", "fallback": "fallback"},
    "multi_choice_regex": {
        "regex_pattern": "pattern", "group_select": "group", "fallback": "fallback",
        "ignore_case": "ignore_case", "ignore_punctuation": "ignore_punctuation",
        "regexes_to_ignore": "ignore",
    },
    "map": {"mapping_dict": "map", "default_value": "default"},
    "lowercase": {},
    "uppercase": {},
    "remove_whitespace": {},
}  # fmt: skip
"""The filters that are taken: what lm_eval calls their options, and what gridc calls them."""
_DEFAULT_PATTERN = r"#### (\-?[0-9\.\,]+)"


def _filter(name: str, step: Mapping[str, Any]) -> dict[str, Any]:
    kind = step["function"]
    if not isinstance(kind, str) or kind not in _KEYS:
        raise Refused(f"{name} reads answers by the filter {getattr(kind, '__name__', kind)}")
    stated = {key: value for key, value in step.items() if key != "function" and value is not None}
    if strange := sorted(set(stated) - _KEYS[kind].keys()):
        raise Refused(f"{name} tells the filter {kind} {', '.join(strange)}")
    made = {"kind": kind, **{_KEYS[kind][key]: value for key, value in stated.items()}}
    if "pattern" in _KEYS[kind].values():
        made.setdefault("pattern", _DEFAULT_PATTERN)
    return made


def _ignored(name: str, stated: Mapping[str, Any]) -> dict[str, Any]:
    if strange := sorted(set(stated) - IGNORES.keys()):
        raise Refused(f"{name} tells exact_match {', '.join(strange)}")
    return {IGNORES[key]: value for key, value in stated.items() if value}


def _right(gold: Any, choices: Sequence[str], name: str) -> list[int]:
    """The indexes of the right options. Raises `Refused`."""
    listed = gold if isinstance(gold, list | tuple) else [gold]
    places = [choices.index(each) if isinstance(each, str) and each in choices else each for each in listed]
    if not places or not all(isinstance(each, int) and 0 <= each < len(choices) for each in places):
        raise Refused(f"the right option of {name} is {gold!r}, of {len(choices)}")
    return [int(each) for each in dict.fromkeys(places)]


MOST_OPTIONS = 26


def _require_texts(item: Mapping[str, Any], name: str) -> None:
    texts = [item["query"], *item.get("options", ()), *item.get("references", ()), *item.get("contexts", ())]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise Refused(f"{name} has an empty question, option or answer")
    count = len(item.get("options", ()))
    if count == 1 or count > MOST_OPTIONS:
        raise Refused(f"{name} has {count} options")


def _plain(doc: Any, name: str) -> dict[str, Any]:
    """A row as plain JSON. Raises `Refused` where it holds something else."""
    try:
        text = json.dumps(dict(doc), default=_json_value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Refused(f"a row of {name} holds a value that is neither text nor number ({error})") from None
    made: dict[str, Any] = json.loads(text)
    return made


def _json_value(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(type(value).__name__)


def _together(source: str, tasks: Sequence[_Task], seed: int) -> dict[str, Any]:
    """The task file. Raises `Refused` where the members of a group are not asked and scored alike."""
    from importlib.metadata import version

    first = tasks[0]
    settings = first.settings
    for other in tasks[1:]:
        for what, one, two in (
            ("settings", settings, other.settings),
            ("ways to score", first.choices, other.choices),
        ):
            keys = [key for key in {**one, **two} if one.get(key) != two.get(key)]
            if keys:
                raise Refused(
                    f"{first.name} and {other.name} differ in {', '.join(keys)} ({what}): name the members, "
                    "one benchmark each"
                )
    exemplars, items = list[dict[str, Any]](), list[dict[str, Any]]()
    data: dict[str, dict[str, Any]] = {}
    for task in tasks:
        ahead = len(exemplars)
        exemplars += task.exemplars
        for item in task.items:
            item["draws"] = {
                count: [ahead + each for each in places] for count, places in item["draws"].items()
            }
            items.append(item)
        for split, rows in task.data:
            name = split if len(tasks) == 1 else f"{task.name}: {split}"
            content = "\n".join(json.dumps(_plain(row, task.name), sort_keys=True) for row in rows)
            data[name] = {"rows": len(rows), "sha256": hashlib.sha256(content.encode()).hexdigest()}
    return {
        "format": "gridc-task/1",
        "package": PACKAGE,
        "version": version(PACKAGE),
        "task": re.sub(r"\.ya?ml$", "", source),
        "title": source if len(tasks) > 1 else str(first.config.task_alias or first.name),
        "seed": seed,
        "shots": sorted({count for task in tasks for count in task.shots}),
        "direction": "higher_is_better",
        "settings": settings,
        "choices": first.choices,
        "left_out": list(dict.fromkeys(said for task in tasks for said in task.left_out)),
        "files": {name: value for task in tasks for name, value in task.files.items()},
        "data": data,
        "members": [{"name": task.name, "items": len(task.items)} for task in tasks],
        "exemplars": exemplars,
        "items": items,
    }


def _parts_of(path: Path) -> set[Path]:
    """A YAML file, those that it includes, and the Python files beside those that name functions. Groups
    name their members by files beside them, so that all of these count too."""
    from lm_eval.tasks._yaml_loader import load_yaml

    found: set[Path] = set()
    ahead = [path.resolve()]
    while ahead:
        here = ahead.pop()
        if here in found:
            continue
        found.add(here)
        text = here.read_text("utf-8")
        stated = load_yaml(here, resolve_func=False, recursive=False)
        included = stated.get("include", [])
        for name in included if isinstance(included, list) else [included]:
            ahead.append((here.parent / name).resolve())
        if "!function" in text:
            found |= {each.resolve() for each in here.parent.glob("*.py")}
        if "group" in stated and not _shipped(here):
            ahead += [each.resolve() for each in here.parent.glob("**/*.yaml")]
    return found


def _shipped(path: Path) -> bool:
    return _package() in path.parents


def _package() -> Path:
    import lm_eval

    return Path(lm_eval.__path__[0]).resolve()


def _named(path: Path, folder: str) -> str:
    """A file as a stamp names it: below the package, or below the study's folder."""
    if _shipped(path):
        return path.relative_to(_package().parent).as_posix()
    here = Path(folder).resolve()
    return path.relative_to(here).as_posix() if here in path.parents else path.name
