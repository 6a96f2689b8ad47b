# SPDX-License-Identifier: Apache-2.0
"""The behaviour of sysfs, SR-IOV, drivers and groups."""
import os
import subprocess
import threading
import time

from selftest_case import PCI, Case, wait_until


class Files(Case):
    """The behaviour of sysfs's files."""
    devices = [{"bdf": "0000:3a:00.0", "model": "B50", "numa_node": "-1",
                "absent": ["sriov_admin/vf1/stop", "reset"]}]
    at = PCI + "0000:3a:00.0/"

    def test_shapes(self):
        double, at = self.double, self.at
        self.assertEqual(double.read(at + "vendor"), "0x8086")
        self.assertEqual(double.read(at + "class"), "0x030000")
        self.assertEqual(double.read(at + "numa_node"), "-1")
        self.assertEqual(double.read(at + "sriov_vf_device"), "e212")
        self.assertIn("PCI_ID=8086:E212\n", double.read(at + "uevent") + "\n")
        self.assertEqual(os.stat(double.path(at + "vendor")).st_size, 4096)
        self.assertEqual(double.target(at + "driver"), "xe")
        self.assertEqual(os.readlink(double.path(PCI + "0000:3a:00.0")),
                         "../../../devices/pci0000:3a/0000:3a:00.0")
        self.assertEqual(os.readlink(double.path("class/drm/card0/device")),
                         "../../../0000:3a:00.0")
        self.assertTrue(double.exists(at + "iommu_group/devices/0000:3a:00.0"))
        self.assertTrue(double.exists("module/xe/drivers/pci:xe/0000:3a:00.0"))
        self.assertFalse(double.exists(at + "reset"))
        self.assertFalse(double.exists(at + "sriov_admin/vf1/stop"))
        self.assertTrue(double.exists(at + "sriov_admin/vf2/stop"))

    def test_permissions(self):
        """Not even root can open a file in a mode that its permissions lack."""
        for path, flags in ((self.at + "vendor", os.O_WRONLY),
                            (self.at + "sriov_admin/vf1/profile/sched_priority", os.O_RDWR),
                            ("bus/pci/drivers_probe", os.O_RDONLY),
                            (self.at + "new", os.O_WRONLY | os.O_CREAT)):
            with self.assertRaises(PermissionError, msg=path):
                os.open(self.double.path(path), flags)
        with self.assertRaises(PermissionError):
            os.unlink(self.double.path(self.at + "vendor"))
        with self.assertRaises(PermissionError):
            os.mkdir(self.double.path("bus/pci/devices/0000:00:00.0"))

    def test_a_file_outlives_its_device(self):
        self.double.write(self.at + "sriov_numvfs", 1)
        fd = os.open(self.double.path(self.at + "virtfn0/driver_override"), os.O_RDWR)
        self.addCleanup(os.close, fd)
        self.double.write(self.at + "sriov_numvfs", 0)
        with self.assertRaises(OSError) as raised:
            os.write(fd, b"vfio-pci")
        self.assertEqual(raised.exception.errno, 19)

    def test_numbers(self):
        path = self.at + "sriov_admin/pf/profile/exec_quantum_ms"
        for value, outcome in (("0x10", "ok"), (" 1", "EINVAL"), ("-1", "EINVAL"),
                               ("1 ", "EINVAL"), ("", "EINVAL"), ("4294967296", "ERANGE")):
            self.assertEqual(self.double.try_write(path, value), outcome, value)
        self.assertEqual(self.double.read(path), "16")


