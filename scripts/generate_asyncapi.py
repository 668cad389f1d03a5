"""Write `docs/asyncapi.json` and `docs/schemas/<Method>.json` from the tables that the service runs on.

`python -m scripts.generate_asyncapi FOLDER`, from the root of the repository; `scripts/generate` does it.
"""

import json
import sys
from pathlib import Path
from typing import Any

from broker.asyncapi.document import asyncapi_document, method_schema
from broker.self_description import NOTICE
from broker.version import service_version
from handlers.rpc_table import RPC_TABLE

DOCUMENT, SCHEMAS = Path("docs/asyncapi.json"), Path("docs/schemas")
ROOT_TOPIC = "armbroker"


def paths() -> list[Path]:
    """What is written, relative to the root."""
    return [DOCUMENT, *(SCHEMAS / f"{name}.json" for name in RPC_TABLE)]


def text_of(document: dict[str, Any]) -> str:
    """A document as it is committed."""
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def main(folder: Path) -> None:
    """Write all below a folder."""
    (folder / SCHEMAS).mkdir(parents=True, exist_ok=True)
    whole = asyncapi_document(ROOT_TOPIC, service_version(), NOTICE, full=True)
    (folder / DOCUMENT).write_text(text_of(whole), encoding="utf-8")
    for name in RPC_TABLE:
        (folder / SCHEMAS / f"{name}.json").write_text(text_of(method_schema(name)), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    sys.stdout.write("".join(f"{path}\n" for path in paths()))
