"""The elements of a URDF joint that hold limits, read in one of three dialects."""

import enum
from typing import NamedTuple
from xml.etree.ElementTree import Element

from limits.errors import LimitsError
from limits.formats.diagnostics import Diagnostic, Weight, did_you_mean
from limits.formats.numbers import NumberReader, scanned_number, stream_number, strict_number
from limits.formats.urdf_checks import DRAKE_ACCELERATION, check_limit, check_safety
from limits.formats.urdf_records import UrdfLimit, UrdfMimic, UrdfSafety


class UrdfDialect(enum.Enum):
    """How careful a reader is."""

    STRICT = "strict"
    """Ours: whatever is malformed or makes no sense is refused, whatever is unknown is told."""
    URDFDOM = "urdfdom"
    """As urdfdom 3.0.1: finite numbers, any order and sign, unknown attributes ignored."""
    TESSERACT = "tesseract"
    """As tesseract 0.35: numbers by their longest prefix; a malformed optional safety attribute counts as absent."""


class Rules(NamedTuple):
    """What a dialect reads and how."""

    number: NumberReader
    limit_keys: tuple[str, ...]
    unknown_told: bool
    malformed_safety_refused: bool


_MOTION_KEYS = ("lower", "upper", "effort", "velocity")
_SAFETY_KEYS = ("soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity")
_MIMIC_KEYS = ("multiplier", "offset")
_AXIS_LENGTH = 3

RULES: dict[UrdfDialect, Rules] = {
    UrdfDialect.STRICT: Rules(strict_number, (*_MOTION_KEYS, "acceleration", "deceleration", "jerk"), True, True),
    UrdfDialect.URDFDOM: Rules(stream_number, _MOTION_KEYS, False, True),
    UrdfDialect.TESSERACT: Rules(scanned_number, (*_MOTION_KEYS, "acceleration", "jerk"), False, False),
}


class Place(NamedTuple):
    """Where an element stands, for errors, and the notes that are made of it."""

    file: str | None = None
    joint: str | None = None
    notes: list[Diagnostic] | None = None

    def error(self, reason: str, key: str, value: object = None) -> LimitsError:
        """An error at this place."""
        return LimitsError(reason, file=self.file, joint=self.joint, key=key, value=value)

    def note(self, reason: str, key: str, value: object = None, weight: Weight = Weight.NOTE) -> None:
        """Tell something about this place, if anybody wants to know."""
        if self.notes is not None:
            self.notes.append(Diagnostic(self.joint, key, value, reason, weight))


NOWHERE = Place()


def read_limit(element: Element, dialect: UrdfDialect = UrdfDialect.STRICT, place: Place = NOWHERE) -> UrdfLimit:
    """Read a `<limit>` element; effort and velocity must be there.

    The strict dialect also reads the acceleration limit of Drake, where there is no other.

    Raises:
        LimitsError: an attribute is missing, malformed or, in the strict dialect, senseless.
    """
    rules = RULES[dialect]
    values = {key: _number(element, key, rules, place) for key in rules.limit_keys}
    known = rules.limit_keys
    if rules.unknown_told and DRAKE_ACCELERATION in element.attrib and values["acceleration"] is None:
        known = (*known, DRAKE_ACCELERATION)
        values["acceleration"] = value = _number(element, DRAKE_ACCELERATION, rules, place)
        place.note("is read as the acceleration; it is Drake's, other readers pass over it", DRAKE_ACCELERATION, value)
    _tell_unknown(element, known, rules, place)
    for key in ("effort", "velocity"):
        if values[key] is None:
            raise place.error("is missing", key)
    limit = UrdfLimit(**values)
    if dialect is UrdfDialect.STRICT:
        check_limit(limit, joint=place.joint, file=place.file)
    return limit


def read_safety(element: Element, dialect: UrdfDialect = UrdfDialect.STRICT, place: Place = NOWHERE) -> UrdfSafety:
    """Read a `<safety_controller>` element; k_velocity must be there.

    Raises:
        LimitsError: an attribute is missing, malformed or, in the strict dialect, senseless.
    """
    rules = RULES[dialect]
    _tell_unknown(element, _SAFETY_KEYS, rules, place)
    values: dict[str, float | None] = {}
    for key in _SAFETY_KEYS:
        if key == "k_velocity" or rules.malformed_safety_refused:
            values[key] = _number(element, key, rules, place)
        else:
            values[key] = rules.number(element.get(key, ""))
    if values["k_velocity"] is None:
        raise place.error("is missing", "k_velocity")
    safety = UrdfSafety(**values)
    if dialect is UrdfDialect.STRICT:
        check_safety(safety, joint=place.joint, file=place.file)
    return safety


def read_mimic(element: Element, dialect: UrdfDialect = UrdfDialect.STRICT, place: Place = NOWHERE) -> UrdfMimic:
    """Read a `<mimic>` element; the name of the leading joint must be there.

    Raises:
        LimitsError: the name is missing, or an attribute is malformed.
    """
    rules = RULES[dialect]
    _tell_unknown(element, ("joint", *_MIMIC_KEYS), rules, place)
    leader = element.get("joint")
    if not leader:
        raise place.error("mimic names no joint", "joint")
    return UrdfMimic(joint=leader, **{key: _number(element, key, rules, place) for key in _MIMIC_KEYS})


def read_axis(
    element: Element, dialect: UrdfDialect = UrdfDialect.STRICT, place: Place = NOWHERE
) -> tuple[float, float, float]:
    """Read an `<axis>` element: three numbers, as written; the strict dialect tells where all of them are zero.

    Raises:
        LimitsError: not three numbers.
    """
    rules = RULES[dialect]
    text = element.get("xyz", "")
    numbers = [number for word in text.split() if (number := rules.number(word)) is not None]
    if len(numbers) != _AXIS_LENGTH or len(text.split()) != _AXIS_LENGTH:
        raise place.error("axis is not three numbers", "xyz", text)
    if dialect is UrdfDialect.STRICT and not any(numbers):
        place.note("axis is zero, so it is no direction", "xyz", text, Weight.DOUBT)
    x, y, z = numbers
    return x, y, z


def _number(element: Element, key: str, rules: Rules, place: Place) -> float | None:
    """The number of an attribute; None where it is absent."""
    text = element.get(key)
    if text is None:
        return None
    value = rules.number(text)
    if value is None:
        raise place.error(f"{element.tag} has no such number", key, text)
    return value


def _tell_unknown(element: Element, known: tuple[str, ...], rules: Rules, place: Place) -> None:
    """In the strict dialect an attribute that is not read is told: it may be a limit, or a name with a mistake."""
    if not rules.unknown_told or len(element.attrib) == sum(key in element.attrib for key in known):
        return
    for key, text in element.attrib.items():
        if key not in known:
            did = "" if ":" in key else did_you_mean(key, known)
            place.note(f"{element.tag} has an attribute that is not read{did}", key, text)
