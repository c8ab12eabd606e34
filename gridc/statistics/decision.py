"""What a test comes to."""

from typing import Literal

Verdict = Literal["supported", "refuted", "open"]
"""Of a hypothesis. A module of its own, because schemas state it and import no numbers."""
