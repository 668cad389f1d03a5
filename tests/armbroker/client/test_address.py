import pytest

from armbroker.client.address import Address, parse_address
from broker.tls import TlsFiles


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("mqtt://plant", Address("plant", 1883, tls=False)),
        ("mqtt://127.0.0.1:1884/", Address("127.0.0.1", 1884, tls=False)),
        ("mqtts://plant", Address("plant", 8883, tls=True)),
        ("mqtts://[::1]:9", Address("::1", 9, tls=True)),
    ],
)
def test_addresses(url: str, address: Address) -> None:
    assert parse_address(url) == address


@pytest.mark.parametrize("url", ["plant:1883", "http://plant", "mqtt://", "mqtt://plant:99999", "mqtt://plant/topic"])
def test_what_is_no_address_is_named(url: str) -> None:
    with pytest.raises(ValueError, match=r"wanted|missing|[Pp]ort|follow"):
        parse_address(url)


def test_a_password_in_an_address_is_refused_and_not_shown() -> None:
    with pytest.raises(ValueError, match="settings of their own") as caught:
        parse_address("mqtt://alice:secret@plant")
    assert "secret" not in str(caught.value)


def test_encryption_verifies_the_server() -> None:
    assert Address("plant", 1883, tls=False).tls_context(TlsFiles()) is None
    context = Address("plant", 8883, tls=True).tls_context(TlsFiles())
    assert context is not None
    assert context.check_hostname
