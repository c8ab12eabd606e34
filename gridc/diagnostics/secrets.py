"""Keys that were pasted where they do not belong: no message shows one.

A key is known by its form, by the name that it is given to, or by its place in an address. What is masked
keeps its first characters and its length, so that a person sees which key is meant, and a caret its place.
"""

import re

_FORMS = re.compile(
    r"(?<![A-Za-z0-9_])(?:"
    r"(?:sk|rk|gsk|xai|pplx|nvapi|tgp|csk|r8)[-_](?=[A-Za-z0-9_\-]*\d[A-Za-z0-9_\-]*\d)[A-Za-z0-9_\-]{16,}"
    r"|(?:hf|gh[pousr]|github_pat|glpat)[-_](?=\w*\d)\w{20,}"
    r"|AIza[A-Za-z0-9_\-]{30,}|A(?:K|S)IA[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"|eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}(?:\.[A-Za-z0-9_\-]+)?)"
)
"""As providers write them."""
_GIVEN = re.compile(
    r"""(?i)(?<![A-Za-z0-9])(?:api[-_]?key|token|secret|password|authorization)["']?\s*[=:]\s*["']?(?:bearer\s+)?"""
    r"""(?P<key>[^\s"',}\]]{8,})"""
)
_IN_ADDRESS = re.compile(
    r"""(?<=://)(?P<key>[^/@\s"'`]+)(?=@)|(?i:[?&][\w\-]*(?:key|token|secret|sig)[\w\-]*=)(?P<query>[^&\s"'`]+)"""
)
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_WORD = re.compile(r"[A-Za-z0-9_\-]{20,}")
SHOWN = 4
"""Characters of a key that stay."""


def looks_like_key(text: str) -> bool:
    """Whether a text that should name an environment variable is a key itself."""
    if _FORMS.fullmatch(text):
        return True
    digits = sum(character.isdigit() for character in text)
    return bool(_WORD.fullmatch(text)) and digits >= 3 and not _VARIABLE.fullmatch(text)


def masked(text: str) -> str:
    """The text without the keys that stand in it."""
    text = _FORMS.sub(lambda found: _mask(found[0]), text)
    for pattern in (_GIVEN, _IN_ADDRESS):
        text = pattern.sub(_masked_part, text)
    if "key_env" in text:
        text = _WORD.sub(lambda found: _mask(found[0]) if looks_like_key(found[0]) else found[0], text)
    return text


def _masked_part(found: "re.Match[str]") -> str:
    name = next(name for name, value in found.groupdict().items() if value is not None)
    start, end = (place - found.start() for place in found.span(name))
    return f"{found[0][:start]}{_mask(found[name])}{found[0][end:]}"


def _mask(key: str) -> str:
    kept = min(SHOWN, len(key) // 3)
    return f"{key[:kept]}{'*' * (len(key) - kept)}"
