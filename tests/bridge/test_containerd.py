#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Containers of containerd with each part of the answer to kubelet, by the calls that kubelet makes
of it.

usage: test_containerd.py CLEAVE-KUBELET CLEAVED CLEAVE BUILD FOLDER [unittest arguments]

FOLDER keeps the roots of the engines (engine_root.py)."""
import os
import shutil
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kubernetes"))
import bed  # noqa: E402
import engines  # noqa: E402

BUILD, FOLDER = (os.path.abspath(sys.argv.pop(4)) for _ in range(2))
SHARE = "cleave.dev/gpu-share"
MEMORY = ("clinfo", "--raw", "--prop", "CL_DEVICE_GLOBAL_MEM_SIZE")


class Case(bed.Bed):
    ENGINE = None

    def setUp(self):
        super().setUp()
        self.engine = self.ENGINE(FOLDER, self.folder, BUILD, self.agent.folder)
        self.addCleanup(self.engine.close)
        self.settings = {"cdi": self.engine.specs, "gates": os.path.join(BUILD, "src/gate"),
                         "hook": os.path.join(BUILD, "src/bridge/cdi/cleave-cdi-hook")}
        self.kubelet.start()

    def check(self, strategy):
        """Starts a container of a pod, after its lease was lost as by a start of the machine."""
        self.start_bridge(**{"device-list-strategy": strategy})
        self.kubelet.resource(SHARE)
        names = self.kubelet.admit("p", {"c": {SHARE: 10}})["c"]
        answer = self.kubelet.answer("p", "c")
        (lease,) = self.leases()
        self.assertEqual(self.agent.request("DELETE", f"/v1/leases/{lease}")[0], 204)
        self.kubelet.start_container("p", "c")
        self.engine.start("c", "sleep", "infinity", devices=names, answer=answer)
        for program in (MEMORY, ("env", "-i", *MEMORY)):
            ran = self.engine.inside("c", *program)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertEqual(int(ran.stdout.split()[-1]),
                             self.leases()[lease]["memory_bytes"])


class WithoutCdi(Case):
    """containerd 1.6"""
    ENGINE = engines.WithoutCdi

    def test_mounts(self):
        self.check("plain")

    def test_all(self):
        """It has no use for the CDI device and the annotation."""
        self.check("auto")


class WithCdi(Case):
    """containerd 1.7 or later"""
    ENGINE = engines.Containerd

    def test_annotations(self):
        self.check("cdi-annotations")

    def test_all(self):
        self.check("auto")


if __name__ == "__main__":
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("needs root and debootstrap")
        sys.exit(77)
    bed.main()
