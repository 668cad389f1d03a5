"""The address of an MQTT server."""

import pytest

from broker.server_url import ServerUrl, masked, parse_server_url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("mqtt://127.0.0.1", ServerUrl("127.0.0.1", 1883, tls=False)),
        ("mqtts://mqtt.example:9883/", ServerUrl("mqtt.example", 9883, tls=True)),
        ("mqtt://[::1]:7", ServerUrl("::1", 7, tls=False)),
    ],
)
def test_addresses(url: str, expected: ServerUrl) -> None:
    assert parse_server_url(url) == expected


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("tcp://127.0.0.1:1883", "mqtt://host"),
        ("127.0.0.1", "mqtt://host"),
        ("", "mqtt://host"),
        ("mqtt://", "host is missing"),
        ("mqtt://:1883", "host is missing"),
        ("mqtt://h:99999", "Port out of range"),
        ("mqtt://h:0", "between 1 and 65535"),
        ("mqtt://h:x", "Port could not be cast"),
        ("mqtt://[::1", "Invalid IPv6"),
        ("mqtt://h/x", "nothing may follow"),
        ("mqtt://h?x=1", "nothing may follow"),
        ("mqtt://h#x", "nothing may follow"),
        ("mqtt://svc:geheim@h", "settings of their own"),
        ("tcp://svc:ge/heim@h:1883", "settings of their own"),
    ],
)
def test_what_is_no_address(url: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        parse_server_url(url)
    assert "heim" not in str(caught.value)


def test_no_password_is_shown() -> None:
    assert masked("a 'tcp://svc:ge@heim@h:1/x' b") == "a 'tcp://***@h:1/x' b"
    assert masked("mqtt://h:1883 and user@example") == "mqtt://h:1883 and user@example"
