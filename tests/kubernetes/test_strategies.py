#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""By which parts of the answer to kubelet a container gets its lease.

usage: test_strategies.py CLEAVE-KUBELET CLEAVED CLEAVE [unittest arguments]"""
import os
import sys

import amd
import bed
from api_server import ApiServer
from bed import Bed, Refused, wait_until

sys.path.insert(0, os.path.join(bed.ROOT, "tests/sysfs"))
from trees import Tree  # noqa: E402

SHARE, MEMORY = "cleave.dev/gpu-share", "cleave.dev/gpu-memory-1gi"
MIG, CPX = "cleave.dev/mig-1g.10gb", "cleave.dev/cpx-nps4"
VARIABLES = {"CLEAVE_LEASE": "/run/cleave/lease.sock",
             "OPENCL_LAYERS": "/usr/lib/cleave/libcleave-opencl.so",
             "OCL_ICD_LAYERS": "/usr/lib/cleave/libcleave-opencl.so",
             "NVIDIA_VISIBLE_DEVICES": "void"}
PLACES = {"/run/cleave", "/usr/lib/cleave", "/etc/ld.so.preload"}
LEASES = "/run/cleave-leases/"


class Strategies(Bed):
    sim = "version: 1\nname: lab\ndevices:\n  - {model: H100-80GB, count: 2}\n"

    def setUp(self):
        super().setUp()
        self.kubelet.start()

    def admit(self, **settings):
        """The parts of the answer for a pod: CDI devices, annotations, places of mounts; with the
        rest these are alike in all answers."""
        self.start_bridge(**settings)
        self.kubelet.resource(SHARE)
        names = self.kubelet.admit("p", {"c": {SHARE: 30}})["c"]
        (lease,) = self.leases()
        envs, annotations, mounts, devices = self.kubelet.answer("p", "c")
        self.assertEqual(devices, {}, "a simulated device has no node")
        self.assertIn(envs, ({}, VARIABLES))
        self.assertEqual(bool(envs), bool(mounts))
        self.assertIn(names, ([], [bed.CDI + lease]))
        self.assertIn(annotations, ({}, {f"cdi.k8s.io/cleave.dev_{lease}": bed.CDI + lease}))
        self.assertIn(set(mounts), (set(), PLACES | {LEASES + lease}))
        self.assertTrue(all(mount.read_only for mount in mounts.values()))
        return [bool(part) for part in (names, annotations, mounts)]

    def end_pod(self):
        self.kubelet.delete("p")
        wait_until(lambda: not self.leases())
        self.end_bridge()
        self.kubelet.restart()

    def test_setting(self):
        for strategy, parts in (("cdi", (1, 0, 0)), ("cdi-annotations", (0, 1, 0)),
                                ("plain", (0, 0, 1)), ("auto", (1, 1, 1))):
            with self.subTest(strategy):
                self.assertEqual(self.admit(**{"device-list-strategy": strategy}), [*map(bool, parts)])
                self.end_pod()

    def test_versions_of_the_node(self):
        """They are asked of the API server; without an answer all parts are sent."""
        api = ApiServer()
        self.addCleanup(api.close)
        config = os.path.join(self.folder, "kubeconfig")
        api.kubeconfig(config)
        for kubelet, runtime, parts in (("v1.20.2", "containerd://1.6.20~ds1", (0, 0, 1)),
                                        ("v1.28.15", "containerd://1.7.24", (1, 1, 1)),
                                        ("v1.35.0", "containerd://2.2.1", (1, 0, 0)),
                                        (None, None, (1, 1, 1))):
            api.nodes["node1"] = {"metadata": {"name": "node1"}, "status": {"nodeInfo": {
                "kubeletVersion": kubelet, "containerRuntimeVersion": runtime}}}
            api.down = kubelet is None
            with self.subTest(kubelet):
                self.assertEqual(self.admit(node="node1", kubeconfig=config), [*map(bool, parts)])
                self.assertIn(f"kubelet {kubelet}, {runtime}" if kubelet else "answers GET", self.log())
                self.end_pod()

    def test_wrong_setting(self):
        self.start_bridge(**{"device-list-strategy": "envvar"})
        self.assertEqual(self.process.wait(60), 78)
        self.assertIn("none of auto, cdi, cdi-annotations, plain", self.log())

    def folder_of_lease(self):
        (lease,) = self.leases().values()
        return os.path.dirname(lease["socket"])

    def test_path_of_the_lease_stays(self):
        """Kubelet keeps the answer when the machine starts again: the lease that is created before
        the container starts is where the answer says."""
        self.admit(**{"device-list-strategy": "plain"})
        source = self.kubelet.answer("p", "c")[2]["/run/cleave"].host_path
        before = self.folder_of_lease()
        self.assertEqual(os.path.realpath(source), before)
        (name,) = self.leases()
        self.assertEqual(self.agent.request("DELETE", f"/v1/leases/{name}")[0], 204)
        self.kubelet.start_container("p", "c")
        self.assertNotEqual(self.folder_of_lease(), before)
        self.assertEqual(os.path.realpath(source), self.folder_of_lease())
        self.assertTrue(os.path.exists(os.path.join(source, "lease.sock")))
        self.kubelet.delete("p")
        wait_until(lambda: not os.path.lexists(source))

    def test_share_and_memory(self):
        """Kubelet joins the answers for both; one of them has all parts."""
        self.start_bridge(undivided="both", **{"memory-unit": "1G"})
        self.kubelet.resource(MEMORY)
        for pod in range(4):  # in a random order of the two
            self.kubelet.resource(SHARE)
            names = self.kubelet.admit(str(pod), {"c": {SHARE: 20, MEMORY: 8}})["c"]
            envs, annotations, mounts, _ = self.kubelet.answer(str(pod), "c")
            self.assertEqual(list(annotations.values()), names)
            self.assertEqual(len(names), 1)
            place = LEASES + names[0].removeprefix(bed.CDI)
            self.assertEqual((envs, set(mounts)), (VARIABLES, PLACES | {place}))
            self.assertIn(names[0].removeprefix(bed.CDI), self.leases())


class TwoResources(Bed):
    """Of one container, which so has two leases."""
    sim = """
