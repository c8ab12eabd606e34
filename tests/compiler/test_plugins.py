"""Plug-ins: found by entry point, named in the stamp, and coded where they are missing or broken."""

import re
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from gridc.compiler.compile import Compiled, compile_spec
from gridc.compiler.lock.deviations import departures, log_path, reconcile
from gridc.compiler.lock.lock import make_lock, stamp_of
from gridc.compiler.lowering.calls import Prompt
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import BudgetError, SpecError, UnavailableError
from gridc.runtime.engines import open_engine, opener
from gridc.runtime.engines.protocol import Call, PendingBatch, answered
from gridc.runtime.run import run_study
from gridc.runtime.store.store import Store
from gridc.schema.base import PLUGIN
from gridc.schema.canonical import digest, digest_bytes
from gridc.schema.spec import EngineSettings
from tests.compiler.edits import assert_finding, findings
from tests.plugins import CODE, install

LOADER = ('loader = "truthfulqa_mc1"', 'loader = "plugin:facts"')
FILE = 'source = "path:facts.json"'
RIGHT = ('id = "right"\nengine = "hf"', 'id = "right"\nengine = "plugin:always"')
GREEDY = ("temperature = 0.0\n", 'temperature = 0.0\nmeasurand = "plugin:last"\n')
READ = ('method = "extract"\n', 'options = "lettered"\n')
RANK = ('method = "loglikelihood"\n', 'options = "none"\n')
WARM = (
    "temperature = 0.7\nreplicates = 2\n",
    'temperature = 0.7\nreplicates = 2\nmeasurand = "plugin:last"\n',
)
EXCLUDE = """[[exclude]]
when = { scoring = "rank", decoding = { not = "greedy" } }
why = "a ranking is not sampled"
"""
SCAFFOLD = (
    'method = "extract"\n',
    'method = "extract"\nscaffold = { kind = "plugin:circle", rounds = 2 }\n',
)


def acme_with(entry: str) -> dict[str, str]:
    """What the stamp holds of an entry point of the package."""
    code = digest({"acme_gridc.py": digest_bytes(CODE.encode())})
    return {"distribution": "acme-gridc", "version": "1.2", "entry": f"acme_gridc:{entry}", "code": code}


Compile = Callable[..., Compiled]


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    install(folder, monkeypatch)
    return folder


def test_a_loader_reads_the_items_and_is_named_in_the_stamp(acme: Path, compiled: Compile) -> None:
    study = compiled(LOADER).study
    assert study.items["facts"].sampled[0].id.startswith("Which tool")
    assert study.inputs()["plugins"] == {"gridc.loaders:facts": acme_with("load")}


def test_a_study_without_plug_ins_has_none_in_its_stamp_and_imports_none(
    acme: Path, compiled: Compile
) -> None:
    assert "plugins" not in compiled().study.inputs()
    assert "acme_gridc" not in sys.modules


def test_an_engine_is_opened_and_its_model_is_unpinned_or_hashed(acme: Path, compiled: Compile) -> None:
    study = compiled(RIGHT).study
    assert study.models["right"].files  # a path: is hashed, whoever runs it
    assert study.inputs()["plugins"] == {"gridc.engines:always": acme_with("Always")}
    engine = open_engine("right", study.models["right"], "fp32", study.spec)
    assert engine.effective() == {
        "model": "right",
        "precision": "fp32",
        "answers": "A",
        "plugin": acme_with("Always"),
    }
    with pytest.raises(UnavailableError, match=r"GC342 .*acme-gridc 1\.2 fails .*no bf16 here"):
        open_engine("right", study.models["right"], "bf16", study.spec)


def test_every_file_of_a_folder_that_is_no_checkpoint_is_hashed_for_a_plug_in(
    acme: Path, compiled: Compile, small: Path
) -> None:
    folder = small.parent / "given"
    (folder / "more").mkdir(parents=True)
    for name in ("answers.json", "more/notes.txt"):
        (folder / name).write_text(name, "utf-8")
    given = re.compile(r'id = "right"\nengine = "hf"\nsource = "[^"]+"').search(small.read_text("utf-8"))
    assert given is not None
    study = compiled((given[0], 'id = "right"\nengine = "plugin:always"\nsource = "path:given"')).study
    assert dict(study.models["right"].files) == {
        name: digest_bytes(name.encode()) for name in ("answers.json", "more/notes.txt")
    }
    (folder / "more" / "link").symlink_to(folder / "answers.json")
    with pytest.raises(SpecError, match="GC314 `link` of `path:given` is a link"):
        compiled()


