"""`gridc show`."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from gridc.cli import terminal
from gridc.cli.options import JSON, print_json, study_command
from gridc.cli.terminal import paint, visible
from gridc.study import OpenStudy

if TYPE_CHECKING:
    from gridc.study.showing import Showing, ShownCall, ShownDifference, ShownSample

CONTEXT = 2
"""Lines that are shown around a difference."""


@click.command()
@study_command
@click.option("--item", help="The id of an item, or its number from 1. Default: the first.")
@click.option("--model", help="The same as --where model=MODEL.")
@click.option("--benchmark", help="The same as --where benchmark=BENCHMARK.")
@click.option(
    "--where",
    multiple=True,
    metavar="AXIS=LEVEL",
    help="Where in the grid: axis=level, axis=level,level or axis!=level; also model, benchmark and tier. "
    "Separate several by commas, or repeat the option.",
)
@click.option(
    "--diff",
    multiple=True,
    metavar="AXIS=LEVEL",
    help="Compare with the configuration that has this level instead.",
)
@click.option("--all", "every", is_flag=True, help="Show every different prompt, not only the first.")
@click.option("--replicate", type=click.IntRange(0), default=0, help="Which replicate, from 0.")
@click.option(
    "--tokens", is_flag=True, help="Also show the tokens; this loads the tokenizer of a local model."
)
@JSON
def show(
    study: OpenStudy,
    item: str | None,
    model: str | None,
    benchmark: str | None,
    where: tuple[str, ...],
    diff: tuple[str, ...],
    every: bool,
    replicate: int,
    tokens: bool,
    as_json: bool,
) -> None:
    """Show the exact prompt that an item gets in a configuration, and what becomes of it.

    \b
    gridc show                                          the first item in the first cell
    gridc show --item 17 --where few_shot=3             which prompt did item 17 get?
    gridc show --item 17 --where template=T1 --diff template=T4
                                                        how do two configurations differ?

    It shows the messages, the part that all items share (which a cache computes once), candidates, stop
    rules, how synthetic responders would score, and the stored answer with the span that was read. No call is
    made.
    """
    named = [f"{name}={value}" for name, value in (("model", model), ("benchmark", benchmark)) if value]
    showing = study.show(item, (*named, *where), diff, every, replicate, tokens)
    if as_json:
        print_json(showing.as_json())
        return
    for line in _lines(showing):
        click.echo(line)


def _lines(showing: "Showing") -> Iterator[str]:
    if showing.difference is not None:
        yield from _difference(showing.samples[0], showing.difference)
        yield from _answers(showing)
        return
    for number, sample in enumerate(showing.samples):
        yield from ["", ""] if number else []
        yield from _sample(sample, showing)
    if showing.others:
        yield ""
        different = "another prompt" if len(showing.others) == 1 else f"{len(showing.others):,} other prompts"
        yield f"{different} among the {showing.matching:,} cells that match: --all shows them, or --where"
        yield from (f"  {visible(other)}" for other in showing.others[:12])
        yield from [f"  and {len(showing.others) - 12:,} more"] if len(showing.others) > 12 else []
    elif showing.matching > len(showing.samples):
        yield ""
        one = "this prompt" if len(showing.samples) == 1 else "one of these prompts"
        yield f"each of the {showing.matching:,} cells that match asks {one}"


def _sample(sample: "ShownSample", showing: "Showing") -> Iterator[str]:
    item = sample.item
    yield paint(visible(sample.cell), bold=True)
    groups = {"family": item.family if item.family != item.id else "", "template": item.template}
    groups |= {"category": item.category, **item.tags}
    about = ", ".join(f"{name} {value}" for name, value in groups.items() if value)
    yield visible(f"item {item.id}" + (f" ({about})" if about else ""))
    several = f", replicate {sample.replicate} of 0 to {sample.replicates - 1}"
    yield visible(f"tier {sample.tier}{several if sample.replicates > 1 else ''}")
    for key, value in sample.setting.items():
        yield visible(f"  {key} = {_short(value)}")
    if sample.exemplars:
        yield visible(f"exemplars, with their answers: {', '.join(sample.exemplars)}")
    if sample.failure:
        yield ""
        yield terminal.diagnostic_text(sample.failure)
        yield from _item(sample)
        return
    for call in sample.calls:
        yield ""
        yield from _call(sample, call, showing)
    if sample.scaffold is not None:
        yield ""
        yield from _scaffold(sample)
    yield ""
    yield from _item(sample)
    yield from _oracles(sample)
    yield ""
    yield from _response(sample, showing)


def _call(sample: "ShownSample", call: "ShownCall", showing: "Showing") -> Iterator[str]:
    step = f"step {call.step}, " if call.step else ""
    yield visible(f"{step}call {call.call[:12]}, prompt {call.prompt[:12]} ({call.kind})")
    shared = call.shared or (0,) * len(call.messages)
    for (role, text), common in zip(call.messages, shared, strict=True):
        same = ""
        if call.shared is not None:
            same = f", the first {common:,} of {len(text):,} characters are those of every item of the cell"
        yield paint(f"-- {visible(role)}{same}", dim=True)
        yield from _quoted(text, common if 0 < common < len(text) else None)
    yield paint("-- end" + ("" if call.chat_template else " (plain text: no chat template)"), dim=True)
    for function in call.functions:
        yield visible(f"may call {json.dumps(function, ensure_ascii=False)}")
    if "continuations" in call.parameters:
        yield from _candidates(call)
    else:
        parameters = call.parameters
        drawn = f"temperature {parameters['temperature']:g}"
        drawn += f", top_p {parameters['top_p']:g}" if "top_p" in parameters else ""
        stops = " or ".join(json.dumps(stop, ensure_ascii=False) for stop in parameters.get("stop", ()))
        ends = f"behind {stops}, " if stops else ""
        yield visible(
            f"stops {ends}at the end of the turn or after {parameters['max_tokens']} tokens; {drawn}"
        )
    yield from _tokens(call, showing)


def _quoted(text: str, boundary: int | None = None) -> Iterator[str]:
    """The lines of a text, and where what all items share ends."""
    parts = [text] if boundary is None else [text[:boundary], text[boundary:]]
    for number, part in enumerate(parts):
        if number:
            yield paint("  ~ shared with the other items up to here", fg="cyan")
        yield from (f"  | {visible(line)}" for line in part.split("\n"))


def _candidates(call: "ShownCall") -> Iterator[str]:
    texts, answer = call.parameters["continuations"], call.answer or {}
    values = answer.get("loglikelihoods") or [None] * len(texts)
    yield f"{len(texts)} candidates, ranked by their log-likelihood after the prompt; nothing is generated"
    for text, value in zip(texts, values, strict=True):
        likelihood = "" if value is None else f"   {value:.4f} nats"
        yield visible(f"  {json.dumps(text, ensure_ascii=False)}{likelihood}")


def _tokens(call: "ShownCall", showing: "Showing") -> Iterator[str]:
    if call.tokens is None:
        if call.shared is not None and showing.tokens:
            yield visible(f"tokens: {showing.tokens}")
        return
    tokens = call.tokens
    yield (
        f"{len(tokens.ids):,} tokens as the model gets them: the first {tokens.shared:,} (up to ‖) are those "
        "of every item of the cell, and what begins alike is computed once"
    )
    pieces = [json.dumps(piece, ensure_ascii=False)[1:-1] for piece in tokens.pieces]
    shown = "|".join(pieces[: tokens.shared]) + "‖" + "|".join(pieces[tokens.shared :])
    yield click.wrap_text(visible(shown), 100, "  ", "  ")
    for candidate in tokens.candidates:
        yield visible(f"  behind token {tokens.seam:,}: {'|'.join(candidate)}")
    if tokens.dropped:
        yield f"{tokens.dropped} exemplars are left out, because the model has no room for them"


def _scaffold(sample: "ShownSample") -> Iterator[str]:
    scaffold = sample.scaffold
    if scaffold is None:
        return
    least, expected, most = scaffold.later
    known = " (what follows from the stored answers is above)" if sample.outcome else ""
    sizes = f"{least:g} / {expected:.3g} / {most:g} calls at least / about / at most"
    yield visible(f"scaffold {scaffold.kind}: {sizes} follow the first{known}")
    yield visible(f"  at least: {_folded(scaffold.least)}")
    yield visible(f"  at most: {_folded(scaffold.most)}")


def _folded(steps: Sequence[str]) -> str:
    return ", ".join(steps if len(steps) <= 12 else [*steps[:12], f"and {len(steps) - 12} more"])


def _item(sample: "ShownSample") -> Iterator[str]:
    item = sample.item
    for place, option in enumerate(sample.options):
        label = sample.labels[place] if sample.labels else None
        mark = "" if label == option else "- " if label is None else f"{label}. "
        roles = ["right"] if place in item.right else []
        roles += [
            name for name, at in (("unknown", item.unknown), ("matching", item.matching)) if at == place
        ]
        text = f"   <- {', '.join(roles)}" if roles else ""
        yield visible(f"  {mark}{option}") + paint(text, fg="green" if "right" in roles else None)
    if item.expected is not None:
        yield f"  the right behaviour is to {item.expected}"
    if item.references:
        yield visible(f"  right answers: {'; '.join(item.references)}")


def _oracles(sample: "ShownSample") -> Iterator[str]:
    """What synthetic responders come to."""
    if not sample.oracles:
        return
    yield "synthetic responders, whose scores are known:"
    for reply in sample.oracles:
        if reply.said is None:
            came = "cannot answer: the prompt does not show what the answer needs"
        else:
            read = _read(sample, reply.choice, reply.rule)
            words = reply.said if len(reply.said) < 50 else f"...{reply.said[-46:]}"
            text = "" if sample.ranks else f"says {json.dumps(words, ensure_ascii=False)}: "
            came = f"{text}{read}"
        verdict = "as it must" if reply.passes else f"WRONG: must be {reply.expected}"
        shown = paint(f", {verdict}", fg=None if reply.passes else "red")
        yield visible(f"  {reply.oracle:<15} {came}") + shown


def _read(sample: "ShownSample", choice: int | None, rule: str | None) -> str:
    """What was read, and by which rule or for lack of what."""
    read = "unreadable" if choice is None else sample.choices[choice]
    return f"{read} ({rule})" if rule else read


def _response(sample: "ShownSample", showing: "Showing") -> Iterator[str]:
    answered = [call for call in sample.calls if call.answer is not None]
    if not answered:
        yield showing.stored or "no answer is stored: `gridc run` asks it"
        return
    for call in answered:
        answer = call.answer or {}
        if "error" in answer:
            yield visible(f"failed for good: {_short(answer['error'])}")
        elif "text" in answer:
            step = f" (step {call.step})" if call.step else ""
            yield visible(f"answered{step}, ended by {answer.get('finish')}:")
            yield from _marked(answer["text"], sample if call.call == sample.decides else None)
        dropped = (call.sent or {}).get("exemplars_dropped")
        if dropped:
            yield f"asked with {dropped} exemplars fewer, for lack of room"
    outcome = sample.outcome
    if outcome is None:
        yield "not all of its calls have an answer"
        return
    evidence = outcome.evidence
    read = _read(sample, outcome.choice, evidence.get("rule") or evidence.get("unread"))
    if evidence.get("margin") is not None:
        read += f", ahead by {evidence['margin']:g} nats"
    points = f"{outcome.score}" if sample.scale == 1 else f"{outcome.score}/{sample.scale}"
    yield paint(visible(f"read as {read}: scores {points}"), bold=True)


def _marked(text: str, sample: "ShownSample | None") -> Iterator[str]:
    """The response with the span that was read between marks."""
    evidence = {} if sample is None or sample.outcome is None else sample.outcome.evidence
    start, end = evidence.get("start", 0), evidence.get("end", 0)
    before, read, after = (
        "\n".join(map(visible, part.split("\n"))) for part in (text[:start], text[start:end], text[end:])
    )
    marked = paint(f"»{read}«", fg="green") if end > start else ""
    yield from (f"  | {line}" for line in f"{before}{marked}{after}".split("\n"))


def _difference(first: "ShownSample", difference: "ShownDifference") -> Iterator[str]:
    yield paint(visible(f"a  {difference.a}"), bold=True)
    yield paint(visible(f"b  {difference.b}"), bold=True)
    yield visible(f"item {first.item.id}")
    for title, values in (("settings", difference.settings), ("beside the prompt", difference.parameters)):
        if values:
            yield f"{title}:"
            yield from (visible(f"  {key}: {_short(a)} -> {_short(b)}") for key, (a, b) in values.items())
    for role, pieces in difference.messages:
        yield paint(f"-- {visible(role)}: [-only in a-] {{+only in b+}}", dim=True)
        yield from _words(pieces)
    if not difference.messages:
        yield "the prompts are the same"


def _answers(showing: "Showing") -> Iterator[str]:
    """What each of the two configurations was answered."""
    if showing.stored:
        yield ""
        yield showing.stored
        return
    for side, sample in zip("ab", showing.samples, strict=True):
        yield ""
        yield paint(side, bold=True)
        yield from _response(sample, showing)


def _words(pieces: Iterable[Any]) -> Iterator[str]:
    """Lines with what only one side has between marks. Stretches without a difference are left out."""
    marked = ""
    for side, text in pieces:
        shown = "\n".join(visible(line) for line in text.split("\n"))
        if side == "both":
            lines = shown.split("\n")
            if len(lines) > 2 * CONTEXT + 2:
                left = len(lines) - 2 * CONTEXT
                shown = "\n".join([*lines[:CONTEXT], f"... {left} lines are the same ...", *lines[-CONTEXT:]])
            marked += shown
        else:
            opened, closed, color = ("[-", "-]", "red") if side == "a" else ("{+", "+}", "green")
            marked += "\n".join(
                paint(f"{opened}{line}{closed}", fg=color) if line else "" for line in shown.split("\n")
            )
    yield from (f"  | {line}" for line in marked.split("\n"))


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 90 else f"{text[:87]}..."