version: 1
name: lab
devices:
  - {model: H100-80GB}
  - {model: H100-80GB, at-start: {mig: on, instances: [{profile: 1g.10gb, start: 0}]}}
"""

    def test_both_folders(self):
        self.kubelet.start()
        self.start_bridge(**{"device-list-strategy": "plain"})
        for name in (SHARE, MIG):
            self.kubelet.resource(name)
        self.kubelet.admit("p", {"c": {SHARE: 30, MIG: 1}})
        self.kubelet.start_container("p", "c")
        mounts = self.kubelet.answer("p", "c")[2]
        self.assertEqual({place.removeprefix(LEASES): os.path.realpath(mounts[place].host_path)
                          for place in mounts if place.startswith(LEASES)},
                         {name: os.path.dirname(lease["socket"])
                          for name, lease in self.leases().items()})
        self.assertEqual(len(self.leases()), 2)


class TwoVendors(Bed):
    """A processor and AMD's partitions: containers can have the gates of one of them."""

    def setUp(self):
        tree = self.enterContext(Tree())
        self.agent_env, self.root = amd.add_partitions(tree), amd.add_nodes(tree)
        super().setUp()

    def test_container_with_both(self):
        self.kubelet.start()
        self.start_bridge(**{"device-list-strategy": "plain", "driver-root": self.root})
        for name in (SHARE, CPX):
            self.kubelet.resource(name)
        for pod, resources in (("p", {SHARE: 10}), ("q", {CPX: 1})):
            self.kubelet.admit(pod, {"c": resources})
            self.kubelet.start_container(pod, "c")
        self.assertEqual({lease["devices"][0]["backend"] for lease in self.leases().values()},
                         {"amd", "opencl"})
        self.kubelet.admit("r", {"c": {SHARE: 10, CPX: 1}})
        with self.assertRaisesRegex(Refused, "container c has .*, of devices whose gates cannot be "
                                    "loaded together"):
            self.kubelet.start_container("r", "c")


if __name__ == "__main__":
    bed.main()
