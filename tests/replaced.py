"""Edits of a text, as many tests make them."""


def replaced(text: str, *edits: tuple[str, str]) -> str:
    """The text after replacements, each of which must apply exactly once, so that none is made in vain."""
    for old, new in edits:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the text"
        text = text.replace(old, new)
    return text
