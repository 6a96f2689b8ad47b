# SPDX-License-Identifier: Apache-2.0
"""Provisioning of virtual functions by xe and i915."""
from selftest_case import PCI, Case


class Intel(Case):
    devices = [{"bdf": "0000:3a:00.0", "model": "Flex170"},
               {"bdf": "0000:3b:00.0", "model": "B60", "refuses_partial": "yes"}]
    at = PCI + "0000:3a:00.0/"
    admin = at + "sriov_admin/"
    MIB = 1 << 20

    def quota(self, number):
        return int(self.double.read(f"{self.admin}vf{number}/profile/vram_quota"))

    def test_folders(self):
        double = self.double
        self.assertEqual(len(double.names(self.admin)), 33)
        self.assertEqual(double.target(self.admin + "pf/device"), "0000:3a:00.0")
        self.assertFalse(double.exists(self.admin + "vf1/device"))
        double.write(self.at + "sriov_numvfs", 1)
        self.assertEqual(double.target(self.admin + "vf1/device"), "0000:3a:00.1")
        self.assertFalse(double.exists(self.admin + "pf/profile/vram_quota"))

    def test_automatic(self):
        self.double.write(self.at + "sriov_numvfs", 3)
        self.assertEqual([self.quota(n) for n in (1, 2, 3, 4)],
                         [4096 * self.MIB] * 3 + [0])
        self.double.write(self.at + "sriov_numvfs", 0)
        self.assertEqual(self.quota(1), 0)

    def test_by_hand(self):
        double = self.double
        double.write(self.admin + "vf1/profile/vram_quota", 3 * self.MIB + 1)
        self.assertEqual(self.quota(1), 4 * self.MIB)
        double.write(self.at + "sriov_numvfs", 2)
        self.assertEqual([self.quota(1), self.quota(2)], [4 * self.MIB, 0])
        double.write(self.admin + "vf2/profile/vram_quota", 8 << 30)
        self.assertEqual(double.try_write(self.admin + "vf1/profile/vram_quota", 8 << 30),
                         "ENOSPC")
        self.assertEqual(self.quota(1), 0)
        double.write(self.at + "sriov_numvfs", 0)
        self.assertEqual(self.quota(2), 0)

    def test_some_kernels_refuse_a_part(self):
        at = PCI + "0000:3b:00.0/"
        self.double.write(at + "sriov_admin/vf2/profile/vram_quota", 1 << 30)
        self.refused("EUCLEAN", at + "sriov_numvfs", 2)
        self.double.write(at + "sriov_numvfs", 1)

    def test_too_many(self):
        self.double.write(self.admin + "vf31/profile/vram_quota", 16911433728)
        self.refused("ENOSPC", self.at + "sriov_numvfs", 1)
        self.assertFalse(self.double.exists(self.at + "virtfn0"))

    def test_scheduling(self):
        double, vf = self.double, self.admin + "vf1/profile/"
        double.write(vf + "exec_quantum_ms", 1000000)
        self.assertEqual(double.read(vf + "exec_quantum_ms"), "100000")
        double.write(self.admin + ".bulk_profile/preempt_timeout_us", 500)
        for name in ("pf", "vf1", "vf31"):
            self.assertEqual(double.read(f"{self.admin}{name}/profile/preempt_timeout_us"),
                             "500")
        self.assertEqual(double.read(vf + "sched_priority"), "[low] normal")
        self.assertEqual(double.read(self.admin + "pf/profile/sched_priority"),
                         "[low] normal high")
        double.write(self.admin + "pf/profile/sched_priority", "high")
        self.assertEqual(double.try_write(self.admin + ".bulk_profile/sched_priority", "high"),
                         "EINVAL")
        double.write(self.admin + ".bulk_profile/sched_priority", "normal")
        self.assertEqual(double.read(vf + "sched_priority"), "low [normal]")

    def test_stop(self):
        double = self.double
        double.write(self.at + "sriov_numvfs", 1)
        self.assertEqual(double.try_write(self.admin + "vf1/stop", "perhaps"), "EINVAL")
        double.write(self.admin + "vf1/stop", "1")
        self.assertEqual(double.state().get(("0000:3a:00.1", "stopped")), "yes")
        double.write(PCI + "0000:3a:00.1/reset", 1)
        self.assertNotIn(("0000:3a:00.1", "stopped"), double.state())

    def test_debugfs(self):
        """debugfs has numbers for each GT; where they differ, sriov_admin has none."""
        double = self.double
        debug = "kernel/debug/dri/0/"
        self.assertTrue(double.read(debug + "name").startswith("xe dev=0000:3a:00.0"))
        double.write(debug + "gt0/vf1/lmem_quota", 1 << 30)
        self.assertEqual(self.quota(1), 1 << 30)
        self.assertFalse(double.exists(debug + "gt1/vf1/lmem_quota"))
        self.assertTrue(double.exists(debug + "gt1/pf/contexts_spare"))
        double.write(debug + "gt1/vf1/exec_quantum_ms", 7)
        self.assertEqual(double.try_read(self.admin + "vf1/profile/exec_quantum_ms"),
                         "EUCLEAN")
        self.assertEqual(double.try_write(debug + "gt1/vf1/exec_quantum_ms", 1 << 32),
                         "EOVERFLOW")
        self.assertEqual(double.try_write(debug + "gt0/vf1/control", "jump"), "EINVAL")

    def test_older_interfaces(self):
        self.double = self.make(
            {"bdf": "0000:3a:00.0", "model": "Flex170", "interface": "iov"},
            {"bdf": "0000:3b:00.0", "model": "Flex170", "interface": "prelim_iov"},
            {"bdf": "0000:3c:00.0", "model": "B50", "interface": "debugfs"})
        double, card = self.double, "class/drm/card0/iov/"
        self.assertEqual(double.target(self.at + "driver"), "i915")
        self.assertFalse(double.exists(self.at + "sriov_admin"))
        self.assertFalse(double.exists(PCI + "0000:3c:00.0/sriov_admin"))
        self.assertTrue(double.exists("kernel/debug/dri/2/gt0/vf12/ggtt_quota"))
        self.assertTrue(double.exists("class/drm/card1/prelim_iov/vf1/gt/contexts_quota"))
        self.assertEqual(double.read(card + "pf/auto_provisioning"), "1")
        for name, value in (("lmem_quota", 8455716864), ("contexts_quota", 1024),
                            ("doorbells_quota", 120), ("exec_quantum_ms", 32),
                            ("preempt_timeout_us", 64000)):
            double.write(f"{card}vf1/gt0/{name}", value)
            self.assertEqual(double.read(f"{card}vf1/gt0/{name}"), str(value))
        self.assertEqual(double.try_write(card + "vf2/gt0/doorbells_quota", 121), "ENOSPC")
        self.assertEqual(double.read(card + "pf/auto_provisioning"), "0")
        double.write(self.at + "sriov_numvfs", 1)
        self.refused("EBUSY", card + "pf/auto_provisioning", 1)
        double.write(self.at + "sriov_numvfs", 0)
        self.assertEqual(double.read(card + "vf1/gt0/lmem_quota"), "8455716864")
        double.write(card + "pf/auto_provisioning", 1)
        self.assertEqual(double.read(card + "vf1/gt0/lmem_quota"), "0")
