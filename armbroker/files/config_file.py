"""Files of values: a recipe, or what an arm is to have. All that is wrong in one is told at once, with its line."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from armbroker.files.json_lines import lines_of_json
from armbroker.files.writing import json_text, toml_text
from broker.settings.lines import lines_of
from broker.settings.places import KeyPath
from handlers.methods.recipes import MODEL_LONGEST, MODELS_MOST, NOTE_MOST
from schema.arms import Slot
from schema.codecs.faults import step
from schema.codecs.items_form import given_items, read_items
from schema.errors import BrokerError
from schema.items import ITEMS
from schema.messages import Message
from schema.nearest import did_you_mean

VERSION = 1
RECIPE, ARM = "recipe", "arm"
KINDS = (RECIPE, ARM)
SUFFIXES = (".toml", ".json")
FILE_MOST = 1 << 20
"""Bytes of a file at most: a recipe has 60 KiB."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z")
_LINE = re.compile(r"at line (\d+)")
_KEYS = ("armbroker", "kind", "name", "models", "note", "items")


class ConfigFile(NamedTuple):
    """What a file says; `note` and `models` may be empty."""

    kind: str
    name: str
    models: tuple[str, ...]
    note: str
    values: Mapping[Slot, Message]

    @property
    def items(self) -> dict[str, Any]:
        """The values as params and documents have them."""
        return given_items(dict(self.values))


class Fault(NamedTuple):
    """What is wrong at one place of a file."""

    place: KeyPath
    key: str
    text: str


class FaultyFileError(ValueError):
    """A file that cannot be used: every fault has a line."""


def text_of(file: ConfigFile, form: str) -> str:
    """The text of a file in `toml` or `json`: the same values give the same bytes, and nothing else is in it."""
    document: dict[str, Any] = {"armbroker": VERSION, "kind": file.kind, "name": file.name}
    if file.models:
        document["models"] = [*file.models]
    if file.note:
        document["note"] = file.note
    document["items"] = file.items
    return toml_text(document) if form == "toml" else json_text(document)


def read_file(path: Path) -> ConfigFile:
    """What a file says.

    Raises:
        FaultyFileError: with all faults, each with file, line and key.
        OSError: it cannot be read.
    """
    with path.open("rb") as opened:
        data = opened.read(FILE_MOST + 1)
    if len(data) > FILE_MOST:
        raise FaultyFileError(f"{path}: more than {FILE_MOST} bytes")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise FaultyFileError(f"{path}: no UTF-8 text: {error.reason} at byte {error.start}") from None
    document, lines = _parsed(path, text)
    if faults := list(_faults(document)):
        raise FaultyFileError("\n".join(_told(path, lines, fault) for fault in faults))
    return ConfigFile(
        document["kind"], document["name"], tuple(document.get("models", ())), document.get("note", ""),
        read_items(document["items"]),
    )  # fmt: skip


def _parsed(path: Path, text: str) -> tuple[dict[str, Any], Mapping[KeyPath, int]]:
    try:
        if path.suffix == ".json":
            document = json.loads(text, object_pairs_hook=_unique)
            lines = lines_of_json(text)
        else:
            document = tomllib.loads(text)
            lines = lines_of(text)
    except json.JSONDecodeError as error:
        raise FaultyFileError(f"{path}:{error.lineno}: {error.msg}") from None
    except RecursionError:
        raise FaultyFileError(f"{path}: nested too deep") from None
    except ValueError as error:
        line = _LINE.search(str(error))
        raise FaultyFileError(f"{path}:{line[1] if line else 1}: {error}") from None
    if not isinstance(document, dict):
        raise FaultyFileError(f"{path}: an object is needed")
    return document, lines


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {key[:60]!r} is given twice")
        found[key] = value
    return found


def _told(path: Path, lines: Mapping[KeyPath, int], fault: Fault) -> str:
    """A fault with file, line and key; what is missing is of the place around it."""
    place = fault.place
    while place and place not in lines:
        place = place[:-1]
    return f"{path}:{lines.get(place, 1)}: {fault.key}: {fault.text}"


