#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Shares for containers, of the CPU as OpenCL sees it.

usage: test_shares.py CLEAVE-KUBELET CLEAVED CLEAVE [unittest arguments]"""
import random
import signal
import unittest

import bed
from bed import Bed, wait_until
from kubelet import Kubelet, Refused

SHARE, MEMORY = "cleave.dev/gpu-share", "cleave.dev/gpu-memory-64mi"


class Shares(Bed):
    def setUp(self):
        super().setUp()
        self.kubelet.start()
        self.start_bridge()
        self.plugin = self.kubelet.resource(SHARE)

    def test_list(self):
        self.assertEqual(len(self.plugin.healthy()), 100)
        self.assertEqual(self.plugin.request.version, "v1beta1")
        self.assertTrue(self.plugin.request.options.pre_start_required)

    def test_one(self):
        names = self.kubelet.admit("p", {"c": {SHARE: 30}})["c"]
        self.assertEqual(len(names), 1)
        self.check_ledger()
        lease = self.leases()[names[0].removeprefix(bed.CDI)]
        self.assertEqual(lease["share"], 0.3)
        self.assertTrue(lease["kept"])
        self.assertEqual(lease["admit"], "socket")
        self.assertAlmostEqual(lease["memory_bytes"],
                               0.3 * self.devices()["gpu0"]["memory_bytes"], delta=1 << 20)
        self.assertEqual(self.kubelet.start_container("p", "c"), names)
        self.kubelet.delete("p")
        self.check_ledger()

    def test_full(self):
        self.kubelet.admit("a", {"c": {SHARE: 60}})
        with self.assertRaises(Refused):
            self.kubelet.admit("b", {"c": {SHARE: 60}})
        self.kubelet.admit("b", {"c": {SHARE: 40}})
        self.check_ledger()


if __name__ == "__main__":
    bed.main()
