#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""From a pod or a lease to a CUDA program in a real container whose image has nothing of a driver:
libraries and device nodes come from below a driver's root, or as the vendor's CDI file says.

usage: test_driver_root.py CLEAVE-KUBELET CLEAVED CLEAVE BUILD [unittest arguments]"""
import json
import os
import shutil
import stat
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(HERE, "..", name) for name in ("kubernetes", "apply")]
import bed  # noqa: E402
import gpus  # noqa: E402
import podman  # noqa: E402
from test_dra import DraBed  # noqa: E402
import worlds  # noqa: E402

BUILD = os.path.abspath(sys.argv.pop(4))
worlds.set_build(BUILD)
GATES, HOOK = worlds.built("src/gate"), worlds.built("src/bridge/cdi/cleave-cdi-hook")
MEMORY, SPECS, VERSION = "cleave.dev/gpu-memory-1gi", "/etc/cdi", "580.1"
LIBRARIES = {"libcuda.so": "cuda/driver/libcuda.so.1", "libnvidia-ml.so": "nvml/r580/libnvidia-ml.so.1"}
# The address of a library in the container, without a cache of the dynamic loader.
PLACES = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64")
NODES = {"nvidia0": 0, "nvidiactl": 255, "nvidia-uvm": 1}  # and their minor numbers
RUNPATH = b"$ORIGIN/../doubles/cuda/driver"


def make_node(path, minor):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(195, minor))


class Bed(bed.Bed):
    """A machine with a GPU of the doubles, whose driver is below a root of its own."""
    settings = {"cdi": SPECS, "gates": GATES, "hook": HOOK, "undivided": "memory",
                "memory-unit": "1G"}
    node = "gpu H100-80GB"

    def setUp(self):
        why = podman.why_not()
        if why:
            self.skipTest(why)
        self.world = self.enterContext(worlds.Nvml(self.node))
        self.agent_env = self.world.environment()
        super().setUp()
        self.world.put("cuda", "version 12090")
        player = gpus.Player(worlds.built("tests/doubles/cuda/cuda-double-gpu"), self.world.folder)
        self.addCleanup(player.close)
        self.gpus = [d for d in self.agent.get("/v1/devices")["items"] if d["vendor"] == "nvidia"]
        self.gpu = self.gpus[0]
        self.root = os.path.join(self.folder, "root")
        self.make_proc()
        self.podman = podman.Podman()
        self.addCleanup(self.podman.close)
        self.addCleanup(self.remove_specs)

    def remove_specs(self):
        for name in os.listdir(SPECS) if os.path.isdir(SPECS) else ():
            if name.startswith(("cleave-k8s-", "cleave-root-", "cleave-dra-")):
                os.unlink(os.path.join(SPECS, name))

    def make_proc(self):
        """What NVIDIA's kernel module shows of the GPU, for the programs of the test."""
        for i, gpu in enumerate(self.gpus):
            folder = os.path.join(self.folder, f"proc/driver/nvidia/gpus/0000:0{i + 1}:00.0")
            os.makedirs(folder)
            with open(os.path.join(folder, "information"), "w", encoding="utf-8") as file:
                file.write(f"Model: \t\t NVIDIA H100\nGPU UUID: \t {gpu['uuid']}\n"
                           f"Device Minor: \t {i}\n")
        os.environ["CLEAVE_PROCFS"] = os.path.join(self.folder, "proc")
        self.addCleanup(os.environ.pop, "CLEAVE_PROCFS")

    def make_driver(self, folder="usr/lib64"):
        libraries = os.path.join(self.root, folder)
        os.makedirs(libraries)
        for name, double in LIBRARIES.items():
            shutil.copy(worlds.built(f"tests/doubles/{double}"),
                        os.path.join(libraries, f"{name}.{VERSION}"))

    def make_vendors(self):
        os.makedirs(os.path.join(self.root, "etc/OpenCL/vendors"))
        with open(os.path.join(self.root, "etc/OpenCL/vendors/nvidia.icd"), "w",
                  encoding="utf-8") as file:
            file.write("libnvidia-opencl.so.1\n")

    def make_nodes(self):
        for name, minor in NODES.items():
            make_node(os.path.join(self.root, "dev", name), minor)

    def program(self):
        """The program, which finds no driver in the folders of the build."""
        path = os.path.join(self.world.folder, "cuda-memory")
        with open(worlds.built("tests/cuda/cuda-memory"), "rb") as file:
            text = file.read()
        self.assertIn(RUNPATH, text)
        with open(path, "wb") as file:
            file.write(text.replace(RUNPATH, b"/" + b"x" * (len(RUNPATH) - 1)))
        os.chmod(path, 0o755)
        return path

    def run_inside(self, *command, devices, options=()):
        """The folder of the simulated GPU is the only one that is shared."""
        world = self.world.folder
        return self.podman.call(
            "run", "--rm", f"--volume={world}:{world}", f"--env=CLV_CUDA_DOUBLE={world}",
            f"--env=CLV_NVML_DOUBLE={world}", *options,
            *self.podman.options(devices, "/:O"), *command)

    def check_quota(self, devices, **more):
        """A program with a quota of 1 GiB, which is what it sees and gets."""
        ran = self.run_inside(self.program(), "plain", devices=devices, **more)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran.stdout)


