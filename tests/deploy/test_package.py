"""The Debian package: what is in it, and its life on a booted Debian, from the installation to the purge."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.deploy.booted import PAGE, BootedDebian, missing
from tests.deploy.package import BEFORE, LATER, built_package, commit_before, later_release, release_before, version
from tests.mosquitto import ROOT

MOST_MIB = 120
SET = "SetTwistLinearSoftLimit"
STORE = "/var/lib/armbroker/store.sqlite3"
SETTINGS = """
[mqtt]
url = "mqtt://127.0.0.1:1883"
client_id = "service"
[store]
dir = "/var/lib/armbroker"
[clients."*"]
rights = ["write"]
[[arm]]
id = "r12"
model = "gen3_7dof"
"""
DROP_INS = "/etc/systemd/system/armbroker.service.d"
QUICK = "[Service]\nWatchdogSec=8\nTimeoutAbortSec=2\nRestartSec=100ms\n"
WAY_BACK = """[Service]
ExecStart=
ExecStart=/usr/bin/armbroker run --config /etc/armbroker/fleet.toml --accept-lost-history
"""

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]


@pytest.fixture(scope="session")
def deb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of this checkout."""
    return built_package(tmp_path_factory)


def field(deb: Path, name: str) -> str:
    """A field of the package."""
    return subprocess.run(["dpkg-deb", "-f", deb, name], check=True, capture_output=True, text=True).stdout.strip()


def listed(deb: Path) -> dict[str, tuple[str, str]]:
    """Mode and owner of each file."""
    lines = subprocess.run(["dpkg-deb", "-c", deb], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split(maxsplit=5) for line in lines]
    return {row[5].partition(" -> ")[0].removeprefix("."): (row[0], row[1]) for row in rows}


def test_the_package_has_one_version_and_a_bounded_size(
    deb: Path, record_property: Callable[[str, object], None]
) -> None:
    assert (field(deb, "Package"), field(deb, "Version")) == ("armbroker", version())
    installed_mib = int(field(deb, "Installed-Size")) / 1024
    record_property("told", f"package: {installed_mib:.0f} MiB installed")
    assert installed_mib <= MOST_MIB


def test_the_package_has_what_a_debian_expects_and_nothing_of_the_building_machine(deb: Path, tmp_path: Path) -> None:
    files = listed(deb)
    for path in (
        "/etc/armbroker/fleet.toml", "/usr/bin/armbroker", "/usr/lib/systemd/system/armbroker.service",
        "/usr/lib/sysusers.d/armbroker.conf", "/usr/lib/tmpfiles.d/armbroker.conf",
        "/usr/share/man/man1/armbroker.1.gz", "/usr/share/man/man5/fleet.toml.5.gz",
        "/usr/share/bash-completion/completions/armbroker", "/usr/share/zsh/vendor-completions/_armbroker",
        "/usr/share/armbroker/mosquitto/armbroker.acl", "/usr/share/doc/armbroker/copyright",
        "/usr/share/doc/armbroker/changelog.gz", "/usr/share/doc/armbroker/CHANGELOG.md.gz",
    ):  # fmt: skip
        assert path in files, path
    assert {owner for _, owner in files.values()} == {"root/root"}
    writable = [path for path, (mode, _) in files.items() if mode[0] != "l" and "w" in mode[4:]]
    assert writable == []
    modules = {path for path in files if path.endswith(".py") and "/site-packages/" in path}
    compiled = {
        re.sub(r"__pycache__/(.+)\.cpython-\d+\.pyc", r"\1.py", path) for path in files if path.endswith(".pyc")
    }
    assert modules == compiled
    subprocess.run(["dpkg-deb", "-x", str(deb), str(tmp_path)], check=True)
    traces = ["grep", "-rIl", "--exclude=*.md", str(ROOT), str(tmp_path)]
    assert subprocess.run(traces, capture_output=True, text=True, check=False).stdout == ""


