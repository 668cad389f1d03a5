import re
from pathlib import Path

import pytest

from broker.self_description import asyncapi, errors
from broker.settings import quick
from schema.errors import ERRORS

ADDRESSES = {
    "request": "plant/cell/v1/req/{user}/{conn}/{arm}/{method}",
    "reply": "plant/cell/v1/res/{user}/{conn}/{leaf}",
    "notice": "plant/cell/v1/ntf/{user}/{conn}/{handle}",
    "configEvent": "plant/cell/v1/evt/{arm}/config/{event}",
    "modeEvent": "plant/cell/v1/evt/{arm}/mode",
    "outcomeEvent": "plant/cell/v1/evt/{arm}/outcome",
    "adminEvent": "plant/cell/v1/evt/{arm}/admin",
    "overrideEvent": "plant/cell/v1/evt/{arm}/override",
    "planEvent": "plant/cell/v1/evt/@all/plan",
    "recipeEvent": "plant/cell/v1/evt/@all/recipe",
    "settingsEvent": "plant/cell/v1/evt/@all/settings",
    **{
        f"state{name.capitalize()}": f"plant/cell/v1/state/{{arm}}/{name}"
        for name in ("presence", "config", "mode", "reported", "effective")
    },
    "statePlan": "plant/cell/v1/state/@all/plan-{plan}",
    "stateFleet": "plant/cell/v1/state/@{group}/fleet",
    "metaService": "plant/cell/v1/meta/service",
    "metaErrors": "plant/cell/v1/meta/errors",
    "metaAsyncapi": "plant/cell/v1/meta/asyncapi",
    "metaGroups": "plant/cell/v1/meta/groups",
    "metaFactsheet": "plant/cell/v1/meta/factsheet/{arm}",
    "service": "plant/cell/v1/svc/{instance}",
    "deviceBirth": "plant/cell/v1/dev/{arm}/birth",
    "deviceDeath": "plant/cell/v1/dev/{arm}/death",
    "deviceCommand": "plant/cell/v1/dev/{arm}/cmd",
    "deviceAck": "plant/cell/v1/dev/{arm}/ack",
    "deviceReport": "plant/cell/v1/dev/{arm}/report",
}


def test_the_asyncapi_document_has_the_address_and_the_parameters_of_every_channel(tmp_path: Path) -> None:
    document = asyncapi(quick("mqtt://127.0.0.1", tmp_path, 1, root="plant/cell"))
    channels = document["channels"]
    assert {name: channel["address"] for name, channel in channels.items()} == ADDRESSES
    for name, channel in channels.items():
        assert {f"{{{parameter}}}" for parameter in channel.get("parameters", {})} == {
            *re.findall(r"\{\w+\}", ADDRESSES[name])
        }


@pytest.mark.parametrize("kind", ERRORS)
def test_the_document_of_errors_is_the_table(kind: str) -> None:
    (entry,) = [entry for entry in errors()["errors"] if entry["kind"] == kind]
    row = ERRORS[kind]
    assert (entry["code"], entry["names"], entry["retry"]) == (row.code, list(row.names), row.retry)
    assert (entry["text"], entry["remedy"]) == (row.text, row.remedy)
