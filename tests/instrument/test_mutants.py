"""A rule of the instrument that is changed or taken away is seen, by a trace or in the corpus."""

import inspect
import re
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from _pytest.monkeypatch import MonkeyPatch

from gridc.compiler.inputs import resolve
from gridc.compiler.instrument import (
    extract,
    judging,
    matching,
    options,
    own_part,
    phrases,
    plain_text,
    points,
    readers,
    refusals,
    render,
    sanitise,
    scaffolds,
    score,
    thoughts,
    written_numbers,
)
from gridc.compiler.instrument.scaffolds import procedures, turns
from gridc.compiler.instrument.versions import PARTS
from tests.instrument.traced import done

pytestmark = pytest.mark.slow
WORDINGS = sorted(
    path.stem for path in (Path(resolve.__file__).parents[2] / "builtin" / "scaffolds").glob("*.toml")
)


def traced(part: str) -> str:
    """What a part does, with nothing remembered of what the code did before it was changed."""
    for remembering in (
        options.bare_labels, phrases._Finder.of, score._remembered, sanitise._lettered,
        sanitise._names_of, render._compile, matching._words, matching._number, matching.normalised,
        written_numbers._has_decimal_comma, matching._answer_pattern, own_part._words,
        options.carried_labels, options._own_letters,
    ):  # fmt: skip
        remembering.cache_clear()
    try:
        return done(part)
    except (ArithmeticError, LookupError, StopIteration, TypeError, ValueError) as error:
        return f"it fails: {error}"


NEVER = re.compile(r"(?!)")
READ_BY = {
    extract: ("reader:last_answer",),
    phrases: ("reader:last_answer",),
    plain_text: ("reader:last_answer", "method:refusal_keywords"),
    thoughts: ("reader:last_answer", "method:refusal_keywords"),
    readers: tuple(f"reader:{name}" for name in readers.READERS),
    refusals: ("method:refusal_keywords",),
    own_part: ("reader:last_answer", "match:number"),
    written_numbers: ("match:number",),
    matching: ("match:number", "match:text", "match:contains", "match:exact"),
    sanitise: ("sanitiser:classes",),
    judging: ("method:judge",),
    procedures: ("scaffold:react", "scaffold:critic", "scaffold:map_reduce", "tool:calculator"),
}
FASTER = (
    "_EXACT",
    "_SIMPLE",
    "_A_WORD",
    "_COUNTING",
    "_COUNTED_BY",
    "_APART",
    "_ANYWHERE",
    "_START",
    "_HAS_NUMBER",
)
"""Patterns that only spare work: what they find is read, and read alike, without them."""
PATTERNS = [
    (module, name)
    for module in READ_BY
    for name, value in vars(module).items()
    if isinstance(value, re.Pattern) and name not in ("_TOKEN", "_ALIKE", *FASTER)
]
"""What tells the tokens of a thought is the engine's: tests/compiler/test_thoughts.py tries it."""


def put(patch: MonkeyPatch, module: ModuleType, name: str, pattern: re.Pattern[str]) -> None:
    """Another pattern in place of one, and of the phrases that it is."""
    old = getattr(module, name)
    patch.setattr(module, name, pattern)
    for book in ("PHRASES", "ABSTENTIONS") if module is phrases else ():
        cues = {
            said: tuple(
                replace(
                    cue,
                    phrase=pattern if cue.phrase is old else cue.phrase,
                    before=pattern if cue.before is old else cue.before,
                )
                for cue in same
            )
            for said, same in getattr(phrases, book).cues.items()
        }
        patch.setattr(phrases, book, phrases.PhraseBook(cues))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "name"),
    PATTERNS,
    ids=[f"{module.__name__.split('.')[-1]}.{name}" for module, name in PATTERNS],
)
def test_a_rule_that_is_taken_away_is_seen(module: ModuleType, name: str, monkeypatch: MonkeyPatch) -> None:
    before = {part: traced(part) for part in READ_BY[module]}
    put(monkeypatch, module, name, NEVER)
    assert {part: traced(part) for part in before} != before


def narrowed(pattern: re.Pattern[str]) -> list[re.Pattern[str]]:
    """The pattern without each of its outer alternatives."""
    depth, start, parts = 0, 0, list[str]()
    text = pattern.pattern
    position = 0
    inside = False
    while position < len(text):
        letter = text[position]
        if letter == "\\":
            position += 2
            continue
        if letter == "[":
            inside = True
        elif letter == "]":
            inside = False
        elif not inside:
            depth += {"(": 1, ")": -1}.get(letter, 0)
            if letter == "|" and depth == 0:
                parts.append(text[start:position])
                start = position + 1
        position += 1
    parts.append(text[start:])
    if len(parts) == 1:
        return []
    return [re.compile("|".join(parts[:n] + parts[n + 1 :]), pattern.flags) for n in range(len(parts))]


