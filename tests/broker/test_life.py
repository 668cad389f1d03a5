"""How a change lives: the table of moves against the code that makes them, and what happens when they are made."""

import ast
import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker.arms.jobs import ChangeJob
from broker.life import FIRST, MOVES, QUEUED, SENT, WAITING, Origin, State
from schema.arms import Verb
from schema.enums import ControlMode
from schema.envelope import Author
from schema.items import ITEMS
from schema.messages import TwistLinearSoftLimit
from tests.moves import NAMES, Watched
from tests.virtual_plant import Plant, run

ROOT = Path(__file__).parents[2]
MODE = ControlMode.CARTESIAN_JOYSTICK
SITES = {
    ("broker/record/ledger.py", "mark_writing"): ["number"],
    ("broker/settle/batches/batches.py", "begin"): ["number"],
    ("broker/settle/batches/batches.py", "_settled_now"): ["lose"],
    ("broker/settle/exchange.py", "write"): ["lose"],
    ("broker/settle/exchange.py", "write_and_read_now"): ["lose"],
    ("broker/settle/exchange.py", "_until_read"): ["lose"],
    ("broker/settle/settler.py", "settle_now"): ["lose"],
    ("broker/settle/resumed.py", "_send_again"): ["send again"],
    ("broker/settle/resumed.py", "_begin_anew"): ["begin anew"],
    ("broker/settle/settler.py", "_confirm_unchanged"): ["begin anew"],
    ("broker/settle/batches/batches.py", "confirm_step"): ["begin anew"],
    ("broker/settle/batches/batches.py", "put_off"): ["begin anew"],
    ("broker/settle/batches/resumed_batches.py", "_leave"): ["begin anew"],
    ("broker/settle/batches/resumed_batches.py", "_read_first"): ["begin anew", "read first"],
    ("broker/fleet_change.py", "_rest"): ["read first"],
    ("broker/settle/parking.py", "place"): ["hold", "park"],
    ("broker/settle/parking.py", "_go_on"): ["go on"],
    ("broker/settle/endings.py", "close"): ["settle"],
    ("broker/settle/endings.py", "settle"): ["settle"],
    ("broker/arms/batch_job.py", "_settle"): ["settle"],
}
"""Where each move is made: all places that assign a state to a change, or to a slot of a batch."""


def test_every_pair_of_states_has_one_name_at_most() -> None:
    pairs = [(before, move.after) for move in MOVES for before in move.before]
    assert len(set(pairs)) == len(pairs)
    assert len({move.name for move in MOVES}) == len(MOVES)
    assert all(move.after not in move.before for move in MOVES if move.name != "read first")


def test_every_state_can_be_reached_and_all_lead_to_the_end() -> None:
    assert _reached(FIRST, dict.fromkeys(NAMES)) == set(State)
    back = {(after, before): None for before, after in NAMES}
    assert _reached(frozenset({State.SETTLED}), back) == set(State)
    assert not [pair for pair in NAMES if pair[0] is State.SETTLED], "an end is for good"


def _reached(first: frozenset[State], pairs: dict[tuple[State, State], None]) -> set[State]:
    found = set(first)
    while more := {after for before, after in pairs if before in found} - found:
        found |= more
    return found


def test_states_are_in_the_queue_or_wait_or_are_over() -> None:
    assert QUEUED | WAITING | {State.SETTLED} == set(State)
    assert not QUEUED & WAITING
    assert QUEUED > SENT
    assert sorted(Origin) == [Origin.NEW, Origin.WAITED, Origin.FOUND, Origin.AHEAD]


Named = dict[str, list[str]]
"""The names of states, by the names of a module that stand for them."""


