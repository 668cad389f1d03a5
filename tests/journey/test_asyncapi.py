"""What `docs/asyncapi.json` and `docs/schemas/` say holds of a running service, and a client can be made of them."""

import asyncio
import json
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from broker.asyncapi.examples import EXAMPLES
from handlers.rpc.row import Address
from handlers.rpc_table import RPC_TABLE
from schema.events import FLEET_CLASSES
from tests.journey.client import Client, Received
from tests.journey.conftest import ClientMaker
from tests.journey.generated import DOCUMENT, ROOT, Generated, checked, found
from tests.journey.running import RunningService
from tests.links import peer

pytestmark = pytest.mark.mqtt
METHODS = [name for name, operation in DOCUMENT["operations"].items() if "reply" in operation]
WITHOUT = {
    "GetSkeleton": "unknown_method",
    "ConfirmArm": "revision_conflict",
    "ReleaseArm": "revision_conflict",
    "Rollout": "unknown_recipe",
    "GetPlan": "unknown_plan",
    "SteerPlan": "unknown_plan",
}
"""Methods that a fresh arm, or a service without plans, refuses, and how."""


def examples() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every example, with its method."""
    for method in METHODS:
        (message,) = DOCUMENT["operations"][method]["messages"]
        for example in found(message["$ref"])["examples"]:
            yield method, example["payload"]


@pytest.mark.parametrize(("method", "request_"), list(examples()), ids=METHODS)
async def test_each_example_is_answered_as_its_schema_says(
    connect: ClientMaker, arm: str, method: str, request_: dict[str, Any]
) -> None:
    client = await connect()
    fields = {name: value for name, value in request_.items() if name not in ("id", "params")}
    if method == "Unsubscribe":
        opened = await client.change(arm, "ControlModeTopic")
        request_ = {**request_, "params": opened["result"]}
    address = arm if Address.ARM in RPC_TABLE[method].address else "@all"
    if method in ("ExtendOverride", "EndOverride"):
        await client.change(arm, "SetPayloadInformation", {"payload_mass": 1.0}, valid_for_ms=60_000)
    if method == "Rollout":
        fields["dry_run"] = True  # the arms of other tests are among its arms
    if method in ("GetRecipe", "DeleteRecipe", "ApplyRecipe"):
        await client.change("@all", "PutRecipe", EXAMPLES["PutRecipe"])
    reply = await client.call(address, method, request_["params"], id=request_["id"], **fields)
    (message,) = DOCUMENT["operations"][method]["reply"]["messages"]
    checked(found(message["$ref"])["payload"], reply)
    alone = json.loads((ROOT / f"docs/schemas/{method}.json").read_text())
    Draft7Validator({"$ref": "#/definitions/reply", "definitions": alone["definitions"]}).validate(reply)
    assert (reply.get("error") or {}).get("kind") == WITHOUT.get(method), reply


def pattern(address: str) -> re.Pattern[str]:
    """The topics of a channel, below any root."""
    below = address.partition("/v1/")[2]
    return re.compile(re.sub(r"\{\w+\}", "[^/]+", below) + r"\Z")


def channels_of(messages: Iterable[Received]) -> set[str]:
    """The channels of messages, each of which has to be as its channel says."""
    channels = {name: (pattern(channel["address"]), channel) for name, channel in DOCUMENT["channels"].items()}
    seen: set[str] = set()
    for message in messages:
        matching = [name for name, (topics, _) in channels.items() if topics.match(message.topic)]
        if not message.payload or matching == ["reply"]:
            continue
        seen.add(matching[0])
        for payload in channels[matching[0]][1]["messages"].values():
            checked(payload["payload"], message.document)
    return seen


async def test_everything_that_is_published_is_as_its_channel_says(connect: ClientMaker, arm: str) -> None:
    monitor = await connect("evt/#", "state/#", "meta/#", "svc/#", "ntf/#")
    client = await connect()
    twist = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.2}
    await client.change(arm, "ControlConfigurationTopic", {})
    await client.change(arm, "SetTwistLinearSoftLimit", twist)
    await client.change(arm, "SetPayloadInformation", {"payload_mass": 1.0}, valid_for_ms=60_000)
    await client.change(arm, "EndOverride", {"all": True})
    await client.change(arm, "SetControlMode", {"control_mode": "ANGULAR_JOYSTICK"})
    await client.change(arm, "HoldArm", {"reason": "a look"})
    await client.change(arm, "SimFault", {"fault": "refuse"})
    await client.call(arm, "SetDesiredLinearTwist", {"linear": 0.1})
    last = (f"evt/{arm}/override", f"evt/{arm}/outcome", f"state/{arm}/effective", f"meta/factsheet/{arm}")
    taken = [await monitor.take_topic(topic) for topic in last]
    seen = channels_of([*taken, *monitor.inbox])
    told = {name for name, operation in DOCUMENT["operations"].items() if operation["action"] == "send"}
    assert told - seen == {"deviceCommand", "statePlan", *(f"{topic}Event" for topic in FLEET_CLASSES)}


async def test_what_is_published_of_the_fleet_is_as_its_channel_says(
    connect: ClientMaker, start_service: Callable[..., Any]
) -> None:
    arms = [{"id": arm, "adapter": "simulated", "model": "gen3_7dof", "groups": ["cell"]} for arm in ("r1", "r2")]
    service = start_service(arm=arms)
    monitor = await connect("evt/#", "state/#", "meta/#", to=service)
    client = await connect(to=service)
    await client.change("@all", "PutRecipe", {"name": "weld", "items": {"payload_information": {"payload_mass": 1}}})
    await client.change("r2", "SimFault", {"fault": "offline"})
    await monitor.document("state/r2/presence", lambda each: each["state"] == "offline")
    await client.change("@cell", "ApplyRecipe", {"recipe": "weld"})
    await client.change("r2", "SimFault", {"fault": "none"})
    topics = ("evt/@all/recipe", "evt/@all/plan", "state/@cell/fleet")
    taken = [await monitor.take_topic(topic) for topic in topics]
    document = await monitor.take(lambda message: message.topic.startswith("state/@all/plan-"))
    seen = channels_of([*taken, document, *monitor.inbox])
    assert seen >= {"recipeEvent", "planEvent", "stateFleet", "statePlan", "metaGroups"}


async def test_a_client_made_from_the_document_alone_sets_and_gets(service: RunningService, arm: str) -> None:
    async with peer(service.port, "gen-1", user=None) as connection:
        messages = aiter(connection.messages)
        client = Generated(connection, messages, f"{service.root}/", user="gen", conn="gen-1", arm=arm)
        await client.follow("reply")
        done = await client.SetTwistLinearSoftLimit(control_mode="CARTESIAN_JOYSTICK", twist_linear_soft_limit=0.125)
        assert (done["ok"], done["stage"]) == (True, "applied")
        read = await client.GetKinematicSoftLimits(control_mode="CARTESIAN_JOYSTICK")
        assert read["result"]["twist_linear"] == 0.125
        with pytest.raises(AttributeError):
            client.NoSuchMethod()


async def test_the_retained_document_is_the_committed_one_in_short(connect: ClientMaker) -> None:
    monitor: Client = await connect("meta/asyncapi")
    retained = (await monitor.take_topic("meta/asyncapi")).document
    assert retained["operations"].keys() == DOCUMENT["operations"].keys()
    assert retained["components"] == DOCUMENT["components"]
    assert retained["channels"].keys() == DOCUMENT["channels"].keys()


@pytest.fixture(scope="session")
def parser(tmp_path_factory: pytest.TempPathFactory, node_modules: Callable[[str], Path]) -> Path:
    """A folder with the official parser."""
    folder = tmp_path_factory.mktemp("parser")
    (folder / "node_modules").symlink_to(node_modules("@asyncapi/parser@3"))
    (folder / "validate.mjs").write_text(VALIDATE)
    return folder


VALIDATE = """
import { readFileSync } from 'node:fs'
import { Parser } from '@asyncapi/parser'

