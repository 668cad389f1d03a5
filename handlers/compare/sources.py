"""Sources of values among the params of a request."""

from collections.abc import Mapping

from handlers.rpc.plain_params import integer, known_only, listed, quoted, text
from handlers.rpc.source import LiteralSource, RecipeSource, RevisionSource, Source, ViewSource
from schema.arms import Slot
from schema.codecs.items_form import read_items, read_paths
from schema.envelope import View
from schema.errors import BrokerError

_HIGHEST = (1 << 63) - 1
_VIEWS = {view.name.lower(): view for view in View}
_FORMS = "{arm?, view?}, {arm?, rev}, {recipe, version?} or {items}"
_TELLING = ("rev", "view", "recipe", "items")
"""Keys of which a source has one at most."""


def read_source(value: object, path: str, view: View = View.REPORTED) -> Source:
    """The source in a document at a path; `view` counts where it names none.

    Raises:
        BrokerError: malformed for what is no source or more than one, unknown_field, unknown_enum, out_of_limits; what
            `read_items` raises.
    """
    if not isinstance(value, dict):
        raise BrokerError("malformed", f"{path}: an object is needed, {_FORMS}, got {quoted(value)}")
    source: Mapping[str, object] = value
    known_only(source, ("arm", "view", "rev", "recipe", "version", "items"), path)
    told = [key for key in _TELLING if key in source]
    if len(told) > 1:
        raise BrokerError("malformed", f"{path}: {' and '.join(told)} are given, a source is one of {_FORMS}")
    kind = told[0] if told else "view"
    _check_belongs(source, kind, path)
    if kind == "items":
        return LiteralSource(read_items(source["items"], f"{path}.items"))
    if kind == "recipe":
        name = _named(source, "recipe", path)
        return RecipeSource(name, integer(source, "version", 0, _HIGHEST, lowest=1, path=path))
    arm = _named(source, "arm", path) if "arm" in source else ""
    if kind == "rev":
        return RevisionSource(arm, integer(source, "rev", 0, _HIGHEST, lowest=1, path=path))
    return ViewSource(arm, _view(source, view, path))


def read_slots(params: Mapping[str, object]) -> frozenset[Slot] | None:
    """The slots that `items` of some params names; None where it is absent.

    Raises:
        BrokerError: malformed, unknown_enum, out_of_limits.
    """
    return frozenset(read_paths(params["items"], "params.items")) if "items" in params else None


def _check_belongs(source: Mapping[str, object], kind: str, path: str) -> None:
    """Refuse what a source of this kind does not take."""
    for key, kinds in (("arm", ("rev", "view")), ("version", ("recipe",))):
        if key in source and kind not in kinds:
            raise BrokerError("malformed", f"{path}.{key}: not with {kind}; a source is one of {_FORMS}")


def _named(source: Mapping[str, object], key: str, path: str) -> str:
    name = text(source, key, path=path)
    if not name:
        raise BrokerError("malformed", f"{path}.{key}: a name is needed")
    return name


def _view(source: Mapping[str, object], view: View, path: str) -> View:
    if "view" not in source:
        return view
    word = text(source, "view", path=path)
    if word not in _VIEWS:
        raise BrokerError("unknown_enum", f"{path}.view: {word[:60]!r} is no view; views: {listed(word, _VIEWS)}")
    return _VIEWS[word]
