#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What Kubernetes 1.20 lacks, in a whole cluster of one node with a later version: claims, devices
that kubelet names to the runtime by CDI, and policies of the chart that the API server evaluates.
CLEAVE_KUBERNETES is the folder of kube-apiserver, kube-controller-manager, kube-scheduler and kubelet
of one version from 1.36 on, as the project releases them.

usage: test_cluster_claims.py BUILD WORKER [unittest arguments]"""
import json
import unittest

import cluster
import cluster_case
import helm
import whole_cluster
from cluster_case import BUILD, WORKER, ClusterCase
from node import NAME
from whole_cluster import CLAIMS_API, WholeCluster, wait_until

CLAIMS = f"{CLAIMS_API}/namespaces/default/resourceclaims"
TEMPLATES = f"{CLAIMS_API}/namespaces/default/resourceclaimtemplates"
WHOLE = "cleave.dev/whole"
DRA = {"enabled": True, "classes": [
    {"name": "whole.cleave.dev", "type": "gpu", "extendedResourceName": WHOLE}]}

MIG = """version: 1
name: node1
devices: [{model: A100-80GB, at-start: {mig: on}}]
"""


def why_not():
    why = whole_cluster.why_not()
    if not why and cluster.minor() < 36:
        why = f"{cluster.BIN} has Kubernetes 1.{cluster.minor()}: CLEAVE_KUBERNETES names another"
    return why


def setUpModule():
    why = why_not()
    if why:
        raise unittest.SkipTest(why)
    ClusterCase.cluster = WholeCluster(("0.1.0",), BUILD, WORKER)
    unittest.addModuleCleanup(ClusterCase.cluster.close)


class Delivery(ClusterCase):
    """Each way in which kubelet and containerd give a container its lease."""

    def check(self, strategy):
        self.cluster.deploy("0.1.0", deviceListStrategy=strategy)
        self.check_quota(30, self.fill(strategy, 30))

    def test_cdi(self):
        self.check("cdi")

    def test_annotations(self):
        self.check("cdi-annotations")

    def test_plain(self):
        self.check("plain")

    def test_all(self):
        self.check("auto")


class Policies(ClusterCase):
    """What the account of a node's pod may change."""

    @classmethod
    def setUpClass(cls):
        cls.cluster.deploy("0.1.0", dra=DRA)
        cls.cluster.add_node("node2")
        cls.addClassCleanup(cls.cluster.ask, "DELETE", "/api/v1/nodes/node2")
        (pod,) = cls.cluster.our_pods("cleave-node")
        token = cls.cluster.kubectl(
            "create", "token", "cleave-node", f"--namespace={helm.NAMESPACE}",
            "--bound-object-kind=Pod", f"--bound-object-name={pod['metadata']['name']}",
            f"--bound-object-uid={pod['metadata']['uid']}").strip()
        cls.config = cls.cluster.kubeconfig(token, cls.cluster.path("pod.kubeconfig"))

    def remove_pods(self):
        """There are none."""

    def kubectl(self, *words, **more):
        return self.cluster.node.call(helm.KUBECTL, f"--kubeconfig={self.config}", *words, **more)

    def refused(self, why, *words, **more):
        done = self.kubectl(*words, **more)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn(why, done.stderr)

    def test_nodes(self):
        done = self.kubectl("annotate", "node", NAME, "--overwrite", "cleave.dev/freed=1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.refused("cleave-kubelet changes its own node only",
                     "annotate", "node", "node2", "cleave.dev/freed=1")
        self.refused("cleave-kubelet changes the annotation",
                     "annotate", "node", NAME, "other=1")
        self.refused("cleave-kubelet changes the annotation", "label", "node", NAME, "other=1")

    def test_slices(self):
        slice_ = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
                  "metadata": {"name": "of-node2"}, "spec": {
                      "nodeName": "node2", "driver": "gpu.cleave.dev",
                      "pool": {"name": "node2", "generation": 1, "resourceSliceCount": 1},
                      "devices": []}}
        self.refused("cleave-kubelet changes the slices of its own node only",
                     "create", "-f", "-", input=json.dumps(slice_))
        self.cluster.ask("POST", f"{CLAIMS_API}/resourceslices", slice_)
        self.addCleanup(self.cluster.ask, "DELETE", f"{CLAIMS_API}/resourceslices/of-node2")
        self.refused("cleave-kubelet changes the slices of its own node only",
                     "delete", "resourceslice", "of-node2")


