"""What a person sets for the network is used as it is meant, or refused with a code."""

import pytest

from gridc.compiler.inputs.addresses import proxy_of, without_password
from gridc.diagnostics.errors import UnavailableError
from gridc.runtime.engines.api.client import make_client

ADDRESS = "https://models.example/v1"


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)


def test_a_proxy_needs_no_scheme_and_shows_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "me:secret@proxy.example:3128")
    proxy = proxy_of(ADDRESS)
    assert proxy == "http://me:secret@proxy.example:3128"
    assert without_password(proxy) == "http://proxy.example:3128"
    make_client(ADDRESS)


def test_an_exception_may_name_a_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "models.example:8443")
    assert proxy_of("https://models.example:8443/v1") is None
    assert proxy_of(ADDRESS) is not None


@pytest.mark.parametrize(
    ("name", "value"),
    [("https_proxy", "ftp://me:secret@proxy.example"), ("SSL_CERT_FILE", "/no/such/file")],
)
def test_what_cannot_be_used_is_refused(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UnavailableError) as caught:
        make_client(ADDRESS)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "GC648"
    assert "secret" not in str(diagnostic)
