"""The files about the limits of an arm that the settings name: read once, at the start."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from broker.settings import ArmSettings, SettingsError
from handlers.limit_sources import LimitSources, place
from limits.errors import LimitsError
from limits.formats.intrinsic_files import read_skeleton
from limits.formats.urdf import read_urdf
from limits.kinova_models import MODELS
from limits.ros2.store import ParameterStore
from limits.stack.sources import joints_of_model
from schema.intrinsic import DynamicLimitsCheckMode

T = TypeVar("T")


class LimitFiles:
    """Reads files and keeps what was in them: many arms name the same ones."""

    def __init__(self, now_us: int) -> None:
        self._now_us = now_us
        self._read: dict[tuple[str, ...], Any] = {}

    def sources(self, arm: ArmSettings) -> LimitSources:
        """What the settings of an arm and its files say; for a known model it must fit the model's joints.

        Raises:
            SettingsError: a file that cannot be read, or says what cannot be; naming arm, file, joint, key and value.
        """
        try:
            sources = self._sources(arm)
            if (model := MODELS.get(arm.model)) is not None:
                place(sources, joints_of_model(model))
        except (LimitsError, OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"arm {arm.id}: {error}") from error
        return sources

    def _sources(self, arm: ArmSettings) -> LimitSources:
        urdf, ros, skeleton = (Path(name).name for name in (arm.urdf, arm.ros_yaml, arm.skeleton))
        return LimitSources(
            urdf=self._once(("urdf", arm.urdf), lambda: read_urdf(Path(arm.urdf).read_bytes(), urdf)),
            urdf_file=urdf,
            parameters=self._once(
                ("ros", arm.ros_yaml, arm.ros_node),
                lambda: ParameterStore.read(Path(arm.ros_yaml).read_text("utf-8"), arm.ros_node or None, file=ros),
            ),
            ros_file=ros,
            skeleton=self._once(
                ("skeleton", arm.skeleton), lambda: read_skeleton(Path(arm.skeleton).read_bytes(), skeleton)
            ),
            skeleton_file=skeleton,
            site_caps=arm.site_caps,
            loosest=DynamicLimitsCheckMode[arm.checks.loosest],
            since_us=self._now_us,
        )

    def _once(self, key: tuple[str, ...], read: Callable[[], T]) -> T | None:
        """What a file holds, read at its first use; None where no file is named."""
        if not key[1]:
            return None
        if key not in self._read:
            self._read[key] = read()
        found: T = self._read[key]
        return found
