"""Where the requests of a model behind an address go, and whose key goes with them.

The address is always stated: by the spec (`base_url`), or for a provider by the table here. litellm would
take it from any of its own variables, OPENAI_API_BASE among them, and those of a `.env` file as well.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass


@dataclass(frozen=True, slots=True)
class ProviderAddress:
    """A provider's own address, as litellm takes it, and the variable that usually holds its key."""

    base: str
    variable: str


PROVIDERS: Mapping[str, ProviderAddress] = {
    "anthropic": ProviderAddress("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    "deepseek": ProviderAddress("https://api.deepseek.com/beta", "DEEPSEEK_API_KEY"),
    "fireworks_ai": ProviderAddress("https://api.fireworks.ai/inference/v1", "FIREWORKS_AI_API_KEY"),
    "gemini": ProviderAddress("https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY"),
    "groq": ProviderAddress("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": ProviderAddress("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "openai": ProviderAddress("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": ProviderAddress("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "together_ai": ProviderAddress("https://api.together.ai/v1", "TOGETHERAI_API_KEY"),
    "xai": ProviderAddress("https://api.x.ai/v1", "XAI_API_KEY"),
}
"""By the first part of a model's name in litellm: those whose requests were seen to go through gridc's own
client. For some others litellm asks by a client of its own, which nothing here could hold to an address."""


class AddressedModel(Protocol):
    """What a model says of where it is."""

    @property
    def source(self) -> str: ...
    @property
    def base_url(self) -> str | None: ...
    @property
    def key_env(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """A `base` address, the environment variable that holds the key (None: there is no key), and the
    `provider` whose own address it is (None: a server that the spec names)."""

    base: str
    variable: str | None
    provider: str | None

    @property
    def origin(self) -> str:
        """Its scheme, host and port, as consent names them."""
        return origin_of(self.base)

    @property
    def pair(self) -> str:
        """Origin and variable, as `--allow` takes them."""
        return self.origin if self.variable is None else f"{self.origin}:{self.variable}"

    @property
    def local(self) -> bool:
        """Whether it is this machine itself."""
        return is_local(self.base)

    @property
    def needs_consent(self) -> bool:
        """Whether anything leaves: this machine may be asked without a key."""
        return self.variable is not None or not self.local

    @property
    def usual(self) -> bool:
        """Whether the key is the one that this host usually gets."""
        return (self.origin, self.variable) in _USUAL


_USUAL = {
    pair
    for own in PROVIDERS.values()
    for pair in ((urlsplit(own.base).netloc, own.variable), (urlsplit(own.base).netloc, None))
}


def reach_of(model: AddressedModel) -> ServerAccess | None:
    """Where a model is reached; None for one of a provider whose address is not known here."""
    if model.base_url is not None:
        return ServerAccess(model.base_url, model.key_env, None)
    name = model.source.partition("/")[0]
    provider = PROVIDERS.get(name)
    return None if provider is None else ServerAccess(provider.base, model.key_env or provider.variable, name)


_REQUEST = re.compile(r"(/chat)?/completions$|/(responses|messages|embeddings|models)$")
"""The end of an address at which something is asked."""


def base_of(url: str) -> str:
    """The address below which requests are made, of one that may be that of a request, or a provider's host
    alone: `https://api.openai.com/v1` of `https://api.openai.com/v1/chat/completions`."""
    address = urlsplit(url)
    path = _REQUEST.sub("", address.path)
    bases = {urlsplit(own.base).netloc: urlsplit(own.base).path for own in PROVIDERS.values()}
    return urlunsplit(address._replace(path=path or bases.get(address.netloc, "")))


def versioned(url: str) -> str | None:
    """The address below which most servers answer, of one that names no version; None where it names one."""
    address = urlsplit(url)
    named = re.search(r"/v\d", address.path) is not None
    return None if named else urlunsplit(address._replace(path=f"{address.path}/v1"))


def origin_of(url: str) -> str:
    """Scheme, host and port of an address, without a scheme that is https and a port that is the scheme's. So
    the same host over http, where everyone on the way reads along, is another one, at any port."""
    address = urlsplit(url)
    host = address.hostname or ""
    name = f"[{host}]" if ":" in host else host
    scheme = "" if address.scheme == "https" else f"{address.scheme}://"
    usual = 80 if scheme else 443
    return f"{scheme}{name}" if (address.port or usual) == usual else f"{scheme}{name}:{address.port}"


def is_local(url: str) -> bool:
    """Whether an address is this machine itself."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def proxy_of(url: str) -> str | None:
    """The proxy of the environment (HTTP_PROXY, HTTPS_PROXY) through which an address is reached, one over
    http where it states no scheme; None where NO_PROXY excepts it, and for this machine."""
    address = urlsplit(url)
    if is_local(url) or proxy_bypass(address.netloc):
        return None
    stated = getproxies().get(address.scheme)
    return stated if not stated or "://" in stated else f"http://{stated}"


def without_password(url: str) -> str:
    """An address as it can be shown."""
    address = urlsplit(url)
    return urlunsplit(address._replace(netloc=address.netloc.rpartition("@")[2]))
