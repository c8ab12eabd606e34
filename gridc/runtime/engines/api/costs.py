"""What a request costs, and who says whether it may be sent."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class CallCost:
    """Tokens, read and written, and US dollars (None where no price is known)."""

    tokens: int
    usd: float | None


class Limits(Protocol):
    """The caps of a run, for an engine whose requests cost what they turn out to cost."""

    reached: str | None

    def hold(self, most: CallCost) -> bool:
        """Whether a request that may cost so much can be sent; if so, it counts at that until it is
        settled."""

    def settle(self, most: CallCost, took: CallCost) -> None:
        """A request that counted at `most` is over and took that."""

    def returned(self, most: CallCost, took: CallCost) -> None:
        """A request of an earlier run, which counts at `most` until it is known, is over and took that."""

    def time_left(self) -> float | None:
        """Seconds until no request may be open; None where there is no such cap."""


class NoLimits:
    """No cap at all."""

    reached: str | None = None

    def hold(self, most: CallCost) -> bool:
        return True

    def settle(self, most: CallCost, took: CallCost) -> None:
        pass

    def returned(self, most: CallCost, took: CallCost) -> None:
        pass

    def time_left(self) -> float | None:
        return None