class ClaimCase(ClusterCase):
    prefix = "dra-"

    @classmethod
    def setUpClass(cls):
        cls.cluster.deploy("0.1.0", dra=DRA)

    def remove_pods(self):
        self.delete_pods()
        for each in self.cluster.ask("GET", TEMPLATES)["items"]:
            self.cluster.ask("DELETE", f"{TEMPLATES}/{each['metadata']['name']}")
        self.assertTrue(wait_until(lambda: not self.cluster.ask("GET", CLAIMS)["items"]))
        wait_until(lambda: not self.leases())
        self.assertEqual(self.leases(), {})

    # --- Pods ---

    def run_pod(self, name, share, *command, **config):
        """With a claim of a share.  config: of the lease."""
        self.run_claim(name, {"capacity": {"requests": {"share": str(share)}}}, *command, **config)

    def run_claim(self, name, request, *command, **config):
        """A pod with a claim from a template."""
        devices = {"requests": [{"name": "gpu", "exactly": {
            "deviceClassName": "gpu.cleave.dev", **request}}]}
        if config:
            devices["config"] = [{"opaque": {"driver": "gpu.cleave.dev", "parameters": {
                "apiVersion": "gpu.cleave.dev/v1", "kind": "LeaseConfig", **config}}}]
        self.cluster.ask("POST", TEMPLATES, {"metadata": {"name": name},
                                             "spec": {"spec": {"devices": devices}}})
        self.cluster.run_with({"claims": [{"name": "gpu"}]}, name, *command, resourceClaims=[
            {"name": "gpu", "resourceClaimTemplateName": name}])

    def start(self, name, share, **config):
        self.run_pod(name, share, "worker", "run", "100000", **config)
        self.cluster.wait_for_phase(name, "Running")
        self.progress(name)

    def fill(self, name, share):
        self.run_pod(name, share, "worker", "fill")
        return self.filled(name)

    def claim_of(self, name):
        (status,) = self.cluster.pod(name)["status"]["resourceClaimStatuses"]
        return self.cluster.ask("GET", f"{CLAIMS}/{status['resourceClaimName']}")

    def said_in_events(self, name, reason, words):
        def found():
            return any(what == reason and words in why for what, why in self.cluster.events(name))
        self.assertTrue(wait_until(found), self.cluster.events(name))


class Claims(ClaimCase):
    def test_memory(self):
        self.check_quota(30, self.fill("fill", 30))

    def test_third_waits(self):
        """Two pods compute; a third waits with the scheduler's reason, and starts in the place of one
        that is deleted."""
        self.start("large", 60)
        self.start("small", 30)
        self.assertEqual(sorted(lease["share"] for lease in self.leases().values()), [.3, .6])
        self.run_pod("third", 30, "worker", "run", "100000")
        self.waits("third", "cannot allocate all claims")
        self.cluster.delete("small")
        self.cluster.wait_for_phase("third", "Running")
        self.progress("third")

    def test_refusal(self):
        """What the scheduler cannot know: the pod and its claim tell why, and the pod starts when
        there is room."""
        self.in_agent("cleave", "reserve", "--name", "used", "--share", ".5")
        self.run_pod("large", 60, "true")
        self.said_in_events("large", "FailedPrepareDynamicResources",
                            "share 0.6 does not fit on gpu0 now")
        (device,) = self.claim_of("large")["status"]["devices"]
        (condition,) = device["conditions"]
        self.assertEqual((condition["type"], condition["status"], condition["reason"]),
                         ("Ready", "False", "Refused"))
        self.assertIn("share 0.6 does not fit on gpu0 now", condition["message"])
        self.in_agent("cleave", "release", "used")
        self.cluster.wait_for_phase("large", "Succeeded")

    def test_configuration(self):
        self.start("quick", 20, **{"class": "latency", "cap": .5})
        (lease,) = self.leases().values()
        self.assertEqual((lease["class"], lease["cap"]), ("latency", .5))
        self.run_pod("wrong", 20, "true", colour="blue")
        self.said_in_events("wrong", "FailedPrepareDynamicResources", "colour")

    def test_extended_resource(self):
        """A whole device without a claim of the pod's author."""
        self.cluster.run_with({"limits": {WHOLE: "1"}}, "whole", "worker", "fill")
        self.check_quota(100, self.filled("whole"))

    def test_kubelet_restarts(self):
        self.check_restart(self.restart_kubelet)

    def test_driver_restarts(self):
        self.check_restart(lambda: self.kill_container("kubelet"))

    def test_agent_restarts(self):
        self.check_restart(lambda: self.kill_container("agent"))

    def restart_kubelet(self):
        self.cluster.node.stop("kubelet")
        self.cluster.start_kubelet()

    def check_restart(self, restart):
        """The pod goes on in its lease, and another one can start."""
        self.start("before", 30)
        leases = set(self.leases())
        restart()
        self.progress("before")
        self.assertEqual(set(self.leases()), leases)
        self.check_quota(20, self.fill("after", 20))
        self.progress("before")

    def test_cordoned(self):
        """A taint keeps claims away until it is removed."""
        self.in_agent("cleave", "cordon", "gpu0")
        self.addCleanup(self.in_agent, "cleave", "uncordon", "gpu0")
        self.assertTrue(wait_until(lambda: any(
            taint["key"] == "cleave.dev/health" for device in self.cluster.devices()
            for taint in device.get("taints", []))), self.cluster.devices())
        self.run_pod("late", 30, "true")
        self.waits("late", "cannot allocate all claims")
        self.in_agent("cleave", "uncordon", "gpu0")
        self.cluster.wait_for_phase("late", "Succeeded")

    def test_health_of_the_pod(self):
        """The pod's status has that of its device."""
        self.start("healthy", 30)

        def health():
            (container,) = self.cluster.pod("healthy")["status"]["containerStatuses"]
            return [one["health"] for each in container.get("allocatedResourcesStatus", [])
                    for one in each.get("resources", [])]
        self.assertTrue(wait_until(lambda: health() == ["Healthy"]),
                        self.cluster.pod("healthy")["status"])

    def test_many(self):
        for first in range(0, 60, 20):
            names = [f"pod-{i}" for i in range(first, first + 20)]
            for name in names:
                self.run_pod(name, 5, "clinfo", "--list")
            for name in names:
                self.cluster.wait_for_phase(name, "Succeeded")
            for name in names:
                self.cluster.delete(name)


