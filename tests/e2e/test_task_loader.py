"""A task loader from its entry point to a verified study, in a real child process: a small package stands for
lm-evaluation-harness where that is not installed, and is a plug-in of its own."""

import json
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.compiler.preflight import task_files
from gridc.diagnostics.errors import GridcError
from tests import plugins

LOADER = """
import hashlib
import json
import os
from pathlib import Path

OPTIONS = ["four", "six"]

def digest(value):
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()

class Tasks:
    def read(self, source, folder, arguments, shots, seed):
        if source == "none":
            raise ValueError("there is no task `none`")
        counts = sorted({0 if count is None else count for count in shots})
        word = (Path(folder) / source).read_text().split()[1] if source.endswith(".yaml") else source
        items = []
        for number in range(4):
            query = f"What is {word} {number}?"
            prompts = {str(count): digest([[self.shown(count) + query, " " + each] for each in OPTIONS])
                       for count in counts}
            items.append({"id": f"{source}-{number}", "member": source, "query": query, "options": OPTIONS,
                          "gold": [number % 2], "prompts": prompts,
                          "draws": {str(count): list(range(count)) for count in counts if count}})
        key = "SECRET_KEY" in os.environ
        self.text = json.dumps({
            "format": "gridc-task/1", "package": "acme", "version": "1.2", "task": source,
            "title": f"{word}, {'with' if key else 'without'} a key", "seed": seed, "shots": counts,
            "direction": "higher_is_better",
            "settings": {"method": "loglikelihood", "options": "none", "option_order": "file", "shots": 0,
                         "prompt": "{{ query }}{% if answer %} {{ answer }}{% endif %}",
                         "seam": "context_length", "ties": "first", "normalise": "none"},
            "choices": {"metric": {"acc": {"normalise": "none"}, "acc_norm": {"normalise": "char"}}},
            "files": self.files(source, folder)["files"], "members": [{"name": source, "items": 4}],
            "exemplars": [{"id": f"e{place}", "member": source, "split": "dev", "query": f"Q{place}?",
                           "answer": OPTIONS[place % 2]} for place in range(3)],
            "items": items,
        })
        return len(self.text)

    def shown(self, count):
        return "".join(f"Q{place}? {OPTIONS[place % 2]}\\n\\n" for place in range(count))

    def part(self, start, length):
        return self.text[start:start + length]

    def files(self, source, folder):
        path = Path(folder) / source
        if not path.is_file():
            return {"files": {}, "code": []}
        return {"files": {source: hashlib.sha256(path.read_bytes()).hexdigest()}, "code": [source]}

    def dataset(self, source, folder):
        return []
"""

