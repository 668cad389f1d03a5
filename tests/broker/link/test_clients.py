"""Which code speaks MQTT for a link, and how it is chosen."""

import sys

import pytest

from broker.link.clients import make_link
from broker.link.mqtt5_link import Mqtt5Link
from broker.link.mqtt_link import OWN_CLIENT, LinkConfig, LinkConfigError
from broker.link.mqttium_link import MqttiumLink
from broker.settings import SettingsError, from_document
from broker.settings.records import MQTT_CLIENTS
from tests.links import LINKS


def test_every_client_of_the_settings_has_a_link_that_is_tested() -> None:
    assert set(MQTT_CLIENTS) == set(LINKS)
    assert from_document({}).mqtt.client == OWN_CLIENT == LinkConfig(url="mqtt://a", client_id="a", filters=()).client


async def test_the_client_that_is_named_is_taken() -> None:
    made = {
        client: type(make_link(LinkConfig(url="mqtt://127.0.0.1", client_id="a", filters=("a",), client=client)))
        for client in MQTT_CLIENTS
    }
    assert made == {"own": Mqtt5Link, "mqttium": MqttiumLink}


async def test_a_client_that_is_not_installed_is_told_with_its_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "broker.link.mqttium_link")
    monkeypatch.delitem(sys.modules, "broker.link.mqttium_client", raising=False)
    monkeypatch.setitem(sys.modules, "mqttium", None)
    config = LinkConfig(url="mqtt://127.0.0.1", client_id="a", filters=("a",), client="mqttium")
    with pytest.raises(LinkConfigError, match=r"^mqtt\.client: 'mqttium' .* mqttium"):
        make_link(config)


def test_an_unknown_client_is_refused_by_name() -> None:
    with pytest.raises(SettingsError, match=r"mqtt\.client: 'paho'; allowed are own, mqttium"):
        from_document({"mqtt": {"client": "paho"}})
