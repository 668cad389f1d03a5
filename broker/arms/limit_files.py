"""The files about the limits of an arm that the settings name: each is read once."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from broker.settings import ArmSettings, SettingsError
from handlers.state.limit_sources import LimitSources, place
from limits.errors import LimitsError
from limits.formats.intrinsic_files import read_skeleton
from limits.formats.urdf import read_urdf
from limits.kinova_models import MODELS
from limits.ros2.store import ParameterStore
from limits.stack.sources import joints_of_model
from schema.intrinsic import DynamicLimitsCheckMode

T = TypeVar("T")


class LimitFileError(SettingsError):
    """A file that cannot be read, or says what cannot be; the text names arm, file, joint, key and value.

    Attributes:
        setting: the setting of the arm that names the file; empty where what all of them say does not fit the arm.
    """

    def __init__(self, text: str, setting: str = "") -> None:
        super().__init__(text)
        self.setting = setting


class LimitFiles:
    """Reads files and keeps what was in them: many arms name the same ones."""

    def __init__(self, now_us: int) -> None:
        self._now_us = now_us
        self._data: dict[str, bytes] = {}
        self._digests: dict[str, bytes] = {"": b""}
        self._read: dict[tuple[str, ...], Any] = {}
        self._sources: dict[bytes, LimitSources] = {}

    def sources(self, arm: ArmSettings) -> LimitSources:
        """What the settings of an arm and its files say; for a known model it must fit the model's joints.

        Raises:
            LimitFileError: naming arm, file, joint, key and value.
        """
        alike = _what_limits(arm)
        if (sources := self._sources.get(alike)) is None:
            sources = self._made(arm)
            try:
                if (model := MODELS.get(arm.model)) is not None:
                    place(sources, joints_of_model(model))
            except LimitsError as error:
                raise LimitFileError(f"arm {arm.id}: {error}") from error
            self._sources[alike] = sources
        return sources

    def digest(self, arm: ArmSettings) -> bytes:
        """Tells apart what the files of an arm hold, as far as they were read."""
        return b" ".join(self._digests.get(name, b"") for name in (arm.urdf, arm.ros_yaml, arm.skeleton))

    def _made(self, arm: ArmSettings) -> LimitSources:
        urdf, ros, skeleton = (Path(name).name for name in (arm.urdf, arm.ros_yaml, arm.skeleton))
        node = arm.ros_node or None
        return LimitSources(
            urdf=self._once(arm, "urdf", lambda data: read_urdf(data, urdf)),
            urdf_file=urdf,
            parameters=self._once(
                arm, "ros_yaml", lambda data: ParameterStore.read(data.decode("utf-8"), node, file=ros), arm.ros_node
            ),
            ros_file=ros,
            skeleton=self._once(arm, "skeleton", lambda data: read_skeleton(data, skeleton)),
            skeleton_file=skeleton,
            site_caps=arm.site_caps,
            loosest=DynamicLimitsCheckMode[arm.checks.loosest],
            since_us=self._now_us,
        )

    def _once(self, arm: ArmSettings, setting: str, parse: Callable[[bytes], T], *part: str) -> T | None:
        """What a file holds, read at its first use; None where no file is named."""
        name: str = getattr(arm, setting)
        if not name:
            return None
        key = (setting, name, *part)
        if key not in self._read:
            try:
                if name not in self._data:
                    self._data[name] = data = Path(name).read_bytes()
                    self._digests[name] = hashlib.sha256(data).digest()
                self._read[key] = parse(self._data[name])
            except OSError as error:
                raise LimitFileError(f"arm {arm.id}: {setting}: {name}: {error.strerror or error}", setting) from error
            except (LimitsError, UnicodeDecodeError) as error:
                raise LimitFileError(f"arm {arm.id}: {setting}: {error}", setting) from error
        found: T = self._read[key]
        return found


def _what_limits(arm: ArmSettings) -> bytes:
    """The settings of an arm that its limits are made of: those of arms that are alike are worked out once."""
    named = (arm.model, arm.urdf, arm.ros_yaml, arm.ros_node, arm.skeleton, arm.site_caps, arm.checks.loosest)
    return msgspec.msgpack.encode(named)
