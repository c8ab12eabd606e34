"""`gridc init` on files as programs and people write them: titles above the names of columns, no names, old
encodings, questions within records, Aiken's format, codes for classes."""

import json
import shlex
from pathlib import Path

import pytest

from gridc.compiler.compile import compile_spec
from tests.e2e.test_conversation import CITIES, OTHERS, PLACES, earning, folder, init

__all__ = ["folder"]

OPTIONS = [(OTHERS[0], city, OTHERS[1]) for city in PLACES.values()]
ROWS = [f"{query};{';'.join(options)};B" for query, options in zip(PLACES, OPTIONS, strict=True)]
HEADER = "question;A;B;C;answer"


def chosen(shown: str, words: str) -> str:
    """The number of the way that has these words."""
    return next(line.split()[0] for line in shown.splitlines() if words in line)


@pytest.mark.parametrize(
    "above",
    ["Quiz for class 7\n", "Quiz for class 7;;;;\n;;;;\n", "# a licence\n# and who to ask\n", "\n\n"],
    ids=["a title", "a title of a spreadsheet", "remarks", "empty lines"],
)
def test_lines_above_the_names_of_columns_are_passed_over(above: str, folder: Path) -> None:
    (folder / "quiz.csv").write_text(above + "\n".join([HEADER, *ROWS, ""]), "utf-8")
    done = init("quiz.csv", "--yes")
    assert done.exit_code == 0, done.output
    count = above.count("\n")
    said = f"{count} line{'s' * (count > 1)} above the names of the columns {'are' if count > 1 else 'is'}"
    assert said.split(" is")[0].split(" are")[0] in done.stdout
    assert earning(folder) == PLACES


def test_a_first_row_of_numbers_names_columns_where_others_have_as_many_fields(folder: Path) -> None:
    """A column that is called `#` is no remark."""
    rows = [f"{n};{row}" for n, row in enumerate(ROWS)]
    (folder / "quiz.csv").write_text("\n".join([f"#;{HEADER}", *rows, ""]), "utf-8")
    done = init("quiz.csv", "--yes")
    assert done.exit_code == 0, done.output
    assert "passed over" not in done.stdout and earning(folder) == PLACES


def test_a_file_without_names_of_columns_is_read_by_their_numbers(folder: Path) -> None:
    (folder / "quiz.csv").write_text("\n".join([*ROWS, ""]), "utf-8")
    shown = init("quiz.csv", answers="1\n1\n").stdout
    place = chosen(shown, "columns hold the options, and one names the right one")
    done = init("quiz.csv", answers=f"1\n1\n{place}\n1,2,3\n4\nyes\n")
    assert done.exit_code == 0, done.output
    assert earning(folder) == PLACES
    assert 'header = "none"' in (folder / "gridcard.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("encoding", "words"),
    [("cp1252", "Größe"), ("cp1251", "Столица государства"), ("gb18030", "发生火灾时应拨打的电话是哪一个")],
)
def test_texts_of_older_programs_are_shown_in_each_encoding(encoding: str, words: str, folder: Path) -> None:
    rows = "\n".join([HEADER, *(f"{words} {n}: {row}" for n, row in enumerate(ROWS)), ""])
    (folder / "old.csv").write_bytes(rows.encode(encoding))
    shown = init("old.csv", answers="").stdout
    place = chosen(shown, words)
    assert f"Which [{place}]" in shown
    done = init("old.csv", answers="\nyes\n")
    assert done.exit_code == 0, done.output
    assert next(iter(earning(folder))).startswith(f"{words} 0: ")
    done = init("old.csv", "--yes", "--force")
    assert done.exit_code == 0 and f"--copy --encoding {encoding}" in done.stdout


def squad() -> object:
    asked = [
        {"id": q, "question": q, "answers": [{"text": city, "answer_start": 0}]} for q, city in PLACES.items()
    ]
    paragraphs = [
        {"context": "Cities are here.", "qas": asked[:4]},
        {"context": "And here.", "qas": asked[4:]},
    ]
    return {"version": "2.0", "data": [{"title": "Places", "paragraphs": paragraphs}]}


