"""A server that repeats the key it was sent, in every form and in every field of what it answers."""

import base64
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any
from urllib.parse import quote, quote_plus

from tools.servers.faults import answer_to
from tools.servers.http import Asked, Reply


def forms_of(key: str) -> dict[str, str]:
    """A key as servers, proxies and libraries may spell it, by what the form is."""
    characters = range(len(key))
    forms = {
        "as it is": key,
        "in upper case": key.upper(),
        "in lower case": key.lower(),
        "in other cases": key.swapcase(),
        "in a URL": quote(key, safe=""),
        "in a form": quote_plus(key.upper()),
        "in a URL in a URL": quote(quote(key, safe=""), safe=""),
        "all percent codes": "".join(f"%{byte:02x}" for byte in key.encode()),
        "escaped for JSON": "".join(f"\\u{ord(one):04x}" for one in key),
        "escaped twice": "".join(f"\\\\u{ord(one):04X}" for one in key),
        "mixed": "".join(
            (one, f"%{ord(one):02X}", f"\\u{ord(one):04x}")[at % 3]
            for at, one in zip(characters, key, strict=True)
        ),
    }
    for before in ("", "u", "u:", "Bearer "):
        for behind in ("", "\n", ":x"):
            coded = base64.b64encode(f"{before}{key}{behind}".encode()).decode()
            about = f"in base64, {before!r} before it and {behind!r} behind it"
            forms[about] = coded
            forms[f"{about}, without padding"] = coded.rstrip("=")
            forms[f"{about}, for URLs"] = coded.replace("+", "-").replace("/", "_")
            forms[f"{about}, in a URL"] = quote(coded, safe="")
    return forms


def traces_of(key: str) -> dict[str, bytes]:
    """What is left of a key wherever it shows, in lower case: itself, its escapes, and those characters of
    its base64 forms that it decides alone."""
    found = {name: form for name, form in forms_of(key).items() if "base64" not in name}
    for before in range(3):
        coded = base64.b64encode(b"-" * before + key.encode()).decode().rstrip("=")
        inside = coded[4 if before else 0 : -1]
        found[f"base64 from place {before}"] = inside
        found[f"base64 for URLs from place {before}"] = inside.replace("+", "-").replace("/", "_")
    return {name: form.lower().encode() for name, form in found.items()}


def traces_in(data: bytes, key: str) -> list[str]:
    """Which forms of a key some bytes hold."""
    data = data.lower()
    return [name for name, trace in traces_of(key).items() if trace in data]


NOT_JSON = ("redirect", "text", "429")
"""Ways to go wrong that no line of a batch can hold."""


@dataclass
class Echo:
    """Answers as `answer_to` does, with a form of `key` in every text that it sends. The first answer to a
    prompt of at least `misleads` characters goes wrong, each in another way that may show the key too."""

    key: str
    misleads: int = 10**9
    wrongs: Sequence[str] = ("finish_reason", "parts", "tool", "usage", "error", "500", "400", *NOT_JSON)
    seen: Counter[str] = field(default_factory=Counter)
    went: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._forms, self._wrongs = cycle(forms_of(self.key).values()), cycle(self.wrongs)

    def form(self) -> str:
        """Another form each time."""
        return next(self._forms)

    async def __call__(self, asked: Asked) -> Reply:
        body = asked.document
        text = json.dumps(body.get("messages", body.get("prompt")))
        self.seen[text] += 1
        if len(text) >= self.misleads and self.seen[text] == 1:
            wrong = next(self._wrongs)
            self.went[wrong] += 1
            return self.wrong(wrong, body)
        self.went["answer"] += 1
        return self.told(self.answer(body))

    def answer(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A sound answer with a form of the key behind every text, and in fields that nobody asked for."""
        document = answer_to(body)
        every = " ".join(forms_of(self.key).values())
        choice = document["choices"][0]
        choice["message"] |= {"content": f"{choice['message']['content']}\n{every}"}
        choice["message"] |= {"reasoning_content": every, "refusal": None}
        document |= {"model": f"{body.get('model')} {self.form()}", "system_fingerprint": self.form()}
        return document | {"id": self.form(), "service_tier": every, every: every}

    def told(self, document: Mapping[str, Any], status: int = 200) -> Reply:
        """A response with the key in its headers too."""
        headers = {"x-request-id": self.form(), "x-debug": self.key, "set-cookie": f"key={self.key}"}
        headers |= {"content-type": f"application/json; charset={self.key}", "www-authenticate": self.key}
        # What is escaped already stays as it is, as a server that echoes bytes would write it.
        data = json.dumps(document).replace("\\\\u", "\\u").encode()
        return Reply(status, data, headers)

    def wrong(self, how: str, body: Mapping[str, Any]) -> Reply:
        """An answer that goes wrong in one of the `wrongs`."""
        every = " ".join(forms_of(self.key).values())
        answer = self.answer(body)
        choice = answer["choices"][0]
        match how:
            case "finish_reason":
                choice["finish_reason"] = self.form()
            case "parts":
                half = len(self.key) // 2
                parts = self.key[:half], f"{self.key[half:]}\n{choice['message']['content']}"
                choice["message"]["content"] = [{"type": "text", "text": part} for part in parts]
            case "tool":
                function = {"name": self.form(), "arguments": json.dumps({"key": every})}
                call = {"id": self.form(), "type": "function", "function": function}
                choice |= {"message": {"content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}
            case "usage":
                answer["usage"] = {"prompt_tokens": self.form(), "completion_tokens": every}
            case "error":
                answer["error"] = {"message": every, "code": self.form()}
            case "redirect":
                return Reply(307, every.encode(), {"location": f"http://127.0.0.2:9/{quote(self.key)}"})
            case "text":
                return Reply(200, every.encode(), {"content-type": self.key})
            case "500" | "400":
                document = {"error": {"message": f"{self.form()} {self.key} {every}", "type": every}}
                return self.told(document, int(how))
            case "429":
                return Reply(429, every.encode(), {"retry-after": "0.01"})
        return self.told(answer)
