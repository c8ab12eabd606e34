"""What repeating a drawn part of many answers can find."""


def detection(total: int, changed: int, drawn: int, needed: int = 1) -> float:
    """The probability that a draw of so many of `total`, without replacement, holds `needed` of the changed:
    the hypergeometric distribution's P(X >= needed); for one, 1 - C(total - changed, drawn) / C(total,
    drawn)."""
    from scipy.stats import hypergeom

    return float(hypergeom.sf(needed - 1, total, changed, drawn))


def least_detected(total: int, drawn: int, needed: int = 1, probability: float = 0.95) -> int:
    """The smallest number of changed answers that a draw holds `needed` of with at least this probability;
    `total` + 1 where not even a change of all is."""
    low, high = 0, total + 1
    while high - low > 1:
        middle = (low + high) // 2
        enough = detection(total, middle, drawn, needed) >= probability
        low, high = (low, middle) if enough else (middle, high)
    return high


def least_exceeding(floor: int, of: int, alpha: float) -> int:
    """The smallest number of changed answers of so many that is significantly (`exceeds` below `alpha`) more
    than `floor`; `of` + 1 where not even a change of all is."""
    low, high = floor, of + 1  # as many as the floor are never more often changed
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if exceeds(middle, floor, of) < alpha else (middle, high)
    return high


def exceeds(changed: int, floor: int, of: int) -> float:
    """One-sided exact p (Fisher) that `changed` of so many are no more often changed than `floor` of as
    many, which are what the method alone does."""
    from scipy.stats import fisher_exact

    return float(fisher_exact([[changed, of - changed], [floor, of - floor]], alternative="greater").pvalue)