def test_questions_within_records_are_rows(folder: Path) -> None:
    (folder / "squad.json").write_text(json.dumps(squad()), "utf-8")
    done = init(
        "squad.json",
        "--yes",
        "--field",
        "references=answers.text",
        "--match",
        "text",
        "--rows",
        "paragraphs.qas",
    )
    assert done.exit_code == 0, done.output
    assert "1 record of the file" in done.stdout and "6 rows" in done.stdout
    assert earning(folder) == PLACES
    items = compile_spec(folder / "gridcard.toml").study.items["squad"].sampled
    assert [item.context for item in items] == ["Cities are here."] * 4 + ["And here."] * 2


def test_parallel_lists_of_questions_are_rows(folder: Path) -> None:
    record = {
        "article": "Cities are here.",
        "questions": list(PLACES),
        "options": [list(each) for each in OPTIONS],
        "answers": ["B"] * len(PLACES),
    }
    (folder / "race.json").write_text(json.dumps([record]), "utf-8")
    done = init("race.json", "--yes")
    assert done.exit_code == 0, done.output
    assert "each entry of `questions` is a question (--rows questions)" in done.stdout
    assert earning(folder) == PLACES


def test_a_file_that_is_one_record_is_read_by_the_way_to_its_rows(folder: Path) -> None:
    answers = [[{"text": text, "isCorrect": text in CITIES.values()} for text in each] for each in OPTIONS]
    asked = [{"prompt": q, "answers": each} for q, each in zip(PLACES, answers, strict=True)]
    (folder / "app.json").write_text(json.dumps({"quiz": {"title": "Cities", "questions": asked}}), "utf-8")
    done = init("app.json", "--yes")
    assert done.exit_code == 0, done.output
    assert earning(folder) == PLACES


def test_aiken_is_read_as_moodle_reads_it(folder: Path) -> None:
    blocks = [
        f"{query}\n{mark('A')} {first}\n{mark('B')} {city}\n{mark('C')} {last}\nANSWER: B\n"
        for mark, (query, (first, city, last)) in zip(
            ("{}.".format, "{})".format) * 3, zip(PLACES, OPTIONS, strict=True), strict=True
        )
    ]
    (folder / "quiz.txt").write_bytes("\r\n".join("\n".join(blocks).split("\n")).encode())
    done = init("quiz.txt", "--yes")
    assert done.exit_code == 0, done.output
    assert "Moodle's Aiken format" in done.stdout and earning(folder) == PLACES


