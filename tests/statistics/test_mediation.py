"""What goes through lost options, in simulated studies whose truth is known."""

import numpy as np
import pytest
import statsmodels.api as sm

from gridc.statistics.mediation import between_arms, within_arm

LOSS, DIRECT = -0.3, -0.05
"""What losing all options changes, and what the arm changes besides."""


def study(seed: int, items: int = 200, groups: int = 2, confounded: float = 0.0) -> dict[str, np.ndarray]:
    """Items of two groups in units of two: the shares that two arms lose, and how both change the score.
    `confounded` makes items that lose much fall for another reason too."""
    random = np.random.default_rng(seed)
    rows = items * groups
    lost = random.choice([0, 1 / 3, 2 / 3, 1], rows)
    still = np.where(random.random(rows) < 0.8, 0.0, lost)
    noise = np.repeat(random.normal(0, 0.1, rows // 2), 2)
    change = DIRECT + (LOSS + confounded) * lost + noise + random.normal(0, 0.2, rows)
    remedied = DIRECT + LOSS * still + confounded * lost + noise + random.normal(0, 0.2, rows)
    return {
        "change": change, "lost": lost, "remedied": remedied, "still": still,
        "groups": np.arange(rows) % groups, "units": np.arange(rows) // 2,
    }  # fmt: skip


def test_the_slopes_are_those_of_least_squares() -> None:
    made = study(1)
    change, lost, units = made["change"], made["lost"], made["units"]
    between = between_arms(change, lost, made["remedied"], made["still"], units)
    fit = sm.OLS(change - made["remedied"], lost - made["still"]).fit()
    assert between.slope.value == pytest.approx(fit.params[0])
    within = within_arm(change, lost, made["groups"], units)
    dummies = (made["groups"][:, None] == np.arange(2)).astype(float)
    assert within.slope.value == pytest.approx(
        sm.OLS(change, np.column_stack([lost, dummies])).fit().params[0]
    )
    for found in (between, within):
        assert None not in (found.slope.value, found.through.value, found.rest.value)
        assert found.total.value == pytest.approx(change.mean())
        assert found.through.value == pytest.approx(found.slope.value * lost.mean())
        assert found.rest.value == pytest.approx(change.mean() - found.through.value)


@pytest.mark.parametrize("by", ["between", "within"])
def test_the_truth_is_in_the_intervals(by: str) -> None:
    """Of 400 studies about 95 % hold what truly goes through, and what does not."""
    inside, printed = np.zeros(2), np.zeros(2)
    for seed in range(400):
        made = study(seed, items=60)
        found = effect(made, by)
        truths = LOSS * made["lost"].mean(), DIRECT
        for place, (part, truth) in enumerate(zip((found.through, found.rest), truths, strict=True)):
            printed[place] += part.interval is not None
            inside[place] += part.interval is not None and part.interval[0] <= truth <= part.interval[1]
    assert (printed > 250).all()
    assert (inside / printed > 0.93).all()
    assert (inside / printed < 0.98).all()


def effect(made: dict[str, np.ndarray], by: str):  # type: ignore[no-untyped-def]
    if by == "between":
        return between_arms(made["change"], made["lost"], made["remedied"], made["still"], made["units"])
    return within_arm(made["change"], made["lost"], made["groups"], made["units"])


def test_items_that_lose_and_fall_for_another_reason_mislead_one_arm_and_not_two() -> None:
    """The assumption of each comparison, broken: the second arm keeps the other reason, and takes it out."""
    slopes = {by: [effect(study(seed, confounded=-0.2), by).slope.value for seed in range(40)]
              for by in ("between", "within")}  # fmt: skip
    assert np.mean(slopes["between"]) == pytest.approx(LOSS, abs=0.02)
    assert np.mean(slopes["within"]) == pytest.approx(LOSS - 0.2, abs=0.02)


def test_without_a_difference_of_the_mediator_nothing_is_told_apart() -> None:
    made = study(2)
    ones = np.ones(len(made["lost"]))
    for found in (
        between_arms(made["change"], ones, made["remedied"], ones, made["units"]),
        within_arm(made["change"], ones, made["groups"], made["units"]),
        within_arm(made["change"], made["groups"] * 1.0, made["groups"], made["units"]),
    ):
        assert found.total.value == pytest.approx(made["change"].mean())
        assert (found.slope.value, found.through.value, found.rest.value) == (None, None, None)


def test_no_items_have_no_effect() -> None:
    none = np.zeros(0)
    found = within_arm(none, none, none.astype(int), none.astype(int))
    assert (found.total.value, found.through.value) == (None, None)
