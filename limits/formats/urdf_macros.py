"""What xacro leaves in a URDF: definitions that nothing uses are read past, all else needs the macros expanded."""

from collections import Counter
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from limits.formats.urdf_elements import Place

_DEFINITIONS = frozenset({"property", "arg"})
"""Elements that only define a name."""
_CALLS = ("${", "$(")
_ADVICE = "macros are not expanded here; expand the file first"


def note_macros(root: Element, place: Place) -> None:
    """Tell definitions of xacro; a file whose joints or limits are not there before it is expanded is refused.

    Raises:
        LimitsError: any other element of xacro, or an expression in a name, type or limit.
    """
    definitions: Counter[str] = Counter()
    prefixes = {"xacro"} | {key[6:] for key, text in root.attrib.items() if key[:6] == "xmlns:" and "xacro" in text}
    for element in root.iter():
        prefix, colon, name = element.tag.partition(":")
        if not colon or prefix not in prefixes:
            continue
        if name not in _DEFINITIONS:
            raise place.error(_ADVICE, element.tag)
        definitions[element.tag] += 1
    for joint, key, text in _literal(root):
        if any(call in text for call in _CALLS):
            raise place._replace(joint=joint).error(_ADVICE, key, text)
    for tag, count in definitions.items():
        place.note("definitions are read past, nothing that is read here uses them", tag, count)


def _literal(root: Element) -> Iterator[tuple[str | None, str, str]]:
    """Joint, key and text of everything that is read of a robot."""
    yield None, "name", root.get("name", "")
    for link in root.iterfind("link"):
        yield None, "name", link.get("name", "")
    for joint in root.iterfind("joint"):
        for element in (joint, *joint):
            if element.tag not in {"origin", "dynamics", "calibration"}:
                for key, text in element.attrib.items():
                    yield joint.get("name"), key, text