class Sriov(Case):
    devices = [{"bdf": "0000:3a:00.0", "model": "Flex170"},
               {"bdf": "0000:3b:00.0", "model": "B50", "vf_groups": "physfn",
                "offset": 256, "stride": 2},
               {"bdf": "0000:3b:00.1", "vendor": 0x8086, "device": 0x4f91, "class": 0x40300,
                "group_with": "0000:3b:00.0", "totalvfs": 2}]
    at = PCI + "0000:3a:00.0/"
    vf = PCI + "0000:3a:00.1/"

    def test_number(self):
        at, double = self.at, self.double
        self.refused("ERANGE", at + "sriov_numvfs", 32)
        self.refused("EINVAL", at + "sriov_numvfs", "65536")
        self.refused("EINVAL", at + "sriov_numvfs", "many")
        self.assertEqual(double.try_write(at + "sriov_numvfs", 0), "ok")
        double.write(at + "sriov_numvfs", 3)
        self.assertEqual(double.target(at + "virtfn2"), "0000:3a:00.3")
        self.assertEqual(double.target(self.vf + "physfn"), "0000:3a:00.0")
        self.assertEqual(double.target(self.vf + "driver"), "xe")
        self.assertFalse(double.exists(self.vf + "sriov_totalvfs"))
        self.refused("EBUSY", at + "sriov_numvfs", 2)
        self.assertEqual(double.try_write(at + "sriov_numvfs", 3), "ok")
        double.write(at + "sriov_numvfs", 0)
        self.assertFalse(double.exists(self.vf))
        self.assertFalse(double.exists(at + "virtfn0"))

    def test_without_a_driver(self):
        """No driver, or one without SR-IOV."""
        self.refused("ENOENT", PCI + "0000:3b:00.1/sriov_numvfs", 1)
        self.double.write("bus/pci/drivers/xe/unbind", "0000:3a:00.0")
        self.refused("ENOENT", self.at + "sriov_numvfs", 1)
        self.assertFalse(self.double.exists(self.at + "sriov_admin"))

    def test_unbinding_takes_the_functions_along(self):
        self.double.write(self.at + "sriov_numvfs", 2)
        self.double.write("bus/pci/drivers/xe/unbind", "0000:3a:00.0")
        self.assertEqual(self.double.read(self.at + "sriov_numvfs"), "0")
        self.assertFalse(self.double.exists(self.vf))
        self.double.write("bus/pci/drivers/xe/bind", "0000:3a:00.0")
        self.assertTrue(self.double.exists(self.at + "sriov_admin"))

    def test_groups(self):
        double = self.double
        at = PCI + "0000:3b:00.0/"
        double.write(at + "sriov_numvfs", 2)
        self.assertEqual(double.names(at + "iommu_group/devices"),
                         ["0000:3b:00.0", "0000:3b:00.1", "0000:3c:00.0", "0000:3c:00.2"])
        double.write(self.at + "sriov_numvfs", 2)
        groups = {double.target(PCI + f"0000:3a:00.{i}/iommu_group") for i in range(3)}
        self.assertEqual(len(groups), 3)

    def test_override(self):
        double, vf = self.double, self.vf
        double.write(self.at + "sriov_drivers_autoprobe", 0)
        double.write(self.at + "sriov_numvfs", 1)
        self.assertFalse(double.exists(vf + "driver"))
        self.refused("ENODEV", "bus/pci/drivers/xe/bind", "0000:3a:00.1")
        self.refused("ENODEV", "bus/pci/drivers/vfio-pci/bind", "0000:3a:00.1")
        self.assertEqual(double.read(vf + "driver_override"), "(null)")
        double.write(vf + "driver_override", "vfio-pci")
        self.refused("ENODEV", "bus/pci/drivers/xe/bind", "0000:3a:00.1")
        double.write("bus/pci/drivers_probe", "0000:3a:00.1")
        self.assertEqual(double.target(vf + "driver"), "vfio-pci")
        self.assertEqual(len(double.names(vf + "vfio-dev")), 1)
        self.refused("EBUSY", "bus/pci/drivers/vfio-pci/bind", "0000:3a:00.1")
        self.refused("ENODEV", "bus/pci/drivers/xe/unbind", "0000:3a:00.1")
        self.refused("ENODEV", "bus/pci/drivers_probe", "0000:99:00.0")
        double.write(vf + "driver_override", "")
        double.write("bus/pci/drivers/vfio-pci/unbind", "0000:3a:00.1")
        self.assertFalse(double.exists(vf + "driver"))

    def test_probe_fails(self):
        self.double.write(self.at + "sriov_numvfs", 1)
        self.double.write(self.vf + "driver/unbind", "0000:3a:00.1")
        self.double.put("conditions", ["probe-fails 0000:3a:00.1"])
        self.refused("EIO", "bus/pci/drivers/xe/bind", "0000:3a:00.1")
        self.double.write("bus/pci/drivers_probe", "0000:3a:00.1")
        self.assertFalse(self.double.exists(self.vf + "driver"))

    def test_function_in_use(self):
        """The write that removes it blocks; the functions before it are already gone."""
        double = self.double
        double.write(self.at + "sriov_drivers_autoprobe", 0)
        double.write(self.at + "sriov_numvfs", 2)
        second = PCI + "0000:3a:00.2/"
        double.write(second + "driver_override", "vfio-pci")
        double.write("bus/pci/drivers_probe", "0000:3a:00.2")
        double.put("holders", ["vfio 0000:3a:00.2"])
        thread, outcome = self.background(self.at + "sriov_numvfs", 0)
        self.assertTrue(wait_until(lambda: not double.exists(self.vf)))
        reader = threading.Thread(target=lambda: outcome.append(
            double.read(self.at + "sriov_numvfs")))
        reader.start()
        time.sleep(0.1)
        self.assertEqual(outcome, [])
        self.assertTrue(double.exists(second))
        double.put("holders", [])
        thread.join(60)
        reader.join(60)
        self.assertEqual(sorted(outcome), ["0", "ok"])
        self.assertFalse(double.exists(second))

    def test_holder_dies(self):
        double = self.double
        double.write(self.at + "sriov_numvfs", 1)
        double.write("bus/pci/drivers/xe/unbind", "0000:3a:00.1")
        double.write(self.vf + "driver_override", "vfio-pci")
        double.write("bus/pci/drivers_probe", "0000:3a:00.1")
        with subprocess.Popen(["sleep", "60"]) as holder:
            double.put("holders", [f"vfio 0000:3a:00.1 {holder.pid}"])
            thread, outcome = self.background("bus/pci/drivers/vfio-pci/unbind",
                                              "0000:3a:00.1")
            thread.join(0.1)
            self.assertEqual(outcome, [])
            holder.kill()
            holder.wait()
            thread.join(60)
        self.assertEqual(outcome, ["ok"])
