"""Tasks of lm-evaluation-harness 0.4, as task files.

lm_eval itself renders every text here: the query, the options, the exemplars that its sampler draws, and the
requests that it would send, of which the task file holds a digest for each form: `K` plain text with K
exemplars, `K:chat` as one turn of a chat, `K:turns` as several. A digest is SHA-256 of the canonical JSON of
the list of an item's requests: of multiple choice `[[context, continuation], ...]` in the order of the
options (without those behind an empty context, which acc_mutual_info adds), of generation `[context]`. In a
chat the context is the canonical JSON of `[[role, content], ...]`.

Every function that imports lm_eval runs in a child process: this module is imported where lm_eval is not
installed.
"""

import hashlib
import math
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from gridc.adapters.tasks import lm_eval_files
from gridc.adapters.tasks.lm_eval_effects import TaskEffects, task_effects
from gridc.adapters.tasks.lm_eval_files import Refused, TaskSource, words
from gridc.schema.canonical import canonical

FORMAT = "gridc-task/1"
FORMS = {"": (False, False), ":chat": (True, False), ":turns": (True, True)}
"""By what stands behind the number of exemplars: whether it is a chat, and whether exemplars are turns."""

EXACT = 2**53
"""Whole numbers from here on are not the same to all readers of JSON."""


