"""The limits of `<ros2_control>`: what the command interfaces of its joints allow."""

import math
from collections.abc import Collection, Iterator
from xml.etree.ElementTree import Element

import msgspec

from limits.formats.numbers import stream_number
from limits.formats.urdf_elements import Place
from limits.formats.urdf_records import UrdfControl, UrdfLimit

_MAGNITUDES = frozenset({"velocity", "effort"})
_END_KEYS = ("min", "max")


def read_control(root: Element, joints: Collection[str], place: Place) -> tuple[UrdfControl, ...]:
    """Read all `<ros2_control>` elements of a robot; a joint that several of them name has the tightest of its limits.

    Nothing is refused: what cannot be read is told, as it does not take away a limit that stands elsewhere. As in
    ros2_control `min` and `max` of a position are its ends, of an acceleration the deceleration and the acceleration,
    and the lesser magnitude of both counts for velocity and effort.
    """
    found: dict[str, UrdfLimit] = {}
    for element in root.iterfind("ros2_control/joint"):
        name = element.get("name", "")
        here = place._replace(joint=name)
        if name not in joints:
            here.note("is no joint of the robot; its limits are not read", "ros2_control")
            continue
        if _disabled(element):
            here.note("limits are switched off there, ros2_control does not keep any of this joint", "ros2_control")
            continue
        limit = _tightest(found.get(name, UrdfLimit()), UrdfLimit(**dict(_numbers(element, here))))
        found[name] = limit
    return tuple(UrdfControl(joint=name, limit=limit) for name, limit in found.items() if limit != UrdfLimit())


def _disabled(element: Element) -> bool:
    limits = element.find("limits")
    return limits is not None and limits.get("enable", "").lower() == "false"


def _numbers(joint: Element, place: Place) -> Iterator[tuple[str, float]]:
    """The numbers of the command interfaces of a joint, by the names of UrdfLimit."""
    for interface in joint.iterfind("command_interface"):
        name = interface.get("name", "")
        if _disabled(interface):
            continue
        ends = {key: value for key in _END_KEYS if (value := _end(interface, name, key, place)) is not None}
        if name == "position":
            if ends.get("min", -math.inf) > ends.get("max", math.inf):
                place.note("min is above max, so neither is read", "ros2_control position", (ends["min"], ends["max"]))
                continue
            yield from ((key, ends[end]) for key, end in (("lower", "min"), ("upper", "max")) if end in ends)
        elif name in _MAGNITUDES and ends:
            yield name, min(map(abs, ends.values()))
        elif name == "acceleration" and ends:
            low, high = ends.get("min", ends.get("max", 0.0)), ends.get("max", ends.get("min", 0.0))
            yield from (("deceleration", abs(low)), ("acceleration", abs(high)))
        elif name == "jerk" and "max" in ends:
            yield name, abs(ends["max"])


def _end(interface: Element, name: str, key: str, place: Place) -> float | None:
    """One end of an interface; what is no number is told."""
    for parameter in interface.iterfind("param"):
        if parameter.get("name") == key:
            text = (parameter.text or "").strip()
            if (value := stream_number(text)) is not None:
                return value
            place.note("is no number, so it is not read", f"ros2_control {name} {key}", text)
    return None


def _tightest(a: UrdfLimit, b: UrdfLimit) -> UrdfLimit:
    values: dict[str, float | None] = {}
    for key, value in msgspec.structs.asdict(a).items():
        other = getattr(b, key)
        both = [one for one in (value, other) if one is not None]
        values[key] = None if not both else max(both) if key == "lower" else min(both)
    return UrdfLimit(**values)
