"""What a study says before and after its data: hypotheses, registrations, stamps."""

import json
from collections.abc import Callable
from typing import Any

from _pytest.monkeypatch import MonkeyPatch

import gridc
from gridc.compiler.compile import compile_spec
from gridc.compiler.frontend import lint
from gridc.compiler.grid.cells import Cell
from gridc.compiler.inputs import resolve
from gridc.compiler.instrument import versions
from gridc.compiler.lock import attestation, deviations
from gridc.compiler.lock.deviations import log_path
from gridc.compiler.lock.lock import make_lock
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight import hazards
from gridc.diagnostics.errors import StampError
from tests.museum.exhibit import EARLIER, FINDINGS, exhibit, without

AXES = '[[axis]]\nid = "template"'
SECOND = '[[model]]\nid = "second"\nengine = "hf"\nsource = "builtin:pocket-qwen2"\n\n'
UNRECONCILED = without(deviations, "require_reconciled", lambda *_: None)
"""As if no change had to be explained."""


def contrast(room: Any, kind: str, margin: str = "") -> Any:
    """A hypothesis about two ways of decoding in the room's study."""
    levels = "".join(
        f'[[axis.level]]\nid = "{name}"\ntier = "core"\ntemperature = {heat}\nprovenance = "the museum\'s"\n'
        for name, heat in (("greedy", 0.0), ("warm", 0.7))
    )
    claim = f'[[hypothesis]]\nid = "H"\nkind = "{kind}"\naxis = "decoding"\nlevel = "warm"\n'
    claim += f'reference = "greedy"\n{margin}\n'
    tested = '[analysis]\nestimator = "cluster_logit"\n'
    return room.change((AXES, f'{tested}\n{claim}\n[[axis]]\nid = "decoding"\n{levels}\n{AXES}'))


@exhibit(
    "a null control rests on ten items, of which 26 % may change unseen",
    f"{FINDINGS}, FINDINGS 20",
    "GC521",
    without(hazards, "hypothesis_hazards"),
)
def control_on_ten_items(room: Any, patch: MonkeyPatch) -> set[str]:
    contrast(room.change(("n = 48", "n = 10")), "null_control", "margin = { pp = 2 }")
    return set(room.codes())


@exhibit(
    "a difference is predicted that no outcome could refute",
    "Safety Under Scaffolding, H1 and table 43; most comparisons of benchmarks",
    "GC522",
    without(hazards, "hypothesis_hazards"),
)
def nothing_could_refute(room: Any, patch: MonkeyPatch) -> set[str]:
    return set(contrast(room, "difference").codes())


def departures(room: Any, change: Callable[[], object]) -> set[str]:
    """What is said when a stamped study is run after a change that no log explains."""
    lock = make_lock(room.compiled().study, room.spec)
    change()
    try:
        deviations.require_current(lock, room.compiled().study, log_path(room.spec))
    except StampError as error:
        return {each.code for each in error.diagnostics}
    return set()


@exhibit(
    "the models are not those that were registered, and conclusions are said to be identical",
    f"{FINDINGS}, FINDINGS 6 (D-008)",
    "GC401",
    UNRECONCILED,
)
def another_roster(room: Any, patch: MonkeyPatch) -> set[str]:
    return departures(room, lambda: room.change(("[[benchmark]]", SECOND + "[[benchmark]]")))


@exhibit(
    "cases are added after a wide interval was seen",
    f"{FINDINGS}, FINDINGS 8",
    "GC401",
    UNRECONCILED,
)
def cases_added(room: Any, patch: MonkeyPatch) -> set[str]:
    room.change(("n = 48", "n = 40"))
    return departures(room, lambda: room.change(("n = 40", "n = 48")))


@exhibit(
    "a file of the right name holds other items",
    f"{FINDINGS}, FINDINGS 14: AI factual recall, validated as sycophancy",
    "GC405",
    UNRECONCILED,
)
def another_item_set(room: Any, patch: MonkeyPatch) -> set[str]:
    rows = json.loads((room.folder / "facts.json").read_text("utf-8"))
    rows[0]["question"] = "Which model are you?"
    return departures(room, lambda: room.file("facts.json", json.dumps(rows)))


@exhibit(
    "the margin was registered as 3 points, and 2 are met",
    f"{FINDINGS}, FINDINGS 21",
    "GC401",
    UNRECONCILED,
)
def another_margin(room: Any, patch: MonkeyPatch) -> set[str]:
    contrast(room, "equivalence", "margin = { pp = 3 }")
    return departures(room, lambda: room.change(("pp = 3", "pp = 2")))


