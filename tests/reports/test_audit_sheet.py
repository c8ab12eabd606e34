"""The sheet of an audit as files: harmless in a spreadsheet, a page by itself, strict on its return."""

import csv
import io
import json
import re
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridc.diagnostics.errors import FileError
from gridc.reports.exchange.audit_sheet import as_csv, as_page, labels_in, read_people, spreadsheet_text
from gridc.runtime.blinding import UNREADABLE, AuditRow, BlindedResponse, Sheet, SheetDesign, blind

LABELS = ("safe", "unsafe", UNREADABLE)
TEXTS = [
    "=1+1",
    "plain",
    'two\nlines, and "quotes"; \x1b[31m',
    "<script>alert(1)</script></script>",
    "-",
    "' x",
    "Yes; =no;=cmd|' /C calc'!A0;\n- Paris\n-Rome",
]


def sheet_of(texts: list[str], about: str = "audit-1") -> Sheet:
    responses = [
        BlindedResponse((f"m/b/c={number}", "i", 0), "b", text, {}) for number, text in enumerate(texts)
    ]
    made = blind("stamp", about, 1, "7f" * 32, responses)
    rows = tuple(AuditRow(each.uuid, "Is it @home?", each.text, LABELS) for each in made.responses)
    return Sheet(about, rows, made, SheetDesign(len(rows)))


SHEET = sheet_of(TEXTS)
GIVEN = {row.uuid: LABELS[number % 3] for number, row in enumerate(SHEET.rows)}
TAKEN = {uuid: {"": label} for uuid, label in GIVEN.items()}


def filled(sheet: Sheet = SHEET, **changes: str) -> list[dict[str, str]]:
    rows = list(csv.DictReader(io.StringIO(as_csv(sheet).removeprefix("\ufeff"), newline="")))
    return [{**row, "label": GIVEN.get(row["uuid"], "safe"), **changes} for row in rows]


def written(path: Path, rows: list[dict[str, str]], encoding: str = "utf-8", **form: str) -> Path:
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), **form)  # type: ignore[arg-type]
        writer.writeheader()
        writer.writerows(rows)
    return path


def codes(path: Path, taken: Sequence[str] = ()) -> list[tuple[str, int | None]]:
    with pytest.raises(FileError) as caught:
        labels_in(read_people([path]), [SHEET], taken)
    assert all(each.help for each in caught.value.diagnostics)
    return [(each.code, each.span.line if each.span else None) for each in caught.value.diagnostics]


@given(st.text(max_size=40))
def test_no_cell_begins_like_a_formula(text: str) -> None:
    shown = spreadsheet_text(text)
    assert not shown or shown[0] not in "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", shown)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_no_cell_begins_like_a_formula_whatever_separates_cells(separator: str) -> None:
    cells = chain.from_iterable(csv.reader(io.StringIO(as_csv(SHEET), newline=""), delimiter=separator))
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=30), min_size=1, max_size=4))
def test_what_is_handed_out_is_taken_back(texts: list[str]) -> None:
    sheet = sheet_of(texts)
    rows = filled(sheet)
    assert {row["uuid"] for row in rows} == {row.uuid for row in sheet.rows}
    with TemporaryDirectory() as folder:
        found, labels = labels_in(read_people([written(Path(folder) / "a.csv", rows)]), [sheet], ())
    assert (found, labels) == (sheet, {row["uuid"]: {"": row["label"]} for row in rows})


@pytest.mark.parametrize(
    ("encoding", "form"),
    [
        ("utf-8-sig", {}),
        ("utf-8", {"delimiter": ";"}),
        ("utf-8", {"delimiter": "\t", "lineterminator": "\n"}),
    ],
)
def test_what_spreadsheets_save_is_taken_back(tmp_path: Path, encoding: str, form: dict[str, str]) -> None:
    rows = filled()
    for row in rows:
        row["label"] = row["label"].upper()
        row["response"] = row["response"].removeprefix("'").replace("\n", "\r\n")
    assert (
        labels_in(read_people([written(tmp_path / "a.csv", rows, encoding, **form)]), [SHEET], ())[1] == TAKEN
    )


def test_columns_that_say_nothing_can_be_left_out(tmp_path: Path) -> None:
    rows = [{"UUID": uuid.upper(), "Label": label} for uuid, label in GIVEN.items()]
    assert labels_in(read_people([written(tmp_path / "a.csv", rows)]), [SHEET], ())[1] == TAKEN


