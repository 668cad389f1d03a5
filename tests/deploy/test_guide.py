"""Walks through the guide of `deploy/` on a booted Debian, word by word, to a first change over TLS and beyond."""

import contextlib
import json
import re
import shlex
from collections.abc import Iterator

import pytest

from tests.deploy.booted import PAGE, PLACE, BootedDebian, missing
from tests.deploy.package import built_package
from tests.mosquitto import SHIPPED

GUIDE = (SHIPPED.parent / "README.md").read_text()
HOST = "mqtt.plant.example"
ONLINE = re.compile(r"^(apt|/opt/\S+/pip) install", re.MULTILINE)
"""Commands that fetch packages; all others are run without a network."""

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]


def commands(section: str) -> list[str]:
    """The blocks of commands of a section of the guide, in order."""
    text = GUIDE.partition(f"\n## {section}")[2].partition("\n## ")[0]
    assert text, section
    blocks = re.findall(r"(?:^    .*\n(?:\n(?=    ))?)+", text, re.MULTILINE)
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in blocks]


class Walk:
    """The guide, done so far."""

    def __init__(self, debian: BootedDebian) -> None:
        self.debian = debian

    def section(self, name: str) -> list[str]:
        """Run the blocks of a section; what each printed."""
        return [self.debian.run(block, online=bool(ONLINE.search(block))) for block in commands(name)]

    def until(self, condition: str) -> None:
        """Wait until a command inside succeeds."""
        self.debian.run(f"for i in $(seq 300); do if {condition}; then exit 0; fi; sleep 0.2; done; exit 1")

    as_alice = f"-h {HOST} -p 8883 --cafile /etc/armbroker/ca.crt -u alice -P $(cat /root/alice.password)"

    def request(self, leaf: str, method: str, params: str, arm: str = "r12") -> dict[str, object]:
        """A request of alice, sent again with the same id while no reply comes; its reply."""
        command = (
            f"mosquitto_rr -V 5 {self.as_alice} -i alice-sh -q 1 -W 12 -e armbroker/v1/res/alice/alice-sh/{leaf} "
            f"""-t armbroker/v1/req/alice/alice-sh/{arm}/{method} -m '{{"id":"{leaf}","params":{params}}}'"""
        )
        reply = self.debian.run(f"for i in $(seq 10); do {command} && exit 0; sleep 1; done; exit 1")
        document: dict[str, object] = json.loads(reply)
        return document

    @contextlib.contextmanager
    def nonsense(self) -> Iterator[None]:
        """Settings that cannot be used, for a while."""
        self.debian.run("cp -p /etc/armbroker/fleet.toml /root/good.toml; echo 'x = 1' >> /etc/armbroker/fleet.toml")
        try:
            yield
        finally:
            self.debian.run("cp -p /root/good.toml /etc/armbroker/fleet.toml")

    def log(self) -> str:
        """What the service told the journal."""
        return self.debian.run("journalctl -u armbroker -o cat --no-pager")

    def pid(self) -> str:
        """The number of its process, as the unit knows it."""
        return self.debian.run("systemctl show armbroker -p MainPID --value").strip()


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    """A system on which sections 1 to 3 were done."""
    if reason := missing():
        pytest.skip(f"no Debian can be booted here: {reason}")
    with BootedDebian(tmp_path_factory.mktemp("debian"), (HOST,)) as debian:
        deb = built_package(tmp_path_factory)
        debian.run(f"cat > {PLACE}/deploy/{deb.name}", given=deb.read_bytes())
        walk = Walk(debian)
        for name in ("1. Certificates", "2. The MQTT server", "3. The service"):
            walk.section(name)
        yield walk


def test_a_first_change_is_made_over_tls(walk: Walk) -> None:
    walk.until("journalctl -u armbroker -o cat --no-pager | grep -q documents_compared")
    said, _ = walk.section("4. Is it there?")
    presence, _, reply = said.partition("\n")
    assert json.loads(presence.partition(" ")[2])["state"] == "online"
    assert json.loads(reply)["stage"] == "applied"
    walk.until(f"{PAGE} / | grep '<title>armbroker' >/dev/null")
    slower = '{"control_mode":"CARTESIAN_JOYSTICK","twist_linear_soft_limit":0.15}'
    assert walk.request("page1", "SetTwistLinearSoftLimit", slower)["stage"] == "applied"
    assert "0.15" in walk.debian.run(f"timeout 5 {PAGE} /api/stream", check=False)


