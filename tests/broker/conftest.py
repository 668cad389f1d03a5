"""Fixtures of the conformance tests of MQTT links."""

import secrets
from collections.abc import AsyncIterator

import pytest

from broker.link.mqtt_link import LinkConfig, MqttLink
from tests.links import LINKS, LinkMaker


@pytest.fixture(params=LINKS)
def link_kind(request: pytest.FixtureRequest) -> str:
    """Each link in turn, by its name."""
    return str(request.param)


@pytest.fixture
def name() -> str:
    """A name nobody else uses: for client ids and first topic levels."""
    return f"t{secrets.token_hex(5)}"


@pytest.fixture
async def make_link(link_kind: str) -> AsyncIterator[LinkMaker]:
    """A function that makes a link; all are closed at the end."""
    links: list[MqttLink] = []

    def make(config: LinkConfig) -> MqttLink:
        links.append(LINKS[link_kind](config))
        return links[-1]

    yield make
    for link in links:
        await link.close()