def test_an_engine_answers_a_whole_study(acme: Path, small: Path, compiled: Compile) -> None:
    both = [('id = "left"\nengine = "hf"', 'id = "left"\nengine = "plugin:always"'), RIGHT]
    read = (RANK[0], 'method = "extract"\nreader = "whole_response"\n')
    done = compiled(
        *both, read, (EXCLUDE, ""), ("[analysis]\n", "[engine]\nnoise_sample = 0\n\n[analysis]\n")
    )
    lock = make_lock(done.study, small.parent)
    departed = reconcile(lock, done.study, log_path(small))
    store = small.parent / "store.sqlite"
    finished = run_study(done, lock, departed, store, lambda step: None)
    assert finished.executed > 0
    with Store.open(store) as opened:
        loads = [event for event in opened.events() if event.kind == "load"]
    assert len(loads) == 2
    assert all("acme-gridc" in repr(event) for event in loads)


def test_an_answer_that_is_none_is_told_as_the_plug_ins(acme: Path, compiled: Compile) -> None:
    study = compiled(RIGHT).study
    engine = open_engine("right", study.models["right"], "fp32", study.spec)
    prompt = Prompt((("user", "Which?"),), True)
    (batch,) = engine.batches([Call("c", "loglikelihood", prompt, {"continuations": ["A", "B"]})])
    with pytest.raises(UnavailableError, match=r"GC342 .*likelihoods"):
        list(answered(engine, [PendingBatch(batch, frozenset("c"))]))


@pytest.mark.parametrize(
    ("reason", "stored"),
    [
        ("stop", "stop"),
        ("MAX_TOKENS", "length"),
        ("abort", "server_error"),
        ("SAFETY", "content_filter"),
        ("something_new", "unknown_end"),
        (None, None),
    ],
)
def test_an_engine_says_how_an_answer_ended_in_any_providers_words(
    acme: Path, compiled: Compile, reason: str | None, stored: str | None
) -> None:
    code = acme / "acme_gridc.py"
    code.write_text(code.read_text().replace('"finish": "stop"', f'"finish": {reason!r}'))
    study = compiled(RIGHT).study
    engine = open_engine("right", study.models["right"], "fp32", study.spec)
    (batch,) = engine.batches([Call("c", "generate", Prompt((("user", "?"),), True), {"max_tokens": 1})])
    (done,) = engine.answers([PendingBatch(batch, frozenset("c"))], lambda task: True)
    (answer,) = done.answers
    kind = answer.content.get("error", {}).get("kind")
    assert answer.content.get("finish", kind) == stored


def test_an_engine_takes_any_source(acme: Path, compiled: Compile) -> None:
    named = (
        'engine = "hf"\nsource = "path:models/right"',
        'engine = "plugin:always"\nsource = "acme://right"',
    )
    study = compiled(named).study
    assert "plugin:always" in (study.models["right"].unpinned or "")


def test_a_measurand_is_written_out(acme: Path, compiled: Compile) -> None:
    study = compiled(GREEDY, WARM, READ, RANK, (EXCLUDE, "")).study
    assert {cell.setting.max_tokens for cell in Plan(study).cells()} == {3}
    assert study.inputs()["plugins"] == {"gridc.measurands:last": acme_with("MEASURAND")}
    assert "plugin:" not in str(study.spec.stamped())


def test_a_scaffold_asks_what_its_package_says(acme: Path, compiled: Compile) -> None:
    study = compiled(SCAFFOLD).study
    stated = study.inputs()["plugins"]["gridc.scaffolds:circle"]
    assert stated == acme_with("circle")
    plan = Plan(study)
    sample = next(sample for cell in plan.cells() for sample in plan.samples(cell) if sample.scaffolded)
    trace = sample.trace(lambda call: {"text": "round"})
    assert [step for step, _ in trace.rows] == ["turn_0", "turn_1", "answer"]
    assert trace.calls[1][1].prompt.messages[-1] == ("user", "again")


def test_a_scaffold_that_fails_is_told_as_its_packages(acme: Path, compiled: Compile) -> None:
    plan = Plan(compiled(SCAFFOLD).study)
    sample = next(sample for cell in plan.cells() for sample in plan.samples(cell) if sample.scaffolded)
    with pytest.raises(UnavailableError, match="plugin:circle"):
        sample.trace(lambda call: {"text": "square"})


