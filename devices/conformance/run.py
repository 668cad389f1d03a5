"""Running behaviours, each on a rig of its own."""

import asyncio
import enum
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from devices.conformance.rig import CannotInjectError, FailedError, Rig
from devices.conformance.table import Behaviour

MOST_S = 300.0
"""How long one behaviour may take at most."""

MakeRig = Callable[[Path], Awaitable[Rig]]
"""Makes a rig whose files lie in a directory, empty at first."""


class Verdict(enum.StrEnum):
    """How a behaviour ended."""

    PASSED = "pass"
    NOT_APPLICABLE = "n/a"
    FAIL = "FAIL"


class Result(NamedTuple):
    """One behaviour of one adapter; `why` says what failed, or why it is not applicable."""

    name: str
    verdict: Verdict
    why: str = ""


async def run_one(name: str, behaviour: Behaviour, make_rig: MakeRig, directory: Path) -> Result:
    """Run one behaviour on a new rig, its arm connected before."""
    rig = await make_rig(directory)
    try:
        if why := behaviour.why_not(name, rig):
            return Result(name, Verdict.NOT_APPLICABLE, why)
        async with asyncio.timeout(MOST_S):
            await rig.arm.connect()
            await behaviour.run(rig)
    except CannotInjectError as error:
        return Result(name, Verdict.NOT_APPLICABLE, str(error))
    except FailedError as error:
        return Result(name, Verdict.FAIL, str(error))
    except Exception as error:  # noqa: BLE001 - whatever an adapter raises, the other behaviours go on
        return Result(name, Verdict.FAIL, f"{type(error).__name__}: {error}")
    finally:
        await rig.close()
    return Result(name, Verdict.PASSED)


async def run_all(behaviours: Mapping[str, Behaviour], make_rig: MakeRig) -> AsyncIterator[Result]:
    """Run behaviours one after the other, each in a directory of its own that is removed afterwards."""
    for name, behaviour in behaviours.items():
        with tempfile.TemporaryDirectory(prefix="armbroker-suite-") as directory:
            yield await run_one(name, behaviour, make_rig, Path(directory))
