# ruff: noqa: E501  # a mistake reads as one row
"""Mistakes that people make in their first studies, each with what gridc has to answer and the edit that its
way out asks for. `STUDY` is a study of own items as a beginner writes it from the README."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, field

Edit = tuple[str, str]
"""A text that stands once in the spec, and what stands in its place."""


def sums(rows: int = 24, encode: str = "utf-8") -> bytes:
    """Questions with four options; `answer` is the place of the right one, counted from 0."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["question", "a", "b", "c", "d", "answer"])
    for number in range(rows):
        right, place = 2 * number + 3, number % 4
        options = [f"it is {right + step}" for step in (7, 11, 13)]
        options.insert(place, f"it is {right}")
        note = "né" if encode != "utf-8" else "ne"
        writer.writerow([f"{note}: what is {number + 1} plus {number + 2}?", *options, place])
    return text.getvalue().encode(encode)


def texts(spelled: Callable[[str], str]) -> bytes:
    """The same questions with the text of the right option as `answer`, spelled otherwise."""
    rows = list(csv.reader(io.StringIO(sums().decode())))
    text = io.StringIO()
    csv.writer(text).writerows([rows[0], *([*row[:5], spelled(row[1 + int(row[5])])] for row in rows[1:])])
    return text.getvalue().encode()


STUDY = """\
gridcard = 1

[study]
id = "first"
title = "My first study"
purpose = "comparative"

[[model]]
id = "one"
engine = "hf"
source = "builtin:pocket-qwen2"

[[model]]
id = "two"
engine = "hf"
source = "builtin:pocket-llama"

[[benchmark]]
id = "sums"
loader = "rows"
source = "path:sums.csv"
direction = "higher_is_better"
option_order = "shuffled:42"

[benchmark.loading.fields]
query = "question"
options = ["a", "b", "c", "d"]
gold = "answer"

[harness]
method = "extract"
max_tokens = 8

[[axis]]
id = "template"

[[axis.level]]
id = "plain"
tier = "core"
prompt = "builtin:T1"
provenance = "the shortest that is in use"

[[axis.level]]
id = "detailed"
tier = "stress"
prompt = "builtin:T3"
provenance = "mine"
"""


@dataclass(frozen=True)
class Mistake:
    """A study with a mistake (`edits` of STUDY, and other `files`), the `code` that answers it at the line
    that holds `at`, words of its `help`, and what the help says to do: `mends`, edits of the study with the
    mistake, or other `mended_files`."""

    name: str
    edits: tuple[Edit, ...]
    code: str
    at: str
    help: str
    mends: tuple[Edit, ...]
    files: dict[str, bytes] = field(default_factory=dict)
    mended_files: dict[str, bytes] = field(default_factory=dict)


def one(name: str, right: str, wrong: str, code: str, at: str, help: str, mend: str = "") -> Mistake:
    """A mistake in one place, mended there: with what stood there, or with `mend`."""
    return Mistake(name, ((right, wrong),), code, at, help, ((wrong, mend or right),))


def added(name: str, after: str, wrong: str, code: str, at: str, help: str, mend: str) -> Mistake:
    """Something that should not stand there, or in another way, behind a line."""
    return Mistake(name, ((after, after + wrong),), code, at, help, ((wrong, mend),))


PROMPT = 'prompt = "builtin:T3"'
WARM = """
[[axis]]
id = "decoding"

[[axis.level]]
id = "greedy"
tier = "core"
temperature = 0.0
provenance = "mine"

[[axis.level]]
id = "warm"
tier = "stress"
temperature = 0.7
provenance = "mine"
"""
RANK = """
[[axis]]
id = "scoring"

[[axis.level]]
id = "read"
tier = "core"
method = "extract"
provenance = "mine"

[[axis.level]]
id = "rank"
tier = "core"
method = "loglikelihood"
provenance = "mine"
"""
LAST = 'provenance = "mine"\n'
RANKING = """
[[hypothesis]]
id = "H1"
kind = "ranking"
order = ["one", "two"]
"""
EXCLUDE = """
[[exclude]]
when = { scoring = "rank", decoding = "warm" }
why = "a ranking is not sampled"
"""