def _faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    for key in document:
        if key not in _KEYS:
            yield Fault((key,), key[:60], f"no such key; keys: {', '.join(_KEYS)}{did_you_mean(key, _KEYS)}")
    version, kind, name = (document.get(key) for key in ("armbroker", "kind", "name"))
    if type(version) is not int or version != VERSION:
        yield Fault(("armbroker",), "armbroker", f"{_shown(version)}, {VERSION} is needed: the version of the form")
    if kind not in KINDS:
        yield Fault(("kind",), "kind", f"{_shown(kind)}, one of {', '.join(KINDS)} is needed")
    if not isinstance(name, str) or not NAME.match(name):
        form = "1 to 63 letters, digits, '.', '_' and '-', the first a letter or digit"
        yield Fault(("name",), "name", f"{_shown(name)}, a name is needed: {form}")
    yield from _model_faults(document.get("models", []))
    note = document.get("note", "")
    if not isinstance(note, str) or len(note) > NOTE_MOST:
        yield Fault(("note",), "note", f"a text of at most {NOTE_MOST} characters is needed")
    yield from _item_faults(document.get("items"))


def _shown(value: object) -> str:
    return "it is missing" if value is None else f"{str(value)[:60]!r}"


def _model_faults(models: object) -> Iterator[Fault]:
    if not isinstance(models, list) or len(models) > MODELS_MOST:
        yield Fault(("models",), "models", f"a list of at most {MODELS_MOST} models is needed")
        return
    for at, model in enumerate(models):
        if not isinstance(model, str) or not 0 < len(model) <= MODEL_LONGEST or model in models[:at]:
            text = f"{_shown(model)}: a text of 1 to {MODEL_LONGEST} characters is needed, each once"
            yield Fault(("models", at), f"models[{at}]", text)


def _item_faults(items: object) -> Iterator[Fault]:
    """Every fault among the values: each is read for itself."""
    if not isinstance(items, dict) or not items:
        yield Fault(("items",), "items", "at least one table [items.<item>] is needed")
        return
    faults = (fault for place, piece in _pieces(items, ()) if (fault := _fault_of(piece, place)) is not None)
    yield from dict.fromkeys(faults)  # one of an unknown item is found with each of its values


Piece = tuple[KeyPath, Any]
"""A place among the values, and a document that has nothing else."""


def _pieces(value: Any, place: KeyPath) -> Iterator[Piece]:
    """A document cut into its single values; a record of a joint is one."""
    if isinstance(value, dict) and value and not _is_joint_record(place):
        for key, within in value.items():
            for found, piece in _pieces(within, (*place, key)):
                yield found, {key: piece}
    elif isinstance(value, list) and value:
        for at, one in enumerate(value):
            yield (*place, at), [one]
    else:
        yield place, value


def _is_joint_record(place: KeyPath) -> bool:
    return place[:2] == ("joint_safety", "joints") and len(place) == 3  # noqa: PLR2004 - the joint's name


def _fault_of(piece: Any, place: KeyPath) -> Fault | None:
    try:
        read_items(piece)
    except BrokerError as refused:
        told, _, text = refused.message.partition(": ")
        own = _dotted(place)
        if told.startswith(f"{own}."):  # a number that is missing in a record
            return Fault(("items", *place), told, text)
        if told == _dotted(place[:1]):  # the item, or one of its modes
            item = ITEMS.get(str(place[0]))
            of_mode = item is not None and bool(item.modes) and any(isinstance(one, str) for one in place[1:2])
            place = place[: 2 if of_mode else 1]
        return Fault(("items", *place), _dotted(place), text)
    return None


def _dotted(place: KeyPath) -> str:
    return "items" + "".join(f"[{key}]" if isinstance(key, int) else f".{step(key)}" for key in place)