class TaskReader:
    """Reads tasks in a child process (`gridc.confined.Confined`).

    A task that gridc does not take is refused with a `ValueError` that names it:

    - one that lm_eval does not have, cannot read or cannot open;
    - a file outside the study's folder, and a function in no file beside its task file;
    - a Python class;
    - an output type other than multiple_choice and generate_until;
    - process_results, unsafe_code, doc_to_image, doc_to_audio, use_prompt;
    - exemplars where the task sets num_fewshot to 0;
    - no metric, or no filter, that gridc has;
    - parameters of generation other than until, the most tokens, do_sample, temperature and top_p;
    - rows that hold bytes or images;
    - items without a right option among their options, with options that are empty or no texts, or with right
      answers of another type than the first item's;
    - exemplars without an answer, and texts that differ each time they are rendered;
    - groups whose members differ in settings, choices or direction.
    """

    def __init__(self) -> None:
        self._text = ""

    def read(
        self,
        source: str,
        folder: str,
        arguments: dict[str, Any] | None = None,
        shots: list[int | None] | None = None,
        seed: int = 1234,
    ) -> int:
        """Make the task file of `load`, keep its text, and give its length in characters."""
        self._text = canonical(load(source, folder, arguments, shots, seed)).decode()
        return len(self._text)

    def part(self, start: int, length: int) -> str:
        """So many characters of the text that was read last. A message of `Confined` holds 2^23 of them."""
        return self._text[start : start + length]

    def files(self, source: str, folder: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """The YAML and Python files of a task by name, with SHA-256 (`files`), and which of them lie in the
        folder (`code`). No code of the task is run. Raises `ValueError`."""
        with _at(folder, source) as home:
            found = lm_eval_files.find_task(source, home, _split(arguments)[0])
            return {"files": lm_eval_files.digests(found, home), "code": lm_eval_files.own(found, home)}

    def dataset(
        self, source: str, folder: str, arguments: dict[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """The data sets of a task: `path`, `name` and `kwargs`, each once. No code of the task is run.
        `path` is None where a function of the task makes the data. Raises `ValueError`."""
        with _at(folder, source) as home:
            found = lm_eval_files.find_task(source, home, _split(arguments)[0])
            listed: list[dict[str, Any]] = []
            for leaf in found.leaves:
                made = leaf.config.get("custom_dataset") is not None
                one = {
                    "path": None if made else leaf.config.get("dataset_path"),
                    "name": leaf.config.get("dataset_name"),
                    "kwargs": leaf.config.get("dataset_kwargs") or {},
                }
                if one not in listed:
                    listed.append(one)
            return listed


Loader = TaskReader
"""What every task loader calls the class that works in its child process."""


def load(
    source: str,
    folder: str,
    arguments: Mapping[str, Any] | None = None,
    shots: Sequence[int | None] | None = None,
    seed: int = 1234,
) -> dict[str, Any]:
    """The task file of a registered task, group or tag, or of a YAML file.

    Args:
        source: the name, or the path of a file that ends in .yaml or .yml, relative to the folder.
        folder: where the spec lies; relative paths of data files start there.
        arguments: keys of the configuration that every task of it gets in place of its own, such as
            `dataset_kwargs`; `metadata` is what lm_eval's option of that name takes.
        shots: numbers of exemplars to record draws and prompts for; None is the task's own, and the default.
        seed: of the draws of exemplars, as lm_eval's `fewshot_random_seed`.

    Exemplars are those that some item draws. Numbers that JSON readers do not share (whole ones of 2^53 and
    more, infinity, not-a-number) are texts in `extra`, and so are dates.

    Raises:
        ValueError: a task that gridc does not take, see `TaskReader`.
    """
    with _at(folder, source) as home, _templates_once():
        overrides, metadata = _split(arguments)
        found = lm_eval_files.find_task(source, home, overrides)
        files = lm_eval_files.digests(found, home)
        asked = None if shots is None else list(shots)
        stated = {leaf.name: task_effects(leaf, asked) for leaf in found.leaves}
        tasks, title, notes = _open(found, overrides, metadata)
        if missing := tasks.keys() ^ stated.keys():
            raise Refused(f"lm_eval reads the tasks of {source} otherwise ({', '.join(sorted(missing))})")
        read = [_read(name, task, *stated[name], seed) for name, task in tasks.items()]
        return _document(source, title, read, seed, files, notes)


@dataclass
class _ReadTask:
    """A task that was rendered. `draws` of items are places in `exemplars`."""

    name: str
    effects: TaskEffects
    counts: list[int]
    items: list[dict[str, Any]] = field(default_factory=list)
    exemplars: list[dict[str, Any]] = field(default_factory=list)
    rows: dict[str, list[bytes]] = field(default_factory=dict)
    """The rows of each split that was used, as canonical JSON."""


def _split(arguments: Mapping[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Keys of the configuration, and lm_eval's own metadata."""
    from dataclasses import fields

    from lm_eval.config.task import TaskConfig

    stated = dict(arguments or {})
    metadata = stated.pop("metadata", {})
    known = {held.name for held in fields(TaskConfig)} - {"task"}
    if unknown := sorted(stated.keys() - known):
        raise Refused(f"lm_eval has no key {', '.join(unknown)} of a task's configuration")
    if not isinstance(metadata, dict):
        raise Refused("metadata of a task is a table")
    return stated, metadata


@contextmanager
def _at(folder: str, source: str) -> Iterator[Path]:
    """Work in the folder of the spec, and give its whole path. Whatever goes wrong is said in words that name
    the task."""
    # There is no network here, and without these the hub's client waits for it again and again.
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    try:
        import lm_eval  # noqa: F401
    except ImportError as error:
        raise Refused(f"the task {source} needs the package lm_eval, which is not installed") from error
    home = Path(folder).resolve()
    with _saying("read", source), chdir(home):
        yield home


@contextmanager
def _saying(does: str, what: str) -> Iterator[None]:
    try:
        yield
    except (Refused, MemoryError):
        raise
    except Exception as error:  # lm_eval, its functions and the readers of data raise anything
        raise Refused(f"lm_eval cannot {does} {what}: {words(error)}") from error


@contextmanager
def _templates_once() -> Iterator[None]:
    """Compile each Jinja template once, where lm_eval does for every text, and load no metric: answers are
    not scored here, and lm_eval would look for some metrics in the network."""
    from lm_eval import utils
    from lm_eval.api import task

    compiled, metric = utils.env.from_string, task.get_metric
    utils.env.from_string = lru_cache(maxsize=1024)(compiled)
    task.get_metric = lambda *_: None
    try:
        yield
    finally:
        utils.env.from_string, task.get_metric = compiled, metric


def _open(
    found: TaskSource, overrides: Mapping[str, Any], metadata: Mapping[str, Any]
) -> tuple[dict[str, Any], str, list[str]]:
    """The tasks with their data, by name; a title, and what of a group gridc does not take. Generators are
    seeded as lm_eval does before it opens tasks, because functions of tasks may draw."""
    import numpy
    from lm_eval.defaults import DEFAULT_OTHER_SEED, DEFAULT_RANDOM_SEED
    from lm_eval.tasks import TaskManager
    from lm_eval.tasks._factory import TaskFactory
    from lm_eval.utils import set_torch_seed

    random.seed(DEFAULT_RANDOM_SEED)
    numpy.random.seed(DEFAULT_OTHER_SEED)
    set_torch_seed(DEFAULT_OTHER_SEED)
    with _saying("open the task", found.entry.name):
        built = TaskFactory(meta=dict(metadata)).build(
            found.entry, overrides=dict(overrides), registry=dict(found.index)
        )
        loaded = TaskManager(include_defaults=False).load(built)
    groups = loaded["groups"].values()
    notes = [
        f"group {group.name}: lm_eval's mean over its tasks gives each the same weight"
        for group in groups
        for metric in group.aggregate_metric_list or ()
        if not metric.weight_by_size
    ]
    title = getattr(built, "alias", None) or found.entry.name
    if len(loaded["tasks"]) == 1 and not groups:
        (task,) = loaded["tasks"].values()
        title = task.config.task_alias or title
    return loaded["tasks"], str(title), list(dict.fromkeys(notes))


def _read(name: str, task: Any, stated: TaskEffects, counts: list[int], seed: int) -> _ReadTask:
    """A task with all its items, rendered in all forms."""
    read = _ReadTask(name, stated, counts)
    _several(name, task, stated)
    with _saying("give the rows of the task", name):
        docs = list(task.eval_docs)
        pool = list(getattr(task.sampler, "df", ())) if any(counts) else []
        read.rows[task.config.test_split or task.config.validation_split] = [_row(name, doc) for doc in docs]
    if any(counts):
        read.rows.setdefault(_pool_split(task), [_row(name, doc) for doc in pool])
    prompts: list[dict[str, str]] = [{} for _ in docs]
    draws: list[dict[str, list[int]]] = [{} for _ in docs]
    turns: list[list[str]] = []
    recorder = _Recorder(read, task, pool)
    for count in counts:
        for form, (chat, split) in FORMS.items():
            if chat and stated.in_query:
                continue  # `left_out` says how a chat differs
            task.set_fewshot_seed(seed)
            plain = not chat
            for place, doc in enumerate(docs):
                with recorder.on(plain), _saying("render", f"item {place} of the task {name}"):
                    context = task.fewshot_context(
                        doc,
                        num_fewshot=count,
                        system_instruction=None,
                        apply_chat_template=chat,
                        fewshot_as_multiturn=split,
                        chat_template=_messages if chat else None,
                        gen_prefix=task.doc_to_prefix(doc),
                    )
                    requests = task.construct_requests(
                        doc=doc,
                        ctx=context,
                        metadata=(name, place, 1),
                        apply_chat_template=chat,
                        chat_template=_messages if chat else None,
                    )
                    sent = (
                        [list(request.args) for request in requests[: len(task.doc_to_choice(doc))]]
                        if isinstance(requests, list)
                        else [requests.args[0]]
                    )
                    prompts[place][f"{count}{form}"] = hashlib.sha256(canonical(sent)).hexdigest()
                if count:
                    drawn = recorder.places()
                    if draws[place].setdefault(str(count), drawn) != drawn:
                        raise Refused(f"the sampler of the task {name} draws other exemplars in a chat")
                if plain:
                    asked = recorder.asked(count, place)
                    if count == counts[0]:
                        turns.append(asked)
                    elif turns[place] != asked:
                        raise Refused(f"the task {name} renders item {place} differently each time")
    for place, doc in enumerate(docs):
        with _saying("render", f"item {place} of the task {name}"):
            item = _item(read, task, place, doc, turns[place])
        item |= {"draws": draws[place], "prompts": prompts[place]}
        read.items.append(item)
    return read


def _several(name: str, task: Any, stated: TaskEffects) -> None:
    """Leave out the metrics that lm_eval does not give for several inputs or several right options."""
    if task.OUTPUT_TYPE != "multiple_choice":
        return
    if task.multiple_input:
        why = "lm_eval divides by the lengths of the inputs, and not of the continuation"
        stated.without(("acc_norm", "acc_bytes", "acc_mutual_info"), why, name)
    if task.multiple_target:
        why = "lm_eval does not give it for several right options"
        stated.without(("acc_mutual_info",), why, name)


def _pool_split(task: Any) -> str:
    """The split that exemplars are drawn from, by lm_eval's rule."""
    config = task.config
    if task.fewshot_cfg.split is not None:
        return str(task.fewshot_cfg.split)
    if task.fewshot_cfg.samples is not None:
        return "samples"
    return str(config.training_split or config.validation_split or config.test_split)


class _Recorder:
    """Notes which exemplars the sampler of a task draws, and which turns lm_eval makes of them."""

    def __init__(self, read: _ReadTask, task: Any, pool: list[Any]) -> None:
        self._read, self._task, self._pool = read, task, pool
        self._place = {id(doc): place for place, doc in enumerate(pool)}
        self._known: dict[int, int] = {}
        self._drawn: list[Any] = []
        self._turns: list[list[Any]] = []

    @contextmanager
    def on(self, plain: bool) -> Iterator[None]:
        """Record the rendering of one item, its turns only in plain text: in a chat they are joined."""
        task, self._drawn, self._turns = self._task, [], []
        sample, build = task.sampler.sample, task.build_qa_turn

        def recorded_sample(*given: Any, **named: Any) -> Any:
            drawn = sample(*given, **named)
            self._drawn = list(drawn)
            return drawn

        def recorded_turn(*given: Any, **named: Any) -> Any:
            turn = build(*given, **named)
            self._turns.append(list(turn))
            return turn

        task.sampler.sample = recorded_sample
        if plain:
            task.build_qa_turn = recorded_turn
        try:
            yield
        finally:
            del task.sampler.sample
            if plain:
                del task.build_qa_turn
        if plain:
            for doc, turn in zip(self._drawn, self._turns, strict=False):
                self._add(doc, turn)

    def places(self) -> list[int]:
        """The places of the drawn exemplars in `exemplars`."""
        return [self._known[self._number(doc)] for doc in self._drawn]

    def asked(self, count: int, place: int) -> list[str]:
        """What the item itself asks, behind its exemplars: one text for each input."""
        if len(self._drawn) != count:
            raise Refused(
                f"the sampler of the task {self._read.name} draws {len(self._drawn)} exemplars of {count} "
                f"for item {place}"
            )
        return ["".join(turn.to_text() for turn in turns) for turns in self._turns[count:]]

    def _number(self, doc: Any) -> int:
        if id(doc) in self._place:
            return self._place[id(doc)]
        for number, held in enumerate(self._pool):
            if held == doc:
                return number
        raise Refused(f"the sampler of the task {self._read.name} makes exemplars that lie in no split")

    def _add(self, doc: Any, turn: list[Any]) -> None:
        number, name = self._number(doc), self._read.name
        split = _pool_split(self._task)
        if len(turn) != 2 or turn[1].content == "":
            raise Refused(f"the task {name} draws exemplar {number} of {split}, which has no answer")
        query = turn[0].to_text() if self._read.effects.in_query else turn[0].content
        exemplar = {
            "id": f"{name}-{split}-{number}",
            "member": name,
            "split": split,
            "query": query,
            "answer": turn[1].content,
            "extra": _plain(doc),
        }
        if number not in self._known:
            self._known[number] = len(self._read.exemplars)
            self._read.exemplars.append(exemplar)
        elif self._read.exemplars[self._known[number]] != exemplar:
            raise Refused(f"the task {name} renders exemplar {number} of {split} differently each time")


def _messages(messages: Sequence[Mapping[str, str]], add_generation_prompt: bool = True) -> str:
    """The messages of a chat, as text."""
    return canonical([[message["role"], message["content"]] for message in messages]).decode()


def _item(read: _ReadTask, task: Any, place: int, doc: Any, asked: list[str]) -> dict[str, Any]:
    name = f"{read.name}-{place}"
    item: dict[str, Any] = {"id": name, "member": read.name, "query": asked[0]}
    if task.OUTPUT_TYPE == "multiple_choice":
        item |= _ranked(name, task, doc, asked)
    else:
        item |= {"options": [], "gold": [], "references": _references(name, task, doc)}
    preamble = task.resolve_field(doc, task.config.description) or ""
    if preamble:
        item["preamble"] = preamble
    return item | {"extra": _plain(doc)}


def _ranked(name: str, task: Any, doc: Any, asked: list[str]) -> dict[str, Any]:
    """The options, and which are right."""
    options = task.doc_to_choice(doc)
    for option in options:
        if not isinstance(option, str) or not option:
            raise Refused(f"item {name} has an option that is empty or not a text: {option!r:.80}")
    gold = task.doc_to_text(doc) if task.multiple_input else task.doc_to_target(doc)
    if not task.multiple_input and isinstance(gold, list) != bool(task.multiple_target):
        raise Refused(f"item {name} says which options are right in another form than the first item")
    listed = gold if isinstance(gold, list) else [gold]
    if isinstance(gold, str):
        listed = [options.index(gold)] if gold in options else [-100]
    for right in listed:
        if not isinstance(right, int) or not 0 <= right < len(options):
            raise Refused(f"item {name} has no right option among its {len(options)}: it says {gold!r:.80}")
    right = {"options": list(options), "gold": list(dict.fromkeys(map(int, listed))), "references": []}
    if task.multiple_input:
        right |= {"references": [f"{task.doc_to_target(doc)}"], "contexts": asked}
    return right


def _references(name: str, task: Any, doc: Any) -> list[str]:
    """The right answers, as lm_eval compares them."""
    gold = task.doc_to_target(doc)
    if task.config.doc_to_choice is not None:
        options = task.doc_to_choice(doc)
        if type(gold) is not int or not 0 <= gold < len(options):
            raise Refused(f"item {name} has no right option among its {len(options)}: it says {gold!r:.80}")
        return [str(options[gold])]
    if task.multiple_target:
        if not isinstance(gold, list) or not gold or not all(isinstance(text, str) for text in gold):
            raise Refused(f"item {name} has right answers of another form than the first item: {gold!r:.80}")
        return list(dict.fromkeys(gold))
    if not isinstance(gold, str | int | float):
        raise Refused(f"item {name} has a right answer that is not a text: {gold!r:.80}")
    return [str(gold)]


class _NotJson(Exception):
    """A value that is none of JSON. The message is what it is."""


def _plain(value: Any) -> Any:
    """A row, or a value in it, as JSON. Raises `_NotJson` for bytes, images and what else JSON has not."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if -EXACT < value < EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(held) for held in value]
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        return _plain(value.tolist())
    kind = "bytes" if isinstance(value, bytes | bytearray) else type(value).__name__
    raise _NotJson(kind)


def _row(name: str, doc: Any) -> bytes:
    try:
        return canonical(_plain(doc))
    except _NotJson as kind:
        raise Refused(f"the task {name} has rows that hold {kind}, which a task file cannot") from None


def _document(
    source: str, title: str, members: list[_ReadTask], seed: int, files: dict[str, str], notes: list[str]
) -> dict[str, Any]:
    """The task file of all members. Raises `Refused` where they differ."""
    from importlib.metadata import version

    first = members[0]
    for other in members[1:]:
        _alike(source, first, other)
    exemplars: list[dict[str, Any]] = []
    items: list[dict[str, Any]] = []
    rows: dict[str, list[bytes]] = {}
    for member in members:
        for item in member.items:
            item["draws"] = {
                count: [len(exemplars) + place for place in places] for count, places in item["draws"].items()
            }
        items += member.items
        exemplars += member.exemplars
        for split, held in member.rows.items():
            rows.setdefault(split, []).extend(held)
    return {
        "format": FORMAT,
        "package": "lm_eval",
        "version": version("lm_eval"),
        "task": source,
        "title": title,
        "seed": seed,
        "shots": first.counts,
        "direction": first.effects.direction,
        "settings": first.effects.settings,
        "choices": first.effects.choices,
        "left_out": [*_left_out(members), *notes],
        "files": files,
        "data": {
            split: {"rows": len(held), "sha256": hashlib.sha256(b"[%s]" % b",".join(held)).hexdigest()}
            for split, held in rows.items()
        },
        "members": [{"name": member.name, "items": len(member.items)} for member in members],
        "exemplars": exemplars,
        "items": items,
    }


def _left_out(members: list[_ReadTask]) -> list[str]:
    """What is left out of all members, and behind their names what is left out of some."""
    said: dict[str, list[str]] = {}
    for member in members:
        for words_of in dict.fromkeys(member.effects.left_out):
            said.setdefault(words_of, []).append(member.name)
    return [
        text if len(names) == len(members) else f"{text} ({', '.join(names)})" for text, names in said.items()
    ]


def _alike(source: str, first: _ReadTask, other: _ReadTask) -> None:
    pairs = (
        (first.effects.settings, other.effects.settings),
        (first.effects.choices, other.effects.choices),
        ({"direction": first.effects.direction}, {"direction": other.effects.direction}),
        ({"shots": first.counts}, {"shots": other.counts}),
    )
    keys = [
        key for one, two in pairs for key in sorted(one.keys() | two.keys()) if one.get(key) != two.get(key)
    ]
    if keys:
        raise Refused(
            f"the tasks of {source} differ: {first.name} and {other.name} in "
            f"{', '.join(dict.fromkeys(keys))}; ask them as benchmarks of their own"
        )
