# SPDX-License-Identifier: Apache-2.0
"""Faults, the log, and the start and end of the double."""
import os
import signal
import subprocess
import sys
import tempfile
import time

from selftest_case import PCI, PROGRAM, Case, is_mounted, wait_until
from sysfs_double import Double

UUID = "c5e3e1a0-0000-4000-8000-000000000000"


class Faults(Case):
    devices = [{"bdf": "0000:05:00.0", "model": "MI300X"},
               {"bdf": "0000:3a:00.0", "model": "Flex170"}]
    compute = PCI + "0000:05:00.0/current_compute_partition"
    numvfs = PCI + "0000:3a:00.0/sriov_numvfs"

    def test_the_nth_fails(self):
        double = self.double
        double.put("faults", ["# a remark", "write */sriov_numvfs 2 fail ENOMEM"])
        double.write(self.numvfs, 2)
        self.refused("ENOMEM", self.numvfs, 0)
        double.write(self.numvfs, 0)
        double.put("faults", ["write */sriov_numvfs 2+ fail EIO"])
        outcomes = [double.try_write(self.numvfs, n) for n in (1, 0, 0)]
        self.assertEqual(outcomes, ["ok", "EIO", "EIO"])
        double.put("faults", [])
        double.write(self.numvfs, 0)

    def test_nothing_happens(self):
        self.double.put("faults", ["write *current_compute_partition * ignore"])
        self.double.write(self.compute, "CPX")
        self.assertEqual(self.double.read(self.compute), "SPX")

    def test_it_has_happened(self):
        self.double.put("faults", ["write *current_compute_partition 1 fail-after EIO"])
        self.assertEqual(self.double.try_write(self.compute, "CPX"), "EIO")
        self.assertEqual(self.double.read(self.compute), "CPX")

    def test_delay(self):
        """Other writes are not delayed."""
        double = self.double
        double.put("faults", ["write *current_compute_partition 1 delay 1000",
                              "write *current_compute_partition 1 fail EBUSY"])
        began = time.monotonic()
        thread, outcome = self.background(self.compute, "CPX")
        double.write(self.numvfs, 1)
        self.assertEqual(outcome, [])
        thread.join()
        self.assertEqual(outcome, ["EBUSY"])
        self.assertGreater(time.monotonic() - began, 1)

    def test_reads(self):
        self.double.put("faults", ["read */vram_quota * fail EUCLEAN"])
        path = PCI + "0000:3a:00.0/sriov_admin/vf1/profile/vram_quota"
        self.assertEqual(self.double.try_read(path), "EUCLEAN")

    def test_commands(self):
        double = self.double
        double.put("faults", ["command modprobe/amdgpu 1 fail ENODEV"])
        self.assertEqual(double.run("modprobe", "-rv", "amdgpu")[0], 0)
        self.assertEqual(double.run("modprobe", "amdgpu")[0], 1)
        self.assertFalse(double.exists("module/amdgpu"))
        self.assertEqual(double.run("modprobe", "amdgpu")[0], 0)
        self.assertEqual([line["path"] for line in double.log()],
                         ["modprobe/-r/amdgpu", "modprobe/amdgpu", "modprobe/amdgpu"])
        self.assertEqual(double.run("rmmod", "amdgpu")[0], 0)

    def test_kill(self):
        """The writing process is killed, before the effect or after it."""
        for action, wanted in (("kill", "SPX"), ("kill-after", "CPX")):
            self.double.put("faults", [f"write *current_compute_partition 1 {action}"])
            client = subprocess.run(
                ["sh", "-c", f"echo CPX >{self.double.path(self.compute)}; echo alive"],
                capture_output=True, text=True, check=False)
            self.assertEqual((client.returncode, client.stdout), (-signal.SIGKILL, ""))
            self.assertEqual(self.double.read(self.compute), wanted)
            self.assertEqual(self.double.log()[-1]["fault"], action)

    def test_each_in_turn(self):
        """Each operation in the log can be made to fail."""
        double = self.double
        steps = [(self.compute, "DPX"), (self.numvfs, 2), (self.numvfs, 0), (self.compute, "SPX")]
        for path, value in steps:
            double.write(path, value)
        log = double.log()
        self.assertEqual([line["value"] for line in log], ["DPX\n", "2\n", "0\n", "SPX\n"])
        self.assertEqual({line["result"] for line in log}, {"ok"})
        for n, line in enumerate(log):
            nth = sum(other["path"] == line["path"] for other in log[:n + 1])
            double.put("faults", [f"write {line['path']} {nth} fail EIO"])
            outcomes = [double.try_write(path, value) for path, value in steps]
            self.assertEqual(outcomes[n], "EIO")
            self.assertEqual(double.log()[-len(steps) + n]["result"], "EIO")
            double.put("faults", [])
            double.write(self.numvfs, 0)
            double.write(self.compute, "SPX")

    def test_what_cannot_be_read(self):
        """A misspelt rule ends the double, so that no test runs without its fault."""
        self.double.put("faults", ["write * * explode"])
        self.assertNotEqual(self.double.try_write(self.compute, "CPX"), "ok")
        self.assertIn("explode", self.double.stop())


