#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How often Allocate waits for the disk.

usage: test_syncs.py CLEAVE-KUBELET CLEAVED CLEAVE COUNT-SYNCS [unittest arguments]"""
import os
import sys

import bed

LIBRARY = os.path.abspath(sys.argv.pop(4))
SHARE = "cleave.dev/gpu-share"
PODS = 40


class Syncs(bed.Bed):
    def setUp(self):
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        os.environ["LD_PRELOAD"] = LIBRARY
        os.environ["ASAN_OPTIONS"] = before.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        super().setUp()
        os.environ["COUNT_SYNCS"] = self.path = os.path.join(self.folder, "syncs")
        self.agent.env = {**(self.agent.env or {}), "COUNT_SYNCS": self.path}
        self.agent.stop()
        self.agent.start()
        self.kubelet.start()
        self.start_bridge()
        self.kubelet.resource(SHARE)

    def count(self):
        try:
            return os.path.getsize(self.path)
        except FileNotFoundError:
            return 0

    def test_allocate(self):
        """Once, for the new lease, also where it takes the place of an earlier one."""
        before = self.count()
        for i in range(PODS):
            self.kubelet.admit(f"p{i}", {"c": {SHARE: 100}})
            self.kubelet.delete(f"p{i}")
        self.assertGreaterEqual(self.count() - before, PODS)
        # A few are of the agent's own, on its own time.
        self.assertLess(self.count() - before, 1.5 * PODS)


if __name__ == "__main__":
    bed.main()
