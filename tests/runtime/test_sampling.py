"""Choosing the next token: numbers that belong to the call, the nucleus, and what a draw falls on."""

from itertools import combinations
from typing import Any

import pytest

torch = pytest.importorskip("torch")
sampling = pytest.importorskip("gridc.runtime.engines.hf.sampling")
choosing = pytest.importorskip("gridc.runtime.engines.hf.sampling")

from gridc.runtime.engines.hf.kv_cache import places  # noqa: E402
from gridc.runtime.engines.hf.sequences import Member  # noqa: E402

ONE, OTHER = "ab" * 32, "cd" * 32


def distribution(logits: list[float], temperature: float = 1.0, top_p: float = 1.0) -> list[float]:
    """What the nucleus of one row of logits leaves of each token, not renormalised."""
    return masses(torch.tensor([logits], dtype=torch.float64), [temperature], [top_p])[0]


def masses(logits: Any, temperature: list[float], top_p: list[float]) -> list[list[float]]:
    found = torch.zeros(logits.shape, dtype=torch.float64)
    heat, top = torch.tensor([temperature, top_p], dtype=torch.float64)
    for cut in (top < 1, top >= 1):
        if cut.any():
            sets = sampling.nucleus(logits[cut], heat[cut], top[cut] if bool(top[cut][0] < 1) else None)
            each = sets.cumulative.diff(dim=-1, prepend=torch.zeros(len(sets.stake), 1, dtype=torch.float64))
            found[cut] = found[cut].scatter_add(1, sets.tokens, each)
    rows: list[list[float]] = found.tolist()
    return rows


def drawn(sets: Any, rows: list[int], uniform: Any) -> tuple[Any, Any]:
    """Draw each number from the set of its row."""
    beside, most = places(rows)
    found: tuple[Any, Any] = sets.draw(torch.tensor(rows), torch.tensor(beside), most, uniform)
    return found


def draw(cumulative: Any, uniform: Any, stake: float = 0.0) -> tuple[Any, Any]:
    """Draw each number from one set of the tokens 0, 1, 2, ... with this running mass."""
    tokens = torch.arange(len(cumulative))[None]
    sets = sampling.Nucleus(
        tokens, torch.as_tensor(cumulative)[None].double(), torch.tensor([stake]).double()
    )
    return drawn(sets, [0] * len(uniform), uniform)


def log(probabilities: list[float]) -> list[float]:
    values: list[float] = torch.tensor(probabilities, dtype=torch.float64).log().tolist()
    return values


def test_the_numbers_of_a_call_depend_on_its_digest_alone() -> None:
    first = sampling.uniforms(ONE, 8)
    sampling.uniforms(OTHER, 5)
    assert sampling.uniforms(ONE, 8) == first
    assert sampling.uniforms(ONE, 3) == first[:3]
    assert sampling.uniforms(ONE, 64)[:8] == first


def philox(key: int, block: int) -> list[int]:
    """Philox4x64-10 (Salmon et al. 2011): the four 64-bit words of one block of the counter."""
    word, counter, keys = 2**64, [block, 0, 0, 0], [key % 2**64, key >> 64]
    for _ in range(10):
        left, right = 0xD2E7470EE14C6C93 * counter[0], 0xCA5A826395121157 * counter[2]
        counter = [
            right // word ^ counter[1] ^ keys[0],
            right % word,
            left // word ^ counter[3] ^ keys[1],
            left % word,
        ]
        keys = [(keys[0] + 0x9E3779B97F4A7C15) % word, (keys[1] + 0xBB67AE8584CAA73B) % word]
    return counter


@pytest.mark.parametrize("call", ["0" * 64, ONE, OTHER, "0123456789abcdef" * 4])
def test_the_numbers_of_a_call_are_those_of_philox_keyed_by_half_its_digest(call: str) -> None:
    words = [word for block in (1, 2) for word in philox(int(call[:32], 16), block)]
    assert sampling.uniforms(call, 8) == [(word >> 11) / 2**53 for word in words]


