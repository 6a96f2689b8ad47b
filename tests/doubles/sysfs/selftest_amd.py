# SPDX-License-Identifier: Apache-2.0
"""Compute and memory partitions of amdgpu."""
import os

from selftest_case import PCI, Case

NODES = "class/kfd/kfd/topology/nodes/"
# The modes that the driver accepts: {model: {memory mode: compute modes}}.
TAKEN = {
    "MI300X": {"NPS1": "SPX, DPX, QPX, CPX", "NPS2": "DPX", "NPS4": "QPX, CPX"},
    "MI325X": {"NPS1": "SPX, DPX, QPX, CPX", "NPS4": "QPX, CPX"},
    "MI355X": {"NPS1": "SPX, DPX, QPX, CPX", "NPS2": "DPX"},
    "MI308X": {"NPS1": "SPX, DPX, CPX"},
    "MI300A": {"NPS1": "SPX, TPX, CPX"},
}
AUTO = {"NPS1": "SPX", "NPS2": "DPX", "NPS4": "CPX"}


class Amd(Case):
    world = {"cpu_nodes": 2}
    devices = [{"bdf": "0000:05:00.0", "model": "MI300X", "hive": 7},
               {"bdf": "0000:15:00.0", "model": "MI300X", "hive": 7},
               {"bdf": "0000:25:00.0", "model": "MI300X"}]
    at = PCI + "0000:05:00.0/"
    compute = at + "current_compute_partition"
    memory = at + "current_memory_partition"

    def reload(self, double=None):
        double = double or self.double
        self.assertEqual(double.run("modprobe", "-r", "amdgpu"), (0, ""))
        self.assertFalse(double.exists("class/kfd"))
        self.assertEqual(double.names("class/drm"), [])
        self.assertEqual(double.run("modprobe", "amdgpu"), (0, ""))

    def gpu_nodes(self):
        nodes = []
        for name in sorted(self.double.names(NODES), key=int):
            text = self.double.read(f"{NODES}{name}/properties")
            node = dict(line.split() for line in text.splitlines())
            if int(node["simd_count"]):
                node["gpu_id"] = self.double.read(f"{NODES}{name}/gpu_id")
                bank = self.double.read(f"{NODES}{name}/mem_banks/0/properties")
                node["bytes"] = dict(line.split() for line in bank.splitlines())[
                    "size_in_bytes"]
                nodes.append(node)
        return nodes

    def test_masks(self):
        """Each model accepts in each memory mode exactly the listed modes."""
        for model, rows in TAKEN.items():
            double = self.make({"bdf": "0000:05:00.0", "model": model})
            for memory, modes in rows.items():
                if memory != "NPS1":
                    double.write(self.memory, memory)
                    self.reload(double)
                self.assertEqual(double.read(self.memory), memory)
                self.assertEqual(double.read(self.compute), AUTO[memory], (model, memory))
                self.assertEqual(double.read(self.at + "available_compute_partition"), modes)
                for mode in ("DPX", "TPX", "QPX", "CPX", "SPX"):
                    wanted = "ok" if mode in modes else "EINVAL"
                    self.assertEqual(double.try_write(self.compute, mode), wanted,
                                     (model, memory, mode))
            double.close()

    def test_listed_modes(self):
        for model, rows in TAKEN.items():
            double = self.make({"bdf": "0000:05:00.0", "model": model})
            listed = double.try_read(self.at + "available_memory_partition")
            self.assertEqual(listed, ", ".join(rows) if len(rows) > 1 else "ENOENT")
            if len(rows) == 1:
                self.assertEqual(double.try_write(self.memory, "NPS1"), "EACCES")
            double.close()

    def test_partitions(self):
        double = self.double
        self.assertEqual(len(self.gpu_nodes()), 3)
        ids = {node["gpu_id"] for node in self.gpu_nodes()}
        before = double.read("class/kfd/kfd/topology/generation_id")
        double.write(self.compute, "DPX")
        nodes = self.gpu_nodes()
        self.assertNotEqual(before, double.read("class/kfd/kfd/topology/generation_id"))
        self.assertEqual([n["drm_render_minor"] for n in nodes], ["136", "144", "128", "129"])
        self.assertEqual([n["num_xcc"] for n in nodes], ["8", "8", "4", "4"])
        self.assertEqual(nodes[2]["bytes"], "103070826496")
        self.assertEqual(int(nodes[2]["simd_count"]) // 4, 152)
        self.assertEqual(int(nodes[3]["location_id"]) - int(nodes[2]["location_id"]), 1)
        self.assertEqual(len(ids | {n["gpu_id"] for n in nodes}), 5)
        double.write(self.compute, "CPX\n")
        self.assertEqual(len(self.gpu_nodes()), 10)

    def test_drm_devices(self):
        """Each GPU has eight in every mode, the further ones on platform devices."""
        names = self.double.names("class/drm")
        self.assertEqual(len(names), 3 * 8 * 2)
        self.assertEqual(self.double.target("class/drm/renderD136/device"), "0000:15:00.0")
        self.assertEqual(self.double.target("class/drm/renderD137/device"), "amdgpu_xcp_7")
        self.assertEqual(self.double.read("class/drm/renderD137/dev"), "226:137")
        self.assertEqual(len(self.double.names("bus/platform/devices")), 21)

    def test_holders(self):
        double = self.double
        double.put("holders", [f"kfd 0000:05:00.0 {os.getpid()} 1073741824"])
        self.refused("EBUSY", self.compute, "CPX")
        self.refused("EINVAL", self.compute, "TPX")
        self.assertEqual(double.try_write(self.compute, "spx"), "ok")
        self.assertEqual(double.try_write(PCI + "0000:15:00.0/current_compute_partition",
                                          "CPX"), "ok")
        self.assertIn(str(os.getpid()), double.names("class/kfd/kfd/proc"))
        self.assertGreater(int(double.read(self.at + "mem_info_vram_used")), 1 << 30)
        status, said = double.run("modprobe", "-r", "amdgpu")
        self.assertEqual(status, 1)
        self.assertIn("Module amdgpu is in use", said)
        double.put("holders", [])
        double.write(self.compute, "CPX")

    def test_kfd_does_not_come_back(self):
        double = self.double
        double.put("conditions", ["kfd-init-fails 0000:05:00.0"])
        self.assertEqual(double.try_write(self.compute, "CPX"), "EIO")
        self.assertEqual(double.read(self.compute), "CPX")
        self.assertEqual(len(self.gpu_nodes()), 2)
        double.put("conditions", [])
        double.put("holders", ["kfd *"])
        self.assertEqual(double.try_write(self.compute, "DPX"), "ok")
        self.assertEqual(len(self.gpu_nodes()), 2)
        double.put("holders", [])
        self.reload()
        self.assertEqual(len(self.gpu_nodes()), 3)

    def test_reset_under_way(self):
        self.double.put("conditions", ["in-reset 0000:05:00.0"])
        self.assertEqual(self.double.try_write(self.compute, "CPX"), "EPERM")
        self.assertEqual(self.double.try_read(self.compute), "EPERM")
        self.assertEqual(self.double.try_read(self.memory), "EPERM")

    def test_memory_of_a_hive(self):
        double = self.double
        double.write(self.compute, "CPX")
        self.refused("EINVAL", self.memory, "NPS8")
        double.write(self.memory, "NPS4")
        self.assertEqual(double.read(self.memory), "NPS1")
        double.write(self.memory, "NPS1")  # does not cancel the other
        self.reload()
        for bdf, memory, compute in (("0000:05:00.0", "NPS4", "CPX"),
                                     ("0000:15:00.0", "NPS4", "CPX"),
                                     ("0000:25:00.0", "NPS1", "SPX")):
            self.assertEqual(double.read(f"{PCI}{bdf}/current_memory_partition"), memory)
            self.assertEqual(double.read(f"{PCI}{bdf}/current_compute_partition"), compute)
        self.assertEqual(self.gpu_nodes()[0]["bytes"], str(206141652992 // 8))
        self.reload()
        self.assertEqual(double.read(self.memory), "NPS4")
        self.refused("EINVAL", self.compute, "SPX")

    def test_reload_and_reboot(self):
        double = self.double
        double.write(self.compute, "DPX")
        self.reload()
        self.assertEqual(double.read(self.compute), "SPX")
        double.write(self.memory, "NPS2")
        double.put("holders", ["module amdgpu"])
        self.assertEqual(double.run("modprobe", "-r", "amdgpu")[0], 1)
        self.assertEqual(double.read(self.memory), "NPS1")
        double.put("holders", [])
        self.reload()
        self.assertEqual(double.read(self.compute), "DPX")
        self.assertEqual(double.run("reboot"), (0, ""))
        self.assertEqual(double.read(self.memory), "NPS1")
        self.assertEqual(double.read(self.compute), "SPX")
        self.assertEqual(double.run("modprobe", "nonsense")[0], 1)

    def test_config(self):
        config = self.at + "compute_partition_config/"
        self.assertEqual(self.double.read(config + "supported_xcp_configs"),
                         "SPX, DPX, QPX, CPX")
        self.assertEqual(self.double.read(config + "supported_nps_configs"), "NPS1")
        self.double.write(config + "xcp_config", "CPX")
        self.assertEqual(self.double.read(self.compute), "SPX")
        self.assertEqual(self.double.read(config + "supported_nps_configs"), "NPS1, NPS4")
        rows = {name: (self.double.read(f"{config}{name}/num_inst"),
                       self.double.read(f"{config}{name}/num_shared"))
                for name in ("xcc", "dma", "dec", "jpeg")}
        self.assertEqual(rows, {"xcc": ("1", "1"), "dma": ("2", "1"), "dec": ("1", "2"),
                                "jpeg": ("8", "2")})
        self.refused("EINVAL", config + "xcp_config", "TPX")

    def test_old_and_odd_drivers(self):
        old = {"bdf": "0000:05:00.0", "model": "MI300X", "old": "yes"}
        self.double = self.make(
            old, {"bdf": "0000:06:00.0", "model": "MI300X", "memory_modes": "NPS1, NPS2"},
            {"bdf": "0000:07:00.0", "model": "MI300X", "guest": "yes"},
            {"bdf": "0000:08:00.0", "model": "MI300X", "absent": ["available_memory_partition"]},
            {"bdf": "0000:09:00.0", "model": "MI210"})
        for name in ("available_memory_partition", "compute_partition_config"):
            self.assertFalse(self.double.exists(self.at + name))
        self.assertEqual(self.double.try_write(self.memory, "NPS4"), "EACCES")
        self.double.write(self.compute, "QPX")
        narrow = PCI + "0000:06:00.0/"
        self.assertEqual(self.double.read(narrow + "available_memory_partition"), "NPS1, NPS2")
        self.refused("EINVAL", narrow + "current_memory_partition", "NPS4")
        self.assertEqual(self.double.try_write(PCI + "0000:07:00.0/current_compute_partition",
                                               "CPX"), "EACCES")
        self.assertFalse(self.double.exists(PCI + "0000:08:00.0/available_memory_partition"))
        self.double.write(PCI + "0000:08:00.0/current_memory_partition", "NPS4")
        self.assertFalse(self.double.exists(PCI + "0000:09:00.0/current_compute_partition"))

    def test_host_for_machines(self):
        self.double = self.make({"bdf": "0000:05:00.0", "model": "MI300X", "driver": "gim",
                                 "totalvfs": 8, "vf_device": 0x74b5})
        self.assertFalse(self.double.exists(self.compute))
        self.assertFalse(self.double.exists("class/kfd"))
        self.double.write(self.at + "sriov_numvfs", 8)
        self.assertEqual(self.double.read(PCI + "0000:05:00.1/device"), "0x74b5")
        self.assertFalse(self.double.exists(PCI + "0000:05:00.1/driver"))
