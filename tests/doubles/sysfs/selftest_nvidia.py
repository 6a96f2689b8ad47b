# SPDX-License-Identifier: Apache-2.0
"""vGPUs of both frameworks."""
from selftest_case import PCI, Case


class VendorVfio(Case):
    devices = [{"bdf": "0000:41:00.0", "model": "L40S"}]
    pf = PCI + "0000:41:00.0/"
    vf = PCI + "0000:41:00.1/nvidia/"
    other = PCI + "0000:41:00.2/nvidia/"

    def setUp(self):
        super().setUp()
        self.refused("ENOENT", self.pf + "sriov_numvfs", 4)
        self.assertEqual(self.double.run("sriov-manage", "-e", "0000:41:00.0"), (0, ""))

    def creatable(self, vf):
        header, *lines = self.double.read(vf + "creatable_vgpu_types").splitlines()
        self.assertTrue(header.startswith("ID "))
        return [int(line.split(":")[0]) for line in lines]

    def test_types_shrink(self):
        double = self.double
        self.assertEqual(double.read(self.pf + "sriov_numvfs"), "16")
        self.assertEqual(len(self.creatable(self.vf)), 9)
        self.assertEqual(double.try_read(self.vf + "placement_id"), "ENXIO")
        double.write(self.vf + "current_vgpu_type", 1156)
        self.assertEqual(double.read(self.vf + "current_vgpu_type"), "1156")
        self.assertEqual(double.read(self.vf + "placement_id"), "0")
        self.assertEqual(self.creatable(self.vf), [])
        self.assertEqual(self.creatable(self.other), [1156])
        self.refused("EIO", self.other + "current_vgpu_type", 1148)
        self.refused("EINVAL", self.other + "current_vgpu_type", 4711)
        self.refused("EINVAL", self.other + "current_vgpu_type", "L40S-1Q")
        self.refused("EBUSY", self.vf + "current_vgpu_type", 1148)
        double.write(self.other + "current_vgpu_type", 1156)
        self.assertEqual(self.creatable(PCI + "0000:41:00.3/nvidia/"), [])
        double.put("holders", ["vfio 0000:41:00.1"])
        self.refused("EPERM", self.vf + "current_vgpu_type", 0)
        double.put("holders", [])
        double.write(self.vf + "current_vgpu_type", 0)
        self.assertEqual(self.creatable(self.vf), [1156])

    def test_mixed(self):
        double = self.double
        self.assertEqual(double.run("vgpu-mixed", "0000:41:00.0", "1")[0], 0)
        double.write(self.vf + "current_vgpu_type", 1156)
        self.assertNotIn(1157, self.creatable(self.other))
        double.write(self.other + "current_vgpu_type", 1148)
        self.assertEqual(double.run("vgpu-mixed", "0000:41:00.0", "0")[0], 19)
        self.assertEqual(double.run("sriov-manage", "-d", "0000:41:00.0"), (0, ""))
        self.assertEqual(double.run("sriov-manage", "-e", "ALL"), (0, ""))
        double.write(self.vf + "current_vgpu_type", 1156)
        self.assertEqual(self.creatable(self.other), [1156])

    def test_unbinding_breaks_it(self):
        double = self.double
        double.write("bus/pci/drivers/nvidia/unbind", "0000:41:00.1")
        double.write("bus/pci/drivers/nvidia/bind", "0000:41:00.1")
        self.assertFalse(double.exists(self.vf))
        self.assertTrue(double.exists(self.other))
        double.run("sriov-manage", "-d", "0000:41:00.0")
        self.assertFalse(double.exists(self.other))
        double.run("sriov-manage", "-e", "0000:41:00.0")
        self.assertTrue(double.exists(self.vf))

    def test_busy(self):
        double = self.double
        double.put("holders", ["nvidia 0000:41:00.0"])
        status, said = double.run("sriov-manage", "-d", "0000:41:00.0")
        self.assertEqual(status, 1)
        self.assertIn("unbindLock", said)
        self.assertEqual(double.read(self.pf + "sriov_numvfs"), "16")
        self.assertEqual(double.run("sriov-manage", "-e", "0000:99:00.0")[0], 1)


class Mdev(Case):
    devices = [{"bdf": "0000:51:00.0", "model": "A100"}, {"bdf": "0000:61:00.0", "model": "T4"}]
    UUIDS = [f"c5e3e1a0-0000-4000-8000-00000000000{i}" for i in range(10)]
    t4 = "class/mdev_bus/0000:61:00.0/mdev_supported_types/"

    def available(self, types, number):
        return int(self.double.read(f"{types}nvidia-{number}/available_instances"))

    def test_on_the_gpu(self):
        double, t4 = self.double, self.t4
        self.assertEqual(double.read(t4 + "nvidia-233/name"), "GRID T4-8Q")
        self.assertIn("framebuffer=8192M", double.read(t4 + "nvidia-233/description"))
        self.assertEqual(double.read(t4 + "nvidia-233/device_api"), "vfio-pci")
        self.assertEqual(double.try_write(t4 + "nvidia-233/create", "no-uuid"), "EINVAL")
        double.write(t4 + "nvidia-233/create", self.UUIDS[0].upper())
        device = f"bus/mdev/devices/{self.UUIDS[0]}/"
        self.assertEqual(double.target(device + "mdev_type"), "nvidia-233")
        self.assertEqual(double.names(t4 + "nvidia-233/devices"), [self.UUIDS[0]])
        self.assertTrue(double.exists(device + "iommu_group/devices/" + self.UUIDS[0]))
        self.assertEqual([self.available(t4, n) for n in (230, 233, 234)], [0, 1, 0])
        self.assertEqual(double.try_write(t4 + "nvidia-233/create", self.UUIDS[0]), "EEXIST")
        self.assertEqual(double.try_write(t4 + "nvidia-230/create", self.UUIDS[1]), "ENOSPC")
        double.write(t4 + "nvidia-233/create", self.UUIDS[1])
        self.assertEqual(double.try_write(t4 + "nvidia-233/create", self.UUIDS[2]), "ENOSPC")
        double.put("holders", [f"mdev {self.UUIDS[0]}"])
        self.assertEqual(double.try_write(device + "remove", 1), "EBUSY")
        double.put("holders", [])
        double.write(device + "remove", 1)
        self.assertFalse(double.exists(device))
        self.assertEqual(self.available(t4, 233), 1)
        double.write("bus/pci/drivers/nvidia/unbind", "0000:61:00.0")
        self.assertFalse(double.exists(f"bus/mdev/devices/{self.UUIDS[1]}"))

    def test_on_virtual_functions(self):
        double = self.double
        self.assertFalse(double.exists("class/mdev_bus/0000:51:00.0"))
        double.run("sriov-manage", "-e", "0000:51:00.0")
        self.assertEqual(len(double.names("class/mdev_bus")), 17)
        types = [f"class/mdev_bus/0000:51:00.{n}/mdev_supported_types/" for n in (1, 2)]
        double.write(types[0] + "nvidia-472/create", self.UUIDS[0])
        self.assertEqual([self.available(types[0], n) for n in (468, 472)], [0, 0])
        self.assertEqual([self.available(types[1], n) for n in (468, 472)], [0, 1])
        double.run("sriov-manage", "-d", "0000:51:00.0")
        self.assertEqual(double.names("bus/mdev/devices"), [])