class Partitions(ClaimCase):
    """MIG instances of a simulated GPU, which exist as long as their claims."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        space = f"--namespace={helm.NAMESPACE}"
        cls.cluster.kubectl("patch", "configmap", "cleave", space, "--type=merge", "--patch",
                            json.dumps({"data": {"node.yaml": MIG}}))
        cls.cluster.kubectl("patch", "daemonset", "cleave-node", space, "--patch", json.dumps(
            {"spec": {"template": {"spec": {"containers": [{"name": "agent", "command": [
                "cleaved", "--system", "--foreground", "--sim=/etc/cleave/node.yaml"]}]}}}}))
        assert wait_until(lambda: cls.cluster.is_rolled_out("cleave-node") and any(
            "-3g-" in each["name"] for each in cls.cluster.devices()))

    def run_instance(self, name, profile):
        self.run_claim(name, {"selectors": [{"cel": {"expression":
            'device.attributes["gpu.cleave.dev"].?profile.orValue("") == ' f'"{profile}"'}}]},
                       "sleep", "infinity")

    def instances(self):
        return sorted(part["profile"] for device in self.agent("/v1/node")["devices"]
                      for part in device["partitions"])

    def test_counters(self):
        """The scheduler gives what the hardware can do, and no more."""
        for name in ("one", "two"):
            self.run_instance(name, "3g.40gb")
            self.cluster.wait_for_phase(name, "Running")
        self.assertEqual(self.instances(), ["3g.40gb", "3g.40gb"])
        for name, profile in (("third", "3g.40gb"), ("small", "1g.10gb")):
            self.run_instance(name, profile)
            self.waits(name, "cannot allocate all claims")
        self.cluster.delete("one")
        self.assertTrue(wait_until(lambda: "Running" in map(self.cluster.phase, ("third", "small"))))
        self.assertLessEqual(set(self.instances()), {"3g.40gb", "1g.10gb"})

    def test_nothing_is_left(self):
        names = [f"small-{i}" for i in range(7)]
        for name in names:
            self.run_instance(name, "1g.10gb")
        for name in names:
            self.cluster.wait_for_phase(name, "Running")
        self.assertEqual(self.instances(), 7 * ["1g.10gb"])
        self.delete_pods()
        self.assertTrue(wait_until(lambda: not self.instances()), self.instances())


if __name__ == "__main__":
    cluster_case.main()
