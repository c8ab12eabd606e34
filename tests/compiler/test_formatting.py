"""A formatted spec says what the spec says: the same values, comments and stamp, however it was spaced."""

import random
import re
import shutil
import stat
import tomllib
from pathlib import Path

import pytest

from gridc.compiler.frontend.formatting import WIDTH, formatted
from gridc.compiler.frontend.read import read_spec
from gridc.schema.canonical import digest
from tests.e2e.conftest import command

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "tests" / "e2e" / "pages" / "studies"
SPECS = sorted([*ROOT.glob("specs/*.toml"), *STUDIES.glob("*.toml"), ROOT / "pyproject.toml"])
ROUGH = '''\
# a study
gridcard=1   # the language
study   = {id="s",title = "a [ b , c ] = { d }" , purpose="comparative"}
[[ axis ]]
id='wording'


# why these

[[axis . level]]
id   ="a"        # kept apart
prompt = """
  {{ question }}
    = [1 ,2]   # no comment
"""
order=[ 1,2 , ]
pairs = [ { a=1 },
     [ 2 ]   # two

]
empty = [ ]
nothing = { }
# the end of axes
[analysis]
thresholds = [{ at = 0.5, declared = "post_hoc", source = "illustrative" }, { at = 0.7, declared = "post_hoc", source = "a source" }]
levels = ["aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbb", "cccccccccccccccccccc", "dddddddddddddddddd", "eeeeeeeeeeeeee", 6, 777]  # seven
'''  # noqa: E501
SMOOTH = '''\
# a study
gridcard = 1  # the language
study = { id = "s", title = "a [ b , c ] = { d }", purpose = "comparative" }

[[axis]]
id = 'wording'

# why these

[[axis.level]]
id = "a"         # kept apart
prompt = """
  {{ question }}
    = [1 ,2]   # no comment
"""
order = [1, 2]
pairs = [{ a = 1 },
  [2],       # two
]
empty = []
nothing = {}

# the end of axes
[analysis]
thresholds = [
  { at = 0.5, declared = "post_hoc", source = "illustrative" },
  { at = 0.7, declared = "post_hoc", source = "a source" },
]
levels = [
  "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbb", "cccccccccccccccccccc", "dddddddddddddddddd", "eeeeeeeeeeeeee", 6, 777,
]  # seven
'''  # noqa: E501


def comments(text: str) -> list[str]:
    """Those of a document, found without a parser: what stands behind `#` outside of strings."""
    strings = r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\''
    return [
        comment.rstrip()
        for comment in re.findall(rf"(?s:{strings})|(#[^\n]*)", text.replace("\r\n", "\n"))
        if comment
    ]


def test_by_hand() -> None:
    assert formatted(ROUGH) == SMOOTH
    assert formatted(ROUGH.replace("\n", "\r\n")) == SMOOTH
    assert comments(ROUGH) == comments(SMOOTH) and len(comments(ROUGH)) == 7


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.name)
def test_values_and_comments_stay_and_formatting_again_changes_nothing(path: Path) -> None:
    text = path.read_text("utf-8")
    again = formatted(text)
    assert repr(tomllib.loads(again)) == repr(tomllib.loads(text))
    assert comments(again) == comments(text)
    assert formatted(again) == again
    assert not re.search(r"[ \t]$", re.sub(r'(?s)""".*?"""|\'\'\'.*?\'\'\'', "x", again), re.MULTILINE)


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.name)
def test_however_it_is_spaced_it_is_formatted_alike(path: Path) -> None:
    """Spaces around `=`, behind commas and at the ends of lines, and blank lines where there is one."""
    text = path.read_text("utf-8")
    draw = random.Random(path.name)
    whole, tried = formatted(text), 0
    for _ in range(20):
        rough = re.sub(
            r"(?m)^([\w.]+) = (?=\S)",
            lambda m: f"{m[1]}{' ' * draw.randrange(3)}={' ' * draw.randrange(3)}",
            text,
        )
        rough = re.sub(r"(?m)(?<=[\w\]}\"'])$(?=\n[\w\[])", lambda _: " " * draw.randrange(3), rough)
        rough = re.sub(r"\n\n(?=[\[\w])", lambda _: "\n" * draw.randrange(2, 5), rough)
        if repr(tomllib.loads(rough)) == repr(tomllib.loads(text)):  # no string was spaced
            tried += 1
            assert re.sub(r" +#", "  #", formatted(rough)) == re.sub(r" +#", "  #", whole)
    assert tried > 3


def test_the_stamp_stays(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ROOT / "specs", tmp_path / "specs"))
    changed = 0
    for path in sorted(folder.glob("*.toml")):
        text = path.read_text("utf-8")
        if not {"study", "gridcard"} <= tomllib.loads(text).keys():
            continue  # a log of deviations
        before = digest(read_spec(path).spec.stamped())
        rough = re.sub(r"(?m)^([a-z_]+) = ", r"\1=", text)
        if repr(tomllib.loads(rough)) == repr(tomllib.loads(text)):
            path.write_text(rough, "utf-8")
            changed += 1
        assert command("fmt", path.name, cwd=folder).returncode == 0
        assert digest(read_spec(path).spec.stamped()) == before, path.name
    assert changed > 3


def test_on_the_command_line(tmp_path: Path) -> None:
    spec = tmp_path / "gridcard.toml"
    spec.write_text(ROUGH, "utf-8")
    spec.chmod(0o640)
    done = command("fmt", "--check", cwd=tmp_path)
    assert (done.returncode, spec.read_text("utf-8")) == (1, ROUGH)
    assert "would change" in done.stdout
    done = command("fmt", cwd=tmp_path)
    assert done.returncode == 0 and "gridcard.toml: " in done.stdout
    assert spec.read_text("utf-8") == SMOOTH and stat.S_IMODE(spec.stat().st_mode) == 0o640
    done = command("fmt", "--check", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "gridcard.toml: nothing to change\n")
    spec.write_text("a = [1\n", "utf-8")
    done = command("fmt", cwd=tmp_path)
    assert done.returncode == 3 and "GC001" in done.stderr and spec.read_text("utf-8") == "a = [1\n"


@pytest.mark.parametrize(
    "value",
    ["[" * 300 + "]" * 300, "[" + ", ".join(["1"] * 500) + "]", '"' + "x" * 500 + '"', "[[1, 2], [3]]"],
)
def test_deep_and_long_values_are_written(value: str) -> None:
    again = formatted(f"a = {value}\n")
    assert formatted(again) == again
    assert tomllib.loads(again) == tomllib.loads(f"a = {value}\n")
    assert all(len(line) <= WIDTH for line in again.splitlines()) or len(value.split(",")) == 1
