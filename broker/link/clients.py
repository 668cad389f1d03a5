"""Which code speaks MQTT for a link."""

from broker.counters import Counters
from broker.link.mqtt5_link import Mqtt5Link
from broker.link.mqtt_link import OWN_CLIENT, LinkConfig, LinkConfigError, MqttLink


def make_link(config: LinkConfig, counters: Counters | None = None) -> MqttLink:
    """The link on the client that `config` names; what it cannot read is counted in `counters`.

    Raises:
        LinkConfigError: the client's package is not installed, or the URL is none.
    """
    if config.client == OWN_CLIENT:
        return Mqtt5Link(config, counters)
    try:
        from broker.link.mqttium_link import MqttiumLink  # noqa: PLC0415 - only where it is asked for
    except ImportError as error:
        raise LinkConfigError(f"mqtt.client: {config.client!r} needs the package mqttium: {error}") from None
    return MqttiumLink(config)
