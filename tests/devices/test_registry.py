import sys
from pathlib import Path

import pytest

from devices.adapter import ArmError, FleetContext
from devices.kinova_methods import CONTROL_CONFIG_METHODS
from devices.registry import (
    BUILT_IN,
    GROUP,
    AdapterImportError,
    UnknownAdapterError,
    adapter_class,
    known_adapters,
    registered,
)
from devices.simulated import SimulatedArm, SimulatedFleet

_ACME = """
from devices.adapter_class import AdapterAbout


class AcmeArm:
    about = AdapterAbout(purpose="arms of Acme", methods=frozenset(), items=frozenset())


class MuteArm:
    pass
"""


@pytest.fixture
def other_distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed distribution with adapters of its own: one good, one without its vendor's library."""
    (tmp_path / "acme_arm.py").write_text(_ACME)
    (tmp_path / "acme_broken.py").write_text("import acme_vendor_library\n")
    metadata = tmp_path / "acme-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    lines = [
        "acme = acme_arm:AcmeArm",
        "broken = acme_broken:BrokenArm",
        "absent = acme_arm:NoSuchArm",
        "mute = acme_arm:MuteArm",
    ]
    lines.append("simulated = acme_arm:AcmeArm")
    (metadata / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))
    for module in ("acme_arm", "acme_broken"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_the_simulated_arm_is_built_in(tmp_path: Path) -> None:
    found = adapter_class("simulated")
    assert found is SimulatedArm
    fleet = found.open_fleet(FleetContext(tmp_path))
    assert isinstance(fleet, SimulatedFleet)
    fleet.close()


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_adapter_can_be_imported(name: str) -> None:
    assert callable(adapter_class(name).open_fleet)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownAdapterError, match=r"no adapter 'simulatd'; known: .*simulated"):
        adapter_class("simulatd")
    assert issubclass(UnknownAdapterError, ArmError)


@pytest.mark.usefixtures("other_distribution")
def test_adapters_of_other_distributions_are_found_and_imported_when_asked_for() -> None:
    assert known_adapters() == sorted({"absent", "acme", "broken", "mute", *BUILT_IN})
    assert "acme_arm" not in sys.modules
    assert adapter_class("acme") is sys.modules["acme_arm"].AcmeArm


@pytest.mark.usefixtures("other_distribution")
def test_a_built_in_name_cannot_be_taken_over() -> None:
    assert adapter_class("simulated") is SimulatedArm


@pytest.mark.usefixtures("other_distribution")
@pytest.mark.parametrize(
    ("name", "what"), [("broken", "acme_vendor_library"), ("absent", "NoSuchArm"), ("mute", "no `about`")]
)
def test_an_adapter_that_cannot_be_imported_says_why(name: str, what: str) -> None:
    with pytest.raises(AdapterImportError, match=f"adapter {name} .*{what}"):
        adapter_class(name)


@pytest.mark.usefixtures("other_distribution")
def test_every_adapter_is_told_with_where_it_is_from() -> None:
    origins = dict(registered())
    assert (origins["simulated"], origins["acme"]) == ("built in", "acme 1.0")
    assert list(origins) == known_adapters()


def test_the_methods_are_those_of_the_service(vectors_dir: Path) -> None:
    text = (vectors_dir / "kinova_rpcs.json").read_text()
    assert len(CONTROL_CONFIG_METHODS) == 30
    assert all(f'"rpc": "{name}"' in text for name in CONTROL_CONFIG_METHODS)