MISTAKES = (
    one("a plural", '[[axis]]\nid = "template"', '[[axes]]\nid = "template"', "GC101", "[[axes]]", "`axis`"),
    one("no quotes", 'id = "sums"', "id = sums", "GC001", "id = sums", '"sums"'),
    one("an open quote", 'title = "My first study"', 'title = "My first study', "GC001", "title", "quote"),
    one("a misspelt key", "max_tokens = 8", "max_token = 8", "GC101", "max_token", "`max_tokens`"),
    one("a number as text", "max_tokens = 8", 'max_tokens = "8"', "GC102", '"8"', "without quotes"),
    one("a tier of one's own", 'tier = "stress"', 'tier = "edge"', "GC104", '"edge"', "`stress`"),
    Mistake("no provenance", ((LAST, ""),), "GC103", "[[axis.level]]", "documented",
            ((f"{PROMPT}\n", f"{PROMPT}\n{LAST}"),)),
    one("a loader by the file's kind", '"rows"', '"csv"', "GC104", '"csv"', "`rows`"),
    one("a file without a scheme", '"path:sums.csv"', '"sums.csv"', "GC104", '"sums.csv"', "path:sums.csv"),
    one("a file that is not there", '"path:sums.csv"', '"path:sum.csv"', "GC309", "sum.csv", "path:sums.csv"),
    one("a file in another folder", '"path:sums.csv"', '"path:../sums.csv"', "GC308", "..", "without `..`"),
    one("an absolute path", '"path:sums.csv"', '"path:/sums.csv"', "GC308", "path:/", "below the folder"),
    one("a misspelt column", 'gold = "answer"', 'gold = "anwser"', "GC333", '"anwser"', "`answer`"),
    one("counted from the wrong number", "[benchmark.loading.fields]",
        '[benchmark.loading]\ngold = "one_based"\nmalformed = "leave_out"\n[benchmark.loading.fields]',
        "GC334", "one_based", 'gold = "index"',
        '[benchmark.loading]\ngold = "index"\n[benchmark.loading.fields]'),
    one("a model that does not ship", "pocket-qwen2", "pocket-qwen", "GC309", "pocket-qwen", "pocket-qwen2`"),
    one("an engine by its place", 'engine = "hf"\nsource = "builtin:pocket-qwen2"',
        'engine = "local"\nsource = "builtin:pocket-qwen2"', "GC104", '"local"', "`hf`"),
    Mistake("no method", (('method = "extract"\n', ""),), "GC302", "[[benchmark]]", 'method = "extract"',
            (("[harness]\n", '[harness]\nmethod = "extract"\n'),)),
    Mistake("no order of the options", (('option_order = "shuffled:42"\n', ""),), "GC302", "[[benchmark]]",
            'option_order = "shuffled:42"', (("[harness]\n", '[harness]\noption_order = "shuffled:42"\n'),)),
    added("examples from nowhere", "max_tokens = 8\n", "shots = 2\n", "GC311", "[[benchmark]]",
          'exemplars = { pool = "rest", seed = 42 }', ""),
    added("more items than there are", 'option_order = "shuffled:42"\n', "sample = { n = 100, seed = 1 }\n",
          "GC311", "n = 100", "24", "sample = { n = 24, seed = 1 }\n"),
    one("one brace", PROMPT, 'prompt = "{question} Answer: {{ answer }}"', "GC310", "{question}",
        "{{ question }}", 'prompt = "{{ question }} Answer: {{ answer }}"'),
    one("a misspelt variable", PROMPT, 'prompt = "{{ quesion }} {{ answer }}"', "GC310", "quesion",
        "`question`", 'prompt = "{{ question }} {{ answer }}"'),
    one("a loop over letters", PROMPT,
        'prompt = "{{ stem }}\\n{% for each in options %}{{ each }}\\n{% endfor %}{{ answer }}"', "GC310",
        "for each in", "{% for letter, text in choices %}",
        'prompt = "{{ stem }}\\n{% for letter, text in choices %}{{ letter }}. {{ text }}\\n{% endfor %}'
        '{{ answer }}"'),
    one("options that are not shown", PROMPT, 'prompt = "{{ stem }} Answer with a letter. {{ answer }}"',
        "GC501", "{{ stem }}", "`question`",
        'prompt = "{{ question }} Answer with a letter. {{ answer }}"'),
    one("two levels of one name", 'id = "detailed"', 'id = "plain"', "GC201", '"plain"', "of its own"),
    Mistake("the same level twice", ((PROMPT, 'prompt = "builtin:T1"'),), "GC303", "detailed",
            "make them differ", (('prompt = "builtin:T1"\n' + LAST, f"{PROMPT}\n{LAST}"),)),
    Mistake("a sampled ranking", ((LAST, LAST + WARM + RANK), ('method = "extract"\nmax', "max")), "GC313",
            "temperature = 0.7", '[[exclude]] when = { decoding = "warm", scoring = "rank" }',
            ((RANK, RANK + EXCLUDE),)),
    Mistake("an exclusion of nothing", ((LAST, LAST + WARM + RANK + EXCLUDE.replace('"warm"', '"hot"')),
            ('method = "extract"\nmax', "max")), "GC202", '"hot"', "`warm`", (('"hot"', '"warm"'),)),
    added("greedy replicates", "max_tokens = 8\n", "replicates = 3\n", "GC313", "replicates",
          "leave `replicates` out", ""),
    Mistake("a file from a spreadsheet", (), "GC312", "sums.csv", "iconv -f WINDOWS-1252", (),
            {"sums.csv": sums(encode="cp1252")}, {"sums.csv": sums()}),
    one("an axis in the harness", '[[axis]]\nid = "template"', '[[harness.axis]]\nid = "template"', "GC101",
        "[[harness.axis]]", "write `[[axis]]` here"),
    Mistake("an axis in the harness, before another", (
        ('[[axis]]\nid = "template"', '[[harness.axis]]\nid = "template"'), (LAST, LAST + WARM)),
        "GC001", "[[harness.axis]]", "write `[[axis]]` here", (("harness.axis", "axis"),)),
    added("an axis in the harness, behind another", LAST, WARM.replace("[axis", "[harness.axis"), "GC101",
          "[[harness.axis]]", "write `[[axis]]` here", WARM),
    added("hypotheses in one table", LAST, RANKING.replace("[[hypothesis]]", "[hypotheses]"), "GC101",
          "[hypotheses]", "write `[[hypothesis]]` here", RANKING),
    added("hypotheses in the plural", LAST, RANKING.replace("hypothesis", "hypotheses"), "GC101",
          "[[hypotheses]]", "write `[[hypothesis]]` here", RANKING),
    Mistake("a table twice", ((LAST, LAST + "\n[harness]\nshots = 0\n"),), "GC001", "[harness]",
            "below line 30", (("\n[harness]\nshots = 0\n", ""), ("[harness]\n", "[harness]\nshots = 0\n"))),
    one("one bracket of two", '[[model]]\nid = "one"', '[model]\nid = "one"', "GC001", "[model]", "`[[model]]`"),
    one("one bracket of a level", '[[axis.level]]\nid = "detailed"', '[axis.level]\nid = "detailed"', "GC001",
        "[axis.level]", "`[[axis.level]]`"),
    one("a bracket that is not closed", '[[axis.level]]\nid = "detailed"', '[[axis.level]\nid = "detailed"',
        "GC001", "[[axis.level]", "`[[axis.level]]`"),
    added("a harness of a model", 'source = "builtin:pocket-llama"\n',
          '\n[model.harness]\nsystem = "Be exact."\n', "GC101", "[model.harness]", "leave this header out",
          'system = "Be exact."\n'),
    added("a key twice", "max_tokens = 8\n", "max_tokens = 16\n", "GC001", "max_tokens = 16", "line 32", ""),
    one("a comma behind the last key", 'option_order = "shuffled:42"\n\n[benchmark.loading.fields]',
        'option_order = "shuffled:42"\nsample = { n = 24, seed = 1, }\n\n[benchmark.loading.fields]', "GC001",
        "seed = 1, }", "`sample = { n = 24, seed = 1 }`",
        'option_order = "shuffled:42"\nsample = { n = 24, seed = 1 }\n\n[benchmark.loading.fields]'),
    one("a table in braces over lines", 'option_order = "shuffled:42"\n',
        'option_order = "shuffled:42"\nsample = {\n  n = 24,\n  seed = 1,\n}\n', "GC001", "sample = {",
        "`sample = { n = 24, seed = 1 }`", 'option_order = "shuffled:42"\nsample = { n = 24, seed = 1 }\n'),
    one("a quote in quotes", '"My first study"', "'My sister's study'", "GC001", "sister",
        '`title = "My sister\'s study"`', '"My sister\'s study"'),
    one("a backslash in a path", '"path:sums.csv"', '"path:.\\sums.csv"', "GC001", "path:", '"path:./sums.csv"',
        '"path:./sums.csv"'),
    added("a decimal comma", "max_tokens = 8\n", "top_p = 0,9\n", "GC001", "top_p", "`top_p = 0.9`", "top_p = 0.9\n"),
    added("a percent sign", "max_tokens = 8\n", "top_p = 90%\n", "GC001", "top_p", "`top_p = 0.9`", "top_p = 0.9\n"),
    added("percent in quotes", "max_tokens = 8\n", 'top_p = "90 %"\n', "GC102", "top_p", "0.9", "top_p = 0.9\n"),
    added("percent as a number", "max_tokens = 8\n", "top_p = 90\n", "GC104", "top_p", "90 % is 0.9", "top_p = 0.9\n"),
    added("a whole number with a point", "max_tokens = 8\n", "replicates = 1.0\n", "GC102", "1.0", "write it as 1",
          "replicates = 1\n"),
    one("a date without quotes", 'id = "first"', "id = 2026-01-05", "GC102", "2026", '"2026-01-05"', 'id = "2026-01-05"'),
    one("the version below a table", "gridcard = 1\n\n[study]\n", "[study]\ngridcard = 1\n", "GC101",
        "gridcard = 1", "at the head of the file"),
    added("an order as one text", LAST, RANKING.replace('["one", "two"]', '"one > two"'), "GC102", "one > two",
          '["one", "two"]', RANKING),
    added("a number for a table", LAST, "\n[analysis]\nthresholds = [0.5]\n", "GC102", "[0.5]",
          '{ at = 0.5, declared = "ex_ante", source = ... }',
          '\n[analysis]\nthresholds = [{ at = 0.5, declared = "ex_ante", source = "mine" }]\n'),
    one("options under another name", 'options = ["a", "b", "c", "d"]',
        'options = { values = ["it is 3", "it is 5"] }', "GC101", "values",
        'write `constant = ["it is 3", "it is 5"]` here', 'options = ["a", "b", "c", "d"]'),
    Mistake("names with spaces in the file", (), "GC333", '"a"', "take the spaces around the names out", (),
            {"sums.csv": sums().replace(b"question,a,b", b"question, a, b")}, {"sums.csv": sums()}),
    Mistake("answers in another case and with a stop", (), "GC334", 'gold = "answer"', "write 'it is 3' in row 2",
            (), {"sums.csv": texts(lambda text: f"{text.upper()}.")}, {"sums.csv": texts(lambda text: text)}),
    Mistake("one answer with a Cyrillic letter", (), "GC334", 'gold = "answer"',
            "write 'it is 3' in row 2, as its options do, and correct the other 5 like it", (),
            {"sums.csv": texts(lambda text: text.replace("s 3", "\u0455 3"))}, {"sums.csv": texts(lambda text: text)}),
    Mistake("answers with letter and text", (), "GC334", 'gold = "answer"', "write the letter alone, 'A', in row 2",
            (), {"sums.csv": texts(lambda text: f"A) {text}")}, {"sums.csv": sums()}),
    Mistake("answers that name nothing", (), "GC334", 'gold = "answer"', "correct these 6 rows",
            (), {"sums.csv": sums().replace(b",0\r\n", b",X1\r\n")}, {"sums.csv": sums()}),
)  # fmt: skip
