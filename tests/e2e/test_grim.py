"""`gridc audit grim` on the figures of both papers, and on tables that are none."""

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gridc.cli import main

HEAD = ("where", "printed", "n", "n_other")


def grim(folder: Path, rows: Iterable[tuple[str, ...]], *options: str) -> Result:
    path = folder / "table.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([HEAD, *rows])
    return CliRunner().invoke(main, ["audit", "grim", str(path), *options])


def verdicts(folder: Path, rows: Iterable[tuple[str, ...]]) -> list[str]:
    done = grim(folder, rows, "--json")
    return [row["outcome"]["verdict"] for row in json.loads(done.output)["rows"]]


def test_safetyrepro_at_295_items(tmp_path: Path) -> None:
    done = grim(
        tmp_path,
        [
            ("Qwen/TruthfulQA/T3 NF4", "63.6%", "295"),
            ("the same in bf16", "70.8%", "295"),
            ("the change", "70.8% - 63.6% = 7.2", "295"),
        ],
    )
    assert done.exit_code == 1
    output = " ".join(done.output.split())
    assert "line 2: Qwen/TruthfulQA/T3 NF4: 63.6% of 295 is impossible: " in output
    assert "187 of 295 is 63.39 % and 188 of 295 is 63.73 %" in output
    assert "denominators from 148 to 294 that all rows of 295 fit: 291, 264, 250, 236, 209, 195" in output
    assert "3 printed figures: 1 possible, 2 impossible" in output
    assert verdicts(
        tmp_path, [("range", share, "295") for share in ("0.223", "0.494", "0.042", "0.505")]
    ) == [
        "impossible",
        "impossible",
        "impossible",
        "possible",
    ]


def test_safety_under_scaffolding(tmp_path: Path) -> None:
    """a share of 384 specifications; pooled sycophancy at 200; numbers needed by more than one rule"""
    rows = [
        ("curve", "92.6%", "384"),
        ("curve", "43.5%", "384"),
        ("pooled", "33.7%", "200"),
        ("pooled", "53.3%", "200"),
    ]
    assert verdicts(tmp_path, rows) == ["impossible", "possible", "impossible", "impossible"]
    needed = grim(tmp_path, [("TruthfulQA", "NNH 5 = 19.5 pp", ""), ("all", "NNH 14 = 7.3 pp", "")])
    assert needed.exit_code == 0
    assert needed.output.count("no one rule of rounding gives all numbers needed") == 0
    mixed = grim(tmp_path, [("a", "NNH 5 = 19.5 pp", ""), ("b", "NNH 14 = 7.6 pp", "")])
    assert "no one rule of rounding gives all numbers needed" in mixed.output
    assert "impossible" in grim(tmp_path, [("a", "NNH 9 = 19.5 pp", "")]).output


def test_counts_intervals_and_changes(tmp_path: Path) -> None:
    rows = [
        ("", "149 (50.5%)", "295"),
        ("", "150 = 50.5%", "295"),
        ("", "36.7% [21.9, 54.5]", "30"),
        ("", "36.7% [11.0, 64.5]", "30"),
        ("", "36.7% [64.5, 11.0]", "30"),
        ("", "+7.1 pp", "28"),
        ("", "\u22127.2 pp", "28"),
        ("", "7.1 pp", "28", "31"),
        ("", "63.6%", "1,500"),
        ("", "+3.3 pp [1, 7]", "30"),
        ("", "98% [96, 102]", "60"),
    ]
    assert verdicts(tmp_path, rows) == [
        "possible",
        "impossible",
        "possible",
        "not explained",
        "impossible",
        "possible",
        "impossible",
        "possible",
        "always possible",
        "not explained",
        "not explained",
    ]


def test_a_row_is_named_by_its_other_columns_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("model;printed;task;n\nours;63.6%;qa;295\n")
    done = CliRunner().invoke(main, ["audit", "grim", str(tmp_path / "table.csv")])
    assert "line 2: ours, qa: 63.6% of 295 is impossible" in done.output


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("", "about 60%", "295"), "not a known form of a figure"),
        (("", "63.6", "295"), "is above 1; percent have a `%`"),
        (("", "63.6%", ""), "the row has no `n`"),
        (("", "63.6%", "many"), "not a whole number from 1"),
        (("", "63.6%", "0"), "not a whole number from 1"),
        (("", "NNH 0 = 7.2 pp", ""), "at least 1"),
        (("", "0." + "9" * 5000, "295"), "not a known form of a figure"),
        (("", "0.5" + " " * 50_000 + "x", "295"), "not a known form of a figure"),
        (("", "63.6%", "9" * 5000), "not a whole number from 1"),
        (("", "\u0666\u0663%", "295"), "not a known form of a figure"),
    ],
)
def test_what_cannot_be_read_is_said_at_its_line(tmp_path: Path, row: tuple[str, ...], message: str) -> None:
    done = grim(tmp_path, [("", "0.5", "2"), row])
    assert done.exit_code == 6
    assert "GC667" in done.output
    assert "table.csv:3:1" in done.output
    assert message in " ".join(done.output.split())
    assert "write `63.6%`" in done.output


