"""How Sphinx builds the pages of docs/ as a site: `make docs`. The site asks for nothing outside itself."""

import re
from pathlib import Path

from sphinx.application import Sphinx

from tools.site.gallery import GALLERY, INDEX

ROOT = Path(__file__).resolve().parents[2]
FOR_TESTS = re.compile(r"^<!-- test:.*?-->\n", re.MULTILINE | re.DOTALL)
OUTSIDE = re.compile(r"(?<!!)\[([^\]]+)\]\(\.\./([^)#]+)(?:#[^)]*)?\)")
"""A link to a file of the repository that is no page."""
CONTENTS = {
    "Tutorials": "tutorial tasks from-lm-eval from-inspect keys refusals language terms",
    "How to": "check recipes sharing prml logs leaderboards compare gate api judging scaffolds plugins "
    "distributed curves viewer audit designs tables studies",
    "Reference": "faq other-tools commands reference benchmarks measurands python store engine estimates "
    "versions",
    "Explanation": "certificate-in-words certificates report scorecard stamps verification threat-model "
    "blinding statistics sizes engine-inside museum architecture additions registries",
}
"""Every page, in the order of a reader. Sphinx warns of one that is missing, and a warning is an error."""

project = "gridc"
extensions = ["myst_parser"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = "gridc"
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_extra_path = [str(GALLERY)] if GALLERY.is_dir() else []
suppress_warnings = ["misc.highlighting_failure"]  # a `console` block shows what a command prints


def _site_only(_: Sphinx, name: str, source: list[str]) -> None:
    """A page as readers of the site see it: without marks for tests; other files are named, not linked."""
    source[0] = OUTSIDE.sub(_named, FOR_TESTS.sub("", source[0]))
    if name == "studies" and GALLERY.is_dir():
        source[0] += f'\n<p><a href="{INDEX}">Reports with their studies</a></p>\n'
    if name == "index":
        for caption, pages in CONTENTS.items():
            names = "\n".join(pages.split())
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{names}\n```\n"


def _named(link: re.Match[str]) -> str:
    """Raises `FileNotFoundError` where the repository has no such file."""
    words, path = link.groups()
    if not (ROOT / path).exists():
        raise FileNotFoundError(f"a page links to {path}")
    return words if path in words else f"{words} (`{path}`)"


def setup(app: Sphinx) -> None:
    app.connect("source-read", _site_only)
