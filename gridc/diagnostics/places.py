"""How a place in a parsed document is named."""

KeyPath = tuple[str | int, ...]
"""Where a value lies in the parsed document: `("axis", 0, "level", 2, "id")`."""
