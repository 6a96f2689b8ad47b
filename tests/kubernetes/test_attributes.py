#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What slices and labels tell of real drivers' devices: NVIDIA's by a double of NVML, AMD's by a
tree of sysfs.

usage: test_attributes.py CLEAVE-KUBELET CLEAVED CLEAVE DOUBLES-OF-NVML [unittest arguments]"""
import os
import sys
from unittest import mock

import bed
from bed import Bed, wait_until
from test_dra import DraBed

sys.path.insert(0, os.path.join(bed.ROOT, "tests/sysfs"))
from trees import Tree  # noqa: E402

DOUBLES = os.path.abspath(sys.argv.pop(4))
NODE = "gpu H100-80GB pci=0000:3b:00.0\ngpu A100-40GB mig=on pci=0000:5e:00.0\n"


class Described:
    """A mixin of beds: the machine that drivers describe."""

    def setUp(self):
        self.tree = self.enterContext(Tree())
        self.agent_env = {"CLEAVE_SYSFS": str(self.tree.root / "sys"),
                          "CLEAVE_PROCFS": str(self.tree.root / "proc"), **self.environment()}
        self.labels_folder = self.tree.root / "labels"
        self.labels_folder.mkdir()
        self.settings = {"labels": str(self.labels_folder)}
        super().setUp()

    def environment(self):
        return {}

    def function(self, address, place, **files):
        """A function of PCI whose folder is below its root complex, as in sysfs."""
        for name, text in files.items():
            self.tree.write(f"sys/devices/{place}/{name}", text)
        self.tree.link(f"sys/bus/pci/devices/{address}", f"../../../devices/{place}")

    def attributes(self, name):
        """(type, value) of each attribute."""
        return {key: next(iter(value.items()))
                for key, value in self.api.devices()[name]["attributes"].items()}

    def labels(self):
        self.assertTrue(wait_until((self.labels_folder / "cleave").exists))
        text = (self.labels_folder / "cleave").read_text()
        return dict(line.split("=") for line in text.splitlines())


class NvidiaNode(Described):
    def environment(self):
        node = self.tree.root / "nvml"
        node.mkdir()
        (node / "node").write_text(NODE)
        self.function("0000:3b:00.0", "pci0000:3a/0000:3a:01.0/0000:3b:00.0", numa_node="1")
        self.tree.write("sys/class/dmi/id/product_name", "DGX H100")
        return {"CLV_NVML_DOUBLE": str(node), "LD_LIBRARY_PATH": os.path.join(DOUBLES, "r580")}


class Nvidia(NvidiaNode, DraBed):
    def test_attributes(self):
        got = self.attributes("gpu0")
        got.pop("uuid")
        self.assertEqual(got, {
            "type": ("string", "gpu"), "vendor": ("string", "nvidia"),
            "model": ("string", "NVIDIA H100 80GB HBM3"), "architecture": ("string", "hopper"),
            "driverVersion": ("version", "580.82.7"), "cudaDriverVersion": ("version", "13.0.0"),
            "cudaComputeCapability": ("version", "9.0.0"), "numaNode": ("int", 1),
            "resource.kubernetes.io/pciBusID": ("string", "0000:3b:00.0"),
            "resource.kubernetes.io/pcieRoot": ("string", "pci0000:3a")})

    def test_partitions(self):
        """Have the attributes of their GPU, of which the node does not tell all here."""
        got = self.attributes("gpu1-1g-5gb-0")
        self.assertEqual({got[key][1] for key in ("type", "parent", "profile", "architecture")},
                         {"mig", "gpu1", "1g.5gb", "ampere"})
        self.assertEqual(got["cudaComputeCapability"], ("version", "8.0.0"))
        self.assertEqual(got["resource.kubernetes.io/pciBusID"][1], "0000:5e:00.0")
        self.assertFalse({"numaNode", "resource.kubernetes.io/pcieRoot"} & set(got))


class Labels(NvidiaNode, Bed):
    def test_labels(self):
        # Cleave-kubelet sees the same machine, as in a pod.
        self.enterContext(mock.patch.dict(os.environ, self.agent_env))
        self.agent.request("POST", "/v1/partitions", {"device": "gpu1", "profile": "1g.5gb"})
        self.kubelet.start()
        self.start_bridge()
        self.kubelet.resource("cleave.dev/mig-1g.5gb")
        labels = self.labels()
        for name, value in (
                ("gpu.count", "2"), ("gpu.vendor", "nvidia"), ("gpu.memory", "81559"),
                ("gpu.product", "NVIDIA-H100-80GB-HBM3"), ("gpu.family", "hopper"),
                ("gpu.compute-units", "132"), ("gpu.replicas", "100"),
                ("gpu.compute.major", "9"), ("gpu.compute.minor", "0"),
                ("gpu.machine", "DGX-H100"), ("cuda-version.full", "13.0"),
                ("gpu.compute.full", "9.0"), ("mig-1g.5gb.memory", "4864"),
                ("mig-1g.5gb.compute-units", "14"), ("driver-version.full", "580.82.07"),
                ("driver-version.major", "580"),
                ("driver-version.minor", "82"), ("driver-version.revision", "7"),
                ("cuda-version.major", "13"), ("cuda-version.minor", "0")):
            self.assertEqual(labels.get(f"cleave.dev/{name}"), value, name)
        for name, value in labels.items():
            self.assertRegex(name, r"^[a-z.]+/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$")
            self.assertRegex(value, r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$")


class Amd(Described, DraBed):
    def environment(self):
        self.function("0000:05:00.0", "pci0000:00/0000:00:01.0/0000:05:00.0", vendor="0x1002",
                      device="0x74a1", **{"class": "0x120000"}, numa_node="0",
                      unique_id="466450b96fbde849", product_name="AMD Instinct MI300X OAM",
                      mem_info_vram_total=192 << 30)
        (self.tree.root / "sys/bus/pci/drivers/amdgpu").mkdir()
        self.tree.link("sys/devices/pci0000:00/0000:00:01.0/0000:05:00.0/driver",
                       "../../../../bus/pci/drivers/amdgpu")
        self.tree.write("sys/module/amdgpu/version", "6.12.12")
        node = "sys/class/kfd/kfd/topology/nodes/1"
        self.tree.write(f"{node}/gpu_id", 1001)
        self.tree.write(f"{node}/properties", "\n".join((
            "simd_count 1216", "simd_per_cu 4", "domain 0", "num_xcc 8", "location_id 1280",
            "drm_render_minor 128", "unique_id 5", "gfx_target_version 90402")))
        return {}

    def test_attributes(self):
        name = next(n for n, d in self.api.devices().items()
                    if d["attributes"]["vendor"]["string"] == "amd")
        got = self.attributes(name)
        self.assertEqual((got["architecture"][1], got["driverVersion"]),
                         ("gfx942", ("version", "6.12.12")))
        self.assertEqual(got["resource.kubernetes.io/pcieRoot"][1], "pci0000:00")
        self.assertFalse({"cudaDriverVersion", "cudaComputeCapability"} & set(got))


if __name__ == "__main__":
    bed.main()