def test_a_table_without_its_columns_or_rows_is_refused(tmp_path: Path) -> None:
    assert "no row" in grim(tmp_path, []).output
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    done = CliRunner().invoke(main, ["audit", "grim", str(tmp_path / "other.csv")])
    assert done.exit_code == 6
    assert "names no column `printed`" in done.output


TABLES: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "statistics/safetyrepro.json").read_text("utf-8")
)


def items(benchmark: str) -> str:
    """How many items SafetyRepro asks of each benchmark, by its Table 1."""
    return "292" if benchmark.lower() == "bbq" else "295"


def published() -> Iterator[tuple[str, ...]]:
    """The shares, ranges and changes of SafetyRepro that are of one model on one benchmark."""
    for row in TABLES["appO_top5"]["rows"]:
        where, n = f"O {row['model']} {row['bench']}", items(row["bench"])
        for precision in ("NF4", "BF16"):
            yield f"{where} {precision}", f"{row[precision]:.1f}%", n
        yield where, f"{row['BF16']:.1f}% - {row['NF4']:.1f}% = {row['delta']:+.1f}", n
        yield f"{where} change", f"{row['delta']:+.1f} pp", n
    for row in TABLES["appO_ranges"]["rows"]:
        for precision in ("NF4", "BF16"):
            where = f"ranges {row['model']} {row['benchmark']} {precision}"
            yield where, f"{row[precision]:.3f}", items(row["benchmark"])
    for row in TABLES["table6"]["rows"]:
        for column in ("q_rng_7B", "q_rng_32B", "y_rng_9B", "y_rng_34B"):
            yield f"6 {row['benchmark']} {column}", f"{row[column]:.3f}", items(row["benchmark"])
    for row in TABLES["table7"]["rows"]:
        for package in ("lm_eval", "HELM", "Inspect"):
            if row[package] is not None:
                yield f"7 {row['benchmark']} {package}", f"{row[package]:.3f}", "300"
    for table in ("table2", "table3"):
        for row in TABLES[table]["rows"]:
            yield f"{table} {row['benchmark']} rho", f"{row['rho_max']:.3f}", str(row["C"])


def test_the_tables_of_safetyrepro(tmp_path: Path) -> None:
    """Of Appendix E nothing is asked: where five draws of an item are averaged, a share is not of 295."""
    rows = json.loads(grim(tmp_path, published(), "--json").output)["rows"]
    assert len(rows) > 80
    assert [
        f"{row['name']}: {row['printed']}" for row in rows if row["outcome"]["verdict"] == "impossible"
    ] == [
        "O qwen truthfulqa NF4: 63.6%",
        "O qwen truthfulqa: 70.8% - 63.6% = +7.2",
        "O qwen truthfulqa change: +7.2 pp",
        "ranges mistral toxigen NF4: 0.223",
        "ranges qwen truthfulqa NF4: 0.494",
        "6 TruthfulQA q_rng_7B: 0.494",
        "6 ToxiGen y_rng_34B: 0.042",
    ]
    assert {row["outcome"]["verdict"] for row in rows} == {"possible", "impossible"}


SCAFFOLDED = {
    "7": ("86.7", "100.0", "78.3", "99.2", "82.5", "97.5", "83.3", "99.2", "84.2", "100.0"),
    "8": ("32.1", "48.6", "57.1", "60.0", "15.0", "29.3", "22.1", "53.6", "42.1", "75.0"),
    "9": ("89.0", "75.0", "76.3", "45.9", "79.5", "61.5", "82.2", "67.7", "74.3", "69.3"),
    "10": ("84.4", "89.9", "88.8", "91.4", "75.4", "76.5", "83.5", "83.9", "76.4", "76.0"),
}
"""Rates of Safety Under Scaffolding by table; of Table 9 direct and standard map-reduce."""


@pytest.mark.parametrize(
    ("table", "n", "impossible"),
    [
        ("7", "120", ()),  # 60 items in two configurations
        ("8", "20", (0, 1, 2, 5, 6, 7, 8)),
        ("8", "40", (0, 1, 2, 5, 6, 7, 8)),
        ("8", "140", ()),
        ("9", "200", (2, 3, 6, 7, 8, 9)),  # DeepSeek, GPT-5.2 and Llama
        ("10", "200", (0, 1, 2, 3, 4, 7, 8)),
    ],
)
def test_the_tables_of_safety_under_scaffolding(
    table: str, n: str, impossible: tuple[int, ...], tmp_path: Path
) -> None:
    rates = SCAFFOLDED[table]
    assert verdicts(tmp_path, [(table, f"{rate}%", n) for rate in rates]) == [
        "impossible" if place in impossible else "possible" for place in range(len(rates))
    ]