def test_another_version_is_another_stamp_and_a_departure(
    acme: Path, small: Path, compiled: Compile, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = compiled(LOADER).study
    shutil.rmtree(acme)
    install(acme, monkeypatch, version="1.3")
    after = compile_spec(small).study
    assert stamp_of(before) != stamp_of(after)
    (departure,) = departures(before.stamped(), after.stamped())
    assert departure.path == "inputs.plugins[gridc.loaders:facts]"


def test_a_scaffold_that_asks_otherwise_when_a_run_is_resumed_is_told(
    acme: Path, small: Path, compiled: Compile, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [('id = "left"\nengine = "hf"', 'id = "left"\nengine = "plugin:always"'), RIGHT]
    moody = (SCAFFOLD[0], SCAFFOLD[1].replace("circle", "moody"))
    rest = (RANK[0], 'method = "extract"\nreader = "whole_response"\n'), (EXCLUDE, "")
    done = compiled(
        *both,
        moody,
        *rest,
        ("[analysis]\n", "[budget]\ncalls = 40\n\n[engine]\nnoise_sample = 0\n\n[analysis]\n"),
    )
    lock = make_lock(done.study, small.parent)
    store = small.parent / "store.sqlite"

    def go() -> None:
        monkeypatch.delitem(sys.modules, "acme_gridc", raising=False)  # as another process has it
        now = compile_spec(small)
        run_study(now, lock, reconcile(lock, now.study, log_path(small)), store, lambda step: None)

    with pytest.raises(BudgetError):
        go()
    monkeypatch.setenv("MOOD", "angry")
    with pytest.raises(UnavailableError, match=r"GC344 .*`call_1`.* is not the one that the store holds"):
        for _ in range(9):
            with suppress(BudgetError):
                go()


def test_other_code_of_a_scaffold_under_the_same_version_is_another_stamp(
    acme: Path, small: Path, compiled: Compile
) -> None:
    before = compiled(SCAFFOLD).study
    (acme / "acme_gridc.py").write_text((acme / "acme_gridc.py").read_text() + "\nAGAIN = 1\n")
    (departure,) = departures(before.stamped(), compile_spec(small).study.stamped())
    assert departure.path == "inputs.plugins[gridc.scaffolds:circle]"


@pytest.mark.parametrize(
    ("edit", "code", "caret", "help"),
    [
        (('loader = "truthfulqa_mc1"', 'loader = "plugin:fact"'), "GC341", '"plugin:fact"', "`plugin:facts`"),
        ((RIGHT[0], RIGHT[1].replace("always", "x")), "GC341", '"plugin:x"', "plugin:always"),
        (('loader = "truthfulqa_mc1"', 'loader = "plugin:bbq"'), "GC342", '"plugin:bbq"', "write `bbq`"),
        (('loader = "truthfulqa_mc1"', 'loader = "plugin:missing"'), "GC342", '"plugin:missing"', "authors"),
        ((GREEDY[0], GREEDY[1].replace("last", "half")), "GC342", '"plugin:half"', "authors"),
        (('loader = "truthfulqa_mc1"', 'loader = "plugins:x"'), "GC104", '"plugins:x"', "known here"),
    ],
)
def test_what_is_missing_or_broken_is_told_at_its_place(
    acme: Path, compiled: Compile, edit: tuple[str, str], code: str, caret: str, help: str
) -> None:
    assert_finding(findings(compiled, edit), code, caret, help)


def test_two_packages_with_one_name_are_told(
    acme: Path, tmp_path: Path, compiled: Compile, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "other", monkeypatch, name="other-gridc")
    assert_finding(findings(compiled, LOADER), "GC342", '"plugin:facts"', "uninstall all but one")


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("bad", "GC312", "it says bad"),
        ("broken", "GC342", "RuntimeError: no such thing"),
        ("strange", "GC342", "dict"),
    ],
)
def test_a_loader_that_fails_is_told_as_its(
    acme: Path, small: Path, compiled: Compile, name: str, code: str, told: str
) -> None:
    shutil.copy(small.parent / "facts.json", small.parent / f"{name}.json")
    found = findings(compiled, LOADER, (FILE, f'source = "path:{name}.json"'))
    assert [each.code for each in found] == [code]
    assert told in found[0].message


def test_an_engine_that_is_gone_is_told() -> None:
    with pytest.raises(UnavailableError, match="GC341"):
        opener(f"{PLUGIN}gone")("m", None, "fp32", EngineSettings(), frozenset())  # type: ignore[arg-type]
