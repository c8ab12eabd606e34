"""What repeating a drawn part of many answers can find."""


def detection(total: int, changed: int, drawn: int) -> float:
    """The probability that a draw of so many of `total`, without replacement, holds one of the changed:
    1 - C(total - changed, drawn) / C(total, drawn), the hypergeometric distribution's P(X > 0)."""
    from scipy.stats import hypergeom

    return float(hypergeom.sf(0, total, changed, drawn))


def least_detected(total: int, drawn: int, probability: float = 0.95) -> int:
    """The smallest number of changed answers that a draw holds one of with at least this probability;
    `total` + 1 where not even a change of all is."""
    low, high = 0, total + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if detection(total, middle, drawn) >= probability else (middle, high)
    return high


def exceeds(changed: int, floor: int, of: int) -> float:
    """One-sided exact p (Fisher) that `changed` of so many are no more often changed than `floor` of as
    many, which are what the method alone does."""
    from scipy.stats import fisher_exact

    return float(fisher_exact([[changed, of - changed], [floor, of - floor]], alternative="greater").pvalue)
