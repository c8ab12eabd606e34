"""GRID cards and bundles from the command line, on a real small study."""

import json
import os
from pathlib import Path

import pytest

from tests.e2e.conftest import command, process


def test_attach_check_and_export(study: Path) -> None:
    readme = study / "README.md"
    readme.write_text("---\nlicense: mit\n---\n# Qwen2\n")
    several = command("card", "attach", "README.md", cwd=study)
    assert several.returncode == 2
    assert "--model" in several.stderr
    done = command("card", "attach", "README.md", "--model", "qwen2", cwd=study)
    assert done.returncode == 0, done.stderr
    text = readme.read_text()
    assert "license: mit" in text
    assert "(vi) Scope statement" in text
    again = command("card", "attach", "README.md", "--model", "qwen2", cwd=study)
    assert "already up to date" in again.stdout
    assert readme.read_text() == text
    checked = command("card", "check", "README.md", cwd=study)
    assert checked.returncode == 0, checked.stderr
    assert "README.md: the GRID card and its results in the model-index agree with `qwen2`" in checked.stdout
    assert "not checked: what else the file says in words" in checked.stdout

    made = command("export", "bundle", "--to", "bundle", cwd=study)
    assert made.returncode == 0, made.stderr
    checked = command("verify", "bundle", cwd=study)
    assert checked.returncode == 0, checked.stderr
    assert command("card", "check", "README.md", "--from", "bundle", cwd=study).returncode == 0

    readme.write_text(text.replace("not established", "order established"))
    wrong = command("card", "check", "README.md", "--from", "bundle", cwd=study)
    assert wrong.returncode == 7
    assert "GC707" in wrong.stderr
    page = study / "bundle" / "results" / "report.html"
    page.write_text(page.read_text() + " ")
    forged = command("verify", "bundle", cwd=study)
    assert forged.returncode == 7
    assert "results/report.html does not hash" in forged.stderr


def test_a_deviation_is_on_card_and_page_with_its_reason(study: Path) -> None:
    spec = study / "gridcard.toml"
    spec.write_text(spec.read_text().replace('declared = "ex_ante"', 'declared = "post_hoc"'))
    assert command("deviations", "--write", cwd=study).returncode in (0, 4)
    log = study / "deviations.toml"
    log.write_text(log.read_text().replace('reason = ""', 'reason = "the mark was chosen late"'))
    for name in ("run", "report"):
        done = command(name, cwd=study)
        assert done.returncode == 0, done.stderr
    deck = json.loads((study / "results/small/gridcard.json").read_text())
    (entry,) = deck["deviations"]
    assert entry["reason"] == "the mark was chosen late"
    assert entry["paths"] == [entry["element"]]
    assert "thresholds" in entry["element"]
    for name in ("gridcard.md", "report.html"):
        assert "the mark was chosen late" in (study / "results/small" / name).read_text()
    assert command("export", "bundle", "--to", "bundle", cwd=study).returncode == 0
    checked = command("verify", "bundle", cwd=study)
    assert checked.returncode == 0, checked.stderr


def test_attribution_is_recorded_so_that_it_verifies_without_being_fitted_again(study: Path) -> None:
    pytest.importorskip("lightgbm")
    done = command("report", "--attribution", "--json", cwd=study)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert "not a test" in told["attribution_is"]
    assert told["attribution"][0]["subject"] == "score"
    page = study / "results/small/report.html"
    assert 'id="attribution"' in page.read_text()
    (study / "lightgbm.py").write_text(
        "raise ImportError('not installed')\n"
    )  # it is found before the real one
    path = os.pathsep.join([str(study), os.environ.get("PYTHONPATH", "")])
    checked = process("verify", cwd=study, PYTHONPATH=path)
    assert checked.returncode == 0, checked.stderr
    missing = process("report", "--attribution", cwd=study, PYTHONPATH=path)
    assert missing.returncode == 6
    assert "error[GC604]" in missing.stderr
    page.write_text(page.read_text().replace("Axis attribution", "Axis Attribution"))
    assert command("verify", cwd=study).returncode == 7
    (study / "lightgbm.py").unlink()
    assert command("report", cwd=study).returncode == 0
    assert 'id="attribution"' not in page.read_text()
    assert command("verify", cwd=study).returncode == 0
