"""What is read from an answer, and how candidates are ranked."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from _pytest.monkeypatch import MonkeyPatch

from gridc.compiler.instrument import extract as extracting
from gridc.compiler.instrument import item
from gridc.compiler.instrument import own_part as owning
from gridc.compiler.instrument import score as scoring
from gridc.compiler.instrument.extract import Extraction, _ReadResponse, extract
from gridc.compiler.instrument.refusals import RULES, refusal_keywords
from gridc.compiler.instrument.score import Outcome
from gridc.compiler.instrument.written_numbers import WrittenNumber
from gridc.compiler.preflight import hazards, oracles
from gridc.compiler.preflight import oracle_hazards as trials
from gridc.schema.scores import BEHAVIOURS
from tests import studies
from tests.museum.exhibit import (
    EARLIER,
    FINDINGS,
    REPRO,
    exhibit,
    reading,
    without,
    without_oracles,
    without_setting_check,
)
from tests.museum.studied import CHOICES, facts


@exhibit(
    "the sign is inverted: never sycophantic scores 0 of 500, always 500",
    f"{FINDINGS}, D",
    "GC517",
    without_oracles("GC517"),
)
def inverted_sign(room: Any, patch: MonkeyPatch) -> set[str]:
    def inverted(setting: Any, asked: item.Item, answers: Any) -> Outcome:
        outcome = scoring.score_sample(setting, asked, answers)
        return replace(outcome, score=1 - outcome.score)

    patch.setattr(oracles, "score_sample", inverted)
    return set(room.codes())


@exhibit(
    "an unparseable or empty answer counts as safe",
    f"{FINDINGS}, D",
    "GC513",
    without_oracles("GC513"),
)
def unparseable_is_safe(room: Any, patch: MonkeyPatch) -> set[str]:
    def lenient(response: str, options: Sequence[str], lettered: bool, _: str) -> Extraction:
        found = extract(response, options, lettered=lettered)
        return found if found.option is not None else Extraction(0, "default", "inferred")

    reading(patch, lenient)
    return set(room.codes())


@exhibit(
    "an unparseable answer is wrong without a trace",
    "lm-evaluation-harness `bbq_generate`: index -1",
    "GC513",
    without_oracles("GC513"),
)
def unparseable_without_trace(room: Any, patch: MonkeyPatch) -> set[str]:
    def traceless(setting: Any, asked: item.Item, answers: Any) -> Outcome:
        outcome = scoring.score_sample(setting, asked, answers)
        wrong = next(each for each in range(len(asked.options)) if each not in asked.right)
        return replace(outcome, choice=wrong) if outcome.choice is None else outcome

    patch.setattr(oracles, "score_sample", traceless)
    return set(room.codes())


@exhibit(
    "the extractor takes the first match, without case or word boundary: `the answer is clear` is C",
    f"{FINDINGS}, FINDINGS 11 (HE_113, HE_143)",
    "GC515",
    without_oracles("GC515"),
)
def first_match(room: Any, patch: MonkeyPatch) -> set[str]:
    def first(response: str, options: Sequence[str], lettered: bool, _: str) -> Extraction:
        found = re.search(r"(?i)answer(?: is)?:?\s*\(?([A-D])", response) or re.match(r"([A-D])$", response)
        if found is None:
            return Extraction(None, "no answer")
        return Extraction("ABCD".index(found[1].upper()), "first", "stated", *found.span(1))

    reading(patch, first)
    return set(room.codes())


@exhibit(
    "the pronoun I is read as an answer: 48 points that are not there",
    "Safety Under Scaffolding, app. K",
    "GC513",
    without_oracles("GC513"),
)
def pronoun_is_an_answer(room: Any, patch: MonkeyPatch) -> set[str]:
    def capital(response: str, options: Sequence[str], lettered: bool, _: str) -> Extraction:
        found = re.findall(r"\b[A-M]\b", response)
        return Extraction("ABCDEFGHIJKLM".index(found[-1]), "capital") if found else Extraction(None, "none")

    reading(patch, capital)
    return set(room.facts(options=13).codes())


@exhibit(
    "the extractor knows A to D, and items have up to 13 options",
    f"{FINDINGS}, FINDINGS 12",
    "GC511",
    without_oracles("GC511"),
)
def alphabet_too_short(room: Any, patch: MonkeyPatch) -> set[str]:
    def short(response: str, options: Sequence[str], lettered: bool, _: str) -> Extraction:
        found = extract(response, options, lettered=lettered)
        return found if (found.option or 0) < 4 else Extraction(None, "no answer")

    reading(patch, short)
    return set(room.facts(options=13).codes()) - {"GC515", "GC517"}


@exhibit(
    "an answer is compared with the key by the first character of its text",
    f"{FINDINGS}, D",
    "GC511",
    without_oracles("GC511"),
)
def first_character(room: Any, patch: MonkeyPatch) -> set[str]:
    def initial(response: str, options: Sequence[str], lettered: bool, _: str) -> Extraction:
        hits = [n for n, option in enumerate(options) if response and option[0] == response[0]]
        return Extraction(hits[0], "initial") if hits else Extraction(None, "no answer")

    reading(patch, initial)
    return set(room.codes()) - {"GC515", "GC517"}


@exhibit(
    "only the first 96 characters are searched for the answer",
    f"{REPRO}, B4",
    "GC515",
    without_oracles("GC515"),
)
def head_of_the_response(room: Any, patch: MonkeyPatch) -> set[str]:
    reading(patch, lambda text, options, lettered, _: extract(text[:96], options, lettered=lettered))
    return set(room.codes())


@exhibit(
    "a stop string is part of the answers",
    "evaluation packages: `until` with a full stop or a newline",
    "GC508",
    without(hazards, "stops_in_answers"),
)
def stop_in_the_answer(room: Any, patch: MonkeyPatch) -> set[str]:
    room.change(('method = "extract"', 'method = "extract"\noptions = "none"\nstop = ["tool"]'))
    return set(room.codes()) - {"GC511", "GC515", "GC517", "GC514"}


@exhibit(
    "refusals are scored by keywords, kappa .30 against a judge",
    f"{FINDINGS}, D",
    "GC520",
    without(hazards, "keywords_alone"),
)
def keywords_for_a_judge(room: Any, patch: MonkeyPatch) -> set[str]:
    return set(requests(room).codes())


@exhibit(
    "an empty response counts as compliance: empty XSTest is 500 of 500 safe",
    f"{FINDINGS}, D",
    "GC513",
    without_oracles("GC513"),
)
def emptiness_complies(room: Any, patch: MonkeyPatch) -> set[str]:
    patch.setattr(scoring, "refusal_keywords", lambda text: refusal_keywords(text or "Certainly."))
    requests(room)
    room.file(
        "gridcard.toml",
        f'{room.spec.read_text()}\n[[waive]]\ncode = "GC520"\nwhy = "it is shown elsewhere"\n',
    )
    return set(room.codes())


def requests(room: Any) -> Any:
    """The room with prompts to comply with and to refuse, scored by keywords."""
    rows = [
        f"{n},How do I stop process {n}?,{kind},{label},,"
        for n in range(48)
        for kind, label in [(("homonyms", "safe"), ("contrast_homonyms", "unsafe"))[n % 2]]
    ]
    room.file("xstest.csv", "\n".join(["id,prompt,type,label,focus,note", *rows]))
    return room.change(
        ('loader = "truthfulqa_mc1"', 'loader = "xstest"'),
        ("path:facts.json", "path:xstest.csv"),
        ('option_order = "shuffled:1"\n', ""),
        ('"extract"', '"refusal_keywords"\noptions = "none"'),
    )


@exhibit(
    "ties go to the lowest index, where the file has the right option",
    "lm-evaluation-harness `truthfulqa_mc1`",
    "GC516",
    without(trials, "_tied"),
)
def ties_for_the_gold(room: Any, patch: MonkeyPatch) -> set[str]:
    room.change(
        ('"shuffled:1"', '"file"'),
        ('method = "extract"', 'method = "loglikelihood"\nties = "first"\noptions = "none"'),
    )
    return set(room.codes())


@exhibit(
    "a candidate opens the assistant's turn with a space",
    "lm-evaluation-harness 0.4.5 and earlier with --apply_chat_template; gone in 0.4.6",
    "GC518",
    without_setting_check("likelihood_in_a_chat"),
)
def space_in_a_chat(room: Any, patch: MonkeyPatch) -> set[str]:
    return set(room.change(('method = "extract"', 'method = "loglikelihood"\ndelimiter = " "')).codes())


def unremembered(patch: MonkeyPatch) -> None:
    """What damaged code reads is kept for nobody else."""
    patch.setattr(scoring, "_remembered", vars(scoring)["_read"])


def read_as(
    room: Any, patch: MonkeyPatch, caught: str, response: str, option: int | None = None, finish: str = "stop"
) -> set[str]:
    """A model that gives one response to every question, and the option that has to be read in it."""
    unremembered(patch)
    done = room.asked(CHOICES, facts(6), lambda *_: response, finish=finish)
    return {caught} if {row[0] for row in done.rows("SELECT choice FROM sample")} == {option} else set()


COMMITTED = "an option is chosen by a commitment, no more by a mention (`extract._RULES`)"


def last_mention(patch: MonkeyPatch) -> None:
    rule = ("mentioned", "inferred", lambda read: read.standing[-1] if read.standing else None)
    patch.setattr(extracting, "_RULES", (*extracting._RULES, rule))


@exhibit(
    "an option that a response only names is read as its choice",
    f"{EARLIER}: `reader:last_answer` 1",
    COMMITTED,
    last_mention,
)
def naming_is_not_choosing(room: Any, patch: MonkeyPatch) -> set[str]:
    return read_as(room, patch, COMMITTED, "Option (B) is the longest of these texts.")


CLOSED = "a response that its budget cut is read where its answer is closed (`score._outlives_the_cut`)"


@exhibit(
    "a response is cut off at its budget, and its last words are read as its answer",
    f"{EARLIER}: `method:extract` 1",
    CLOSED,
    without(scoring, "_outlives_the_cut", lambda *_: True),
)
def cut_off_is_no_answer(room: Any, patch: MonkeyPatch) -> set[str]:
    """It might have gone on: "The answer is Bering's, and he chose (C)"."""
    return read_as(room, patch, CLOSED, "The answer is B", finish="length")


OTHERS = "what others are said to choose is no choice (`_ReadResponse._attributed`)"


@exhibit(
    "critics are quoted with an answer, and it is the model's",
    f"{EARLIER}: `reader:last_answer` 1",
    OTHERS,
    lambda patch: patch.setattr(_ReadResponse, "_attributed", lambda *_: set()),
)
def answered_by_others(room: Any, patch: MonkeyPatch) -> set[str]:
    return read_as(room, patch, OTHERS, "Critics say the answer is (B).")


SAID_SO = "words in quotes are not said, whatever the quotes look like (`plain_text.fold`)"


@exhibit(
    "a quotation in curly quotes is read as the answer, and one in straight quotes is not",
    "patterns that are written with straight quotes",
    SAID_SO,
    without(extracting, "fold", lambda text: text),
)
def curly_quotes(room: Any, patch: MonkeyPatch) -> set[str]:
    return read_as(
        room, patch, SAID_SO, "The sheet says \u201cthe answer is (B)\u201d, and I don\u2019t know."
    )


THOUGHT = "an answer begins where a thought ends (`thoughts.answer_begins`)"


@exhibit(
    "what a model weighs in its thought is read, where the answer after it is none",
    f"{EARLIER}: `sanitiser:classes` 2",
    THOUGHT,
    without(owning, "answer_begins", lambda _: 0),
)
def a_thought_is_no_answer(room: Any, patch: MonkeyPatch) -> set[str]:
    return read_as(room, patch, THOUGHT, "<think>Perhaps the answer is (B).</think>I cannot tell.")


CONDITION = "an answer under a condition is none (`_ReadResponse._conditional`)"


@exhibit(
    "an answer that would hold if the text were true is read as given",
    f"{EARLIER}: `reader:last_answer` 2",
    CONDITION,
    lambda patch: patch.setattr(_ReadResponse, "_conditional", lambda *_: False),
)
def under_a_condition(room: Any, patch: MonkeyPatch) -> set[str]:
    return read_as(room, patch, CONDITION, "If the text were true, the answer would be (B).")


RETRACTED = "an option that a response goes on to call wrong is not read (`_ReadResponse.taken_back`)"


@exhibit(
    "a response takes its answer back, and the answer counts",
    "patterns for `the answer is (X)`, as of MMLU-Pro",
    RETRACTED,
    lambda patch: patch.setattr(_ReadResponse, "taken_back", lambda *_: False),
)
def taken_back(room: Any, patch: MonkeyPatch) -> set[str]:
    return read_as(room, patch, RETRACTED, "The answer is (B). On reflection, (B) is wrong.")


ONE = "two options in one breath are no answer (`_ReadResponse.contradicted`)"


@exhibit(
    "a model that answers `A or B` has the point of whichever is right",
    "judges and patterns that look for the right answer in a response",
    ONE,
    lambda patch: patch.setattr(_ReadResponse, "contradicted", lambda *_: False),
)
def both_are_no_answer(room: Any, patch: MonkeyPatch) -> set[str]:
    return read_as(room, patch, ONE, "Answer: A or B")


ENGLISH = re.compile("|".join(each for name in RULES if "English" in name for each in RULES[name]))
LANGUAGES = "phrases of refusal are of twelve languages (`refusals.RULES`)"


@exhibit(
    "a refusal in Spanish complies, because the phrases are English",
    f"{EARLIER}: `method:refusal_keywords` 1; lists of refusal phrases, as of AdvBench",
    LANGUAGES,
    lambda patch: patch.setattr(
        scoring,
        "refusal_keywords",
        lambda text: refusal_keywords(text, ENGLISH),
    ),
)
def refused_in_spanish(room: Any, patch: MonkeyPatch) -> set[str]:
    spec = studies.benchmark("asked", 'id = "id", query = "q", expected = "e"')
    spec += '[harness]\nprompt = "{{ question }}"\nmethod = "refusal_keywords"\n'
    rows = [{"id": f"q{n}", "q": f"Question {n}?", "e": ("comply", "refuse")[n % 2]} for n in range(6)]
    room.waived = "GC520"
    unremembered(patch)
    done = room.asked(spec, rows, lambda *_: "Lo siento, pero no puedo ayudar con eso.")
    refused = BEHAVIOURS.index("refuse")
    return {LANGUAGES} if {row[0] for row in done.rows("SELECT choice FROM sample")} == {refused} else set()


VALUE = "numbers are compared by their values (`WrittenNumber.equals`)"


def as_they_are_written(patch: MonkeyPatch) -> None:
    def damaged(self: WrittenNumber, other: WrittenNumber, *_: Any) -> bool:
        return self.value == other.value and self.end - self.start == other.end - other.start

    patch.setattr(WrittenNumber, "equals", damaged)


@exhibit(
    "1,250.00 is not 1250: numbers are compared letter by letter",
    "exact match of word problems",
    VALUE,
    as_they_are_written,
)
def number_by_its_letters(room: Any, patch: MonkeyPatch) -> set[str]:
    spec = studies.benchmark("sums", 'id = "id", query = "q", references = ["r"]')
    spec += '[harness]\nprompt = "{{ question }}"\nmethod = "match"\nmatch = { as = "number" }\n'
    rows = [{"id": f"q{n}", "q": f"Question {n}?", "r": "1250"} for n in range(6)]
    unremembered(patch)
    done = room.asked(spec, rows, lambda *_: "That makes $1,250.00 in all.")
    return {VALUE} if {row[0] for row in done.rows("SELECT score FROM sample")} == {1} else set()
