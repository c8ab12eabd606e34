"""How many items a responder that does not read them may get right by chance."""

from collections.abc import Sequence


def tails(chances: Sequence[float], hits: int) -> tuple[float, float]:
    """P(X <= hits) and P(X >= hits), X being the number of successes in independent trials with these
    chances (Poisson's binomial distribution), by convolution: exact, O(n^2)."""
    masses = [1.0]
    for chance in chances:
        without = [mass * (1 - chance) for mass in masses]
        within = [mass * chance for mass in masses]
        masses = [a + b for a, b in zip([*without, 0.0], [0.0, *within], strict=True)]
    return sum(masses[: hits + 1]), sum(masses[hits:])
