#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The guide for Volcano with a real one: CLEAVE_VOLCANO names a folder with its programs (scheduler and
controller-manager) and the folder of its definitions (crd, of config/crd/volcano/bases in its
sources).  Volcano runs without its webhooks: what these would fill in is in the example.

usage: test_volcano.py CLEAVE-KUBELET CLEAVED CLEAVE EXTENDER [unittest arguments]"""
import copy

import examples
import guides
import test_scheduler
from bed import Refused, main, wait_until
from guides import TEAM
from test_scheduler import SHARE

BATCH, SCHEDULING = "batch.volcano.sh/v1alpha1", "scheduling.volcano.sh/v1beta1"


class TwoDevices(test_scheduler.Node):
    sim = test_scheduler.Node.sim.replace("count: 1", "count: 2")


class Volcano(guides.GuideCase):
    variable, programs = "CLEAVE_VOLCANO", ("scheduler", "controller-manager", "crd")

    def setUp(self):
        super().setUp()
        config = f"--kubeconfig={self.cluster.kubeconfig()}"
        settings, queue, self.job = examples.objects("volcano.yaml")
        self.cluster.start("controller-manager", [
            self.program("controller-manager"), config, "--leader-elect=false",
            "--controllers=job-controller,pg-controller,queue-controller"])
        self.cluster.start("scheduler", [
            self.program("scheduler"), config, "--leader-elect=false", "--cache-dumper=false",
            "--scheduler-conf=" + self.write("volcano.conf",
                                             settings["data"]["volcano-scheduler.conf"])])
        self.create(queue)
        name = queue["metadata"]["name"]
        self.assertTrue(wait_until(lambda: self.cluster.ask("GET", self.path(
            SCHEDULING, "Queue", name=name)).get("status", {}).get("state") == "Open", 120),
            self.logs())

    def logs(self):
        return self.said("scheduler", "controller-manager")

    def add_job(self, name, tasks, share):
        """As the example's, with other amounts."""
        job = copy.deepcopy(self.job)
        job["spec"]["minAvailable"] = tasks
        (task,) = job["spec"]["tasks"]
        task["replicas"] = tasks
        (container,) = task["template"]["spec"]["containers"]
        for amounts in container["resources"].values():
            amounts[SHARE] = share
        self.create(job, name)

    def why_waiting(self, job):
        """What the events of its group say."""
        return [text for name, text in self.events() if name.startswith(job + "-")]

    def waits(self, job, words):
        self.assertTrue(wait_until(lambda: any(words in why for why in self.why_waiting(job)),
                                   120), (self.events(), self.logs()))

    def remove(self, job):
        """With what it has made, which the garbage collector of a cluster would remove."""
        self.cluster.ask("DELETE", self.path(BATCH, "Job", TEAM, job))
        for version, kind in ((SCHEDULING, "PodGroup"), ("v1", "Pod")):
            for each in self.listed(version, kind):
                name = each["metadata"]["name"]
                if name.startswith(job + "-"):
                    self.cluster.ask("DELETE", self.path(version, kind, TEAM, name),
                                     {"gracePeriodSeconds": 0})

    def bound(self, n, other_than=""):
        """n pods that are bound to nodes; other_than: the uid of one that is to be replaced."""
        def found():
            pods = [pod for pod in self.pods() if pod["metadata"]["uid"] != other_than]
            return pods if sum("nodeName" in pod["spec"] for pod in pods) == n else None
        pods = wait_until(found, 120)
        self.assertTrue(pods, (self.events(), self.logs()))
        return pods

    def test_the_guide(self):
        """Both tasks start together, on one device; a job of which one task has no place starts none;
        one over the queue's capability is not queued."""
        for name in ("node1", "node2"):
            self.add_node(name)
        # 180 hundredths are there, but a device has room for one of these tasks.
        self.add_job("three", 3, 60)
        self.waits("three", "/3 tasks in gang unschedulable")
        self.assertEqual((len(self.pods()), self.nodes_of_pods()), (3, []))
        self.remove("three")
        self.create(self.job)
        pods = self.bound(2)
        (name,) = set(self.nodes_of_pods())
        for pod in pods:
            self.nodes[name].admit(pod)
        self.nodes[name].check_ledger()
        self.assertEqual([lease["share"] for lease in self.nodes[name].leases().values()], [.5, .5])
        for name in ("more1", "more2", "more3"):
            self.cluster.add_node(name, **{SHARE: "100"})
        self.add_job("large", 9, 50)
        self.waits("large", "queue resource quota insufficient: insufficient " + SHARE)
        self.assertEqual(len(self.pods()), 2)

    def test_single_devices(self):
        """Volcano knows the sum of a node's devices only: the node refuses a share that none has, and
        Volcano starts the pod again."""
        node = self.nodes["pair"] = TwoDevices()
        node.setUp()
        self.addCleanup(node.doCleanups)
        for name in ("one", "other"):
            status, lease = node.agent.request(
                "POST", "/v1/leases", {"keep": True, "name": name, "share": .6})
            self.assertEqual(status, 201, lease)
        node.kubelet.start()
        self.cluster.add_node("pair", **{SHARE: "200"})
        node.start_bridge(announce=True, node="pair", kubeconfig=self.cluster.kubeconfig())
        node.kubelet.resource(SHARE)
        self.add_job("one", 1, 60)
        (pod,) = self.bound(1)
        with self.assertRaisesRegex(Refused, "does not fit"):
            node.admit(pod)
        node.agent.request("DELETE", "/v1/leases/one")
        metadata = pod["metadata"]
        self.cluster.ask("PATCH", self.path("v1", "Pod", TEAM, metadata["name"]) + "/status", {
            "status": {"phase": "Failed", "reason": "UnexpectedAdmissionError"}}, guides.MERGE)
        (pod,) = self.bound(1, metadata["uid"])
        node.admit(pod)
        node.check_ledger()


if __name__ == "__main__":
    main()
