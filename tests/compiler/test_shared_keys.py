"""What several benchmarks share is stated once, in [harness], and means what it means in each of them."""

from pathlib import Path

from gridc.compiler.frontend.read import read_spec
from gridc.compiler.grid import cells

HEAD = """\
gridcard = 1
study = { id = "two", title = "Two", purpose = "descriptive", not_varied = ["all else"] }
model = [{ id = "one", engine = "hf", source = "builtin:pocket-qwen2" }]
harness = { prompt = "{{ question }}", max_tokens = 8HARNESS }
"""
BENCHMARK = """
[[benchmark]]
id = "ID"
loader = "rows"
source = "path:ID.csv"
direction = "higher"
loading.fields = { query = "q", options = ["a", "b"], gold = "gold" }
option_order = "file"
"""
KEYS = {
    "method": '"extract"',
    "reader": '"answer_line"',
    "scores": "{ right = 1, other = 0.25 }",
    "unreadable": '"zero"',
    "stop": '["\\n\\n"]',
}


def settings(folder: Path, text: str) -> dict[str, object]:
    (folder / "gridcard.toml").write_text(text, "utf-8")
    for name in ("left", "right"):
        (folder / f"{name}.csv").write_text("q,a,b,gold\nWhich?,this,that,0\n", "utf-8")
    return {cell.benchmark: cell.setting for cell in cells.cells_of(read_spec(folder / "gridcard.toml").spec)}


def test_scores_and_readers_of_the_harness_are_those_of_every_benchmark(tmp_path: Path) -> None:
    inside = "".join(f", {key} = {value}" for key, value in KEYS.items())
    shared = HEAD.replace("HARNESS", inside) + "".join(
        BENCHMARK.replace("ID", name) for name in ("left", "right")
    )
    each = "".join(f"{key} = {value}\n" for key, value in KEYS.items())
    repeated = HEAD.replace("HARNESS", "") + "".join(
        BENCHMARK.replace("ID", name) + each for name in ("left", "right")
    )
    once = settings(tmp_path, shared)
    assert once == settings(tmp_path, repeated) and once.keys() == {"left", "right"}
    own = settings(tmp_path, shared + "scores = { right = 1, other = 0 }\n")
    assert own["left"] == once["left"] and own["right"] != once["right"], "a benchmark may say otherwise"
