"""`armbroker export`, `import` and `diff` on a running service, as processes of their own."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.journey.client import Client
from tests.journey.conftest import ClientMaker
from tests.journey.running import RunningService
from tests.mosquitto import ROOT

TWIST, JOYSTICK = "SetTwistLinearSoftLimit", {"control_mode": "CARTESIAN_JOYSTICK"}
PATH = "twist_linear_soft_limit/CARTESIAN_JOYSTICK"
OK, REFUSED, USAGE = 0, 1, 2


class Ended(NamedTuple):
    code: int
    out: str
    err: str


class Shell:
    """Runs commands against one service."""

    def __init__(self, service: RunningService, folder: Path) -> None:
        self.service, self.folder = service, folder

    async def __call__(self, *arguments: str) -> Ended:
        command = (*arguments, "--mqtt", self.service.settings.mqtt.url, "--root", self.service.settings.root)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "armbroker", *command, stdout=PIPE, stderr=PIPE, cwd=self.folder,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(self.folder)},
        )  # fmt: skip
        out, err = await process.communicate()
        return Ended(process.returncode or 0, out.decode(), err.decode())


@pytest.fixture
def shell(service: RunningService, tmp_path: Path) -> Shell:
    return Shell(service, tmp_path)


async def twist(client: Client, arm: str, value: float) -> int:
    return int((await client.change(arm, TWIST, {**JOYSTICK, "twist_linear_soft_limit": value}))["rev"])


async def test_a_group_is_exported_and_nothing_of_a_moment_ago(
    start_service: Any, connect: ClientMaker, tmp_path: Path
) -> None:
    arms = [{"id": arm, "adapter": "simulated", "model": "gen3_7dof", "groups": ["cell-4"]} for arm in ("r1", "r2")]
    service = start_service("r1", arm=[*arms, {"id": "r3", "adapter": "simulated", "model": "gen3_7dof"}])
    shell, client = Shell(service, tmp_path), await connect(to=service)
    assert (await shell("export", "@cell-4", "--out", "cell")).out.split() == ["cell/r1.toml", "cell/r2.toml"]
    await twist(client, "r1", 0.125)
    assert (await shell("export", "r1", "--out", "cell")).code == OK
    assert "CARTESIAN_JOYSTICK = 0.125\n" in (tmp_path / "cell/r1.toml").read_text()
    assert (await shell("export", "@cell-5", "--out", "cell")).code == REFUSED
    await twist(client, "r2", 0.25)
    group = await shell("diff", "r1", "@cell-4")
    assert (group.code, group.out) == (REFUSED, f"r1: the same\nr2: {PATH}\n")
    assert (await shell("diff", "cell/r1.toml", "@cell-4", "--json")).code == REFUSED
    await twist(client, "r2", 0.125)
    assert (await shell("diff", "r1@2", "@cell-4")).code == OK
    await client.change("r1", TWIST, {**JOYSTICK, "twist_linear_soft_limit": 0.0625}, valid_for_ms=600_000)
    assert (await shell("export", "r1", "--out", "cell")).out == "cell/r1.toml (as before)\n"


async def test_an_export_twice_gives_the_same_bytes(
    shell: Shell, arms: Any, connect: ClientMaker, tmp_path: Path
) -> None:
    client, (one, two) = await connect(), (next(arms), next(arms))
    await twist(client, one, 0.2)
    for form in ("toml", "json"):
        ended = await shell("export", one, two, "--out", "out", "--format", form)
        assert (ended.code, ended.out.split()) == (OK, [f"out/{one}.{form}", f"out/{two}.{form}"]), ended
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert sorted(before) == sorted(f"{arm}.{form}" for arm in (one, two) for form in ("toml", "json"))
    again = await shell("export", one, two, "--out", "out")
    assert again.out.count("(as before)") == 2
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    text = before[f"{one}.toml"].decode()
    assert text.startswith(f'armbroker = 1\nkind = "arm"\nmodels = ["gen3_7dof"]\nname = "{one}"\n\n[items.')
    assert "[items.twist_linear_soft_limit]\nCARTESIAN_JOYSTICK = 0.2\n" in text
    assert (await shell("diff", f"out/{one}.toml", f"out/{one}.json")).code == OK


async def test_what_is_exported_of_one_arm_is_imported_into_another(
    shell: Shell, arms: Any, connect: ClientMaker
) -> None:
    client, (one, two) = await connect(), (next(arms), next(arms))
    await twist(client, one, 0.2)
    await client.change(one, "SetPayloadInformation", {"payload_mass": 1.5})
    assert (await shell("export", one, "--out", ".")).code == OK
    differing = await shell("diff", f"{one}.toml", two)
    assert differing.code == REFUSED, differing
    assert f"{PATH}: 0.2 -> 0.5 (loosening)" in differing.out
    assert "payload_information: " in differing.out
    assert "only in" not in differing.out
    dry = await shell("import", f"{one}.toml", "--to", two, "--dry-run")
    assert dry.code == OK, dry
    assert PATH in dry.out
    assert (await shell("diff", f"{one}.toml", two)).code == REFUSED
    done = await shell("import", f"{one}.toml", "--to", two, "--reason", "as the other")
    assert done.code == OK, done
    assert f"{PATH} applied" in done.out
    same = await shell("diff", f"{one}.toml", two)
    assert (same.code, same.out) == (OK, "the same\n")
    assert (await shell("diff", one, two)).code == OK
    (entry,) = (await client.call(two, "Blame", {"items": [PATH]}))["result"]["values"]
    assert (entry["method"], entry["reason"]) == ("ApplyConfig", "as the other")


async def test_the_values_of_a_file_go_to_every_arm_of_a_group(
    start_service: Any, connect: ClientMaker, tmp_path: Path
) -> None:
    models = {"r1": "gen3_7dof", "r2": "gen3_7dof", "r3": "gen3_6dof"}
    groups = {"r1": ["cell-4", "hall"], "r2": ["cell-4", "hall"], "r3": ["hall"]}
    arms = [{"id": arm, "adapter": "simulated", "model": models[arm], "groups": groups[arm]} for arm in models]
    service = start_service("r1", arm=arms)
    shell, client = Shell(service, tmp_path), await connect(to=service)
    head = 'armbroker = 1\nkind = "recipe"\nname = "weld"\nmodels = ["gen3_7dof"]\n'
    (tmp_path / "weld.toml").write_text(head + "[items.twist_linear_soft_limit]\nCARTESIAN_JOYSTICK = 0.125\n")
    other = await shell("import", "weld.toml", "--to", "@hall")
    assert other.code == REFUSED
    assert "weld is for gen3_7dof, r3 is gen3_6dof; nothing was sent" in other.err
    dry = await shell("import", "weld.toml", "--to", "@cell-4", "--dry-run")
    assert dry.code == OK, dry
    assert (await shell("diff", "weld.toml", "@cell-4")).code == REFUSED
    done = await shell("import", "weld.toml", "--to", "@cell-4")
    assert done.code == OK, done
    assert ("r1 applied" in done.out, "r2 applied" in done.out) == (True, True)
    assert (await shell("diff", "weld.toml", "@cell-4")).code == OK
    for arm in ("r1", "r2"):
        (entry,) = (await client.call(arm, "Blame", {"items": [PATH]}))["result"]["values"]
        assert (entry["method"], entry["plan"]) == ("ApplyConfig", 1)


async def test_what_the_service_refuses_ends_the_import(
    shell: Shell, arm: str, connect: ClientMaker, tmp_path: Path
) -> None:
    client = await connect()
    head = 'armbroker = 1\nkind = "arm"\nname = "a"\n'
    (tmp_path / "fast.toml").write_text(head + "[items.twist_linear_soft_limit]\nCARTESIAN_JOYSTICK = 9\n")
    (tmp_path / "slow.toml").write_text(head + "[items.twist_linear_soft_limit]\nCARTESIAN_JOYSTICK = 0.1\n")
    (tmp_path / "other.toml").write_text(head.replace('"a"', '"a"\nmodels = ["gen3_lite"]')
                                         + "[items.twist_linear_soft_limit]\nCARTESIAN_JOYSTICK = 0.1\n")  # fmt: skip
    ended = await shell("import", "fast.toml", "slow.toml", "--to", arm)
    assert ended.code == REFUSED
    assert "out_of_limits" in ended.out
    assert "1 more of the files were not sent" in ended.err
    other = await shell("import", "slow.toml", "other.toml", "--to", arm)
    assert other.code == REFUSED
    assert "is for gen3_lite" in other.err
    assert (await client.call(arm, "GetHistory"))["result"]["changes"] == []


async def test_a_revision_is_compared_with_now(shell: Shell, arm: str, connect: ClientMaker) -> None:
    client = await connect()
    rev = await twist(client, arm, 0.2)
    await twist(client, arm, 0.1)
    found = await shell("diff", f"{arm}@{rev}", arm)
    assert (found.code, found.out) == (REFUSED, f"{PATH}: 0.2 -> 0.1 (tightening)\n")
    back = await shell("diff", arm, f"{arm}@{rev}", "--json")
    assert '"count": 1' in back.out
    beyond = await shell("diff", f"{arm}@900", arm)
    assert beyond.code == REFUSED
    assert "900 > " in beyond.err


async def test_recipes_go_into_files_and_back(start_service: Any, connect: ClientMaker, tmp_path: Path) -> None:
    service = start_service("r1")
    shell, client = Shell(service, tmp_path), await connect(to=service)
    items = {"payload_information": {"payload_mass": 2}, "twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.2}}
    made = {"name": "weld", "items": items, "models": ["gen3_7dof"], "note": 'said "so"'}
    await client.change("@all", "PutRecipe", made)
    await client.change("@all", "PutRecipe", {"name": "glue", "items": items})
    ended = await shell("export", "--recipes", "--out", "recipes")
    assert (ended.code, ended.out.split()) == (OK, ["recipes/glue.toml", "recipes/weld.toml"])
    unchanged = await shell("import", "recipes/weld.toml", "recipes/glue.toml")
    assert (unchanged.code, unchanged.out) == (OK, "weld: version 1 (as before)\nglue: version 1 (as before)\n")
    assert (await shell("diff", "recipe:weld", "recipes/weld.toml")).code == OK
    path = tmp_path / "recipes/weld.toml"
    path.write_text(path.read_text().replace("CARTESIAN_JOYSTICK = 0.2", "CARTESIAN_JOYSTICK = 0.15"))
    assert (await shell("import", "recipes/weld.toml", "--dry-run")).code == OK
    assert (await shell("import", "recipes/weld.toml")).out == "weld: version 2\n"
    found = await shell("diff", "recipe:weld@1", "recipe:weld@2")
    assert (found.code, found.out) == (REFUSED, f"{PATH}: 0.2 -> 0.15 (tightening)\n")
    assert (await shell("diff", "recipe:weld", "r1")).code == REFUSED
    assert (await shell("import", "recipes/weld.toml", "--to", "r1")).code == OK
    assert (await shell("diff", "recipe:weld", "r1")).code == OK
    missing = await shell("diff", "recipe:weld@9", "r1")
    assert missing.code == REFUSED
    assert "unknown_recipe" in missing.err
    assert "r1" not in (await shell("export", "--recipes", "--out", "recipes")).out


async def test_faulty_files_are_told_whole_and_nothing_is_sent(
    shell: Shell, arm: str, connect: ClientMaker, tmp_path: Path
) -> None:
    client = await connect()
    good = 'armbroker = 1\nkind = "recipe"\nname = "good"\n[items.gravity_vector]\nz = -9.8\n'
    (tmp_path / "good.toml").write_text(good)
    (tmp_path / "bad.toml").write_text(good.replace("z = -9.8", 'x = "a"\ny = nan'))
    (tmp_path / "worse.json").write_text('{"armbroker": 2}')
    ended = await shell("import", "good.toml", "bad.toml", "worse.json", "--to", arm)
    assert (ended.code, ended.out) == (USAGE, "")
    for told in ("bad.toml:5: items.gravity_vector.x: ", "bad.toml:6: items.gravity_vector.y: nan",
                 "worse.json:1: armbroker: '2'", "worse.json:1: items: "):  # fmt: skip
        assert told in ended.err
    assert (await client.call(arm, "GetHistory"))["result"]["changes"] == []


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("export",), USAGE, "one @GROUP or --recipes is wanted"),
        (("export", "no-such-arm", "--timeout", "1"), REFUSED, "no such arm, or it was never read"),
        (("import", "missing.toml"), USAGE, "missing.toml"),
        (("diff", "@cell-4", "r1"), USAGE, "a group stands second"),
        (("diff", "no-such-arm", "r2"), REFUSED, "unknown_arm"),
        (("diff", "arm-0000", "no-such-arm"), REFUSED, "unknown_arm"),
    ],
)
async def test_wrong_arguments_are_told(shell: Shell, arguments: tuple[str, ...], code: int, words: str) -> None:
    ended = await shell(*arguments)
    assert ended.code == code, ended
    assert words in ended.err


async def test_files_of_something_else_are_not_written_over(shell: Shell, arm: str, tmp_path: Path) -> None:
    for text in ("x = 1\n", 'armbroker = 1\nkind = "recipe"\nname = "q"\n[items.gravity_vector]\nz = 1\n'):
        path = tmp_path / f"{arm}.toml"
        path.write_text(text)
        ended = await shell("export", arm, "--out", ".")
        assert ended.code == USAGE
        assert "not written over" in ended.err
        assert path.read_text() == text