def test_the_numbers_of_two_calls_differ_and_fill_the_unit_interval() -> None:
    drawn = [each for n in range(50) for each in sampling.uniforms(f"{n:064x}"[::-1], 40)]
    assert len(set(drawn)) == len(drawn)
    assert all(0 <= each < 1 for each in drawn)
    tenths = [sum(int(each * 10) == tenth for each in drawn) for tenth in range(10)]
    assert all(140 <= count <= 260 for count in tenths)


def test_greedy_takes_the_most_likely_token_and_says_by_how_much() -> None:
    tokens, _, leads = sampling.greedy(torch.tensor([[0.5, 2.0, 1.25], [3.0, 3.0, 1.0]]))
    assert tokens[0].item() == 1
    assert leads.tolist() == [0.75, 0.0]


def test_of_equal_tokens_greedy_takes_the_lowest_id() -> None:
    logits = torch.zeros(64, 1000, dtype=torch.bfloat16)
    for row in range(64):
        logits[row, torch.randperm(1000, generator=torch.Generator().manual_seed(row))[:5]] = 2.0
    tokens, _, leads = sampling.greedy(logits)
    assert tokens.tolist() == [row.nonzero()[0].item() for row in logits]
    assert not leads.any()


@pytest.mark.parametrize("top_p", [0.05, 0.3, 0.5, 0.65, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_nucleus_is_a_smallest_set_that_reaches_top_p(top_p: float, seed: int) -> None:
    logits = torch.randn(9, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 2
    probability = torch.softmax(logits / 0.8, -1).tolist()
    kept = distribution(logits.tolist(), 0.8, top_p)
    inside = [token for token, mass in enumerate(kept) if mass > 0]
    assert [kept[token] for token in inside] == pytest.approx([probability[token] for token in inside])
    assert sum(kept) >= top_p - 1e-12
    smaller = max((sum(each) for each in combinations(probability, len(inside) - 1)), default=0.0)
    assert smaller < top_p
    assert sum(kept) == pytest.approx(max(sum(each) for each in combinations(probability, len(inside))))


def test_a_top_p_of_one_keeps_every_token() -> None:
    assert distribution(log([0.5, 0.3, 0.2])) == pytest.approx([0.5, 0.3, 0.2])


def test_the_nucleus_always_keeps_the_most_likely_token() -> None:
    assert distribution(log([0.1, 0.7, 0.2]), top_p=1e-9) == pytest.approx([0, 0.7, 0])


def test_a_mark_that_is_reached_exactly_takes_no_further_token() -> None:
    assert distribution(log([0.5, 0.25, 0.125, 0.125]), top_p=0.75) == pytest.approx([0.5, 0.25, 0, 0])


def test_a_low_temperature_is_nearly_greedy_and_a_high_one_nearly_flat() -> None:
    assert distribution([1.0, 2.0, 1.5], temperature=0.01)[1] == pytest.approx(1.0)
    assert distribution([1.0, 2.0, 1.5], temperature=1e6) == pytest.approx([1 / 3] * 3, abs=1e-5)


@pytest.mark.parametrize("top_p", [0.3, 0.9, 0.999, 1.0])
def test_a_flat_distribution_wider_than_the_head_is_still_cut_right(top_p: float) -> None:
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(500, generator=generator, dtype=torch.float64) * 0.01
    probability = torch.softmax(logits, -1)
    ordered, mass, size = probability.sort(descending=True).values.tolist(), 0.0, 0
    while mass < top_p - 1e-12:
        mass, size = mass + ordered[size], size + 1
    kept = distribution(logits.tolist(), top_p=top_p)
    assert sum(each > 0 for each in kept) == size
    assert sum(kept) == pytest.approx(mass)


def test_each_row_has_its_own_temperature_and_top_p() -> None:
    logits = torch.tensor([log([0.5, 0.3, 0.2])] * 3, dtype=torch.float64)
    both = masses(logits, [1.0, 1.0, 0.5], [1.0, 0.6, 0.8])
    assert both[0] == distribution(logits[0].tolist(), 1.0, 1.0)
    assert both[1] == distribution(logits[1].tolist(), 1.0, 0.6)
    assert both[2] == distribution(logits[2].tolist(), 0.5, 0.8)


@pytest.mark.parametrize("kind", ["random", "coarse", "flat"])
def test_the_nucleus_of_a_row_does_not_depend_on_what_shares_its_batch(kind: str) -> None:
    """Coarse logits tie often, as bf16 ones do: which of the tied tokens stay may not depend on others."""
    generator = torch.Generator().manual_seed(5)
    row = torch.randn(400, generator=generator, dtype=torch.float64)
    row = {"random": row * 4, "coarse": row.round(), "flat": row * 0}[kind]
    wide = torch.zeros(400, dtype=torch.float64)
    alone = masses(row[None], [0.7], [0.1])
    assert masses(torch.stack([row, wide]), [0.7, 1.0], [0.1, 1.0])[0] == alone[0]
    assert masses(torch.stack([wide, row, row]), [1.0, 0.7, 0.7], [1.0, 0.1, 0.1])[2] == alone[0]


def test_a_draw_falls_on_the_token_whose_mass_covers_the_number() -> None:
    uniform = torch.tensor([0.0, 0.2499, 0.25, 0.75, 1 - 2**-53], dtype=torch.float64)
    tokens, margins = draw([0.25, 0.25, 0.75, 1.0], uniform)
    assert tokens.tolist() == [0, 0, 2, 3, 3]
    assert margins.tolist() == pytest.approx([0.0, 0.0001, 0.0, 0.0, 0.0])


def test_each_draw_reads_its_own_row() -> None:
    sets = sampling.Nucleus(
        torch.tensor([[3, 5], [4, 4]]),
        torch.tensor([[0.5, 1.0], [0.8, 0.8]], dtype=torch.float64),
        torch.zeros(2, dtype=torch.float64),
    )
    uniform = torch.tensor([0.7, 0.9, 0.2], dtype=torch.float64)
    tokens, _ = drawn(sets, [0, 1, 0], uniform)
    assert tokens.tolist() == [5, 4, 3]


def test_the_margin_is_the_distance_to_the_nearest_other_token() -> None:
    uniform = torch.tensor([0.125, 0.5, 0.95], dtype=torch.float64)
    tokens, margins = draw([0.2, 0.6, 0.8], uniform)
    assert tokens.tolist() == [0, 1, 2]
    for number, margin in zip(uniform.tolist(), margins.tolist(), strict=True):
        target = number * 0.8
        assert margin == pytest.approx(min(abs(target - edge) for edge in (0.0, 0.2, 0.6, 0.8)) / 0.8)


def test_what_is_at_stake_in_the_set_narrows_the_margin() -> None:
    uniform = torch.tensor([0.5], dtype=torch.float64)
    (_, free), (_, staked) = draw([0.2, 0.8], uniform), draw([0.2, 0.8], uniform, stake=0.05)
    assert float(free - staked) == pytest.approx(0.05 / 0.8)


def test_a_number_that_moves_by_less_than_the_margin_falls_on_the_same_token() -> None:
    cumulative = torch.tensor(distribution(log([0.4, 0.1, 0.3, 0.2]), 0.9, 0.9)).cumsum(-1)
    uniform = torch.tensor(sampling.uniforms(ONE, 200), dtype=torch.float64)
    tokens, margins = draw(cumulative, uniform)
    assert bool((margins >= 0).all())
    for sign in (-0.999, 0.999):
        moved, _ = draw(cumulative, (uniform + sign * margins).clamp(0, 1 - 2**-53))
        assert moved.tolist() == tokens.tolist()


def test_no_number_falls_on_a_token_outside_the_nucleus() -> None:
    sets = sampling.nucleus(
        torch.tensor([log([0.05, 0.5, 0.05, 0.35, 0.05])]),
        torch.ones(1, dtype=torch.float64),
        torch.full((1,), 0.8, dtype=torch.float64),
    )
    uniform = torch.tensor([0.0, 0.58824, 1 - 2**-53], dtype=torch.float64)
    tokens, _ = drawn(sets, [0, 0, 0], uniform)
    assert tokens.tolist() == [1, 3, 3]


def stake(probabilities: list[float], top_p: float) -> float:
    logits, one = torch.tensor([log(probabilities)]), torch.ones(1, dtype=torch.float64)
    return float(sampling.nucleus(logits, one, one * top_p).stake[0])


def test_the_edge_of_the_nucleus_is_a_near_tie_too() -> None:
    """Which token the set ends with hangs on top_p being just reached, just missed, or on two tokens
    that are equally likely."""
    assert stake([0.5, 0.3, 0.15, 0.05], 0.7) == 0
    assert stake([0.5, 0.3, 0.15, 0.05], 0.79995) == pytest.approx(0.15, rel=1e-4), "one more may enter"
    assert stake([0.5, 0.3, 0.15, 0.05], 0.80005) == pytest.approx(0.15, rel=1e-4), "the last may leave"
    assert stake([0.5, 0.200001, 0.2, 0.099999], 0.6) == pytest.approx(0.2, rel=1e-4), "two may swap"


@pytest.mark.parametrize("seed", range(20))
def test_draws_that_are_no_near_tie_survive_a_small_change_of_the_logits(seed: int) -> None:
    """Coarse logits, so that the edge of the nucleus is often a tie, moved by less than 1e-5."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(40, 30, generator=generator).mul(2).round() / 2
    moved = logits + (torch.rand(40, 30, generator=generator) - 0.5) * 1e-5
    heat = torch.full((40,), 0.7, dtype=torch.float64)
    top_p = torch.full((40,), 0.9, dtype=torch.float64)
    uniform = torch.tensor(sampling.uniforms(f"{seed:064x}"[::-1], 40), dtype=torch.float64)
    tokens, margins = drawn(sampling.nucleus(logits, heat, top_p), [*range(40)], uniform)
    again, _ = drawn(sampling.nucleus(moved, heat, top_p), [*range(40)], uniform)
    safe = margins >= sampling.NEAR_TIE
    assert bool(safe.any())
    assert tokens[safe].tolist() == again[safe].tolist()


def test_draws_come_as_often_as_their_probabilities_say() -> None:
    """Chi-square with 4 degrees of freedom; 20 is passed by chance once in two thousand seeds."""
    probability, draws = [0.35, 0.1, 0.25, 0.05, 0.25], 4000
    uniform = [sampling.uniforms(f"{n:064d}"[::-1], 1)[0] for n in range(draws)]
    cumulative = torch.tensor(probability, dtype=torch.float64).cumsum(-1)
    tokens, _ = draw(cumulative, torch.tensor(uniform, dtype=torch.float64))
    seen = torch.bincount(tokens, minlength=5).tolist()
    chi_square = sum(
        (count - draws * share) ** 2 / (draws * share) for count, share in zip(seen, probability, strict=True)
    )
    assert chi_square < 20


def test_what_is_sampled_and_scored_at_once_is_bounded_and_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for two distributions at a time nine rows choose as with room for all."""
    logits = torch.randn(9, 300, generator=torch.Generator().manual_seed(7)) * 3
    sizes: list[int] = []
    nucleus = choosing.nucleus

    def counted(some: Any, *others: Any) -> Any:
        sizes.append(len(some))
        return nucleus(some, *others)

    def chosen(working: int) -> list[tuple[Any, ...]]:
        monkeypatch.setattr(choosing, "WORKING", working)
        rows = [
            [
                Member(
                    "s", (1,), 4, temperature=0.7 + 0.1 * (row % 3), top_p=(1.0, 0.8)[row % 2], numbers=[0.3]
                ),
                Member("c", (1,), 4, given=(row, 5, 6, 7)),
            ]
            for row in range(9)
        ]
        choosing.branch(rows, logits, frozenset())
        return [(each.tokens, each.loglikelihood, each.near_ties) for row in rows for each in row]

    monkeypatch.setattr(choosing, "nucleus", counted)
    assert chosen(600) == chosen(2**24)
    assert sizes == [2, 2, 1, 2, 2, 5, 4]
