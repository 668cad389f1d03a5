"""Where the ground-truth vectors lie."""

import os
from pathlib import Path

VECTORS = Path(os.environ.get("ARMBROKER_VECTORS", Path(__file__).resolve().parent / "vectors" / "data"))
"""In the repository, or where ARMBROKER_VECTORS says."""