def test_the_log_has_priorities_and_a_line_a_change(walk: Walk) -> None:
    walk.request(
        "log1", "SetTwistLinearSoftLimit", '{"control_mode":"CARTESIAN_JOYSTICK","twist_linear_soft_limit":0.3}'
    )
    lines = walk.debian.run("journalctl -u armbroker -p info..info -o cat --no-pager").splitlines()
    changes = [json.loads(line) for line in lines if '"event":"change"' in line]
    assert any(change["request_id"] == "alice/alice-sh/log1" for change in changes)


def test_settings_that_cannot_be_used_fail_the_reload_and_change_nothing(walk: Walk) -> None:
    before = walk.pid()
    with walk.nonsense():
        failed = walk.debian.run("systemctl reload armbroker 2>/dev/null || echo failed")
    assert failed == "failed\n"
    assert "fleet.toml:" in walk.log()
    walk.debian.run("systemctl reload armbroker")
    assert walk.pid() == before
    assert walk.request("rel1", "GetGravityVector", "{}")["ok"]


def test_a_kill_is_followed_by_a_start_and_wrong_settings_are_not(walk: Walk) -> None:
    before = walk.pid()
    walk.debian.run(f"kill -9 {before}")
    walk.until(
        'test "$(systemctl show armbroker -p MainPID --value)" -gt 0 -a "$(systemctl is-active armbroker)" = active'
    )
    assert walk.pid() != before
    assert walk.request("kill1", "GetGravityVector", "{}")["ok"]
    with walk.nonsense():
        walk.debian.run("systemctl restart armbroker || true")
        walk.until('test "$(systemctl is-failed armbroker)" = failed')
    walk.debian.run("systemctl start armbroker")
    assert walk.request("kill2", "GetGravityVector", "{}")["ok"]


def test_certificate_and_password_are_renewed_while_it_runs(walk: Walk) -> None:
    before = walk.pid()
    serial = "openssl s_client -connect 127.0.0.1:8883 </dev/null 2>/dev/null | openssl x509 -noout -serial"
    first = walk.debian.run(serial)
    walk.debian.run(commands("1. Certificates")[1])
    walk.section("5. Renewals")
    assert walk.debian.run(serial) != first
    assert walk.request("ren1", "GetGravityVector", "{}")["ok"]
    assert walk.pid() == before


ROS_ARM = """
[[arm]]
id = "r20"
adapter = "ros2"
authority = "control"
[arm.options]
node = "/arm/driver"
python = "/opt/armbroker/.venv-ros/bin/python"
"""
ROS_PARAMETERS = """
/arm/driver:
  ros__parameters:
    joint_limits.joint_1.has_velocity_limits: true
    joint_limits.joint_1.max_velocity: 1.5
"""
ROS_NODE = '{"name": "driver", "namespace": "/arm", "domain": 0}'


def test_a_ros_2_node_of_another_user_is_changed_under_the_shipped_unit(walk: Walk) -> None:
    run = walk.debian.run
    run("useradd --create-home robot; cat > /home/robot/parameters.yaml", given=ROS_PARAMETERS.encode())
    run("cat >> /etc/armbroker/fleet.toml", given=ROS_ARM.encode())
    walk.section("6. ROS 2 arms")
    node = run("echo /usr/lib/armbroker/lib/python3*/site-packages/devices/ros2/arm_node.py").strip()
    command = f"sleep 900 | /opt/armbroker/.venv-ros/bin/python {node} '{ROS_NODE}'"
    command += " --ros-args --params-file /home/robot/parameters.yaml"
    run(f"systemd-run --unit=robot --uid=robot -E HOME=/home/robot sh -c {shlex.quote(command)}")
    walk.until("journalctl -u robot -o cat --no-pager | grep -q ready")
    walk.until(
        f"mosquitto_sub {walk.as_alice} -i alice-m -t armbroker/v1/state/r20/presence -C 1 -W 5 | grep -q online"
    )
    params = '{"parameters":{"joint_limits.joint_1.max_velocity":1.0}}'
    assert walk.request("ros1", "SetJointParameters", params, arm="r20")["stage"] == "applied"
    assert "Operation not permitted" not in walk.log()
    run("systemd-analyze security --threshold=15 armbroker >/dev/null")


def test_the_unit_is_not_told_to_be_unsafe(walk: Walk) -> None:
    walk.debian.run("systemd-analyze security --threshold=15 armbroker >/dev/null")
