"""The environment of the workers, built from wheels made here; pip gets no network."""

import sys
import zipfile
from pathlib import Path

import pytest

from devices.kortex.install import InstallError, Wheel, check, install, read_wheel

FAKE = Path(__file__).with_name("fake") / "kortex_api"
OFFLINE = ("--no-index", "--find-links")


def make_wheel(folder: Path, name: str, version: str, files: dict[str, str], *requires: str) -> Path:
    """A pure wheel of some files."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {one}" for one in requires]
    with zipfile.ZipFile(path, "w") as archive:
        for place, text in files.items():
            archive.writestr(place, text)
        archive.writestr(f"{info}/METADATA", "\n".join(lines) + "\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


def client_files() -> dict[str, str]:
    """A client that can be loaded without any other package."""
    files = {path.relative_to(FAKE.parent).as_posix(): path.read_text() for path in FAKE.rglob("*.py")}
    for place in files:
        if place.endswith("_pb2.py"):
            names = "GravityVector PayloadInformation ToolConfiguration CartesianReferenceFrameInfo LinearTwist Empty"
            more = "JointSpeedSoftLimits TwistLinearSoftLimit TwistAngularSoftLimit JointAccelerationSoftLimits Error"
            rest = (
                "AngularTwist JointSpeeds ControlModeInformation NotificationOptions NotificationHandle SessionHandle"
            )
            last = (
                "KinematicLimits KinematicLimitsList DesiredSpeeds ActuatorInformation ArmStateInformation SerialNumber"
            )
            every = f"{names} {more} {rest} {last} FirmwareBundleVersions CreateSessionInfo"
            files[place] = "\n".join(f"class {name}: pass" for name in every.split())
    return files


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder with stand-ins of what the client needs."""
    folder = tmp_path / "shelf"
    make_wheel(folder, "protobuf", "3.20.3", {"google_stand_in.py": ""})
    make_wheel(folder, "deprecated", "1.2.7", {"deprecated.py": ""})
    return folder


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A wheel of the client that pins what is too old."""
    files = client_files()
    return make_wheel(tmp_path, "kortex_api", "2.6.0.post3", files, "protobuf (==3.5.1)", "deprecated (==1.2.7)")


@pytest.mark.long
def test_the_environment_is_built_checked_and_replaced_as_a_whole(tmp_path: Path, shelf: Path, wheel: Path) -> None:
    target = tmp_path / "deep" / "env"
    installed = install(wheel, target, pip_options=(*OFFLINE, str(shelf)))
    assert (installed.python, installed.version) == (target / "bin" / "python", "2.6.0.post3")
    packages = {path.name.partition("-")[0] for path in target.glob("lib/python*/site-packages/*.dist-info")}
    assert {"kortex_api", "protobuf", "deprecated"} <= packages
    (tmp_path / "empty").mkdir()
    with pytest.raises(InstallError, match=r"what the client needs cannot be installed: .*protobuf==3\.20\.3"):
        install(wheel, target, pip_options=(*OFFLINE, str(tmp_path / "empty")))
    assert check([str(installed.python)]) == "loaded\n"
    assert [path.name for path in target.parent.iterdir()] == ["env"]


def test_a_client_that_does_not_load_is_told() -> None:
    with pytest.raises(InstallError, match=r"the client cannot be loaded: .*kortex_api"):
        check([sys.executable])


@pytest.mark.parametrize(
    ("pins", "requirements"),
    [
        ({}, ("protobuf==3.20.3", "deprecated==1.2.7")),
        ({"protobuf": "3.5.1", "deprecated": "1.2.7"}, ("protobuf==3.20.3", "deprecated==1.2.7")),
        ({"protobuf": "3.20.0", "deprecated": "1.2.13"}, ("protobuf==3.20.0", "deprecated==1.2.13")),
    ],
)
def test_pins_that_can_work_are_kept(pins: dict[str, str], requirements: tuple[str, str]) -> None:
    assert Wheel("2.8.0.post5", pins).requirements() == requirements


def test_another_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InstallError, match=r"no\.whl is no wheel"):
        read_wheel(tmp_path / "no.whl")
    text = tmp_path / "text.whl"
    text.write_text("text")
    with pytest.raises(InstallError, match=r"text\.whl is no wheel"):
        read_wheel(text)
    other = make_wheel(tmp_path, "other", "1.0", {})
    with pytest.raises(InstallError, match=r"holds other 1\.0, not kortex_api"):
        read_wheel(other)


def _python(folder: Path, version: str) -> str:
    """A program that says it is another Python."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("version", ["3 7", "3 12"])
def test_a_python_that_does_not_fit_is_refused(tmp_path: Path, wheel: Path, version: str) -> None:
    with pytest.raises(InstallError, match=r"kortex_api 2\.6\.0\.post3 needs Python 3\.8 to 3\.11, .*python is 3\."):
        install(wheel, tmp_path / "env", python=_python(tmp_path, version))


def test_a_python_that_is_not_there_is_said(tmp_path: Path, wheel: Path) -> None:
    with pytest.raises(InstallError, match="cannot be used"):
        install(wheel, tmp_path / "env", python=str(tmp_path / "nothing"))