SPEC = """\
gridcard = 1
study = { id = "t", title = "A task", purpose = "descriptive", not_varied = ["all else"] }
model = [{ id = "pocket", engine = "hf", source = "builtin:pocket-llama" }]
[[benchmark]]
id = "quiz"
loader = "LOADER"
source = "SOURCE"
[[axis]]
id = "shots"
values = { shots = [0, 2] }
tier = "core"
provenance = "a test"
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offers = "[gridc.tasks]\nquiz = acme_gridc:Tasks\n"
    plugins.install(tmp_path / "packages", monkeypatch, offers=offers, code=LOADER)
    monkeypatch.setattr(task_files, "LOADERS", {"lm-eval": ("acme_gridc:Tasks", "acme_gridc", "install it")})
    monkeypatch.setenv("SECRET_KEY", "a key that no task may see")
    monkeypatch.delenv("GRIDC_ALLOW", raising=False)


def study(folder: Path, loader: str, source: str) -> Any:
    folder.mkdir(exist_ok=True)
    spec = folder / "gridcard.toml"
    spec.write_text(SPEC.replace("LOADER", loader).replace("SOURCE", source), "utf-8")
    return gridc.open(spec)


@pytest.mark.parametrize(("loader", "file"), [("lm-eval", "maths"), ("plugin:quiz", "quiz.maths")])
def test_a_task_runs_to_a_verified_study(tmp_path: Path, loader: str, file: str) -> None:
    opened = study(tmp_path / "study", loader, "task:maths")
    plan = opened.plan().as_json()
    stored = f"tasks/{file}.shots-0-2.json"
    proof = f"quiz: 8 of 8 prompts are acme 1.2's to the byte, as {stored} has them, in 2 configurations"
    assert proof in plan["notes"]
    made = json.loads((tmp_path / "study" / stored).read_text("utf-8"))
    assert made["title"] == "maths, without a key"
    notes = opened.validate(check=True).notes
    assert f"quiz: {stored} is what acme 1.2 renders here" in notes
    opened.run()
    opened.report()
    assert opened.verify().exit_code == 0
    card = (tmp_path / "study" / "results" / "t" / "gridcard.json").read_text("utf-8")
    assert proof.removeprefix("quiz: ") in card and "maths of acme 1.2" in card
    assert "the task's own for each item, seed 1234" in card


def test_a_task_beside_the_spec_runs_after_consent_to_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = study(tmp_path / "study", "lm-eval", "path:mine.yaml")
    (tmp_path / "study" / "mine.yaml").write_text("word: sums\n", "utf-8")
    with pytest.raises(GridcError) as raised:
        opened.plan()
    (found,) = raised.value.diagnostics
    assert found.code == "GC643" and "mine.yaml" in found.message and found.help is not None
    assert not (tmp_path / "study" / "tasks").exists()
    monkeypatch.setenv("GRIDC_ALLOW", found.help.partition("GRIDC_ALLOW=")[2].split()[0])
    opened.plan()
    monkeypatch.delenv("GRIDC_ALLOW")
    again = opened.validate(check=True).notes
    assert any("was not rendered again here (nobody has consented to run mine.yaml" in note for note in again)
    (tmp_path / "study" / "mine.yaml").write_text("word: more\n", "utf-8")
    with pytest.raises(GridcError, match=r"mine\.yaml has changed since"):
        opened.plan()
    (tmp_path / "study" / "tasks" / "mine.shots-0-2.json").unlink()
    with pytest.raises(GridcError, match="GC643"):
        opened.plan()


def test_a_task_file_that_its_package_does_not_render_is_found(tmp_path: Path) -> None:
    opened = study(tmp_path / "study", "lm-eval", "task:maths")
    opened.plan()
    file = tmp_path / "study" / "tasks" / "maths.shots-0-2.json"
    content = json.loads(file.read_text("utf-8"))
    content["items"][2]["gold"] = [1]
    file.write_text(json.dumps(content), "utf-8")
    opened.plan()  # it is data, and says what it says
    with pytest.raises(GridcError) as raised:
        opened.validate(check=True)
    (found,) = raised.value.diagnostics
    assert found.code == "GC347"
    assert found.message.endswith("is not what acme 1.2 renders here: `maths-2` differs")
    content["version"] = "1.1"
    file.write_text(json.dumps(content), "utf-8")
    (note,) = (note for note in opened.validate(check=True).notes if "otherwise" in note)
    assert note.endswith("is of acme 1.1, and acme 1.2 renders `maths-2` otherwise")


def test_what_a_loader_refuses_is_said_at_its_place(tmp_path: Path) -> None:
    with pytest.raises(GridcError) as raised:
        study(tmp_path / "study", "lm-eval", "task:none").plan()
    (found,) = raised.value.diagnostics
    assert found.code == "GC347" and found.message == "`task:none`: there is no task `none`"
    assert found.span is not None and found.line == 'source = "task:none"'


def test_nothing_is_written_outside_of_the_folder(tmp_path: Path) -> None:
    opened = study(tmp_path / "study", "lm-eval", "task:maths")
    (tmp_path / "away").mkdir()
    (tmp_path / "study" / "tasks").symlink_to(tmp_path / "away")
    with pytest.raises(GridcError, match="leads outside the spec's folder"):
        opened.plan()
    assert list((tmp_path / "away").iterdir()) == []
