"""`gridc init` as a conversation: it takes files as people have them, asks what they leave open, and shows
rows as it read them. What earns a point is compared with what the file's owner says."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gridc.cli import main
from gridc.compiler.compile import compile_spec
from gridc.compiler.instrument.item import Item

MODEL = "builtin:pocket-llama"
CITIES = {
    "Norway": "Oslo",
    "Peru": "Lima",
    "Kenya": "Nairobi",
    "Chile": "Santiago",
    "Japan": "Tokyo",
    "Italy": "Rome",
}
PLACES = {f"What is the capital of {country}?": city for country, city in CITIES.items()}
OTHERS = ("Bergen", "Cusco", "Kisumu")
REQUESTS = {
    f"{'Forge' if n % 2 else 'Bake'} number {n} for me.": "refuse" if n % 2 else "comply" for n in range(6)
}
ORDERS = {"refuse": "must refuse", "comply": "must answer"}


def lines(rows: Any) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def turns(query: str, city: str, who: str = "role", says: str = "content") -> list[dict[str, str]]:
    user, model = ("user", "assistant") if who == "role" else ("human", "gpt")
    return [{who: user, says: query}, {who: model, says: city}]


def references(city: str) -> list[dict[str, Any]]:
    return [
        {"output": {"text": text}, "tags": ["correct"] * (text == city)}
        for text in (OTHERS[0], city, OTHERS[1])
    ]


def choice(query: str, city: str) -> dict[str, Any]:
    return {"instance": {"input": {"text": query}, "references": references(city)}}


def worded(query: str, city: str) -> dict[str, Any]:
    options = [f"(A){OTHERS[0]}", f"(B){city}", f"(C){OTHERS[1]}"]
    return {"passage": None, "question": query, "options": options, "label": "B", "answer": None}


ASKED = list(PLACES.items())
FREE: dict[str, tuple[str, bytes]] = {
    "messages": ("chat.jsonl", lines({"messages": turns(*each)} for each in ASKED)),
    "ShareGPT": (
        "sharegpt.json",
        json.dumps([{"conversations": turns(*each, "from", "value")} for each in ASKED]).encode(),
    ),
    "accepted answers": (
        "accepted.jsonl",
        lines({"question": q, "accepted_answers": [city, f"{city} city"]} for q, city in ASKED),
    ),
    "answers with a mark": (
        "marks.csv",
        "".join(["question,answers\n", *(f"{q},{city}|{city} city\n" for q, city in ASKED)]).encode(),
    ),
    "HELM, generated": (
        "instances.json",
        json.dumps(
            [
                {"input": {"text": q}, "references": references(city)[1:2], "split": "test"}
                for q, city in ASKED
            ]
        ).encode(),
    ),
}
CHOICE: dict[str, tuple[str, bytes]] = {
    "HELM, joint": (
        "state.json",
        json.dumps({"adapter_spec": {}, "request_states": [choice(*each) for each in ASKED]}).encode(),
    ),
    "AGIEval": ("agieval.jsonl", lines(worded(*each) for each in ASKED)),
    "a table of options": (
        "table.jsonl",
        lines(
            {"question": q, "options": {"A": OTHERS[0], "B": city}, "answer_idx": "B"} for q, city in ASKED
        ),
    ),
    "columns left behind": (
        "left.csv",
        "".join(
            ["question;A;B;answer;;;\n", *(f"{q};{OTHERS[0]};{city};B;;;\n" for q, city in ASKED)]
        ).encode(),
    ),
    "Windows-1252": (
        "old.csv",
        "".join(
            ["question,a,b,answer\n", *(f"{q} “Quick!”,{OTHERS[0]},{city},b\n" for q, city in ASKED)]
        ).encode("cp1252"),
    ),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init(name: str, *options: str, answers: str | None = None) -> Result:
    given = ["init", "--title", "T", "--model", MODEL, "--benchmark", name, *options]
    return CliRunner().invoke(main, given, input=answers)


def earning(folder: Path) -> Mapping[str, str]:
    """What earns the point of each item that the written study asks, by its question."""

    def right(item: Item) -> str:
        if item.expected is not None:
            return item.expected
        return item.references[0] if item.gold is None else item.options[item.gold]

    (items,) = compile_spec(folder / "gridcard.toml").study.items.values()
    return {item.query.removesuffix(" “Quick!”"): right(item) for item in items.sampled}


@pytest.mark.parametrize("name", FREE)
def test_free_answers_are_found_and_yes_says_how_they_are_compared(name: str, folder: Path) -> None:
    file, data = FREE[name]
    (folder / file).write_bytes(data)
    done = init(file, "--yes")
    assert done.exit_code == 0, done.output
    assert "as a text, without case, punctuation and articles (--match text)" in done.stdout
    assert earning(folder) == PLACES
    first, city = next(iter(PLACES.items()))
    assert f"| {first}" in done.stdout and f"right: {city}" in done.stdout, "rows are shown"


@pytest.mark.parametrize("name", CHOICE)
def test_choices_are_found_and_rows_are_shown(name: str, folder: Path) -> None:
    file, data = CHOICE[name]
    (folder / file).write_bytes(data)
    done = init(file, "--yes")
    assert done.exit_code == 0, done.output
    assert earning(folder) == PLACES
    assert done.stdout.count("right: ") == 3


@pytest.mark.parametrize("words", [ORDERS, {"refuse": "should_refuse", "comply": "should_comply"}])
def test_a_policy_is_read_as_what_it_says(words: Mapping[str, str], folder: Path) -> None:
    rows = ({"prompt": prompt, "policy": words[meant]} for prompt, meant in REQUESTS.items())
    (folder / "policy.jsonl").write_bytes(lines(rows))
    done = init("policy.jsonl", "--yes")
    assert done.exit_code == 0, done.output
    assert earning(folder) == REQUESTS


@pytest.mark.parametrize("word", ["partial refusal", "do not answer", "refuse or answer", "grey"])
def test_a_policy_that_takes_thought_is_asked_about(word: str, folder: Path) -> None:
    words = {"refuse": word, "comply": "must answer"}
    rows = ({"prompt": prompt, "label": words[meant]} for prompt, meant in REQUESTS.items())
    (folder / "policy.jsonl").write_bytes(lines(rows))
    assert init("policy.jsonl", "--yes").exit_code == 2
    shown = init("policy.jsonl", answers="").stdout
    place = next(line.split()[0] for line in shown.splitlines() if "`label` says whether a prompt" in line)
    done = init("policy.jsonl", answers=f"{place}\nrefused\nyes\n")
    assert done.exit_code == 0, done.output
    assert f"A prompt that is `--label {word}` is to be" not in done.stdout, "options are no words"
    assert earning(folder) == REQUESTS


def test_yes_refuses_nothing_on_its_own(folder: Path) -> None:
    """A list of prompts does not say what is to become of them."""
    (folder / "prompts.csv").write_text("prompt\n" + "".join(f"{prompt}\n" for prompt in REQUESTS), "utf-8")
    done = init("prompts.csv", "--yes")
    assert done.exit_code == 2 and not (folder / "gridcard.toml").exists()
    shown = init("prompts.csv", answers="").stdout
    place = next(line.split()[0] for line in shown.splitlines() if "every prompt is to be answered" in line)
    done = init("prompts.csv", answers=f"{place}\ny\n")
    assert done.exit_code == 0, done.output
    assert set(earning(folder).values()) == {"comply"}


def test_columns_in_another_language_are_asked_for(folder: Path) -> None:
    rows = "".join(f"{q};{OTHERS[0]};{city};B\n" for q, city in PLACES.items())
    (folder / "fragen.csv").write_text(f"Sporsmal;A;B;Fasit\n{rows}", "utf-8")
    done = init("fragen.csv", answers="Sporsmal\nFasit\nyes\n")
    assert done.exit_code == 0, done.output
    assert earning(folder) == PLACES


def test_a_row_that_is_read_wrongly_is_corrected(folder: Path) -> None:
    """`answer` names another option than the one that the owner means."""
    rows = "".join(f"{q},{OTHERS[0]},{city},A,B\n" for q, city in PLACES.items())
    (folder / "twice.csv").write_text(f"question,a,b,answer,checked\n{rows}", "utf-8")
    done = init("twice.csv", answers="n\n6\nchecked\nyes\n")
    assert done.exit_code == 0, done.output
    assert earning(folder) == PLACES
    assert "right: A. Bergen" not in done.stdout.split("What is wrong?")[1]


def test_rows_with_two_right_letters_are_left_out_and_counted(folder: Path) -> None:
    rows = "".join(
        f"{q},{OTHERS[0]},{city},{'AB' if n == 2 else 'B'}\n" for n, (q, city) in enumerate(PLACES.items())
    )
    (folder / "two.csv").write_text(f"question,A,B,answer\n{rows}", "utf-8")
    assert init("two.csv", "--yes").exit_code == 3
    done = init("two.csv", answers="1\nyes\n")
    assert done.exit_code == 0, done.output
    assert "1 of 6 rows" in done.stdout
    assert earning(folder) == {q: city for n, (q, city) in enumerate(PLACES.items()) if n != 2}


def test_a_file_in_another_folder_is_copied(folder: Path) -> None:
    file, data = CHOICE["AGIEval"]
    (folder / file).write_bytes(data)
    (folder / "study").mkdir()
    done = init(file, "--out", "study", answers="1\nyes\n")
    assert done.exit_code == 0, done.output
    assert (folder / "study" / file).read_bytes() == data
    assert earning(folder / "study") == PLACES


def test_nothing_is_left_where_nothing_is_accepted(folder: Path) -> None:
    file, data = CHOICE["Windows-1252"]
    (folder / file).write_bytes(data)
    done = init(file, answers="1\nno\n5\n")
    assert done.exit_code == 2, done.output
    assert [each.name for each in folder.iterdir()] == [file]


def test_a_real_model_is_asked_for_a_form(folder: Path) -> None:
    file, data = CHOICE["AGIEval"]
    (folder / file).write_bytes(data)
    done = CliRunner().invoke(
        main, ["init", "--yes", "--model", "openai/gpt-x-2026-01-01", "--benchmark", file]
    )
    assert done.exit_code == 0, done.output
    text = (folder / "gridcard.toml").read_text("utf-8")
    assert 'answer = "line"' in text and 'answer = "letter"' in text and 'out_of_form = "by_phrases"' in text
    assert 'End your response with a line of the form "Answer: LETTER"' in done.stdout


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("choices.csv", "".join(f"{q},{OTHERS[0]},{city},B\n" for q, city in ASKED)),
        ("prompts.txt", "".join(f"{prompt} Say it politely, and at some length.\n" for prompt in REQUESTS)),
    ],
)
def test_a_first_row_of_data_is_never_lost(name: str, data: str, folder: Path) -> None:
    """Whoever picked one of its cells as the question lost a row without a word."""
    (folder / name).write_text(data, "utf-8")
    done = init(name, "--yes")
    assert done.exit_code == 2 and not (folder / "gridcard.toml").exists()
    assert "--no-header where the first row is data, as it looks" in done.stderr
    shown = init(name, answers="1\n").stdout
    assert data.split(",")[0][:40] in shown  # the first row is among the columns' values


def test_texts_below_one_name_keep_their_commas(folder: Path) -> None:
    prompts = [f"{prompt} Say it politely, and at some length." for prompt in REQUESTS]
    (folder / "prompts.txt").write_text("\n".join(["prompt", *prompts, ""]), "utf-8")
    done = init("prompts.txt", "--yes", "--constant", "expected=refuse")
    assert done.exit_code == 0, done.output
    assert list(earning(folder)) == prompts


@pytest.mark.parametrize("name", ["system_prompt", "System message"])
def test_a_system_prompt_of_each_row_stands_before_the_question(name: str, folder: Path) -> None:
    rows = ({name: f"Speak {n}.", "question": q, "answer": city} for n, (q, city) in enumerate(ASKED))
    (folder / "told.jsonl").write_bytes(lines(rows))
    done = init("told.jsonl", "--yes", "--field", "references=answer", "--match", "text")
    assert done.exit_code == 0, done.output
    assert "  | System: Speak 0." in done.stdout
    items = compile_spec(folder / "gridcard.toml").study.items["told"].sampled
    assert [item.messages for item in items] == [(("system", f"Speak {n}."),) for n in range(len(ASKED))]
    assert earning(folder) == PLACES


def test_a_system_of_one_word_is_no_prompt(folder: Path) -> None:
    rows = ({"system": f"bot{n % 2}", "question": q, "answer": city} for n, (q, city) in enumerate(ASKED))
    (folder / "told.jsonl").write_bytes(lines(rows))
    done = init("told.jsonl", "--yes", "--field", "references=answer", "--match", "text")
    assert done.exit_code == 0, done.output
    items = compile_spec(folder / "gridcard.toml").study.items["told"].sampled
    assert not any(item.messages for item in items)


DUTCH = [
    [
        {"spreker": "klant", "tekst": "Hello."},
        {"spreker": "medewerker", "tekst": "Hello, what is it?"},
        {"spreker": "klant", "tekst": query},
    ]
    for query in PLACES
]
AS_TEXT = [f"User: Hello.\nBot: Note: {n} waits.\nUser: {query}\nBot:" for n, query in enumerate(PLACES)]


@pytest.mark.parametrize(
    ("turns_", "before"),
    [
        (DUTCH, "Hello, what is it?"),
        (AS_TEXT, "Note: 0 waits."),
        ([t.split("\n") for t in AS_TEXT], "Note: 0 waits."),
    ],
    ids=["keys of its own", "one text", "a list of texts"],
)
def test_speakers_with_other_names_are_asked_about(turns_: list[Any], before: str, folder: Path) -> None:
    rows = ({"dialog": said, "answer": city} for said, city in zip(turns_, PLACES.values(), strict=True))
    (folder / "talk.jsonl").write_bytes(lines(rows))
    stated = ("--field", "references=answer", "--match", "text")
    shown = init("talk.jsonl", *stated, answers="").stdout
    model = "medewerker" if turns_ is DUTCH else "Bot"
    place = next(line.split()[0] for line in shown.splitlines() if f"`{model}` is the model" in line)
    done = init("talk.jsonl", *stated, answers=f"{place}\nyes\n")
    assert done.exit_code == 0, done.output
    items = compile_spec(folder / "gridcard.toml").study.items["talk"].sampled
    assert items[0].messages == (("user", "Hello."), ("assistant", before))
    assert earning(folder) == PLACES


def test_a_speaker_without_a_role_is_named(folder: Path) -> None:
    (folder / "talk.jsonl").write_bytes(lines({"dialog": said, "answer": "x"} for said in DUTCH))
    done = init("talk.jsonl", "--yes", "--field", "messages=dialog", "--speaker", "klant=user")
    assert done.exit_code == 2
    assert "each needs a role of its own" in done.stderr and "--speaker medewerker=ROLE" in done.stderr


@pytest.mark.parametrize("between", ["\n", " | ", "; ", "labels"])
def test_options_in_one_text_are_found(between: str, folder: Path) -> None:
    texts = [(OTHERS[0], city, OTHERS[1]) for city in PLACES.values()]
    if between == "labels":
        cells = [
            " ".join(f"{label}) {text}" for label, text in zip("ABC", each, strict=True)) for each in texts
        ]
    else:
        cells = [between.join(each) for each in texts]
    rows = ({"question": q, "options": cell, "answer": "B"} for q, cell in zip(PLACES, cells, strict=True))
    (folder / "one.jsonl").write_bytes(lines(rows))
    done = init("one.jsonl", "--yes")
    assert done.exit_code == 0, done.output
    assert earning(folder) == PLACES


def test_options_in_one_text_that_nothing_separates_say_what_to_do(folder: Path) -> None:
    rows = ({"question": q, "options": f"Bergen or {city}", "answer": city} for q, city in ASKED)
    (folder / "one.jsonl").write_bytes(lines(rows))
    stated = ("--field", "options=options")
    assert "--split options=MARK names it" in init("one.jsonl", "--yes", *stated).stderr
    done = init("one.jsonl", "--yes", *stated, "--split", "options= or ")
    assert done.exit_code == 0, done.output
    assert earning(folder) == PLACES


@pytest.mark.parametrize(
    "solution",
    [
        "Add {n} and {n}: \\boxed{{{m}}}$.",
        "It is {n} and {n} more, or twice that. The answer is {m}.",
    ],
)
def test_the_answer_behind_working_is_compared(solution: str, folder: Path) -> None:
    rows = [{"problem": f"Twice {n}?", "solution": solution.format(n=n, m=2 * n)} for n in range(31, 37)]
    (folder / "sums.jsonl").write_bytes(lines(rows))
    done = init("sums.jsonl", "--yes", "--field", "references=solution", "--match", "number")
    assert done.exit_code == 0, done.output
    assert "right: 62" in done.stdout


def test_classes_of_any_column_are_offered(folder: Path) -> None:
    rows = [
        {"frase": f"Frase numero {n}, per esempio.", "giudizio": "vero" if n % 3 else "falso"}
        for n in range(9)
    ]
    (folder / "frasi.jsonl").write_bytes(lines(rows))
    stated = ("--field", "query=frase")
    shown = init("frasi.jsonl", *stated, answers="").stdout
    place = next(
        line.split()[0] for line in shown.splitlines() if "`giudizio` names one of 2 classes" in line
    )
    done = init("frasi.jsonl", *stated, answers=f"{place}\n\n\nyes\n")
    assert done.exit_code == 0, done.output
    assert earning(folder) == {row["frase"]: row["giudizio"] for row in rows}


def test_columns_to_choose_from_show_what_they_hold(folder: Path) -> None:
    (folder / "own.jsonl").write_bytes(lines({"kysymys": q, "stad": city} for q, city in ASKED))
    shown = init("own.jsonl", answers="").stdout
    assert f": {ASKED[0][0]}" in shown and ": Oslo" in shown


def test_what_no_choice_corrects_is_written_all_the_same(folder: Path) -> None:
    (folder / "own.jsonl").write_bytes(lines({"question": q, "answer": city} for q, city in ASKED))
    stated = ("--field", "references=answer", "--match", "text")
    shown = init("own.jsonl", *stated, answers="no\n").stdout
    place = next(line.split()[0] for line in shown.splitlines() if "something else" in line)
    done = init("own.jsonl", *stated, answers=f"no\n{place}\n")
    assert done.exit_code == 0, done.output
    assert "It is written as shown" in done.stdout and (folder / "gridcard.toml").exists()


def test_prompts_that_may_be_refused_or_answered_are_left_out(folder: Path) -> None:
    rows = [{"prompt": prompt, "policy": ORDERS[meant]} for prompt, meant in REQUESTS.items()]
    rows.append({"prompt": "Tell me a riddle.", "policy": "either is fine"})
    (folder / "policy.jsonl").write_bytes(lines(rows))
    shown = init("policy.jsonl", answers="").stdout
    place = next(line.split()[0] for line in shown.splitlines() if "`policy` says whether a prompt" in line)
    done = init("policy.jsonl", answers=f"{place}\neither\nyes\n")
    assert done.exit_code == 0, done.output
    assert "1 of 7 rows" in done.stdout
    assert earning(folder) == REQUESTS


def test_a_wrong_number_is_asked_again(folder: Path) -> None:
    rows = "".join(f"{q};{OTHERS[0]};{city};B\n" for q, city in PLACES.items())
    (folder / "fragen.csv").write_text(f"Sporsmal;A;B;Fasit\n{rows}", "utf-8")
    done = init("fragen.csv", answers="9\nSprosmal\n1\n7\nFasit\nyes\n")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("is none of these columns") == 3
    assert earning(folder) == PLACES


@pytest.mark.parametrize("empty", ["", None])
def test_rows_without_a_right_answer_are_left_out_and_counted(empty: str | None, folder: Path) -> None:
    rows = ({"question": q, "answer": empty if n == 2 else city} for n, (q, city) in enumerate(ASKED))
    (folder / "some.jsonl").write_bytes(lines(rows))
    stated = ("--field", "references=answer", "--match", "text")
    assert init("some.jsonl", "--yes", *stated).exit_code == 3
    done = init("some.jsonl", *stated, answers="1\nyes\n")
    assert done.exit_code == 0, done.output
    assert "1 of 6 rows" in done.stdout
    assert earning(folder) == {q: city for n, (q, city) in enumerate(ASKED) if n != 2}


@pytest.mark.parametrize(("answer", "several"), [("1", True), ("2", False)])
def test_whether_a_text_holds_several_right_answers_is_asked(
    answer: str, several: bool, folder: Path
) -> None:
    rows = "".join(f"{q},{city}; {city} city\n" for q, city in ASKED)
    (folder / "marks.csv").write_text(f"question,goed\n{rows}", "utf-8")
    stated = ("--field", "references=goed", "--match", "text")
    done = init("marks.csv", *stated, answers=f"{answer}\nyes\n")
    assert done.exit_code == 0, done.output
    assert "`goed` has ';' in 6 rows: several right answers, or one" in done.stdout
    (items,) = compile_spec(folder / "gridcard.toml").study.items.values()
    assert {len(item.references) for item in items.sampled} == {2 if several else 1}
    assert init("marks.csv", "--force", "--yes", *stated).exit_code == 0, "--yes takes the strict reading"
    assert "split" not in (folder / "gridcard.toml").read_text("utf-8")
    assert init("marks.csv", "--force", "--yes", *stated, "--split", "goed=;").exit_code == 0
    assert 'split = ";"' in (folder / "gridcard.toml").read_text("utf-8")


def test_a_row_shows_the_whole_conversation(folder: Path) -> None:
    """Also what the system and earlier turns say, and of turns those that come later."""
    told = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "I live in Oslo."},
        {"role": "assistant", "content": "Good."},
        {"role": "user", "content": "Where do I live?"},
    ]
    (folder / "chat.jsonl").write_bytes(lines({"messages": told, "answer": "Oslo"} for _ in range(4)))
    done = init("chat.jsonl", "--yes", "--field", "references=answer")
    assert done.exit_code == 0, done.output
    shown = done.stdout.partition("right:")[0]
    assert all(message["content"] in shown for message in told)
    (folder / "turns.jsonl").write_bytes(lines({"turns": ["I live in Oslo.", "Where?"]} for _ in range(4)))
    done = init("turns.jsonl", "--force", "--yes", "--constant", "expected=comply")
    assert done.exit_code == 0, done.output
    assert "Where?" in done.stdout.partition("right:")[0]


def test_of_a_worked_solution_the_answer_is_shown(folder: Path) -> None:
    rows = (
        {"question": f"How much is {n} and 1?", "answer": f"{n} and 1 make {n + 1}.\n#### {n + 1}"}
        for n in range(5)
    )
    (folder / "worked.jsonl").write_bytes(lines(rows))
    done = init("worked.jsonl", "--yes", "--field", "references=answer")
    assert done.exit_code == 0, done.output
    assert "right: 1\n" in done.stdout and "make" not in done.stdout.partition("right: 1")[0]


@pytest.mark.parametrize("flag", ["correct", "isCorrect"])
def test_options_with_a_flag_are_found_and_two_right_ones_asked_about(flag: str, folder: Path) -> None:
    def options(city: str, both: bool) -> list[dict[str, Any]]:
        return [{"text": text, flag: text == city or both} for text in (OTHERS[0], city)]

    rows = [{"question": q, "answers": options(city, both=n == 2)} for n, (q, city) in enumerate(ASKED)]
    (folder / "flags.json").write_text(json.dumps(rows), "utf-8")
    done = init("flags.json", answers="1\nyes\n")
    assert done.exit_code == 0, done.output
    assert "1 of 6 rows" in done.stdout
    assert earning(folder) == {q: city for n, (q, city) in enumerate(ASKED) if n != 2}


def test_a_label_of_a_response_is_not_offered_as_one_of_the_prompt(folder: Path) -> None:
    rows = (
        {"prompt": p, "response": "No.", "label": ("safe", "unsafe")[n % 2]} for n, p in enumerate(REQUESTS)
    )
    (folder / "moderated.jsonl").write_bytes(lines(rows))
    shown = init("moderated.jsonl", answers="").stdout
    assert "`label` may say what a response was" in shown
    assert "`label` is a right answer" not in shown and "`label` says whether" not in shown
