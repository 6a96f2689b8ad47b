#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The containers of the chart's DaemonSet start and work with what the chart gives to them.

usage: test_daemonset.py CLEAVE-KUBELET CLEAVED CLEAVE NVML-DOUBLES [unittest arguments]"""
import json
import os
import shutil
import sys
import tempfile
import unittest

import amd
import bed
import helm
from bed import Bed
from daemonset import Container

sys.path.insert(0, os.path.join(bed.ROOT, "tests/bridge"))
sys.path.insert(0, os.path.join(bed.ROOT, "tests/sysfs"))
import podman  # noqa: E402
from trees import Tree  # noqa: E402

SHARE = "cleave.dev/gpu-share"
KUBELET = "/var/lib/kubelet"
DOUBLES = sys.argv.pop(4)


@unittest.skipIf(helm.why_not(), helm.why_not())
class DaemonSet(Bed):
    def setUp(self):
        why = podman.why_not()
        if why:
            self.skipTest(why)
        super().setUp()
        self.podman = podman.Podman()
        self.addCleanup(self.podman.close)
        self.kubelet.start()
        self.runtime = os.path.dirname(self.agent.api)

    def folder_of(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(path, exist_ok=True)
        return path

    def devices(self):
        """/dev of a machine with an AMD GPU of eight partitions; runc needs the rest."""
        for name in ("dev/dri", "dev/pts", "dev/shm", "dev/mqueue"):
            self.folder_of(name)
        for name in ("dev/null", "dev/kfd", *(f"dev/dri/renderD{128 + i}" for i in range(8))):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8"):
                pass
        return os.path.join(self.folder, "dev")

    def container(self, name, **values):
        """The container, with the host's folders in the folder of the test."""
        folders = {f"{KUBELET}/{each}": os.path.join(self.kubelet.folder, each)
                   for each in os.listdir(self.kubelet.folder)}
        made = Container({"extender": {"enabled": False}, **values}, name, {
            **folders, "/run/cleave": self.runtime, "/var/lib/cleave": self.folder_of("state"),
            "/": self.folder_of("driver"), "/run/nvidia/driver": self.folder_of("driver"),
            "/var/run/cdi": self.folder_of("cdi"), "settings": self.folder_of("settings"),
            "empty": self.folder_of("empty"), "/dev": self.devices()})
        self.write_config_map({each: made.settings(each)
                               for each in ("kubelet.yaml", "cleaved.yaml")})
        return made

    def write_config_map(self, texts):
        """As kubelet does: every user can write the folder, whose files are links to those of
        a folder that is replaced as a whole."""
        folder = self.folder_of("settings")
        os.chmod(folder, 0o777)
        os.makedirs(os.path.join(folder, "..2026_01_01_00_00_00.1"), exist_ok=True)
        for target, link in (("..2026_01_01_00_00_00.1", "..data"),
                             *((f"..data/{each}", each) for each in texts)):
            if not os.path.lexists(os.path.join(folder, link)):
                os.symlink(target, os.path.join(folder, link))
        for name, text in texts.items():
            with open(os.path.join(folder, "..data", name), "w", encoding="utf-8") as file:
                file.write(text)

    def start(self, container, *options):
        """Starts the container, and returns its name."""
        name = f"cleave-{container.spec['name']}-{os.getpid()}"
        program, *arguments = container.spec["command"]
        self.podman.started.append(name)
        done = self.podman.call(
            "run", "--detach", "--name", name, *self.podman.options((), "/:O")[:-2],
            *container.options(), *options, "--rootfs", "/:O", self.program(program), *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return name

    @staticmethod
    def program(name):
        return bed.PROGRAMS[name.removeprefix("cleave-")]

    def test_kubelet_serves(self):
        container = self.container("kubelet")
        name = self.start(container)
        self.assertEqual(len(self.kubelet.resource(SHARE).healthy()), 100)
        self.check_probes(container, name)

    def check_probes(self, container, name):
        for kind in ("livenessProbe", "readinessProbe"):
            program, *arguments = container.spec[kind]["exec"]["command"]
            self.assertTrue(bed.wait_until(lambda: self.podman.inside(
                name, self.program(program), *arguments).returncode == 0), kind)

    def test_agent_finds_the_driver(self):
        """The agent of the pod uses the library below the root of the driver."""
        self.runtime = self.folder_of("run")
        container = self.container("agent")
        library = os.path.join(self.folder_of("driver/usr/lib64"), "libnvidia-ml.so.1")
        shutil.copy(os.path.join(DOUBLES, "r580/libnvidia-ml.so.1"), library)
        node = self.folder_of("node")
        with open(os.path.join(node, "node"), "w", encoding="utf-8") as file:
            file.write("gpu H100-80GB\n")
        name = self.start(container, f"--env=CLV_NVML_DOUBLE={node}")
        self.check_probes(container, name)
        done = self.podman.inside(name, bed.PROGRAMS["cleave"], "devices", "-o", "json",
                                  "--socket=/run/cleave/api.sock")
        models = [each["model"] for each in json.loads(done.stdout)["items"]]
        self.assertIn("NVIDIA H100 80GB HBM3", models)


class Amd(DaemonSet):
    test_kubelet_serves = test_agent_finds_the_driver = None

    def setUp(self):
        tree = self.enterContext(Tree())
        self.agent_env = amd.add_partitions(tree)
        super().setUp()

    def test_device_nodes(self):
        self.start(self.container("kubelet"))
        self.kubelet.resource("cleave.dev/cpx-nps4")
        self.kubelet.admit("p", {"c": {"cleave.dev/cpx-nps4": 1}})
        (name,) = os.listdir(os.path.join(self.folder, "cdi"))
        with open(os.path.join(self.folder, "cdi", name), encoding="utf-8") as file:
            (device,) = json.load(file)["devices"]
        nodes = [node["path"] for node in device["containerEdits"]["deviceNodes"]]
        self.assertEqual(nodes[0], "/dev/kfd")
        self.assertRegex(nodes[1], "^/dev/dri/renderD1(2[89]|3[0-5])$")


class Nvidia(DaemonSet):
    """The driver is in a container of NVIDIA's GPU operator."""
    test_kubelet_serves = test_agent_finds_the_driver = None

    def setUp(self):
        self.world = self.enterContext(tempfile.TemporaryDirectory(prefix="cleave-node-"))
        with open(os.path.join(self.world, "node"), "w", encoding="utf-8") as file:
            file.write("gpu H100-80GB\n")
        self.agent_env = {"CLV_NVML_DOUBLE": self.world,
                          "LD_LIBRARY_PATH": os.path.join(DOUBLES, "r580")}
        super().setUp()
        (self.gpu,) = (each for each in self.agent.get("/v1/devices")["items"]
                       if each["vendor"] == "nvidia")

    def put(self, path, text=""):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_pods_get_the_driver(self):
        for name in ("usr/lib64/libcuda.so.580.1", "dev/nvidia0", "dev/nvidiactl"):
            self.put(f"driver/{name}")
        self.put("proc/driver/nvidia/gpus/0000:01:00.0/information",
                 f"GPU UUID: \t {self.gpu['uuid']}\nDevice Minor: \t 0\n")
        self.start(self.container("kubelet", driverRoot="/run/nvidia/driver", undivided="whole"),
                   f"--volume={self.folder}/proc:/other-proc", "--env=CLEAVE_PROCFS=/other-proc")
        self.kubelet.resource("cleave.dev/gpu")
        self.kubelet.admit("p", {"c": {"cleave.dev/gpu": 1}})
        (name,) = os.listdir(os.path.join(self.folder, "cdi"))
        with open(os.path.join(self.folder, "cdi", name), encoding="utf-8") as file:
            edits = json.load(file)["devices"][0]["containerEdits"]
        self.assertEqual([node["hostPath"] for node in edits["deviceNodes"]],
                         ["/run/nvidia/driver/dev/nvidia0", "/run/nvidia/driver/dev/nvidiactl"])
        mounts = {each["containerPath"]: each["hostPath"] for each in edits["mounts"]}
        self.assertEqual(mounts["/usr/lib64/libcuda.so.1"],
                         "/run/nvidia/driver/usr/lib64/libcuda.so.580.1")


if __name__ == "__main__":
    bed.main()