for (const file of process.argv.slice(2)) {
  const { document, diagnostics } = await new Parser().parse(readFileSync(file, 'utf8'))
  const found = diagnostics.filter(({ code }) => code !== 'asyncapi-latest-version')
  console.log(JSON.stringify({
    operations: document?.operations().length ?? 0,
    found: found.map(({ code, message, path }) => [code, message, path.join('.')]),
  }))
}
"""


@pytest.mark.long
async def test_the_official_parser_takes_both(connect: ClientMaker, parser: Path, tmp_path: Path) -> None:
    monitor: Client = await connect("meta/asyncapi")
    (tmp_path / "retained.json").write_bytes((await monitor.take_topic("meta/asyncapi")).payload)
    wrong = {"asyncapi": DOCUMENT["asyncapi"], "info": DOCUMENT["info"], "operations": {"x": {"action": "shout"}}}
    (tmp_path / "wrong.json").write_text(json.dumps(wrong))
    files = [ROOT / "docs/asyncapi.json", tmp_path / "retained.json", tmp_path / "wrong.json"]
    node = ["node", "validate.mjs", *map(str, files)]
    done = await asyncio.to_thread(subprocess.run, node, cwd=parser, check=True, capture_output=True)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    whole = {"operations": len(DOCUMENT["operations"]), "found": []}
    assert results[:2] == [whole, whole]
    assert results[2]["found"]