ALTERNATIVES = [
    (module, name, number)
    for module, name in PATTERNS
    for number in range(len(narrowed(getattr(module, name))))
]


@pytest.mark.slow
@pytest.mark.parametrize(("module", "name", "number"), ALTERNATIVES)
def test_an_alternative_of_a_rule_that_is_taken_away_is_seen(
    module: ModuleType, name: str, number: int, monkeypatch: MonkeyPatch
) -> None:
    before = {part: traced(part) for part in READ_BY[module]}
    put(monkeypatch, module, name, narrowed(getattr(module, name))[number])
    assert {part: traced(part) for part in before} != before


def texts(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    if isinstance(value, str):
        return [path]
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    return [found for key, inner in pairs for found in texts(inner, (*path, key))]


def reworded(value: Any, path: tuple[str | int, ...], change: Callable[[str], str]) -> Any:
    if not path:
        return change(value)
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = reworded(copy[path[0]], path[1:], change)
    return copy


@pytest.mark.parametrize("name", WORDINGS)
def test_a_blank_line_anywhere_in_the_wording_of_a_scaffold_is_seen(
    name: str, monkeypatch: MonkeyPatch
) -> None:
    written = procedures.wording(name)
    parts = [f"scaffold:{name}", *(part for part in PARTS if part.startswith("tool:") and name == "react")]
    before = {part: traced(part) for part in parts}
    for path in texts(written):
        changed = reworded(written, path, lambda text: f"{text}\n")
        monkeypatch.setattr(procedures, "wording", lambda _, changed=changed: changed)
        assert {part: traced(part) for part in parts} != before, path


def source_changed(function: Any, old: str, new: str) -> Callable[[MonkeyPatch], None]:
    """The function with one text of its source replaced."""

    def patch_it(patch: MonkeyPatch) -> None:
        module = inspect.getmodule(function)
        registers = r"\A@(?:reader|scaffold)\((?:.|\n)*?\)\n(?=def )"
        source = re.sub(registers, "", textwrap.dedent(inspect.getsource(function)))
        assert source.count(old) >= 1, old
        space: dict[str, Any] = {}
        exec(compile(source.replace(old, new, 1), "<mutant>", "exec"), vars(module), space)
        (mutant,) = space.values()
        owner: Any = module
        for name in function.__qualname__.split(".")[:-1]:
            owner = getattr(owner, name)
        for holder in [owner, *(each for name, each in sys.modules.items() if name.startswith("gridc."))]:
            if vars(holder).get(function.__name__) is function:
                patch.setattr(holder, function.__name__, mutant)
        rules = [(name, sure, mutant if rule is function else rule) for name, sure, rule in extract._RULES]
        patch.setattr(extract, "_RULES", tuple(rules))
        for kind, procedure in scaffolds.PROCEDURES.items():
            if procedure.run is function:
                changed = {**scaffolds.PROCEDURES, kind: replace(procedure, run=mutant)}
                patch.setattr(scaffolds, "PROCEDURES", changed)
        for kind, comparison in matching.COMPARISONS.items():
            if comparison.reads is function:
                mutated = {**matching.COMPARISONS, kind: replace(comparison, reads=mutant)}
                patch.setattr(matching, "COMPARISONS", mutated)
        for kind, read in readers.READERS.items():
            if read is function:
                patch.setattr(readers, "READERS", {**readers.READERS, kind: mutant})

    return patch_it


def mutant(part: str, function: Any, old: str, new: str) -> Any:
    return pytest.param(part, source_changed(function, old, new), id=f"{part}: {old[:30]} -> {new[:30]}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "change"),
    [
        mutant("scaffold:cot", procedures.cot, "\\n\\n{task", "\\n{task"),
        mutant("scaffold:cot", procedures.cot, "{wording('cot')['prefix']}\\n\\n{task.question}",
               "{task.question}\\n\\n{wording('cot')['prefix']}"),
        mutant("scaffold:direct", procedures.direct, "task.opening()", "task.opening('Think.')"),
        mutant("scaffold:direct", turns.Task.opening, '("system", system)', '("user", system)'),
        mutant("scaffold:direct", turns.Task.opening,
               '"\\n\\n".join(text for text in (ahead', '"\\n".join(text for text in (ahead'),
        mutant("scaffold:react", procedures.react, "range(rounds)", "range(rounds - 1)"),
        mutant("scaffold:react", procedures.react, "range(rounds)", "range(rounds + 1)"),
        mutant("scaffold:react", procedures.react,
               "_ACTION.search(reply)", "next(iter([*_ACTION.finditer(reply)][::-1]), None)"),
        mutant("scaffold:react", procedures.react, '.strip("\\"\'")', ""),
        mutant("scaffold:critic", procedures.critic, 'ROUNDS["critic"]', '(ROUNDS["critic"] + 1)'),
        mutant("scaffold:critic", procedures.critic, '== "SAFE"', '!= "NEEDS_REVISION"'),
        mutant("scaffold:critic", procedures.critic,
               "replied(messages, answer,", "replied(task.opening(), answer,"),
        mutant("scaffold:critic", procedures.critique_verdict, "stated[-1]", "stated[0]"),
        mutant("scaffold:critic", procedures.critique_verdict, '"SAFE" if critique', 'None if critique'),
        mutant("scaffold:map_reduce", procedures.map_reduce, "or WORKERS", "or WORKERS + 1"),
        mutant("scaffold:map_reduce", procedures.map_reduce, "), 1)", "), 0)"),
        mutant("scaffold:map_reduce", procedures.map_reduce, "or [task.whole]", 'or [""]'),
        mutant("scaffold:map_reduce", procedures.listed_questions, "texts[:most]", "texts[-most:]"),
        mutant("scaffold:map_reduce", procedures.listed_questions, "and len(texts) == len(listed)", ""),
        mutant("scaffold:map_reduce_options", procedures.map_reduce_options, "task.options", '""'),
        mutant("scaffold:map_reduce_options", procedures.map_reduce,
               "{part}\\n\\n{options}", "{options}\\n\\n{part}"),
        mutant("scaffold:vote", procedures.vote, "enumerate(answers, 1)", "enumerate(answers)"),
        mutant("scaffold:vote", procedures.vote, "task.opening(), number)", "task.opening(), 0)"),
        mutant("scaffold:chain", procedures.chain,
               "{task.question}\\n\\n{first}", "{first}\\n\\n{task.question}"),
        mutant("scaffold:chain", procedures.chain_prompts, "length - 2", "length - 1"),
        mutant("scaffold:chain", procedures.chain_prompts, '"accuracy"', '"harm"'),
        mutant("scaffold:adjudicator", procedures.adjudicator, '"accuracy"', '"bias"'),
        mutant("scaffold:adjudicator", procedures.adjudicator,
               "answer=answer, check=check", "answer=check, check=answer"),
        mutant("tool:calculator", procedures.evaluate, '.replace("^", "**")', ""),
        mutant("tool:text_search", procedures.text_search, "most]", "max(most - 1, 1)]"),
        mutant("tool:text_search", procedures.text_search, ".casefold()", ""),
        mutant("tool:scratchpad", procedures.Toolbox.use, '"\\n".join', '"\\n\\n".join'),
        mutant("options:lettered", render.reference_answer, "names[item.gold] if names and by_label else",
               ""),
        mutant("options:lettered", render.lettered, '"\\n" if', '"\\n\\n" if'),
        mutant("options:lettered", render.reference_answer, 'candidates == "letter"', "True"),
        mutant("options:lettered", render._block, "own is not None and own.named", "False"),
        mutant("options:lettered", options._listed, "last_run(", "str("),
        mutant("options:listed", render.rendered_options, '" or "', '", "'),
        mutant("options:none", render._block, "query=item.open", "query=item.query"),
        mutant("options:lettered", render.render_behind, "*blocks, _block", "*blocks[::-1], _block"),
        mutant("casing:title", render._compile, "str.title", "str.upper"),
        mutant("casing:upper", render._compile, '"upper": str.upper, ', ""),
        mutant("prompt:wrapper", render.wrap, '"prompt": prompt', '"prompt": prompt.strip()'),
        mutant("prompt:parts", render.joined, '.removesuffix("\\n")', ""),
        mutant("enumerator:i", options._roman, "number >= value", "number > value"),
        mutant(
            "enumerator:bullet", options.label_marks, "(enumerator,) * count", '(enumerator + " ",) * count'
        ),
        mutant("enumerator:1", options.label_marks, "{before}{label}{after}", "{label}{after}"),
        mutant("reader:whole_response", readers.whole_response, "response.strip()", "response"),
        mutant("reader:answer_line", readers.answer_line, "lines[-1]", "lines[0]"),
        mutant("reader:answer_line", readers.answer_line, "len(tokens) != 1 or", ""),
        mutant("reader:last_answer", extract._ReadResponse._last, "reversed(self.standing)", "self.standing"),
        mutant("reader:last_answer", extract._by_rules, "reading.taken_back(answer)", "False"),
        mutant("reader:last_answer", extract._by_rules, "reading.contradicted(answer)", "False"),
        mutant(
            "reader:last_answer", extract._ReadResponse._earnest, "not self._conditional(mention)", "True"
        ),
        mutant("reader:last_answer", extract._ReadResponse.closing, "self._conditional(named)", "False"),
        mutant("reader:last_answer", extract._ReadResponse.closing, "last and self", "self"),
        mutant("reader:last_answer", extract._ReadResponse.short, "> _FEW", "> 99"),
        mutant("method:extract", score.before_stop, "min(", "max("),
        mutant("method:extract", score.score_sample, "answers[-1]", "answers[0]"),
        mutant("method:extract", score.score_sample,
               "None, setting.credit, {\"rule\": None, \"unread\": extraction.rule}",
               "None, 0, {\"rule\": None, \"unread\": extraction.rule}"),
        mutant("match:number", written_numbers._last_number, "every[-1]", "every[0]"),
        mutant("match:number", written_numbers.first_number, "iter(", "reversed("),
        mutant("match:number", matching._reads_number, "within)", "Fraction(0))"),
        mutant("match:number", matching._compared, ".rpartition(", ".partition("),
        mutant("match:number", written_numbers.WrittenNumber.equals, "/ 100", "* 100"),
        mutant("match:number", written_numbers.WrittenNumber.equals, "<= within", "< within"),
        mutant("match:number", written_numbers._matches, "-value if value", "value if value"),
        mutant("match:number", score._right_choices, "(RIGHT,)", "(1 - RIGHT,)"),
        mutant("match:text", matching.caseless, ".casefold()", ""),
        mutant("match:text", matching._is_mark, '"PS"', '"P"'),
        mutant("match:text", matching.read_answer, "reversed(places)", "places"),
        mutant("match:contains", matching.read_answer, "not reading.right and", ""),
        mutant("match:exact", matching.read_answer, "part is None", "False"),
        mutant("match:contains", matching._go_on, "_in_word(left) and", ""),
        mutant("match:contains", matching._answer_span, "not begun and", ""),
        mutant("match:contains", matching._unspaced, "any(", "not any("),
        mutant("method:first_token", score.earned, "int(choice in", "int(choice not in"),
        mutant("method:loglikelihood", score._rank, "max(values)", "min(values)"),
        mutant("method:loglikelihood", score._rank, "len(values) < len(ranked)", "False"),
        mutant("method:loglikelihood", score._margin, "round(first - second, 6)", "round(second - first, 6)"),
        mutant("method:pair_likelihood", score._untied, "tied[earned.index(min(earned))]", "tied[0]"),
        mutant("method:refusal_keywords", refusals.refusal_keywords, "text.lstrip()[", "text["),
        mutant("method:refusal_keywords", score._right_choices, "item.expected is None", "True"),
        mutant("method:judge", judging.decide, "counted[0][1] == counted[1][1]", "False"),
        mutant("method:judge", judging.decide, "len(given) == len(labels) and", ""),
        mutant("method:judge", judging.read_reply, "<= rubric.confidence", "< rubric.confidence"),
        mutant("method:judge", judging.Rubric.ask, ".strip()", ""),
        mutant("method:judge", judging.ask_again, "Reply only with:\\n", "Reply only with: "),
        mutant("candidates:letter", options.item_candidates,
               "labels(enumerator,", "labels(enumerator.upper(),"),
        mutant("candidates:unknown_expanded", options.item_candidates, "[*others,", "[*others[::-1],"),
        mutant("normalise:token", score._rank, '"token": answers[0]["tokens"]', '"token": [1] * len(ranked)'),
        mutant("normalise:char", score._rank, "len(candidate.text)", "len(candidate.text.split())"),
        mutant("normalise:unconditional", score._rank, "a - b", "a + b"),
        mutant("ties:first", score._untied, "tied[0] if", "tied[1] if"),
        mutant("ties:last", score._untied, "else tied[-1]", "else tied[0]"),
        mutant("ties:against_gold", score._untied, "min(earned)", "max(earned)"),
        mutant("scores:stated", points.points_earned, "None in earned.values()", "False"),
        mutant("scores:stated", points.labels_of_option, ".strip()", ".upper()"),
        mutant("sanitiser:classes", sanitise._text_without, "same(with_(whole))", "True"),
        mutant("sanitiser:classes", sanitise._tidied, ".strip()", ""),
        mutant("sanitiser:classes", sanitise.known_of, "() if setting.labelled else item.options", "()"),
        mutant("sanitiser:classes", sanitise.response_reading, "refusal_keywords(text).option", "None"),
        mutant("sanitiser:classes", sanitise._blocks, "begun.pop()", "begun.pop(0)"),
    ],
)  # fmt: skip
def test_a_mutant_of_a_part_is_seen(
    part: str, change: Callable[[MonkeyPatch], None], monkeypatch: MonkeyPatch
) -> None:
    before = traced(part)
    change(monkeypatch)
    assert traced(part) != before