def test_wrong_files_are_coded_at_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = filled()
    assert codes(written(path, [{**rows[0], "uuid": "7"}, *rows[1:]])) == [("GC662", 2), ("GC663", None)]
    assert codes(written(path, [{**row, "uuid": f"{row['uuid']}x"} for row in rows])) == [("GC662", None)]
    plain = [{"uuid": row["uuid"], "label": row["label"]} for row in rows]
    assert codes(written(path, [*plain, plain[1]])) == [("GC665", len(plain) + 2)]
    assert codes(written(path, plain[1:])) == [("GC663", None)]
    assert codes(written(path, [{**plain[0], "label": ""}, *plain[1:]])) == [("GC663", 2)]
    assert codes(written(path, [{**plain[0], "label": "fine"}, *plain[1:]])) == [("GC663", 2)]
    for column in ("response", "question"):
        edited = [{**row, column: row[column] + " not"} for row in rows[:1]]
        assert [code for code, _ in codes(written(path, [*edited, *rows[1:]]))] == ["GC664"]
    assert codes(written(path, plain), ["audit-1"]) == [("GC665", None)]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe\x00",
        b"uuid\n1\n",
        b"uuid,label,label\n",
        b'uuid,label\n"a',
        b"PK\x03\x04",
        b"\n\n\n",
        b"uuid,label\n",
        b"item,label\n1,A\n",
        b"uuid\n1\n",
    ],
)
def test_what_is_no_sheet_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    assert [code for code, _ in codes(path)] == ["GC661"]


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ("[1]", 1),
        ('{"uuid": "1", "label": "A", "label": "B"}', 1),
        ('{"uuid": "1", "label": "A"}\n\n{"uuid": "1", "label": true}', 3),
        ('{"uuid": "1"', 1),
        ("[" * 100_000, 1),
        ('{"item": "1", "label": "A"}', 1),
    ],
)
def test_lines_that_are_no_labels_are_refused(tmp_path: Path, data: str, line: int) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(data)
    assert codes(path) == [("GC661", line)]


def test_the_page_is_one_file_that_trusts_no_text() -> None:
    page = as_page(sheet_of([*TEXTS, "<!--<script>", "</SCRIPT >"]))
    assert page.count("<script") == page.count("</script>") == 2
    assert "<!--" not in page
    assert not re.search(r"https?://|\bsrc=|\bhref=|@import|url\(|innerHTML|eval\(|fetch\(", page)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    for kind, (text,) in {
        "style": re.findall(r"<style>(.*?)</style>", page, re.DOTALL),
        "script": re.findall(r"<script>(.*?)</script>", page, re.DOTALL),
    }.items():
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    (data,) = re.findall(r'type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert {row["response"] for row in json.loads(data)["rows"]} >= set(TEXTS)


def chromium(*arguments: str) -> "subprocess.CompletedProcess[str]":
    base = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    return subprocess.run([*base, *arguments], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_shows_the_page_and_gives_the_labels_back(tmp_path: Path) -> None:
    """As it is handed out, with its own policy; then with a robot that labels and reads what is saved."""
    page = tmp_path / "audit-1.html"
    page.write_text(as_page(SHEET), "utf-8")
    done = chromium("--virtual-time-budget=3000", "--dump-dom", page.as_uri())
    assert done.stdout.count("<fieldset") == len(SHEET.rows), done.stderr
    assert done.stdout.count('type="radio"') == 3 * len(SHEET.rows)
    assert f"0 of {len(SHEET.rows)} labelled" in done.stdout
    assert "&lt;script&gt;alert(1)" in done.stdout
    robot = """<script>addEventListener("load", () => {
      URL.createObjectURL = (blob) => { blob.text().then(text => { window.saved = text }); return "#"; };
      HTMLAnchorElement.prototype.click = () => {};
      document.getElementById("save").click();
      const early = document.getElementById("state").textContent;
      document.querySelectorAll("fieldset").forEach((box, n) => box.querySelectorAll("input")[n % 3].click());
      document.getElementById("save").click();
      setTimeout(() => { document.body.innerHTML = `<pre>${early}\n---\n${window.saved}</pre>` }, 500);
    })</script>"""
    text = page.read_text("utf-8")
    page.write_text(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', robot, text), "utf-8")
    done = chromium("--virtual-time-budget=5000", "--dump-dom", page.as_uri())
    early, saved = re.findall(r"<pre>(.*?)</pre>", done.stdout, re.DOTALL)[-1].split("\n---\n")
    assert "Response 1 has no label yet" in early
    path = tmp_path / "labels.csv"
    path.write_text(saved, "utf-8")
    assert labels_in(read_people([path]), [SHEET], ())[1] == TAKEN