def test_codes_of_classes_stand_for_what_a_person_says(folder: Path) -> None:
    rows = [{"premise": f"Premise {n}.", "hypothesis": f"Hypothesis {n}.", "label": n % 3} for n in range(9)]
    (folder / "nli.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    stated = ("--field", "query=hypothesis", "--field", "context=premise")
    place = chosen(init("nli.jsonl", *stated, answers="").stdout, "`label` names one of 3 classes")
    done = init("nli.jsonl", *stated, answers=f"{place}\nyes\nmaybe\n-\n\nyes\n")
    assert done.exit_code == 0, done.output
    assert "3 of 9 rows do not follow the format and are left out" in done.stdout
    assert set(earning(folder).values()) == {"yes", "maybe"}


def test_responses_that_somebody_rated_are_no_right_answers(folder: Path) -> None:
    rows = [{"prompt": q, "chosen": f"{q} It is so.", "rejected": "I do not know."} for q in PLACES]
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    done = init("pairs.jsonl", "--yes")
    assert done.exit_code == 2
    assert "`chosen` and `rejected` hold responses of models" in done.stderr


def test_quotes_are_letters_where_tabs_separate_and_they_do_not_close(folder: Path) -> None:
    rows = [f'"{query} she said\t{city}' for query, city in PLACES.items()]
    (folder / "said.tsv").write_text("\n".join(["question\tanswer", *rows, ""]), "utf-8")
    done = init("said.tsv", "--yes", "--field", "references=answer", "--match", "text")
    assert done.exit_code == 0, done.output
    assert next(iter(earning(folder))) == f'"{next(iter(PLACES))} she said'


def written(folder: Path, name: str, rows: object) -> str:
    (folder / name).write_text(json.dumps(rows, ensure_ascii=False), "utf-8")
    return name


@pytest.mark.parametrize("labels", ["ABC", "123"])
@pytest.mark.parametrize("mark", ["．", ")", ". "])
def test_options_behind_the_question_in_its_text_are_parted_from_it(
    labels: str, mark: str, folder: Path
) -> None:
    """A number before the question is no label of an option, where letters label these."""
    rows = [
        {"question": "\n".join([query, *map(f"{{}}{mark}{{}}".format, labels, options)]), "answer": ["B"]}
        for query, options in zip(PLACES, OPTIONS, strict=True)
    ]
    numbered = [{**row, "question": f"{n}. {row['question']}"} for n, row in enumerate(rows, 1)]
    done = init(written(folder, "exam.json", {"name": "x", "example": rows}), "--yes")
    assert done.exit_code == 0, done.output
    assert earning(folder) == PLACES
    if labels == "ABC":
        done = init(written(folder, "exam.json", numbered), "--yes", "--force")
        assert done.exit_code == 0, done.output
        assert earning(folder) == {f"{n}. {q}": city for n, (q, city) in enumerate(PLACES.items(), 1)}


def test_a_list_of_wrong_options_stands_beside_the_right_one(folder: Path) -> None:
    rows = [
        {"question": q, "correct_answer": city, "incorrect_answers": list(OTHERS[: 1 + n % 2])}
        for n, (q, city) in enumerate(PLACES.items())
    ]
    done = init(written(folder, "trivia.json", {"response_code": 0, "results": rows}), "--yes")
    assert done.exit_code == 0, done.output
    assert earning(folder) == PLACES
    assert "2 with 2" in done.stdout or "3 with 2" in done.stdout


def test_the_name_of_a_column_names_its_option(folder: Path) -> None:
    rows = [f"{query};{';'.join(options)};ب" for query, options in zip(PLACES, OPTIONS, strict=True)]
    (folder / "bank.csv").write_text("\n".join(["السؤال;أ;ب;ج;الجواب", *rows, ""]), "utf-8")
    stated = ("--field", "query=السؤال", "--field", "options=أ,ب,ج", "--field", "gold=الجواب")
    done = init("bank.csv", *stated, "--yes")
    assert done.exit_code == 0, done.output
    assert earning(folder) == PLACES


def test_rows_of_the_hubs_dataset_server_are_read(folder: Path) -> None:
    entries = [
        {"row_idx": n, "row": {"question": q, "choices": list(options), "answer": 1}, "truncated_cells": []}
        for n, (q, options) in enumerate(zip(PLACES, OPTIONS, strict=True))
    ]
    entries[0]["row"] |= {"choices": [OPTIONS[0][1], *OTHERS], "answer": 0}  # type: ignore[operator]
    features = [{"feature_idx": 0, "name": "question", "type": {"dtype": "string"}}]
    done = init(written(folder, "rows.json", {"features": features, "rows": entries}), "--yes")
    assert done.exit_code == 0, done.output
    assert earning(folder) == PLACES


def test_a_policy_in_any_language_is_offered_as_one(folder: Path) -> None:
    rows = [f"{n};{text};{'ablehnen' if n % 2 else 'beantworten'}" for n, text in enumerate(PLACES)]
    (folder / "regeln.csv").write_text("\n".join(["Nr.;Eingabe;Verhalten", *rows, ""]), "utf-8")
    place = chosen(init("regeln.csv", answers="2\n").stdout, "`Verhalten` says whether a prompt is to be")
    done = init("regeln.csv", answers=f"2\n{place}\nrefused\nanswered\nyes\n")
    assert done.exit_code == 0, done.output
    assert earning(folder) == {q: "refuse" if n % 2 else "comply" for n, q in enumerate(PLACES)}


def test_names_that_look_like_data_may_be_names(folder: Path) -> None:
    rows = [f"{n},{query},{'Oui' if n % 2 else 'Non'}" for n, query in enumerate(PLACES)]
    (folder / "revue.csv").write_text("\n".join(["#,Message,Doit refuser ?", *rows, ""]), "utf-8")
    shown = init("revue.csv", answers="").stdout
    place = chosen(shown, "the first row names the columns")
    shown = init("revue.csv", answers=f"{place}\n2\n").stdout
    policy = chosen(shown, "`Doit refuser ?` says whether")
    done = init("revue.csv", answers=f"{place}\n2\n{policy}\nanswered\nrefused\nyes\n")
    assert done.exit_code == 0, done.output
    assert earning(folder) == {q: "refuse" if n % 2 else "comply" for n, q in enumerate(PLACES)}


def test_a_label_in_lists_of_one_is_the_label(folder: Path) -> None:
    rows = [
        {
            "data": {"text": text},
            "annotations": [
                {"result": [{"value": {"choices": [f"Must {'refuse' if n % 2 else 'answer'}"]}}]}
            ],
        }
        for n, text in enumerate(PLACES)
    ]
    name = written(folder, "project.json", rows)
    place = chosen(init(name, answers="").stdout, "Must answer: comply, Must refuse: refuse")
    done = init(name, answers=f"{place}\nyes\n")
    assert done.exit_code == 0, done.output
    assert earning(folder) == {q: "refuse" if n % 2 else "comply" for n, q in enumerate(PLACES)}


def test_several_right_options_cannot_be_split(folder: Path) -> None:
    rows = [f"{query},{','.join(options)},B" for query, options in zip(PLACES, OPTIONS, strict=True)]
    rows[2] = rows[2].removesuffix("B") + '"A, B"'
    (folder / "quiz.csv").write_text("\n".join(["question,A,B,C,answer", *rows, ""]), "utf-8")
    stated = ("--field", "options=A,B,C", "--field", "gold=answer")
    done = init("quiz.csv", *stated, "--split", "answer=,", "--yes")
    assert done.exit_code == 2 and "--leave-out" in done.output
    done = init("quiz.csv", *stated, "--leave-out", "--yes")
    assert done.exit_code == 0, done.output
    kept = {query: city for n, (query, city) in enumerate(PLACES.items()) if n != 2}
    assert earning(folder) == kept


def test_one_system_prompt_for_all_rows(folder: Path) -> None:
    rows = [{"question": query, "answer": city} for query, city in PLACES.items()]
    name = written(folder, "bot.json", rows)
    words = ("--constant", "system=You are ShopBot.", "--field", "references=answer", "--match", "text")
    done = init(name, *words, "--yes")
    assert done.exit_code == 0, done.output
    assert earning(folder) == PLACES
    (items,) = compile_spec(folder / "gridcard.toml").study.items.values()
    assert {item.messages for item in items.sampled} == {(("system", "You are ShopBot."),)}


def test_assertions_of_another_tool_are_no_right_answers(folder: Path) -> None:
    """They were compared word for word: every answer would have been wrong."""
    rows = [f'{query},"icontains-any: {city}, {city} city"' for query, city in PLACES.items()]
    (folder / "tests.csv").write_text("\n".join(["question,__expected", *rows, ""]), "utf-8")
    done = init("tests.csv", "--field", "references=__expected", "--match", "contains", "--yes")
    assert done.exit_code == 2 and "assertions of promptfoo" in done.output
    rows = [f"{query},{'equals: ' * (n == 0)}{city}" for n, (query, city) in enumerate(PLACES.items())]
    (folder / "tests.csv").write_text("\n".join(["question,__expected", *rows, ""]), "utf-8")
    done = init("tests.csv", "--field", "references=__expected", "--match", "contains", "--yes")
    assert done.exit_code == 0, "an answer may have a colon"


def test_an_instruction_beside_the_rows_is_named(folder: Path) -> None:
    rows = [{"input": query, "target": city} for query, city in PLACES.items()]
    task = {"name": "places", "task_prefix": "Say which city it is.", "examples": rows}
    name = written(folder, "task.json", task)
    stated = ("--field", "references=target", "--match", "text", "--yes")
    done = init(name, *stated)
    assert done.exit_code == 0, done.output
    assert "`task_prefix` stands beside it" in done.stdout and "--rows examples" in done.stdout
    done = init(name, *stated, "--rows", "examples", "--field", "context=task_prefix", "--force")
    assert done.exit_code == 0, done.output
    assert "| Say which city it is." in done.stdout and earning(folder) == PLACES


def test_a_letter_in_the_question_is_no_option(folder: Path) -> None:
    """The question names a vitamin A: before option A)."""
    asked = "Vitamin A: which city? 1. Think of B: and of C."
    rows = [
        {"question": f"{asked} {query} {' '.join(map('{}) {}'.format, 'ABC', options))}", "answer": "B"}
        for query, options in zip(PLACES, OPTIONS, strict=True)
    ]
    done = init(written(folder, "exam.json", rows), "--yes")
    assert done.exit_code == 0, done.output
    assert earning(folder) == {f"{asked} {query}": city for query, city in PLACES.items()}


def test_a_list_is_no_option_of_a_series(folder: Path) -> None:
    """Behind a column of options it would change which letter names what."""
    rows = [
        {"question": q, "A": OTHERS[0], "B": [city, OTHERS[1]], "answer": "B"} for q, city in PLACES.items()
    ]
    stated = ("--field", "options=A,B", "--field", "gold=answer", "--yes")
    assert init(written(folder, "odd.json", rows), *stated).exit_code != 0


@pytest.mark.parametrize("names", [("Frage", "Antwort"), ("问题", "答案"), ("claim", "ideal")])
def test_names_of_other_languages_and_tools_are_known(names: tuple[str, str], folder: Path) -> None:
    asked, right = names
    name = written(folder, "quiz.json", [{asked: query, right: city} for query, city in PLACES.items()])
    done = init(name, "--yes", "--match", "text")
    assert done.exit_code != 0 and f"--field references={shlex.quote(right)}" in done.stderr
    done = init(name, "--yes", "--match", "text", "--field", f"references={right}")
    assert done.exit_code == 0, done.output
    assert earning(folder) == PLACES


def test_the_answer_of_a_file_without_options_is_free_text(folder: Path) -> None:
    name = written(folder, "quiz.json", [{"one": query, "two": city} for query, city in PLACES.items()])
    done = init(name, "--yes", "--match", "text", "--field", "question=one", "--field", "answer=two")
    assert done.exit_code == 0, done.output
    assert earning(folder) == PLACES
    letters = written(folder, "exam.json", [{"one": query, "two": "B"} for query in PLACES])
    done = init(letters, "--yes", "--field", "question=one", "--field", "answer=two", "--force")
    assert done.exit_code != 0 and "--field references=two" in done.stderr, "options may stand elsewhere"


def test_passages_of_a_list_are_one_context(folder: Path) -> None:
    rows = [
        {"user_input": query, "retrieved_contexts": [f"{city} is a city.", "It is large."], "reference": city}
        for query, city in PLACES.items()
    ]
    rows[0]["retrieved_contexts"] = []
    name = written(folder, "rag.json", rows)
    done = init(name, "--yes", "--match", "text", "--field", "references=reference")
    assert done.exit_code == 0, done.output
    assert earning(folder) == PLACES
    (items,) = compile_spec(folder / "gridcard.toml").study.items.values()
    contexts = [item.context for item in sorted(items.sampled, key=lambda item: item.id)]
    assert contexts[0] == "" and contexts[1] == "Lima is a city.\n\nIt is large."


def test_html_in_questions_is_said(folder: Path) -> None:
    rows = [{"question": f"<p>{query}&nbsp;</p>", "answer": city} for query, city in PLACES.items()]
    done = init(written(folder, "moodle.json", rows), "--yes", "--field", "references=answer")
    assert done.exit_code == 0, done.output
    assert "`question` has HTML in 6 rows, such as `<p>`, and is asked as it stands" in done.stdout


def test_a_table_of_names_and_rows_is_read_by_its_names(folder: Path) -> None:
    asked = enumerate(zip(PLACES.items(), OPTIONS, strict=True))
    rows = [[n, query, list(options), city] for n, ((query, city), options) in asked]
    table = {"columns": ["idx", "question", "options", "label"], "data": rows, "nrows": len(rows)}
    done = init(written(folder, "table.json", table), "--yes")
    assert done.exit_code == 0, done.output
    assert earning(folder) == PLACES


def test_passages_are_no_options(folder: Path) -> None:
    rows = [
        {"query": query, "reference_contexts": ["It is large.", f"{city} is old."], "reference_answer": city}
        for query, city in PLACES.items()
    ]
    done = init(written(folder, "rag.json", rows), "--yes", "--field", "references=reference_answer")
    assert done.exit_code == 0, done.output
    assert earning(folder) == PLACES and "It is large.\n" in done.stdout.replace("  | ", "")


def test_weights_in_percent_are_marks(folder: Path) -> None:
    """Canvas gives the right answer all points."""
    rows = [
        {"question_text": query, "answers": [{"text": o, "weight": 100.0 * (o == city)} for o in options]}
        for (query, city), options in zip(PLACES.items(), OPTIONS, strict=True)
    ]
    stated = (
        "--field",
        "query=question_text",
        "--field",
        "options=answers.text",
        "--field",
        "gold=answers.weight",
    )
    done = init(written(folder, "quiz.json", rows), "--yes", *stated)
    assert done.exit_code == 0, done.output
    assert earning(folder) == PLACES