class Pods(Bed):
    def setUp(self):
        super().setUp()
        self.kubelet.start()

    def start_pod(self, strategy="cdi"):
        self.start_bridge(**{"driver-root": self.root, "device-list-strategy": strategy})
        self.kubelet.resource(MEMORY)
        self.kubelet.admit("p", {"c": {MEMORY: 1}})
        return self.kubelet.start_container("p", "c")

    def test_pod_sees_its_quota(self):
        self.make_driver()
        self.make_nodes()
        devices = self.start_pod()
        self.check_quota(devices)
        listed = self.run_inside("ls", "/dev", devices=devices).stdout.split()
        self.assertLessEqual(set(NODES), set(listed))

    def test_runtime_without_cdi(self):
        """The same by mounts, variables and device nodes in the answer to kubelet."""
        self.make_driver()
        self.make_nodes()
        self.make_vendors()
        self.assertEqual(self.start_pod("plain"), [])
        answer = self.kubelet.answer("p", "c")
        self.assertEqual({(each.container_path, each.host_path, each.permissions)
                          for each in answer[3].values()},
                         {(f"/dev/{name}", f"{self.root}/dev/{name}", "rw") for name in NODES})
        self.check_quota((), options=podman.options_of(answer))
        # No hook covers the drivers of an image.
        listed = self.run_inside("ls", "/etc/OpenCL/vendors", "/usr/lib/cleave/vendors.real",
                                 devices=(), options=podman.options_of(answer))
        self.assertEqual(listed.stdout.split(), ["/etc/OpenCL/vendors:", *os.listdir(
            os.path.join(GATES, "vendors")), "/usr/lib/cleave/vendors.real:", "nvidia.icd"])

    def test_hooks_of_the_vendor(self):
        """Are not in an entry where mounts are sent too: they would replace what these have put
        in the container."""
        self.make_driver()
        self.make_nodes()
        os.makedirs(os.path.join(self.root, "etc/cdi"))
        with open(os.path.join(self.root, "etc/cdi/nvidia.json"), "w", encoding="utf-8") as file:
            json.dump({"cdiVersion": "0.3.0", "kind": "nvidia.com/gpu", "devices": [
                {"name": self.gpu["uuid"], "containerEdits": {"hooks": [
                    {"hookName": "createContainer", "path": "/bin/false"}]}}]}, file)
        devices = self.start_pod("auto")
        self.check_quota(devices, options=podman.options_of(self.kubelet.answer("p", "c")))

    def test_gpu_without_a_node(self):
        """The pod is not admitted, and the reason is kubelet's message."""
        self.make_driver()
        with self.assertRaisesRegex(
                bed.Refused, "gpu0 has no device node in /dev, .*: load the driver .*driver-root"):
            self.start_pod()
        bed.wait_until(lambda: not self.leases())


class LeaseBed(Bed):
    leases = (("one", "gpu0", "1G"),)

    def generate(self, code=0):
        """Writes the CDI file of the leases, and returns their entries."""
        for words in (*(("reserve", "--name", name, "--device", device, "--share", "0.5",
                         "--memory", memory, "--admit", "socket")
                        for name, device, memory in self.leases),
                      ("cdi", "--driver-root", self.root, "--to",
                       os.path.join(SPECS, f"cleave-root-{os.getpid()}.json"), "generate")):
            ran = subprocess.run([bed.PROGRAMS["cleave"], words[0], "--socket", self.agent.api,
                                  *words[1:]], capture_output=True, text=True, check=False,
                                 env=dict(os.environ, CLEAVE_GATE_DIR=GATES), timeout=60)
            self.assertEqual(ran.returncode, code, ran.stderr)
        self.told = ran.stderr
        with open(os.path.join(SPECS, f"cleave-root-{os.getpid()}.json"), encoding="utf-8") as file:
            self.spec = json.load(file)
        return [each["containerEdits"] for each in self.spec["devices"]]


