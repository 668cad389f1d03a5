"""Where values come from: an arm as it is or was, a recipe, or the request itself."""

from collections.abc import Mapping

import msgspec

from schema.arms import Slot
from schema.envelope import View
from schema.messages import Message


class ViewSource(msgspec.Struct, frozen=True, gc=False):
    """What an arm has now, in one of the three truths; `arm` empty: the arm addressed."""

    arm: str = ""
    view: View = View.REPORTED


class RevisionSource(msgspec.Struct, frozen=True, gc=False):
    """What was to be in force on an arm after a revision, without overrides; `arm` empty: the arm addressed."""

    arm: str
    rev: int


class RecipeSource(msgspec.Struct, frozen=True, gc=False):
    """The values of a recipe; `version` 0: its newest one."""

    name: str
    version: int = 0


class LiteralSource(msgspec.Struct, frozen=True, gc=False):
    """Values that the request itself names."""

    values: Mapping[Slot, Message]


Source = ViewSource | RevisionSource | RecipeSource | LiteralSource