class Life(Case):
    devices = [{"bdf": "0000:05:00.0", "model": "MI300X"},
               {"bdf": "0000:3a:00.0", "model": "Flex170"},
               {"bdf": "0000:41:00.0", "model": "L40S"},
               {"bdf": "0000:61:00.0", "model": "T4"}]

    def everything(self):
        found = {}
        for folder, folders, names in os.walk(self.double.sys):
            for name in names + folders:
                path = os.path.join(folder, name)
                if os.path.islink(path):
                    found[path] = os.readlink(path)
                elif os.path.isfile(path):
                    found[path] = self.double.try_read(path)
        return found

    def test_stopped_and_started(self):
        double = self.double
        double.write(PCI + "0000:05:00.0/current_memory_partition", "NPS4")
        double.run("modprobe", "-r", "amdgpu")
        double.run("modprobe", "amdgpu")
        double.write(PCI + "0000:3a:00.0/sriov_admin/vf1/profile/vram_quota", 1 << 30)
        double.write(PCI + "0000:3a:00.0/sriov_numvfs", 1)
        double.write(PCI + "0000:3a:00.1/driver/unbind", "0000:3a:00.1")
        double.write(PCI + "0000:3a:00.1/driver_override", "vfio-pci")
        double.write("bus/pci/drivers_probe", "0000:3a:00.1")
        double.run("sriov-manage", "-e", "0000:41:00.0")
        double.write(PCI + "0000:41:00.3/nvidia/current_vgpu_type", 1156)
        double.write("class/mdev_bus/0000:61:00.0/mdev_supported_types/nvidia-232/create",
                     UUID)
        before = self.everything()
        for how in (signal.SIGTERM, signal.SIGKILL):
            double.stop(how)
            self.assertTrue(wait_until(lambda: not is_mounted(double.sys)))
            double.start()
            self.assertEqual(self.everything(), before)
        double.write(PCI + "0000:41:00.3/nvidia/current_vgpu_type", 0)
        self.assertEqual(len({line["n"] for line in double.log()}), len(double.log()))

    def test_ends_with_its_parent(self):
        with tempfile.TemporaryDirectory() as folder:
            script = ("import sys, time\nfrom sysfs_double import Double\n"
                      f"double = Double({self.double.program!r}, {{'devices': []}}).start()\n"
                      "print(double.folder, flush=True)\ntime.sleep(60)\n")
            with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE,
                                  text=True, cwd=os.path.dirname(os.path.abspath(__file__)),
                                  env={**os.environ, "TMPDIR": folder}) as parent:
                made = os.path.join(parent.stdout.readline().strip(), "sys")
                self.assertTrue(is_mounted(made), made)
                parent.kill()
            self.assertTrue(wait_until(lambda: not is_mounted(made)))

    def test_blocked_writer_at_the_end(self):
        double = self.double
        double.run("sriov-manage", "-e", "0000:41:00.0")
        vf = PCI + "0000:41:00.1/"
        double.write(vf + "driver/unbind", "0000:41:00.1")
        double.write(vf + "driver_override", "vfio-pci")
        double.write("bus/pci/drivers_probe", "0000:41:00.1")
        double.put("holders", ["vfio 0000:41:00.1"])
        thread, outcome = self.background("bus/pci/drivers/vfio-pci/unbind", "0000:41:00.1")
        thread.join(0.1)
        self.assertEqual(outcome, [])
        double.stop()
        thread.join()
        self.assertNotEqual(outcome, ["ok"])
        self.assertFalse(is_mounted(double.sys))

    def test_descriptions_that_cannot_be_read(self):
        for device in ({"bdf": "0000:05:00.0", "model": "MI3000"},
                       {"bdf": "05:00.0", "model": "MI300X"},
                       {"bdf": "0000:05:00.0", "model": "MI300X", "colour": "red"},
                       {"bdf": "0000:05:00.0", "model": "MI300X", "memory_modes": "NPS3"},
                       {"bdf": "0000:05:00.0", "group_with": "0000:06:00.0"}):
            double = Double(PROGRAM, {"devices": [device]})
            self.addCleanup(double.close)
            with self.assertRaises(RuntimeError, msg=device):
                double.start()