class Leases(LeaseBed):
    def test_libraries_where_loaders_look(self):
        """Each at the name by which it is loaded, in the folders that need no cache."""
        self.make_driver("usr/lib/x86_64-linux-gnu/nvidia/current")
        self.make_nodes()
        (edits,) = self.generate()
        self.assertEqual(self.spec["cdiVersion"], "0.5.0", "the nodes' paths on the host differ")
        mounts = {each["containerPath"]: each["hostPath"] for each in edits["mounts"]}
        for name in ("libcuda.so", "libcuda.so.1", "libnvidia-ml.so.1"):
            for place in PLACES:
                self.assertEqual(
                    os.path.basename(mounts[f"{place}/{name}"]),
                    f"{name.removesuffix('.1')}.{VERSION}")
        self.check_quota(("cleave.dev/gpu=one",))

    def test_vendors_own_entry(self):
        """It has all that the device needs: nothing else is searched for."""
        os.makedirs(os.path.join(self.root, "etc/cdi"))
        self.make_nodes()
        library = os.path.join(self.folder, "elsewhere.so")
        shutil.copy(worlds.built(f"tests/doubles/{LIBRARIES['libcuda.so']}"), library)
        called, hook = (os.path.join(self.folder, name) for name in ("called", "hook"))
        with open(hook, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\ncat > /dev/null\necho $0 $1 >> {called}\n")
        os.chmod(hook, 0o755)
        with open(os.path.join(self.root, "etc/cdi/nvidia.yaml"), "w", encoding="utf-8") as file:
            file.write(f"""---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: {self.gpu['uuid']}
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
      hostPath: {self.root}/dev/nvidia0
- name: all
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia7
containerEdits:
  env:
  - NVIDIA_VISIBLE_DEVICES=void
  - OF_THE_VENDOR=1
  hooks:
  - hookName: createContainer
    path: {hook}
    args: [hook, links]
  mounts:
  - hostPath: {library}
    containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.1
    options: [ro, nosuid, nodev, bind]
""")
        (edits,) = self.generate()
        self.assertEqual([each["path"] for each in edits["hooks"]], [hook, HOOK])
        self.check_quota(("cleave.dev/gpu=one",))
        with open(called, encoding="utf-8") as file:
            self.assertEqual(file.read(), f"{hook} links\n")

    def test_lease_without_a_node_is_left_out(self):
        self.assertEqual(self.generate(), [])
        self.assertIn("left out: 1; gpu0 has no device node", self.told)


SIZES = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
n, total = ctypes.c_int(), ctypes.c_size_t()
cuda.cuDeviceGetCount(ctypes.byref(n))
for device in range(n.value):
    assert cuda.cuDeviceTotalMem_v2(ctypes.byref(total), device) == 0
    print(total.value >> 30)
"""


class SeveralLeases(LeaseBed):
    """In one container: a process uses one of them, and sees its device alone."""
    node = "gpu H100-80GB\ngpu H100-80GB"
    leases = (("two", "gpu1", "2G"), ("one", "gpu0", "1G"))
    devices = ("cleave.dev/gpu=two", "cleave.dev/gpu=one")

    def setUp(self):
        super().setUp()
        self.make_driver()
        self.make_nodes()
        make_node(os.path.join(self.root, "dev/nvidia1"), 1)

    def test_which_lease(self):
        self.generate()
        for said, sizes in (({}, "1"), ({"CUDA_VISIBLE_DEVICES": "0"}, "1"),
                            ({"CUDA_VISIBLE_DEVICES": "1"}, "2"),
                            ({"CUDA_VISIBLE_DEVICES": "1,0"}, "2"),
                            ({"CUDA_VISIBLE_DEVICES": self.gpus[1]["uuid"]}, "2"),
                            ({"CUDA_VISIBLE_DEVICES": "2"}, ""),
                            ({"CLEAVE_LEASE": "/run/cleave-leases/two/lease.sock"}, "2")):
            variables = [f"{name}={value}" for name, value in said.items()]
            with self.subTest(said):
                ran = self.run_inside("env", *variables, sys.executable, "-c", SIZES,
                                      devices=self.devices)
                self.assertEqual((ran.returncode, ran.stdout.strip()), (0, sizes), ran.stderr)


class AdminAccess(DraBed, LeaseBed):
    """A claim of an administrator, beside a lease of the same GPU."""

    def start_bridge(self, **settings):
        self.make_driver()
        self.make_nodes()
        super().start_bridge(**{"driver-root": self.root, **settings})

    def test_whole_device(self):
        self.generate()
        claim = self.api.claim("a", ("gpu0", {"share": "0", "memory": "1Gi"}), admin=True)
        (device,) = self.prepared(claim)
        ran = self.run_inside(sys.executable, "-c", SIZES, devices=device.cdi_device_ids)
        self.assertEqual(int(ran.stdout), self.gpu["memory_bytes"] >> 30, ran.stderr)
        self.check_quota(("cleave.dev/gpu=one",))
        self.assertEqual(self.claimed(), {})
        self.unprepare(claim)
        self.assertNotEqual(self.run_inside("true", devices=device.cdi_device_ids).returncode, 0)


if __name__ == "__main__":
    bed.main()