@exhibit(
    "hypotheses keep their names, H5a to H5d, and say something else than was registered",
    f"{FINDINGS}, FINDINGS 21",
    "GC401",
    UNRECONCILED,
)
def another_claim(room: Any, patch: MonkeyPatch) -> set[str]:
    contrast(room, "difference", "margin = { pp = 3 }")
    return departures(
        room,
        lambda: room.change(('level = "warm"\nreference = "greedy"', 'level = "greedy"\nreference = "warm"')),
    )


@exhibit(
    "what is called map_reduce is three calls with the whole prompt and a vote",
    f"{FINDINGS}, FINDINGS 3: the format study",
    "GC401",
    UNRECONCILED,
)
def a_vote_called_map_reduce(room: Any, patch: MonkeyPatch) -> set[str]:
    levels = "".join(
        f'[[axis.level]]\nid = "{name}"\ntier = "core"\nscaffold = {{ kind = "{name}" }}\n'
        'provenance = "the museum\'s"\n'
        for name in ("direct", "map_reduce")
    )
    room.change((AXES, f'[[axis]]\nid = "scaffold"\n{levels}\n{AXES}'))
    return departures(room, lambda: room.change(('kind = "map_reduce"', 'kind = "vote"')))


DERIVED = "a stamp's strength is what its evidence shows (`attestation.attestations`)"


@exhibit(
    "a methodology stamp says pre-registered, because the code says so",
    f"{FINDINGS}, D: `pre_registered=True`",
    DERIVED,
    without(
        attestation, "_commit", lambda *_: attestation.Attestation("registration", "10.1234/said-so", "me")
    ),
)
def registered_by_assertion(room: Any, patch: MonkeyPatch) -> set[str]:
    tied = attestation.strongest_attestation(gridc.open(room.spec).stamp().anchors)
    return {DERIVED} if tied.strength == "unanchored" else set()


APART = "a cell's key names its benchmark (`Cell.key`)"


@exhibit(
    "a checkpoint's key lacks the benchmark, so that one answers for another",
    f"{FINDINGS}, D",
    APART,
    lambda patch: patch.setattr(Cell, "key", property(lambda self: f"{self.model}/{self.configuration}")),
)
def benchmarks_share_a_key(room: Any, patch: MonkeyPatch) -> set[str]:
    text = room.spec.read_text("utf-8")
    start, end = text.index("[[benchmark]]"), text.index("[harness]")
    room.change(("[harness]", text[start:end].replace('id = "facts"', 'id = "again"') + "[harness]"))
    keys = [cell.key for cell in Plan(compile_spec(room.spec).study).cells()]
    return {APART} if len(set(keys)) == len(keys) == 2 else set()


RIVALS = "two hypotheses of which one at most can be supported are named (`lint._opposite_predictions`)"


@exhibit(
    "a study predicts both orders, and whichever comes true was predicted",
    EARLIER,
    RIVALS,
    without(lint, "_opposite_predictions"),
)
def both_were_predicted(room: Any, patch: MonkeyPatch) -> set[str]:
    contrast(room, "difference", 'side = "greater"')
    other = 'kind = "difference"\naxis = "decoding"\nlevel = "warm"\nreference = "greedy"\nside = "less"\n'
    room.file("gridcard.toml", f'{room.spec.read_text("utf-8")}\n[[hypothesis]]\nid = "H2"\n{other}')
    notes = gridc.open(room.spec).validate().notes
    return {RIVALS} if any("at most one of them can be supported" in note for note in notes) else set()


UNRUN = "a level that exclusions take out everywhere is named (`lint._levels_never_run`)"


@exhibit(
    "a paper lists a level that no model was asked under",
    EARLIER,
    UNRUN,
    without(lint, "_levels_never_run"),
)
def never_run(room: Any, patch: MonkeyPatch) -> set[str]:
    contrast(room, "difference", 'side = "greater"')
    text = room.spec.read_text("utf-8")
    level = '[[axis.level]]\nid = "hot"\ntier = "core"\ntemperature = 1.0\nprovenance = "the museum\'s"\n'
    excluded = '[[exclude]]\nwhen = { decoding = "hot" }\nwhy = "it takes long"\n'
    room.file("gridcard.toml", text.replace(f"\n{AXES}", f"{level}\n{AXES}") + excluded)
    notes = gridc.open(room.spec).validate().notes
    return {UNRUN} if any("`hot` of axis `decoding` is never run" in note for note in notes) else set()


@exhibit(
    "what reads the answers is improved between stamp and run, and the numbers are of another reader",
    f"{EARLIER}: locks of format 3",
    "GC409",
    without(resolve, "behaviour", lambda _: {}),
)
def another_reader(room: Any, patch: MonkeyPatch) -> set[str]:
    versions_then = {**versions.PARTS}
    raised = versions_then | {"reader:last_answer": versions_then["reader:last_answer"] + 1}
    return departures(room, lambda: patch.setattr(versions, "PARTS", raised))
