"""Small studies as tests state them, with scripts for models: their specs, how they are carried out, and what
they leave behind. A test writes what it is about; what every spec needs besides stands here."""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import gridc
from gridc.study import OpenStudy
from tools.servers.http import Asked, Reply
from tools.servers.judges import completion

Messages = Sequence[Mapping[str, str]]
Script = Callable[[str, Messages], str]
"""What a model says: its name, and the conversation."""


def pocket(**names: str) -> dict[str, str]:
    """Models that ship with gridc, by the id that a study gives each."""
    return {model: f'engine = "hf", source = "builtin:pocket-{name}"' for model, name in names.items()}


def behind(url: str, *names: str, version: str = "") -> dict[str, str]:
    """Models behind an address, whose ids are their names there but for the version."""
    return {name: f'engine = "api", source = "{name}{version}", base_url = "{url}"' for name in names}


def head(study: str, models: Mapping[str, str], purpose: str = "comparative", waived: str = "") -> str:
    """The first keys of a spec: the study, its models with the keys of each, a hazard that is waived."""
    listed = ", ".join(f'{{ id = "{name}", {keys} }}' for name, keys in models.items())
    return (
        f'gridcard = 1\nstudy = {{ id = "{study}", title = "A study", purpose = "{purpose}", '
        f'not_varied = ["everything else"] }}\nmodel = [{listed}]\n'
        + (f'waive = [{{ code = "{waived}", why = "a test" }}]\n' if waived else "")
    )


def benchmark(name: str, fields: str, *keys: str, direction: str = "higher_is_better") -> str:
    """A benchmark of the rows of items.jsonl, which `fields` name; `keys` are lines with further keys."""
    stated = ["", "[[benchmark]]", f'id = "{name}"', 'loader = "rows"', 'source = "path:items.jsonl"']
    return "\n".join([*stated, f'direction = "{direction}"', *keys, f"loading.fields = {{ {fields} }}", ""])


def axis(name: str, levels: Mapping[str, str], stress: Collection[str] = (), by: str = "a test") -> str:
    """An axis, whose levels have these lines of keys and this provenance; some are of the tier `stress`."""
    stated = ["[[axis]]", f'id = "{name}"']
    for level, keys in levels.items():
        tier = "stress" if level in stress else "core"
        stated += ["[[axis.level]]", f'id = "{level}"', f'tier = "{tier}"', keys, f'provenance = "{by}"']
    return "\n".join([*filter(None, stated), ""])


def lines(rows: Iterable[object]) -> str:
    """JSON Lines, with letters as they are."""
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def written(
    folder: Path, spec: str, items: Iterable[object] = (), **files: str | Iterable[object]
) -> OpenStudy:
    """The study of a spec, in a folder with its items, items.jsonl, and other files: `scorers_py` is
    scorers.py. What is no text are rows of JSON Lines."""
    folder.mkdir(exist_ok=True)
    for name, content in {"gridcard_toml": spec, "items_jsonl": items, **files}.items():
        text = content if isinstance(content, str) else lines(content)
        (folder / name.replace("_", ".")).write_text(text, "utf-8")
    return gridc.open(folder)


@dataclass
class Scripted:
    """A server that says what a script says, and keeps what it was asked: the model and the conversation.
    `finish` is why it says that each answer ended."""

    script: Script
    finish: str = "stop"
    asked: list[tuple[str, Messages]] = field(default_factory=list)

    async def __call__(self, asked: Asked) -> Reply:
        body = asked.document
        self.asked.append((body["model"], body["messages"]))
        return Reply.json(completion(body, self.script(body["model"], body["messages"]), self.finish))

    def prompts(self) -> list[str]:
        """The last message of each conversation."""
        return [messages[-1]["content"] for _, messages in self.asked]


@dataclass(frozen=True)
class Finished:
    """A study that was carried out, as its files have it."""

    study: OpenStudy
    prompts: Sequence[str] = ()

    @property
    def folder(self) -> Path:
        return self.study.store.parents[2]

    @property
    def results(self) -> Path:
        return self.study.store.parent

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """What the store answers."""
        with closing(sqlite3.connect(self.study.store)) as store:
            return store.execute(statement, values).fetchall()

    def texts(self) -> Iterator[tuple[str, str, str, str]]:
        """Model, configuration, item and the text that was answered."""
        yield from self.rows(
            """SELECT cell.model, cell.configuration, item, json_extract(call.answer, '$.text') FROM sample
               JOIN cell ON cell.id = sample.cell JOIN trace USING (cell, item, replicate)
               JOIN call ON call.id = trace.call ORDER BY 1, 2, 3"""
        )

    def certificate(self, benchmark: str | None = None) -> dict[str, Any]:
        """What the certificate prints of a benchmark, the only one unless it is named."""
        document = json.loads((self.results / "certificate.json").read_text("utf-8"))
        (row,) = (row for row in document["benchmarks"] if benchmark in (None, row["benchmark"]))
        return dict(row)

    def row(self, configuration: str, benchmark: str | None = None) -> dict[str, Any]:
        """What the certificate prints of a configuration, by model."""
        rows = self.certificate(benchmark)["envelope"]
        (scores,) = (row["scores"] for row in rows if row["configuration"] == configuration)
        return dict(scores)

    def scores(self, benchmark: str, model: str) -> dict[str, float]:
        """The scores of a model as the certificate prints them, by configuration."""
        rows = self.certificate(benchmark)["envelope"]
        shown = {row["configuration"]: row["scores"][model] for row in rows}
        return {name: row["correct"] / (row["trials"] * row["scale"]) for name, row in shown.items()}

    def rate(self, name: str, benchmark: str | None = None) -> dict[str, Any]:
        """What the certificate prints of an outcome, by model and configuration."""
        (models,) = (row["models"] for row in self.certificate(benchmark)["rates"] if row["name"] == name)
        return dict(models)

    @cached_property
    def estimates(self) -> dict[str, dict[str, Any]]:
        """What estimates.json prints, by id."""
        text = (self.results / "estimates.json").read_text("utf-8")
        return {row["id"]: row for row in json.loads(text)["estimates"]}


def carried_out(study: OpenStudy) -> Finished:
    """The study after a stamp, a run and a report."""
    study.stamp()
    study.run()
    study.report()
    return Finished(study)