def _assigned(function: ast.FunctionDef | ast.AsyncFunctionDef, named: Named) -> Iterator[str]:
    """The names of the states that a function assigns to an attribute `state`."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign):
            continue
        for target, value in _pairs(node):
            if isinstance(target, ast.Attribute) and target.attr == "state":
                yield from _states(value, named)


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What an assignment assigns to what, each by itself."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=True)
        else:
            yield target, node.value


def _states(value: ast.expr, named: Named) -> Iterator[str]:
    """The names of the states in an expression."""
    for node in ast.walk(value):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "State":
            yield node.attr
        elif isinstance(node, ast.Name):
            yield from named.get(node.id, ())


def _named(module: ast.Module) -> Named:
    """What stands for states in a module."""
    named: Named = {}
    for node in module.body:
        if isinstance(node, ast.Assign):
            for target, value in _pairs(node):
                if isinstance(target, ast.Name) and isinstance(value, ast.Attribute):
                    named[target.id] = [*_states(value, {})]
    return named


def test_every_assignment_is_a_move_of_the_table() -> None:
    found: dict[tuple[str, str], list[str]] = {}
    for path in sorted((ROOT / "broker").rglob("*.py")):
        module = ast.parse(path.read_text())
        named = _named(module)
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (
                states := sorted({*_assigned(node, named)})
            ):
                found[path.relative_to(ROOT).as_posix(), node.name] = states
    after = {move.name: move.after.name for move in MOVES}
    assert found == {place: sorted(after[name] for name in names) for place, names in SITES.items()}
    assert {name for names in SITES.values() for name in names} == set(after)


@pytest.mark.parametrize("before", list(State))
@pytest.mark.parametrize("after", list(State))
def test_a_move_that_is_not_in_the_table_is_refused(before: State, after: State) -> None:
    """What watches all tests knows each move."""
    watched = Watched(_Kept())
    job = ChangeJob.__new__(ChangeJob)
    job.request_id, job.slot = "u/c/a", ("gravity_vector", 0)
    watched._kept.state = before
    if before is after or (before, after) in NAMES:
        watched.__set__(job, after)
        assert watched._kept.state is after
        assert watched.illegal == []
        return
    with pytest.raises(AssertionError, match=f"from {before} to {after}"):
        watched.__set__(job, after)
    assert len(watched.illegal) == 1


class _Kept:
    """The state of one change."""

    state: State

    def __get__(self, job: ChangeJob, owner: type) -> State:
        return self.state

    def __set__(self, job: ChangeJob, state: State) -> None:
        self.state = state


@pytest.mark.parametrize("state", sorted(set(State) - FIRST))
def test_no_change_begins_in_the_middle(state: State, watched_moves: Watched) -> None:
    with pytest.raises(AssertionError, match=f"begins {state}"):
        ChangeJob(
            n=1, request_n=1, rev=2, slot=("gravity_vector", 0), item=ITEMS["gravity_vector"], verb=Verb.RESET,
            wanted=None, loosening=False, unchanged=False, author=Author("u", "c", proven=False), request_id="u/c/a",
            method="", reason="", state=state,
        )  # fmt: skip
    watched_moves.illegal.clear()


def value(limit: float) -> dict[str, object]:
    """The params of a Set."""
    return {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": limit}


async def shown(plant: Plant, *states: str) -> None:
    """Wait until the changes without an end are shown so."""
    await plant.document("state/r1/config", lambda one: [each["state"] for each in one["pending"]] == [*states])
    await plant.committed()


async def crash(plant: Plant, folder: Path, method: str, params: dict[str, object]) -> Path:
    """Send a request to an arm that hangs; what a kill then leaves."""
    await plant.fault("r1", "hang")
    plant.send("r1", method, params, id=method, ttl_ms=300_000)
    await shown(plant, "unknown")
    return plant.copy(folder)


def test_each_move_is_made(tmp_path: Path, watched_moves: Watched) -> None:
    """An arm that goes away, one that hangs over two starts, and one that has something else after all."""
    made: dict[str, set[str]] = {}

    def note(step: str) -> None:
        made[step] = set(watched_moves.made)
        watched_moves.made.clear()

    async def scenario() -> None:
        async with Plant(tmp_path / "first") as plant:
            assert (await plant.call("r1", "SetTwistLinearSoftLimit", value(0.3)))["stage"] == "applied"
            note("a Set")
            await plant.fault("r1", "offline")
            assert (await plant.call("r1", "SetTwistLinearSoftLimit", value(0.4)))["stage"] == "stored"
            note("away")
            await asyncio.sleep(3_600)
            await plant.fault("r1", "none")
            await shown(plant, "held")
            note("back")
            assert (await plant.call("r1", "ConfirmPending", {"all": True}))["ok"]
            await shown(plant)
            note("confirmed")
            adapter: Any = plant.session().adapter
            adapter._arm._firmware._memory.items["twist_linear_soft_limit", int(MODE)] = TwistLinearSoftLimit(MODE, 0.2)
            assert (await plant.call("r1", "SetTwistLinearSoftLimit", value(0.4)))["stage"] == "applied"
            note("otherwise")
            data = await crash(plant, tmp_path / "second", "SetTwistLinearSoftLimit", value(0.1))
            note("hangs")
        async with Plant(data) as plant:
            assert (await plant.reply("SetTwistLinearSoftLimit"))["stage"] == "applied"
            note("a start")
            items = {"twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.05}, "gravity_vector": {"z": -9.7}}
            data = await crash(plant, tmp_path / "third", "ApplyConfig", {"items": items})
        watched_moves.made.clear()
        async with Plant(data) as plant:
            assert (await plant.reply("ApplyConfig"))["stage"] == "applied"
            note("a start with a batch")

    run(scenario)
    assert made == {
        "a Set": {"number", "settle"},
        "away": {"park"},
        "back": {"go on", "hold"},
        "confirmed": {"go on", "number", "settle"},
        "otherwise": {"number", "settle"},
        "hangs": {"number", "lose"},
        "a start": {"send again", "settle"},
        "a start with a batch": {"read first", "begin anew", "number", "settle"},
    }
    assert set().union(*made.values()) == {move.name for move in MOVES}
