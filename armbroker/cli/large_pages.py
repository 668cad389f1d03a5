"""Lets the memory of the service lie in large pages of the kernel, where these are there for whoever asks.

A Set touches memory in some thousand places, and to find one again after a wait takes time: least where a page is
2 MiB instead of 4 KiB (docs/performance.md). Python has to take all memory from the C library then, and that from large
pages; both are told before an interpreter begins. So the service begins once more, in the same process.
"""

import contextlib
import os
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path

VARIABLE = "ARMBROKER_LARGE_PAGES"
"""`false` leaves memory as it is; unset and `true` mean large pages where they can be had."""
_BEGUN = "begun as "
"""What the variable says to the interpreter that began with them, before the name of the process."""
NAME = Path("/proc/self/comm")
"""What `ps` and `pidof` know the process by."""
ASKS: Mapping[str, str] = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""What asks for them. Who sets one of these himself is left alone."""
KERNEL = Path("/sys/kernel/mm/transparent_hugepage")
SIZE = 2 * 2**20
"""Bytes of a large page; some processors have others of 32 or 512 MiB, of which most would lie idle."""
GLIBC = (2, 35)
"""The first that takes large pages where it is told to."""
ISOLATED = "-I"
ASIDE = "ARMBROKER_LARGE_PAGES_ASIDE_"
"""Begins the names of variables that an isolated interpreter ignores and what the service starts may not."""


class NoValueError(ValueError):
    """The variable says what it cannot."""


def ask(environment: MutableMapping[str, str] = os.environ) -> None:
    """Begin once more with large pages, unless that was done, nobody offers them, or somebody does not want them.

    Raises:
        NoValueError: the variable is neither `true` nor `false`.
    """
    said = environment.pop(VARIABLE, "true")
    if said.startswith(_BEGUN):
        for name in ASKS:  # they are not for what the service starts
            environment.pop(name, None)
        for name in [each for each in environment if each.startswith(ASIDE)]:
            environment[name.removeprefix(ASIDE)] = environment.pop(name)
        _rename(said.removeprefix(_BEGUN))
    elif said not in ("true", "false"):
        raise NoValueError(f"{VARIABLE} is {said!r}: only true and false are allowed")
    elif said == "true" and not ASKS.keys() & environment.keys() and offered():
        command = command_of(sys.orig_argv)
        if command is not None:
            with contextlib.suppress(OSError):  # then everything goes on in small ones
                os.execve(sys.executable, [sys.executable, *command], environment_of(environment))  # noqa: S606 - itself


def offered(kernel: Path = KERNEL) -> bool:
    """Whether the kernel has large pages of the usual size for who asks, and the C library can ask."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
        known = name == "glibc" and tuple(map(int, version.split(".")[:2])) >= GLIBC
        given = "[never]" not in (kernel / "enabled").read_text()
        return known and given and int((kernel / "hpage_pmd_size").read_text()) == SIZE
    except (AttributeError, OSError, ValueError):  # another system, or another C library
        return False


def command_of(arguments: Sequence[str]) -> list[str] | None:
    """What stands behind the name of the interpreter: as it was called, where it may hear of what asks; else None."""
    command = list(arguments[1:])
    piped = getattr(sys.modules["__main__"], "__file__", "") == "<stdin>"  # nobody can read that twice
    if not sys.executable or sys.flags.dev_mode or piped:
        return None
    if command[:1] == [ISOLATED]:
        return ["-s", "-P", *command[1:]]  # with an environment without variables of Python the same
    return None if sys.flags.ignore_environment else command


def _rename(name: str) -> None:
    with contextlib.suppress(OSError):
        NAME.write_bytes(os.fsencode(name))


def environment_of(before: Mapping[str, str]) -> dict[str, str]:
    """The environment with what asks and the name of the process; what an isolated interpreter ignores stands aside.

    Raises:
        OSError: the process cannot tell its name.
    """
    name = os.fsdecode(NAME.read_bytes().removesuffix(b"\n"))  # the kernel cuts it anywhere
    isolated = sys.flags.isolated
    kept = {f"{ASIDE * (isolated and each.startswith('PYTHON'))}{each}": value for each, value in before.items()}
    return {**kept, **ASKS, VARIABLE: _BEGUN + name}
