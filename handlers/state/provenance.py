"""Who set a value, number by number: a change of one number leaves the others with whoever set them."""

from collections.abc import Iterator, Mapping

import msgspec

from schema.intrinsic import JointLimits
from schema.joint_items import JointParameterMap, JointSafetyMap
from schema.messages import Message


class Stamp(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Who set a number (`<user>/<connection>`, or `@...` where nobody asked), and when, µs since 1970 UTC."""

    by: str = ""
    at_us: int = 0
    recipe: str = ""
    """`<name>@<version>` of the recipe that it came with."""


class Setter(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Who set a value last, and who set those of its numbers that were there before."""

    last: Stamp = Stamp()
    older: Mapping[str, Stamp] = {}
    """By the names of `numbers_of`."""

    def of(self, number: str) -> Stamp:
        """Who set one number."""
        return self.older.get(number, self.last)


NOBODY = Setter()
"""Nobody knows who."""


PARTED = frozenset({JointLimits, JointSafetyMap, JointParameterMap})
"""The records whose parts are set one by one."""


def numbers_of(value: Message) -> dict[str, object]:
    """The parts of a value that are set one by one: `max_velocity[3]`, a joint's name, a parameter's name.

    Empty for items of the arm, which are set as a whole.
    """
    if isinstance(value, JointLimits):
        return dict(limit_numbers(value))
    if isinstance(value, JointSafetyMap):
        return dict(value.joints)
    return dict(value.parameters) if isinstance(value, JointParameterMap) else {}


def limit_numbers(limits: JointLimits) -> Iterator[tuple[str, float]]:
    """Every number of JointLimits with its name, `max_velocity[3]`."""
    for name in JointLimits.__struct_fields__:
        field = getattr(limits, name)
        for index, number in enumerate(() if field is None else field.values):
            yield f"{name}[{index}]", number


def set_by(stamp: Stamp, value: Message, before: Message | None, earlier: Setter) -> Setter:
    """Who set each number of a value that somebody put in the place of another one."""
    if type(value) not in PARTED:
        return Setter(stamp)
    old = {} if before is None else numbers_of(before)
    older = {
        name: earlier.of(name) for name, number in numbers_of(value).items() if name in old and old[name] == number
    }
    return Setter(stamp, older)
