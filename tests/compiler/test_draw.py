"""Draws: seeded, nested, whole families, strata, and exemplars that share no family with the sample."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gridc.compiler.inputs.draw import draw_exemplars, draw_sample
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.render import reference_answer
from gridc.schema.base import Selector
from gridc.schema.items import Sample
from gridc.statistics.reproducibility import DrawError, in_drawn_order


def alone(count: int) -> list[Item]:
    return [Item(f"q{n}", "?", ("x", "y"), 0, f"q{n}") for n in range(count)]


def families(sizes: list[int]) -> list[Item]:
    return [
        Item(f"f{family}-{n}", "?", ("x", "y"), 0, f"f{family}")
        for family, size in enumerate(sizes)
        for n in range(size)
    ]


def names(items: list[Item]) -> set[str]:
    return {item.id for item in items}


@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 5))
def test_a_small_sample_is_part_of_a_larger_one(n: int, more: int, seed: int) -> None:
    items = alone(80)
    small = draw_sample(items, Sample(n=n, seed=seed))
    large = draw_sample(items, Sample(n=n + more, seed=seed))
    assert len(small) == n
    assert names(small) <= names(large)


@given(st.integers(1, 10), st.integers(0, 10), st.integers(0, 5))
def test_a_small_sample_of_fours_is_part_of_a_larger_one(n: int, more: int, seed: int) -> None:
    items = families([4] * 20)
    small = draw_sample(items, Sample(n=4 * n, seed=seed, unit="cluster"))
    large = draw_sample(items, Sample(n=4 * (n + more), seed=seed, unit="cluster"))
    assert names(small) <= names(large)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=12), st.integers(1, 30), st.integers(0, 3))
def test_a_cluster_sample_takes_whole_clusters_and_exactly_n_items(
    sizes: list[int], n: int, seed: int
) -> None:
    items = families(sizes)
    try:
        drawn = draw_sample(items, Sample(n=n, seed=seed, unit="cluster"))
    except DrawError:
        return
    assert len(drawn) == n
    whole = Counter(item.family for item in items)
    assert all(whole[cluster] == count for cluster, count in Counter(item.family for item in drawn).items())


def test_samples_stand_in_file_order() -> None:
    items = alone(50)
    drawn = draw_sample(items, Sample(n=20, seed=3))
    assert drawn == [item for item in items if item in drawn]


def test_another_seed_draws_another_sample() -> None:
    items = alone(60)
    drawn = {frozenset(names(draw_sample(items, Sample(n=20, seed=seed)))) for seed in range(20)}
    assert len(drawn) == 20


def test_every_item_is_drawn_about_equally_often() -> None:
    items = alone(20)
    seen = Counter(item.id for seed in range(400) for item in draw_sample(items, Sample(n=5, seed=seed)))
    assert all(60 <= seen[item.id] <= 140 for item in items)


def test_a_draw_is_the_same_for_ever() -> None:
    """By hand: the five least SHA-256 of "42 NUL sample NUL q0" to "... q29"."""
    drawn = draw_sample(alone(30), Sample(n=5, seed=42))
    assert [item.id for item in drawn] == ["q11", "q13", "q14", "q18", "q23"]


@given(st.integers(1, 30), st.integers(0, 3))
def test_an_added_item_moves_no_other_items_rank(n: int, seed: int) -> None:
    before = in_drawn_order(alone(30), seed, "sample", lambda item: item.id)
    after = in_drawn_order(alone(31), seed, "sample", lambda item: item.id)
    assert [item for item in after if item.id != "q30"] == before
    kept = names(draw_sample(alone(31), Sample(n=n, seed=seed))) - {"q30"}
    assert kept <= names(draw_sample(alone(30), Sample(n=n, seed=seed)))


@pytest.mark.parametrize(
    ("items", "sample", "words"),
    [
        (alone(3), Sample(n=4, seed=0), "3 of the 3 items"),
        (families([4, 4]), Sample(n=6, seed=0, unit="cluster"), "in whole families"),
        (families([4, 4]), Sample(n=12, seed=0, unit="cluster"), "8 of the 8 items"),
    ],
)
def test_a_sample_that_cannot_be_drawn_is_refused(items: list[Item], sample: Sample, words: str) -> None:
    with pytest.raises(DrawError, match=words):
        draw_sample(items, sample)


@given(st.lists(st.integers(1, 5), min_size=2, max_size=12), st.integers(1, 20), st.integers(0, 3))
def test_exemplars_never_share_a_cluster_with_the_sample(sizes: list[int], n: int, seed: int) -> None:
    items = families(sizes)
    sampled = draw_sample(items, Sample(n=min(n, len(items)), seed=seed))
    exemplars = draw_exemplars(items, sampled, seed)
    assert not {item.family for item in exemplars} & {item.family for item in sampled}
    assert not names(exemplars) & names(sampled)
    assert names(exemplars) == {
        item.id for item in items if item.family not in {each.family for each in sampled}
    }


def test_exemplars_change_with_their_seed_and_are_not_in_file_order() -> None:
    items = alone(40)
    drawn = {tuple(item.id for item in draw_exemplars(items, items[:5], seed)[:3]) for seed in range(20)}
    assert len(drawn) == 20
    assert [item.id for item in draw_exemplars(items, items[:5], 0)] != [item.id for item in items[5:]]


def tagged(counts: dict[str, int], family: int = 1) -> list[Item]:
    """Items with a tag `kind`, in families of this size."""
    return [
        Item(f"{kind}{n}", "?", ("x", "y"), 0, f"{kind}{n // family}", {"kind": kind, "shade": str(n % 2)})
        for kind, count in counts.items()
        for n in range(count)
    ]


def kinds(items: list[Item]) -> Counter[str]:
    return Counter(item.tags["kind"] for item in items)


COUNTS = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 30), min_size=1)


@given(COUNTS, st.data(), st.integers(0, 3))
def test_proportional_strata_have_their_share_within_one_item(
    counts: dict[str, int], data: st.DataObject, seed: int
) -> None:
    items = tagged(counts)
    n = data.draw(st.integers(1, len(items)))
    sample = Sample(n=n, seed=seed, stratify=("kind",), allocation="proportional")
    drawn = kinds(draw_sample(items, sample))
    assert sum(drawn.values()) == n
    for kind, count in counts.items():
        assert abs(drawn[kind] - n * count / len(items)) < max(1, len(counts) / 2)


def test_proportional_allocation_is_websters() -> None:
    """Divisors 1, 3, 5, ...: of 53, 24 and 23 items, the tenth goes to a, as 53/11 > 24/5 > 23/5."""
    sample = Sample(n=10, seed=0, stratify=("kind",), allocation="proportional")
    assert kinds(draw_sample(tagged({"a": 53, "b": 24, "c": 23}), sample)) == {"a": 6, "b": 2, "c": 2}


@given(COUNTS, st.data(), st.integers(0, 3))
def test_equal_strata_differ_by_one_at_most_or_the_draw_is_refused(
    counts: dict[str, int], data: st.DataObject, seed: int
) -> None:
    items = tagged(counts)
    n = data.draw(st.integers(1, len(items)))
    try:
        drawn = kinds(draw_sample(items, Sample(n=n, seed=seed, stratify=("kind",), allocation="equal")))
    except DrawError as error:
        assert "stratum" in str(error)
        assert min(counts.values()) < -(-n // len(counts))
        return
    found = [drawn[kind] for kind in counts]
    assert sum(found) == n
    assert max(found) - min(found) <= 1


@pytest.mark.parametrize("allocation", ["proportional", "equal"])
@pytest.mark.parametrize("family", [1, 4])
def test_a_small_stratified_sample_is_part_of_a_larger_one(allocation: str, family: int) -> None:
    items = tagged({"a": 40, "b": 24, "c": 16}, family)
    unit = "item" if family == 1 else "cluster"

    def draw(n: int) -> set[str]:
        sample = {"n": n * family, "seed": 1, "stratify": ["kind"], "allocation": allocation, "unit": unit}
        return names(draw_sample(items, Sample.model_validate(sample)))

    sets = [draw(n) for n in range(1, 12 // family + 1)]
    assert all(small < large for small, large in pairwise(sets))


def test_strata_are_the_combinations_of_several_tags() -> None:
    sample = Sample(n=8, seed=0, stratify=("kind", "shade"), allocation="equal")
    drawn = draw_sample(tagged({"a": 30, "b": 8}), sample)
    assert set(Counter((item.tags["kind"], item.tags["shade"]) for item in drawn).values()) == {2}


def test_within_a_stratum_the_draw_is_that_of_the_plain_sample() -> None:
    items = tagged({"a": 30, "b": 30})
    stratified = draw_sample(items, Sample(n=10, seed=3, stratify=("kind",), allocation="equal"))
    ranks = {item.id: n for n, item in enumerate(in_drawn_order(items, 3, "sample", lambda item: item.id))}
    for kind in "ab":
        mine = sorted(ranks[item.id] for item in items if item.tags["kind"] == kind)[:5]
        assert sorted(ranks[item.id] for item in stratified if item.tags["kind"] == kind) == mine


def test_a_tag_that_an_item_lacks_is_no_stratum() -> None:
    with pytest.raises(DrawError, match="no tag `colour`"):
        draw_sample(tagged({"a": 3}), Sample(n=1, seed=0, stratify=("colour",), allocation="equal"))


def test_a_family_that_lies_in_two_strata_is_refused() -> None:
    sample = Sample(n=4, seed=0, unit="cluster", stratify=("shade",), allocation="equal")
    with pytest.raises(DrawError, match="lies in 2 strata"):
        draw_sample(tagged({"a": 8}, family=4), sample)


def test_where_keeps_the_items_with_these_tags() -> None:
    items = tagged({"a": 5, "b": 5})
    chosen = draw_sample(items, Sample(where=Selector({"kind": "a", "shade": "0"})))
    assert [item.id for item in chosen] == ["a0", "a2", "a4"]
    few = draw_sample(items, Sample(where=Selector({"kind": "a"}), n=2, seed=0))
    assert kinds(few) == {"a": 2}
    with pytest.raises(DrawError, match=r"none of the 10 items has kind = 'c' \(there is a, b\)"):
        draw_sample(items, Sample(where=Selector({"kind": "c"})))
    with pytest.raises(DrawError, match=r"has a tag `knid` \(there is kind, shade\)"):
        draw_sample(items, Sample(where=Selector({"knid": "a"}), n=1, seed=0))
    with pytest.raises(DrawError, match="5 of the 5 items"):
        draw_sample(items, Sample(where=Selector({"kind": "a"}), n=6, seed=0))


@pytest.mark.parametrize(("share", "count"), [(0.8, 236), (0.1, 30), (1.0, 295)])
def test_a_share_is_rounded_to_whole_items(share: float, count: int) -> None:
    assert len(draw_sample(alone(295), Sample(share=share, seed=43))) == count


def test_a_share_of_nothing_is_refused() -> None:
    with pytest.raises(DrawError):
        draw_sample(alone(3), Sample(share=0.1, seed=0))


def test_barred_clusters_are_never_drawn() -> None:
    items = families([4] * 5)
    drawn = draw_sample(items, Sample(n=8, seed=0), barred={"f0", "f1", "f2"})
    assert names(drawn) == {f"f{family}-{n}" for family in (3, 4) for n in range(4)}
    with pytest.raises(DrawError, match="8 of the 8"):
        draw_sample(items, Sample(n=9, seed=0), barred={"f0", "f1", "f2"})


def test_exemplars_have_an_answer_to_show() -> None:
    opinions = [Item(f"o{n}", "?", ("x", "y"), matching=0) for n in range(3)]
    open_ended = [Item(f"r{n}", "?", references=("this",)) for n in range(3)]
    assert names(draw_exemplars([*opinions, *open_ended], [], 0)) == {"r0", "r1", "r2"}


def test_exemplars_of_sentence_pairs_show_either_sentence_by_turns() -> None:
    pairs = [Item(f"p{n}", "", (f"more {n}", f"less {n}"), matching=0) for n in range(6)]
    firsts = set()
    for seed in range(12):
        shown = [reference_answer(item, "none").split()[0] for item in draw_exemplars(pairs, [], seed)]
        assert shown in (["more", "less"] * 3, ["less", "more"] * 3)
        firsts.add(shown[0])
    assert firsts == {"more", "less"}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"n": 3}, "needs a `seed`"),
        ({"n": 3, "share": 0.5, "seed": 1}, "both say how many"),
        ({"seed": 1}, "draws nothing"),
        ({}, "which items are asked"),
        ({"n": 3, "seed": 1, "stratify": ["kind"]}, "need each other"),
        ({"n": 3, "seed": 1, "allocation": "equal"}, "need each other"),
        ({"where": {"kind": "a"}, "unit": "cluster"}, "how a draw is made"),
    ],
)
def test_a_sample_that_contradicts_itself_is_refused(table: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Sample.model_validate(table)
