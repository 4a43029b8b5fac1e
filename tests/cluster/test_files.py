"""The files for each place: by Ray's own schema check, by the fields of KubeRay's custom resources, by shellcheck."""

import copy
import logging
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.support.sweeps import ROOT

CLUSTER = ROOT / "cluster"
AUTOSCALED = ("aws", "gcp", "on-premise")
KUBERAY = ("raycluster", "rayjob")
Fields = dict[str, Any]

# What the custom resources of KubeRay 1.5 to 1.7 take, as far as the files go: a mapping is an object with these
# fields, a list of one is a list of such, a type is a value, a tuple is one of these words, None is anything.
RESOURCES: Fields = {"requests": dict, "limits": dict}
CONTAINER: Fields = {
    "name": str,
    "image": str,
    "env": [{"name": str, "value": str}],
    "volumeMounts": [{"name": str, "mountPath": str, "readOnly": bool}],
    "resources": RESOURCES,
}
EXPRESSION: Fields = {"key": str, "operator": ("In", "NotIn", "Exists"), "values": [str]}
AFFINITY: Fields = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": int, "preference": {"matchExpressions": [EXPRESSION]}}
        ]
    }
}
POD: Fields = {
    "spec": {
        "serviceAccountName": str,
        "terminationGracePeriodSeconds": int,
        "affinity": AFFINITY,
        "tolerations": [{"key": str, "operator": str, "value": str, "effect": str}],
        "volumes": [{"name": str, "configMap": {"name": str}}],
        "containers": [CONTAINER],
    }
}
RAY_CLUSTER: Fields = {
    "rayVersion": str,
    "authOptions": {"mode": ("disabled", "token")},
    "enableInTreeAutoscaling": bool,
    "autoscalerOptions": {
        "version": ("v1", "v2"),
        "idleTimeoutSeconds": int,
        "upscalingMode": ("Default", "Aggressive", "Conservative"),
    },
    "headGroupSpec": {"rayStartParams": dict, "template": POD},
    "workerGroupSpecs": [
        {
            "groupName": str,
            "minReplicas": int,
            "maxReplicas": int,
            "replicas": int,
            "rayStartParams": dict,
            "template": POD,
        }
    ],
}
RAY_JOB: Fields = {
    "entrypoint": str,
    "metadata": dict,
    "runtimeEnvYAML": str,
    "backoffLimit": int,
    "shutdownAfterJobFinishes": bool,
    "ttlSecondsAfterFinished": int,
    "rayClusterSpec": RAY_CLUSTER,
}
KINDS: dict[str, Fields] = {"RayCluster": RAY_CLUSTER, "RayJob": RAY_JOB}


def load(name: str) -> Any:
    """A YAML file of cluster/, as plain data."""
    return YAML(typ="safe").load((CLUSTER / name).read_text())


def problems(found: Any, allowed: Any, at: str = "spec") -> list[str]:
    """Where a document has what the resource does not take."""
    if isinstance(allowed, list):
        if not isinstance(found, list):
            return [f"{at}: not a list"]
        return [problem for i, item in enumerate(found) for problem in problems(item, allowed[0], f"{at}[{i}]")]
    if isinstance(allowed, dict):
        if not isinstance(found, dict):
            return [f"{at}: not an object"]
        strange = [f"{at}.{key}: no such field" for key in found if key not in allowed]
        known = [key for key in found if key in allowed]
        return strange + [p for key in known for p in problems(found[key], allowed[key], f"{at}.{key}")]
    if isinstance(allowed, tuple):
        return [] if found in allowed else [f"{at}: got {found!r}, allowed is one of {allowed}"]
    return [] if isinstance(found, allowed) else [f"{at}: got {found!r}, needed is {allowed.__name__}"]


def groups(document: Any) -> list[Any]:
    """The head's and the workers'."""
    spec = document["spec"].get("rayClusterSpec", document["spec"])
    return [spec["headGroupSpec"], *spec["workerGroupSpecs"]]


