"""Where the ground-truth vectors lie."""

import os
from pathlib import Path

VECTORS = Path(os.environ.get("ARMBROKER_VECTORS", Path(__file__).resolve().parents[2] / "shared" / "vectors"))
"""Beside the checkout, or where ARMBROKER_VECTORS says; may be absent."""