def test_every_library_is_pinned() -> None:
    lines = (ROOT / "deploy/deb/constraints.txt").read_text().splitlines()
    pinned = {re.sub(r"[-_.]+", "-", line.partition("==")[0]).lower() for line in lines if not line.startswith("#")}

    def needed(name: str) -> set[str]:
        found = {re.sub(r"[-_.]+", "-", name).lower()}
        for one in requires(name) or ():
            requirement = Requirement(one)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                found |= needed(requirement.name)
        return found

    assert pinned == needed("armbroker") - {"armbroker"}


def test_lintian_finds_nothing(deb: Path) -> None:
    if shutil.which("lintian") is None:
        pytest.skip("lintian is missing")
    command = ["lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", str(deb)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


class Machine:
    """A Debian with the package of this checkout, and the one of a release to come."""

    def __init__(self, debian: BootedDebian) -> None:
        self.run = debian.run

    def property(self, name: str) -> str:
        """What systemd says of the unit."""
        return self.run(f"systemctl show armbroker -p {name} --value").strip()

    def until(self, condition: str) -> None:
        """Wait until a command inside succeeds."""
        self.run(f"for i in $(seq 300); do if {condition}; then exit 0; fi; sleep 0.2; done; exit 1")

    def until_active(self) -> None:
        """Wait until the service serves."""
        self.until('test "$(systemctl is-active armbroker)" = active')

    def call(self, method: str, params: str = "{}") -> dict[str, object]:
        """A request from the command line; its reply."""
        reply: dict[str, object] = json.loads(self.run(f"armbroker call r12 {method} '{params}' --json"))
        return reply

    def version(self) -> str:
        """What the command says."""
        return self.run("armbroker --version").strip()

    def there(self, path: str) -> bool:
        """Whether a path exists."""
        return self.run(f"if [ -e {path} ]; then echo yes; fi") != ""


@pytest.fixture
def machine(deb: Path, tmp_path: Path) -> Iterator[Machine]:
    """A Debian with three releases in /root, and Mosquitto as Debian configures it."""
    if reason := missing():
        pytest.skip(f"no Debian can be booted here: {reason}")
    before, later = release_before(deb, tmp_path), later_release(deb, tmp_path)
    with BootedDebian(tmp_path) as debian:
        for path, name in ((before, "before.deb"), (deb, "now.deb"), (later, "later.deb")):
            debian.run(f"cat > /root/{name}", given=path.read_bytes())
        debian.run("apt-get update -q && apt-get install -y -q --no-install-recommends mosquitto python3", online=True)
        yield Machine(debian)


def test_the_life_of_an_installation(machine: Machine) -> None:
    a_store_of_a_release_before_goes_on(machine)
    installed(machine)
    the_readme_leads_to_a_first_change_on_the_page(machine)
    a_service_that_stands_still_is_started_anew(machine)
    an_update_migrates_and_goes_on(machine)
    an_older_program_refuses_the_store_by_name(machine)
    each_script_may_run_again(machine)
    an_update_waits_for_no_mqtt_server(machine)
    a_removal_keeps_settings_and_store(machine)
    a_purge_keeps_the_store_alone(machine)
    a_purge_may_take_the_store(machine)


def a_store_of_a_release_before_goes_on(machine: Machine) -> None:
    """What it set is in force, its history is told, its settings count; then all of it goes."""
    machine.run("apt-get install -y -q --no-install-recommends /root/before.deb", online=True)
    assert machine.version() == f"armbroker {BEFORE}"
    machine.run("cat > /etc/armbroker/fleet.toml && systemctl enable --now armbroker", given=SETTINGS.encode())
    for value in (0.3, 0.25):
        machine.call(SET, f'{{"control_mode":"CARTESIAN_JOYSTICK","twist_linear_soft_limit":{value}}}')
    machine.run("apt-get install -y -q -o Dpkg::Options::=--force-confold /root/now.deb")
    assert machine.version() == f"armbroker {version()}"
    machine.until_active()
    migrated = "store_migrated" in machine.run("journalctl -u armbroker -o cat --no-pager")
    assert migrated is machine.there(f"{STORE}.v5") is bool(commit_before())
    assert "0.25" in json.dumps(machine.call("GetKinematicSoftLimits", '{"control_mode":"CARTESIAN_JOYSTICK"}'))
    history = json.dumps(machine.call("GetHistory")["result"])
    assert all(value in history for value in ("0.5", "0.3", "0.25"))
    machine.run("ARMBROKER_PURGE_STORE=yes apt-get purge -y -q armbroker")


def installed(machine: Machine) -> None:
    """Nothing is started, and what is missing is told by name."""
    machine.run("apt-get install -y -q --no-install-recommends /root/now.deb", online=True)
    assert machine.version() == f"armbroker {version()}"
    assert machine.property("ActiveState") == "inactive"
    told = machine.run("armbroker run --check --config /etc/armbroker/fleet.toml 2>&1 || echo code $?")
    assert "/etc/armbroker/ca.crt" in told
    assert told.endswith("code 2\n")
    assert machine.run("stat -c '%U:%G %a' /etc/armbroker/fleet.toml").strip() == "root:armbroker 640"
    machine.run("cat > /etc/armbroker/fleet.toml", given=SETTINGS.encode())
    assert machine.run("cd /tmp && mkdir -p broker && touch broker/__init__.py && PYTHONPATH=/tmp armbroker --version")


def the_readme_leads_to_a_first_change_on_the_page(machine: Machine) -> None:
    """Its block is run as it stands, but that the package is there; `systemctl` returns when requests are served."""
    section = (ROOT / "README.md").read_text().partition("\n## Install\n")[2].partition("\n## ")[0]
    install, check, enable, page, change = re.findall("^    (.+)$", section, re.MULTILINE)
    assert install == "apt install ./armbroker_*.deb"
    assert machine.run(check).endswith("ok: 1 arms\n")
    machine.run("systemd-analyze verify armbroker.service && systemd-analyze security --threshold=15 armbroker >&2")
    machine.run(enable)
    assert machine.property("StatusText").startswith("serving 1 arms")
    machine.run(page)
    machine.until(f"{PAGE} / | grep '<title>armbroker' >/dev/null")
    assert "applied" in machine.run(change)
    machine.until(f"(timeout 5 {PAGE} /api/stream || true) | grep '\"after\":0.2' >/dev/null")
    machine.run("systemctl stop 'run-*.service'")
    machine.run("systemctl reload armbroker")
    machine.until('test "$(systemctl show armbroker -p StatusText --value)" = "the settings were read again"')
    machine.until_active()


def a_service_that_stands_still_is_started_anew(machine: Machine) -> None:
    """And where it stood is in the journal."""
    machine.run(f"mkdir -p {DROP_INS} && cat > {DROP_INS}/quick.conf", given=QUICK.encode())
    machine.run("systemctl daemon-reload && systemctl restart armbroker")
    before = machine.property("MainPID")
    machine.run(f"kill -STOP {before}")
    machine.until(f'test "$(systemctl show armbroker -p MainPID --value)" -gt 0 -a "$(pidof -x armbroker)" != {before}')
    machine.until_active()
    assert int(machine.property("NRestarts")) >= 1
    told = machine.run("journalctl -u armbroker -o cat --no-pager")
    assert "Watchdog timeout" in told
    assert "Fatal Python error: Aborted" in told
    machine.run(f"rm {DROP_INS}/quick.conf && systemctl daemon-reload")
    assert machine.call("GetKinematicSoftLimits", '{"control_mode":"CARTESIAN_JOYSTICK"}')["ok"]


def an_update_migrates_and_goes_on(machine: Machine) -> None:
    """A copy of the store stays, settings too; the service is what it was: active and enabled."""
    assert not machine.there(f"{STORE}.v*")
    machine.run("apt-get install -y -q -o Dpkg::Options::=--force-confold /root/later.deb")
    assert machine.version() == f"armbroker {LATER}"
    machine.until_active()
    assert "store_migrated" in machine.run("journalctl -u armbroker -o cat --no-pager")
    assert machine.there(f"{STORE}.v*")
    assert machine.run("systemctl is-enabled armbroker").strip() == "enabled"
    assert machine.run("cat /etc/armbroker/fleet.toml") == SETTINGS
    assert machine.run("stat -c '%U:%G %a' /etc/armbroker/fleet.toml").strip() == "root:armbroker 640"
    reply = machine.call("GetKinematicSoftLimits", '{"control_mode":"CARTESIAN_JOYSTICK"}')
    assert "0.2" in json.dumps(reply["result"])


def an_older_program_refuses_the_store_by_name(machine: Machine) -> None:
    """It is not tried again and again, nothing is touched, and the newer program goes on."""
    machine.run("dpkg --force-confold -i /root/now.deb")
    machine.until('test "$(systemctl is-failed armbroker)" = failed')
    assert (machine.property("ExecMainStatus"), machine.property("NRestarts")) == ("1", "0")
    told = machine.run("journalctl -u armbroker -o cat --no-pager -n 20")
    assert re.search(r"version \d+ is newer than \d+", told)
    assert "store.sqlite3.v" in told
    machine.run(f"rm -f {STORE}-wal {STORE}-shm && cp -p {STORE}.v* {STORE}")
    machine.run(f"cat > {DROP_INS}/back.conf && systemctl daemon-reload", given=WAY_BACK.encode())
    machine.run("systemctl reset-failed armbroker && systemctl start armbroker")
    assert machine.call("GetKinematicSoftLimits", '{"control_mode":"CARTESIAN_JOYSTICK"}')["ok"]
    machine.run(f"rm {DROP_INS}/back.conf && systemctl daemon-reload && systemctl stop armbroker")
    machine.run("dpkg --force-confold -i /root/later.deb && systemctl start armbroker")
    assert machine.call("GetKinematicSoftLimits", '{"control_mode":"CARTESIAN_JOYSTICK"}')["ok"]


def each_script_may_run_again(machine: Machine) -> None:
    """An update that was cut short is done again; the service is not touched where nothing is to be done."""
    pid = machine.property("MainPID")
    script = f"/var/lib/dpkg/info/armbroker.postinst configure {LATER}"
    machine.run(f"{script} && {script}")
    assert machine.property("MainPID") == pid
    machine.run("dpkg --force-confold --unpack /root/later.deb && dpkg --force-confold --unpack /root/later.deb")
    machine.run("dpkg --force-confold --configure armbroker")
    machine.until_active()


def an_update_waits_for_no_mqtt_server(machine: Machine) -> None:
    """The service does, and says so; it is there when the server is."""
    machine.run("systemctl stop mosquitto && timeout 60 dpkg --force-confold -i /root/later.deb")
    machine.until('systemctl show armbroker -p StatusText --value | grep -q "^waiting for the MQTT server"')
    assert machine.property("ActiveState") == "activating"
    machine.run("systemctl start mosquitto")
    machine.until_active()


def a_removal_keeps_settings_and_store(machine: Machine) -> None:
    """Back again it is as before."""
    machine.run("dpkg -r armbroker")
    assert machine.run("pgrep -u armbroker || true") == ""
    assert not machine.there("/usr/lib/armbroker")
    assert not machine.there("/usr/bin/armbroker")
    assert machine.there(STORE)
    assert machine.run("cat /etc/armbroker/fleet.toml") == SETTINGS
    machine.run("dpkg --force-confold -i /root/later.deb && systemctl start armbroker")
    assert machine.call("GetKinematicSoftLimits", '{"control_mode":"CARTESIAN_JOYSTICK"}')["ok"]


LEFT = (
    r"find / -xdev \( -path /proc -o -path /sys -o -path /root -o -path /var/log/journal -o -path /run/log \) "
    r"-prune -o \( -iname '*armbroker*' -o -user armbroker \) -print"
)


def a_purge_keeps_the_store_alone(machine: Machine) -> None:
    """And says so; of everything else nothing is left."""
    told = machine.run("dpkg -P armbroker 2>&1")
    assert "/var/lib/armbroker stays" in told
    assert "ARMBROKER_PURGE_STORE" in told
    left = machine.run(LEFT).splitlines()
    assert [path for path in left if not path.startswith("/var/lib/armbroker")] == []
    assert STORE in left


def a_purge_may_take_the_store(machine: Machine) -> None:
    """With its account."""
    machine.run("dpkg -i /root/later.deb && ARMBROKER_PURGE_STORE=yes apt-get purge -y -q armbroker")
    assert machine.run("getent passwd armbroker || getent group armbroker || true") == ""
    assert machine.run(LEFT.replace("-o -user armbroker", "")).splitlines() == []
