"""Write `docs/config.schema.json`: the JSON Schema of files of recipes and arms, from the table of items.

`python -m scripts.generate_config_schema FOLDER`, from the root of the repository; `scripts/generate` does it.
"""

import json
import sys
from pathlib import Path
from typing import Any

from armbroker.files.config_file import KINDS, VERSION
from broker.asyncapi.messages import Catalogue
from broker.asyncapi.shapes import COMPONENTS, Schema, listed, one_of, record
from handlers.methods.recipes import MODEL_LONGEST, MODELS_MOST, NOTE_MOST
from schema.codecs.items_form import VALUE_ITEMS
from schema.items import ConfigItem
from schema.joint_items import JointSafetyGains

PAGE = Path("docs/config.schema.json")
DRAFT = "http://json-schema.org/draft-07/schema#"
NAME = "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"


def schema() -> Schema:
    """The schema of a file, in either form."""
    catalogue = Catalogue()
    items = record({item.key: _item(catalogue, item) for item in VALUE_ITEMS})
    properties: dict[str, Schema] = {
        "armbroker": {"const": VERSION, "description": "The version of the form"},
        "kind": one_of(*KINDS),
        "name": {"type": "string", "pattern": NAME, "description": "Name of the recipe, or id of the arm"},
        "models": {
            **listed({"type": "string", "minLength": 1, "maxLength": MODEL_LONGEST}), "maxItems": MODELS_MOST,
            "uniqueItems": True, "description": "Models of arms that it is for; absent: all",
        },
        "note": {"type": "string", "maxLength": NOTE_MOST},
        "items": {**items, "minProperties": 1},
    }  # fmt: skip
    gains = catalogue.schemas.get(JointSafetyGains.__name__)
    if gains is not None:
        gains["required"] = list(JointSafetyGains.__struct_fields__)
    whole = record(properties, ("armbroker", "kind", "name", "items"))
    title = "Values of a recipe or of an arm, as armbroker export writes them (TOML or JSON)"
    used = {name: one for name, one in catalogue.schemas.items() if name not in ("ItemKey", "ControlMode")}
    document: Schema = _local({"$schema": DRAFT, "title": title, **whole, "definitions": used})
    return document


def _item(catalogue: Catalogue, item: ConfigItem) -> Schema:
    value = catalogue.value_of(item.record, item.field)
    return record({mode.name: value for mode in item.modes}) if item.modes else value


def _local(part: Any) -> Any:
    """The same with references to its own definitions."""
    if isinstance(part, dict):
        return {
            key: one.replace(COMPONENTS, "#/definitions/") if key == "$ref" else _local(one)
            for key, one in part.items()
        }
    return [_local(one) for one in part] if isinstance(part, list) else part


def main() -> None:
    """Write it below the folder of the command line."""
    path = Path(sys.argv[1]) / PAGE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(schema(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