class TestAutoscaler:
    @pytest.fixture(autouse=True)
    def _quiet(self) -> None:
        logging.getLogger("ray").setLevel(logging.ERROR)

    @pytest.mark.parametrize("name", AUTOSCALED)
    def test_ray_takes_it(self, name: str) -> None:
        from ray.autoscaler._private.util import prepare_config, validate_config

        validate_config(prepare_config(load(f"{name}.yaml")))

    def test_ray_does_not_take_just_anything(self) -> None:
        from jsonschema import ValidationError
        from ray.autoscaler._private.util import prepare_config, validate_config

        wrong = {**load("aws.yaml"), "max_worker": 3}
        with pytest.raises(ValidationError):
            validate_config(prepare_config(wrong))

    @pytest.mark.parametrize("name", AUTOSCALED)
    def test_the_token_goes_to_every_node_and_the_dashboard_stays_on_loopback(self, name: str) -> None:
        config = load(f"{name}.yaml")
        assert [here for there, here in config["file_mounts"].items() if there.endswith("/.ray/auth_token")]
        assert any("chmod 600" in command for command in config["setup_commands"])
        starts = [config[f"{who}_start_ray_commands"][-1] for who in ("head", "worker")]
        assert all(command.startswith("RAY_AUTH_MODE=token ") for command in starts)
        made = [config[f"{who}_start_ray_commands"][-2] for who in ("head", "worker")]
        assert all(command.startswith("mkdir -p -m 700 /tmp/mulex-$(id -u) && test -O ") for command in made)
        assert all("--temp-dir=/tmp/mulex-$(id -u)/ray " in command for command in starts)
        assert "--dashboard-host=127.0.0.1" in starts[0]

    def test_workers_are_spot_machines(self) -> None:
        aws = load("aws.yaml")["available_node_types"]["spot"]
        assert aws["node_config"]["InstanceMarketOptions"] == {"MarketType": "spot"}
        gcp = load("gcp.yaml")["available_node_types"]["preemptible"]
        assert gcp["node_config"]["scheduling"] == [{"preemptible": True}]
        assert {kind["min_workers"] for kind in (aws, gcp)} == {0}


class TestKubeRay:
    @pytest.mark.parametrize("name", KUBERAY)
    def test_it_has_known_fields_only(self, name: str) -> None:
        document = load(f"kuberay/{name}.yaml")
        assert document["apiVersion"] == "ray.io/v1"
        assert problems(document["spec"], KINDS[document["kind"]]) == []

    def test_the_check_finds_what_is_wrong(self) -> None:
        spec = copy.deepcopy(load("kuberay/raycluster.yaml")["spec"])
        spec["headGroupSpec"]["rayStartParam"] = {}
        spec["workerGroupSpecs"][0]["maxReplicas"] = "32"
        spec["authOptions"]["mode"] = "on"
        assert problems(spec, RAY_CLUSTER) == [
            "spec.authOptions.mode: got 'on', allowed is one of ('disabled', 'token')",
            "spec.headGroupSpec.rayStartParam: no such field",
            "spec.workerGroupSpecs[0].maxReplicas: got '32', needed is int",
        ]

    @pytest.mark.parametrize("name", KUBERAY)
    def test_parameters_of_ray_start_are_text_and_exist(self, name: str) -> None:
        from ray.scripts.scripts import start

        known = {option.removeprefix("--") for parameter in start.params for option in parameter.opts}
        for group in groups(load(f"kuberay/{name}.yaml")):
            assert all(isinstance(value, str) for value in group["rayStartParams"].values())
            assert set(group["rayStartParams"]) <= known

    @pytest.mark.parametrize("name", KUBERAY)
    def test_every_pod_asks_for_what_it_may_use(self, name: str) -> None:
        for group in groups(load(f"kuberay/{name}.yaml")):
            for container in group["template"]["spec"]["containers"]:
                assert container["resources"]["requests"] == container["resources"]["limits"]

    def test_the_job_runs_a_command_that_exists(self) -> None:
        from cluster.cli import COMMANDS

        words = load("kuberay/rayjob.yaml")["spec"]["entrypoint"].split()
        assert words[0] == "mulex"
        assert words[1] in COMMANDS


def scripts() -> list[Path]:
    """Every shell script of the layer."""
    return sorted(path for path in CLUSTER.rglob("*") if path.suffix in (".sh", ".sbatch"))


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed: apt-get install shellcheck")
@pytest.mark.parametrize("script", scripts(), ids=lambda path: path.name)
def test_shellcheck_has_nothing_to_say(script: Path) -> None:
    ended = subprocess.run(["shellcheck", str(script)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


def test_the_versions_of_the_image_are_those_of_the_constraints() -> None:
    pinned = dict(re.findall(r"^([a-z]+)==([^ ;\n]+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    base = re.search(r"ARG BASE=rayproject/ray:([0-9.]+)-", (CLUSTER / "Dockerfile").read_text())
    assert base is not None
    assert base[1] == pinned["ray"]
    for name in KUBERAY:
        spec = load(f"kuberay/{name}.yaml")["spec"]
        assert spec.get("rayClusterSpec", spec)["rayVersion"] == pinned["ray"]
