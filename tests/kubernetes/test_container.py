#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""From kubelet's call to a program in a container: podman gets the answer of Allocate, and the
program sees the device with the pod's part of its memory.

usage: test_container.py CLEAVE-KUBELET CLEAVED CLEAVE GATES HOOK [unittest arguments]"""
import os
import sys

import bed
from bed import Bed, wait_until

sys.path.insert(0, os.path.join(bed.ROOT, "tests/bridge"))
import podman  # noqa: E402

SHARE, SPECS = "cleave.dev/gpu-share", "/etc/cdi"
GATES, HOOK = map(os.path.abspath, sys.argv[4:6])
del sys.argv[4:6]


class Containers(Bed):
    settings = {"cdi": SPECS, "gates": GATES, "hook": HOOK}

    def setUp(self):
        why = podman.why_not()
        if why:
            self.skipTest(why)
        super().setUp()
        self.podman = podman.Podman()
        self.addCleanup(self.podman.close)
        self.kubelet.start()
        self.start_bridge()
        self.kubelet.resource(SHARE)
        self.addCleanup(self.remove_specs)

    def remove_specs(self):
        for name in os.listdir(SPECS):
            if name.startswith("cleave-k8s-"):
                os.unlink(os.path.join(SPECS, name))

    def memory(self, names, *options):
        ran = self.podman.call("run", "--rm", *options, *self.podman.options(names, "/:O"),
                               "clinfo", "--raw", "--prop", "CL_DEVICE_GLOBAL_MEM_SIZE")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return int(ran.stdout.split()[-1])

    def test_pods(self):
        for pod, share in (("small", 10), ("large", 40)):
            self.kubelet.admit(pod, {"c": {SHARE: share}})
            names = self.kubelet.start_container(pod, "c")
            lease = self.leases()[names[0].removeprefix(bed.CDI)]
            self.assertEqual(self.memory(names), lease["memory_bytes"])

    def test_pod_that_is_gone(self):
        names = self.kubelet.admit("p", {"c": {SHARE: 10}})["c"]
        self.kubelet.delete("p")
        wait_until(lambda: not self.leases())
        self.assertNotEqual(self.podman.run("true", devices=names).returncode, 0)

    def test_leases_lost_while_the_container_waits(self):
        """The container finds the lease that is created before its start."""
        self.kubelet.admit("p", {"c": {SHARE: 10}})
        (name,) = self.leases()
        self.assertEqual(self.agent.request("DELETE", f"/v1/leases/{name}")[0], 204)
        names = self.kubelet.start_container("p", "c")
        self.assertEqual(self.memory(names), self.leases()[name]["memory_bytes"])

    def options(self):
        """What containerd 1.6 gets, which reads no CDI files."""
        return podman.options_of(self.kubelet.answer("p", "c"))

    def test_runtime_without_cdi(self):
        """Also where the lease was lost after kubelet had its answer, as by a start of the
        machine."""
        self.kubelet.admit("p", {"c": {SHARE: 10}})
        (name,) = self.leases()
        self.assertEqual(self.memory((), *self.options()), self.leases()[name]["memory_bytes"])
        self.assertEqual(self.agent.request("DELETE", f"/v1/leases/{name}")[0], 204)
        self.kubelet.start_container("p", "c")
        self.assertEqual(self.memory((), *self.options()), self.leases()[name]["memory_bytes"])

    def test_both_at_once(self):
        """A runtime that reads CDI files gets the mounts, too: it is the same container."""
        names = self.kubelet.admit("p", {"c": {SHARE: 10}})["c"]
        (lease,) = self.leases().values()
        self.assertEqual(self.memory(names, *self.options()), lease["memory_bytes"])

    def test_two_leases(self):
        """The program uses the first by name, or the one that it names, also without CDI."""
        options, names = [], []
        for pod, share in (("p", 10), ("q", 40)):
            names += self.kubelet.admit(pod, {"c": {SHARE: share}})["c"]
            options += podman.options_of(self.kubelet.answer(pod, "c"))
        # What is the same for both, and the place of one lease, which kubelet gives once.
        of_one = {option.split(":")[1]: option for option in options if ":/run/cleave:" in option}
        options = [*{option for option in options if ":/run/cleave:" not in option},
                   *of_one.values()]
        memory = {name: lease["memory_bytes"] for name, lease in self.leases().items()}
        self.assertEqual(len(set(memory.values())), 2)
        for devices, parts in ((names, ()), ((), options), (names, options)):
            self.assertEqual(self.memory(devices, *parts), memory[min(memory)])
        for name, n_bytes in memory.items():
            socket = f"--env=CLEAVE_LEASE=/run/cleave-leases/{name}/lease.sock"
            self.assertEqual(self.memory((), *options, socket), n_bytes)


if __name__ == "__main__":
    bed.main()
