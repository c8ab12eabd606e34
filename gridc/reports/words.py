"""Words and numbers that every document says in the same way."""

LIMITS = (
    "Counts over configurations say which orders of two models exist in this envelope. They rank neither "
    "models nor envelopes: rho_flip is no total order, it allows ties, and an envelope in which every order "
    "is reached shows that each exists, not how often."
)
"""What SafetyRepro's Prop. 1 does not say."""
ASSUMED = "many units, or models whose answers could be swapped"
"""What joint sign flips assume beside independent units."""


def p_value(value: float) -> str:
    """A p-value as it is printed: `0.012`, `< 0.0001`, `1`."""
    if value < 0.0001:
        return "< 0.0001"
    return "1" if value >= 1 else f"{value:.2g}" if value < 0.01 else f"{value:.3f}"


def told_p(value: float) -> str:
    """A p-value with its sign: `p = 0.012`, `p < 0.0001`."""
    told = p_value(value)
    return f"p {told}" if told.startswith("<") else f"p = {told}"
