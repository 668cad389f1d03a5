"""Tables of one kind in a file of TOML, by name: what is wrong is told with file and line, as of settings."""

from pathlib import Path
from typing import Any

import msgspec

from broker.settings.conversion import conversion_faults
from broker.settings.lines import lines_of
from broker.settings.load import decoded, text_of
from broker.settings.places import Places


def read_tables(path: Path, kind: type[msgspec.Struct]) -> dict[str, dict[str, Any]]:
    """The tables of a file, each with what it says of the fields of `kind`.

    Raises:
        SettingsError: the file cannot be read, or a key or value has no place; each line names file and line.
    """
    text = text_of(path)
    document = decoded(path, text)
    if faults := list(conversion_faults(document, dict[str, kind])):  # type: ignore[valid-type] # known at run time
        raise Places(str(path), lines_of(text)).error(faults)
    return document
