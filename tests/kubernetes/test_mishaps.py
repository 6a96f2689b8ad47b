#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What happens to nodes of real clusters: kubelet's checkpoint is corrupt, a node comes back after
an hour, two plugins serve a resource, clocks differ. No share is given twice, none is leaked.

usage: test_mishaps.py CLEAVE-KUBELET CLEAVED CLEAVE [unittest arguments]"""
import threading
from concurrent import futures

import grpc

import bed
from bed import wait_until
from kubelet import Refused, plugin_grpc, plugin_pb
from test_shares import SHARE, SharesBed


class Mishaps(SharesBed):
    def hold(self, pod):
        """A process of the pod."""
        holder = bed.harness.Holder(self.agent)
        self.addCleanup(holder.end)
        reply = holder.do("attach", socket=self.lease_of(pod)["socket"])
        self.assertEqual(reply["status"], 0, reply)
        return holder

    def promised(self):
        return sum(lease["share"] for lease in self.leases().values())


class Checkpoint(Mishaps):
    def lose_checkpoint(self):
        self.kubelet.lose_checkpoint()
        self.plugin = self.kubelet.resource(SHARE)

    def test_corrupt_checkpoint(self):
        """Kubelet gives ids again that a running container has. Its lease stays as long as it has
        processes, and new pods get what is left of the device."""
        self.kubelet.admit("p", {"c": {SHARE: 60}})
        self.kubelet.admit("q", {"c": {SHARE: 20}})
        holder, kept = self.hold("p"), self.lease_of("p")
        self.lose_checkpoint()
        self.assertTrue(wait_until(lambda: set(self.leases()) == {kept["name"]}), self.log())
        self.kubelet.admit("r", {"c": {SHARE: 30}})
        self.kubelet.start_container("r", "c")
        with self.assertRaises(Refused):
            self.kubelet.admit("s", {"c": {SHARE: 20}})
        self.assertEqual(self.leases()[kept["name"]]["id"], kept["id"])
        self.assertAlmostEqual(self.promised(), .9)
        holder.kill()
        self.check_ledger()
        self.kubelet.admit("s", {"c": {SHARE: 70}})
        self.check_ledger()

    def test_its_pods_come_again(self):
        """An older kubelet admits the running pods again, with other ids."""
        self.kubelet.admit("p", {"c": {SHARE: 40}})
        holder, kept = self.hold("p"), self.lease_of("p")
        self.lose_checkpoint()
        self.kubelet.admit("p", {"c": {SHARE: 40}})
        self.assertIn(kept["name"], self.leases())
        self.assertLessEqual(self.promised(), 1)
        holder.kill()
        self.check_ledger()
        self.assertAlmostEqual(self.promised(), .4)


class Foreign(plugin_grpc.DevicePluginServicer):
    """Another vendor's plugin for the same resource."""

    def __init__(self, kubelet):
        self.kubelet, self.over = kubelet, threading.Event()
        self.server = grpc.server(futures.ThreadPoolExecutor(4))
        plugin_grpc.add_DevicePluginServicer_to_server(self, self.server)
        self.server.add_insecure_port(f"unix:{kubelet.plugins}/foreign.sock")
        self.server.start()

    def register(self):
        with grpc.insecure_channel(f"unix:{self.kubelet.plugins}/kubelet.sock") as channel:
            plugin_grpc.RegistrationStub(channel).Register(plugin_pb.RegisterRequest(
                version="v1beta1", endpoint="foreign.sock", resource_name=SHARE))

    def ListAndWatch(self, request, context):
        yield plugin_pb.ListAndWatchResponse(
            devices=[{"ID": f"GPU-foreign::{i}", "health": "Healthy"} for i in range(100)])
        self.over.wait()

    def stop(self):
        self.over.set()
        self.server.stop(None).wait()


class TwoPlugins(Mishaps):
    def test_foreign_plugin(self):
        """Kubelet uses the one that registered last. The other one says so, and gives nothing for
        ids that it does not know; what containers have stays."""
        self.kubelet.admit("p", {"c": {SHARE: 30}})
        foreign = Foreign(self.kubelet)
        self.addCleanup(foreign.stop)
        foreign.register()
        self.assertTrue(wait_until(lambda: "another one serves that resource" in self.log()),
                        self.log())
        ours = self.kubelet.resource(SHARE)
        ours.wait(lambda p: len(p.devices) == 100 and "GPU-foreign::0" not in p.devices)
        with self.assertRaises(Refused):
            self.kubelet.allocate(ours, ["GPU-foreign::0", "GPU-foreign::1"])
        self.kubelet.admit("q", {"c": {SHARE: 70}})
        self.check_ledger()
        self.assertAlmostEqual(self.promised(), 1)

    def test_restart_of_kubelet_is_no_other_plugin(self):
        for _ in range(2):
            self.kubelet.restart()
            self.plugin = self.kubelet.resource(SHARE)
        self.kubelet.admit("p", {"c": {SHARE: 30}})
        self.check_ledger()
        self.assertNotIn("another one serves", self.log())


class Back(Mishaps):
    def test_node_that_comes_back(self):
        """Kubelet and agent were away; meanwhile the pods were evicted, one of them still runs, and
        others are placed on the node at once."""
        self.kubelet.admit("p", {"c": {SHARE: 40}})
        self.kubelet.admit("q", {"c": {SHARE: 40}})
        holder, kept = self.hold("p"), self.lease_of("p")
        self.kubelet.stop()
        self.stop_bridge()
        for pod in "pq":
            self.kubelet.delete(pod)
        self.kubelet.start()
        self.start_bridge()
        self.plugin = self.kubelet.resource(SHARE)
        self.assertTrue(wait_until(lambda: set(self.leases()) == {kept["name"]}), self.log())
        with self.assertRaises(Refused):
            self.kubelet.admit("r", {"c": {SHARE: 70}})
        self.assertLessEqual(self.promised(), 1)
        self.assertEqual(self.leases()[kept["name"]]["id"], kept["id"])
        holder.kill()
        self.check_ledger()
        self.kubelet.admit("r", {"c": {SHARE: 100}})
        self.check_ledger()


if __name__ == "__main__":
    bed.main()
