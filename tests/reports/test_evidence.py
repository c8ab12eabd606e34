"""What of a report's JSON is evidence, and how it is compared with this version's."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from gridc.reports import evidence
from tests.reports.documents import documents, tied

STATED = {
    "title",
    "levels.*.sets",
    "cards.*.axis_receipt.setting.prompt",
    "cards.*.axis_receipt.weights.unpinned",
}
"""Where a document holds words of the study or of its stamp, which are data."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return documents(tied(tmp_path_factory.mktemp("evidence")))


def phrases(value: Any, path: tuple[str, ...], words: frozenset[tuple[str, ...]]) -> Iterator[str]:
    """The places of texts of three words and more that are no sentences of gridc's own."""
    if evidence._is_one_of(path, words):
        return
    if isinstance(value, dict):
        for key, held in value.items():
            yield from phrases(held, (*path, key), words)
    elif isinstance(value, list):
        for held in value:
            yield from phrases(held, (*path, "*"), words)
    elif isinstance(value, str) and len(value.split()) >= 3:
        yield ".".join(path)


def test_evidence_holds_no_sentence_of_gridc(made: dict[str, str]) -> None:
    """A sentence that is not marked would make another wording another format."""
    for name, (model, _) in evidence.DOCUMENTS.items():
        found = set(phrases(json.loads(made[name]), (), evidence.sentence_keys(model)))
        assert found <= STATED, f"{name}: mark them as schema.rows.Sentence"


def changed(text: str, **values: Any) -> bytes:
    return json.dumps({**json.loads(text), **values}).encode()


@pytest.mark.parametrize("name", evidence.DOCUMENTS)
def test_a_document_is_its_own_evidence(made: dict[str, str], name: str) -> None:
    found = evidence.compare_document(
        name, made[name].encode(), made[name], made["certificate.json"].encode()
    )
    assert found == evidence.ComparedEvidence()


def test_a_sentence_is_left_and_a_value_is_not(made: dict[str, str]) -> None:
    name, text = "certificate.json", made["certificate.json"]
    reworded = evidence.compare_document(name, changed(text, statements=["All is well."]), text, None)
    assert reworded == evidence.ComparedEvidence((), ": 1 sentence")
    for key, value in (("alpha", 0.5), ("complete", 1), ("claimed", "much"), ("models", [])):
        assert evidence.compare_document(name, changed(text, **{key: value}), text, None).differs == (key,)


def test_how_the_anchor_was_declared_is_a_sentence_and_a_seed_beside_it_is_none(made: dict[str, str]) -> None:
    name, text = "gridcard.json", made["gridcard.json"]
    document = json.loads(text)
    told = document["cards"][0]["scope_statement"]["made_with"]
    told["anchor"] = "as the spec says"
    found = evidence.compare_document(name, json.dumps(document).encode(), text, None)
    assert found == evidence.ComparedEvidence((), ": 1 sentence")
    told["seed of the answers"] = "7"
    (differs,) = evidence.compare_document(name, json.dumps(document).encode(), text, None).differs
    assert differs.endswith("made_with.seed of the answers")


def test_a_key_that_stands_twice_is_refused(made: dict[str, str]) -> None:
    text = made["certificate.json"]
    twice = text.replace('"benchmarks": [', '"benchmarks": [], "benchmarks": [', 1).encode()
    (why,) = evidence.compare_document("certificate.json", twice, text, None).differs
    assert "a key stands twice" in why


@pytest.mark.parametrize("stated", ["gridc-certificate/4", "gridc-certificate/0", "gridc-card/1", None, 2])
def test_a_format_that_is_not_known_is_refused(made: dict[str, str], stated: object) -> None:
    text = made["certificate.json"]
    (why,) = evidence.compare_document("certificate.json", changed(text, format=stated), text, None).differs
    assert "gridc-certificate/3" in why


def test_an_older_format_excuses_what_is_found_otherwise_since(made: dict[str, str]) -> None:
    name, text = "certificate.json", made["certificate.json"]
    document = {**json.loads(text), "format": "gridc-certificate/1"}
    document["benchmarks"][0]["units"] = 7
    del document["complete"]
    found = evidence.compare_document(name, json.dumps(document).encode(), text, None)
    assert found.differs == ()
    assert found.left is not None
    assert "1 value that it does not have" in found.left
    assert "benchmarks.*.units (1)" in found.left
    document["alpha"] = 0.2
    document["claimed"] = "much"
    found = evidence.compare_document(name, json.dumps(document).encode(), text, None)
    assert found.differs == ("alpha", "claimed")


def test_rows_that_changed_places_are_found(made: dict[str, str]) -> None:
    text = made["estimates.json"]
    document = json.loads(text)
    document["estimates"].reverse()
    assert evidence.compare_document("estimates.json", json.dumps(document).encode(), text, None).differs
