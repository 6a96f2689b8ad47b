# SPDX-License-Identifier: Apache-2.0
"""A whole cluster of one node: the control plane of cluster.py with access control, a controller
manager, containerd and kubelet, all in a machine of its own (node.py)."""
import collections
import ctypes
import json
import os
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import bed
import cluster
import helm
import images
from node import ADDRESS, NAME, Node

CLONE_NEWNET = 0x40000000
# For what hangs: leases end a minute after their pods, and the extender holds a pod's room for up
# to ten minutes.
PATIENCE_S = 1200
WORK = "docker.io/library/work:1"
SOCKET = "/run/containerd/containerd.sock"
SCHEDULER_PORT = 10251
# What schedulers call the change of the node by which they try a pod again.
MARKED = ("NodeLabelChange", "NodeUpdateNodeAnnotation")
SHARE = "cleave.dev/gpu-share"
PODS = "/api/v1/namespaces/default/pods"
CLAIMS_API = "/apis/resource.k8s.io/v1"
OURS = f"/apis/apps/v1/namespaces/{helm.NAMESPACE}/daemonsets/"
OUR_PODS = f"/api/v1/namespaces/{helm.NAMESPACE}/pods"
PROGRAMS = ("kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubelet")
CONTAINERD = f"""version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{WORK}"
  restrict_oom_score_adj = true
  enable_cdi = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni"
"""
NETWORK = {"cniVersion": "0.4.0", "name": "pods", "plugins": [
    {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipam": {
        "type": "host-local", "ranges": [[{"subnet": "10.1.0.0/16"}]],
        "routes": [{"dst": "0.0.0.0/0"}]}}]}
NEVER = {name: "0%" for name in ("nodefs.available", "nodefs.inodesFree", "imagefs.available")}
KUBELET = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"}, "cgroupDriver": "cgroupfs",
    "enforceNodeAllocatable": [], "failSwapOn": False,
    "makeIPTablesUtilChains": False, "evictionHard": {**NEVER, "memory.available": "1Mi"},
    "imageGCHighThresholdPercent": 100, "maxPods": 250, "hairpinMode": "none",
    "nodeStatusUpdateFrequency": "2s", "registryPullQPS": 0, "eventRecordQPS": 0}
# Of kubelets that read CDI; their nodes have Debian 13, whose containerd reads CDI, too.
KUBELET_WITH_CDI = {**KUBELET, "failCgroupV1": False}


def wait_until(condition):
    """Asks seldom, because each question is work for the whole cluster."""
    end = time.monotonic() + PATIENCE_S
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(.5)
    return value


def why_not():
    if os.geteuid() != 0:
        return "needs root"
    for name in PROGRAMS:
        if not os.path.exists(os.path.join(cluster.BIN, name)):
            return f"there is no {cluster.BIN}/{name}: tests/kubernetes/build-cluster.sh builds it"
    if not os.path.exists("/usr/sbin/debootstrap"):
        return "debootstrap is not installed"
    return helm.why_not()


class Network:
    """Sockets that are made in here are the node's."""
    LIBC = ctypes.CDLL(None, use_errno=True)

    def __init__(self, pid):
        self.own, self.other = (os.open(f"/proc/{each}/ns/net", os.O_RDONLY)
                                for each in ("self", pid))

    def __enter__(self):
        assert self.LIBC.setns(self.other, CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())

    def __exit__(self, *_):
        assert self.LIBC.setns(self.own, CLONE_NEWNET) == 0

    def close(self):
        os.close(self.own)
        os.close(self.other)


class WholeCluster(cluster.Cluster):
    ADDRESS, PORT = ADDRESS, 443
    TOKENS = (*cluster.Cluster.TOKENS, f'kubelet,system:node:{NAME},kubelet,"system:nodes"')
    MORE = ("--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged=true", "--kubelet-preferred-address-types=InternalIP")

    def __init__(self, tags, build, worker):
        """tags: of cleave's image."""
        folder = tempfile.mkdtemp(prefix="cleave-cluster-", dir="/var/tmp")
        has_cdi = cluster.minor() >= 29
        self.settings = KUBELET_WITH_CDI if has_cdi else KUBELET
        base, layer = images.make_base("trixie" if has_cdi else "bookworm")
        self.node = Node(base, os.path.join(folder, "state"),
                         [folder, cluster.BIN, helm.CACHE])
        self.network = Network(self.node.pid)
        try:
            super().__init__(folder)
            self.start_containerd(self.images(tags, layer, build, worker))
            self.start_rest()
        except BaseException:
            self.close()
            raise

    def close(self):
        self.node.close()
        self.network.close()
        subprocess.run(["rm", "-rf", self.node.state, os.path.dirname(self.node.state)],
                       check=False)

    # --- What it is made of ---

    def start(self, name, arguments):
        self.node.start(name, *arguments)

    def log(self, name):
        return self.node.log(name)

    def images(self, tags, base, build, worker):
        own = images.installed(build, self.folder)
        work = images.with_files(self.folder, "work", {"/usr/bin/worker": worker})
        made = {"work:1": [base, work]}
        for tag in tags:
            version = self.path(tag)
            with open(version, "w", encoding="utf-8") as file:
                file.write(tag)
            mark = images.with_files(self.folder, "of-" + tag, {"/etc/tag": version})
            made[f"cleave:{tag}"] = [base, own, mark]
        return images.archive(self.path("images.tar"), made)

    def must(self, *words, **more):
        done = self.node.call(*words, **more)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def start_containerd(self, archive):
        self.node.write("/etc/containerd/config.toml", CONTAINERD)
        self.node.write("/etc/cni/net.d/pods.conflist", json.dumps(NETWORK))
        self.start("containerd", ["containerd"])
        self.node.until("containerd", lambda: self.node.call("ctr", "version").returncode == 0)
        self.must("ctr", "--namespace=k8s.io", "images", "import", archive)
        os.unlink(archive)

    def start_rest(self):
        self.start("kube-controller-manager", [
            f"{cluster.BIN}/kube-controller-manager", f"--kubeconfig={self.kubeconfig()}",
            "--leader-elect=false", *(["--port=0"] if cluster.minor() < 24 else []),
            "--secure-port=0",
            f"--service-account-private-key-file={self.path('api.key')}",
            f"--root-ca-file={self.path('api.crt')}"])
        self.schedule("http://127.0.0.1:8888", port=SCHEDULER_PORT)
        with open(self.path("kubelet.json"), "w", encoding="utf-8") as file:
            json.dump({**self.settings, "cgroupRoot": "/" + self.node.group}, file)
        self.kubeconfig("kubelet", self.path("kubelet.kubeconfig"))
        self.start_kubelet()

    def start_kubelet(self):
        self.start("kubelet", [
            f"{cluster.BIN}/kubelet", f"--config={self.path('kubelet.json')}",
            f"--kubeconfig={self.path('kubelet.kubeconfig')}",
            *(["--container-runtime=remote"] if cluster.minor() < 24 else []),
            f"--container-runtime-endpoint=unix://{SOCKET}", f"--hostname-override={NAME}",
            f"--node-ip={ADDRESS}"])
        self.node.until("kubelet", lambda: self.is_node_ready() and self.answers())

    def answers(self):
        """kubelet does, as for the logs of pods."""
        try:
            return self.ask("GET", f"/api/v1/nodes/{NAME}/proxy/healthz") == "ok"
        except urllib.error.HTTPError:
            return False

    # --- Its API ---

    def ask_for_text(self, method, path, body=None, kind="application/json"):
        with self.network:
            return super().ask_for_text(method, path, body, kind)

    def tries(self):
        """How often each event had the scheduler try a pod again."""
        scheme = "http" if cluster.minor() < 25 else "https"
        url = f"{scheme}://127.0.0.1:{SCHEDULER_PORT}/metrics"
        anyone = ssl._create_unverified_context()  # the scheduler made its certificate itself
        with self.network, urllib.request.urlopen(url, timeout=600, context=anyone) as answer:
            lines = answer.read().decode().splitlines()
        counts = collections.Counter()
        for line in lines:
            if line.startswith("scheduler_queue_incoming_pods_total{"):
                counts[line.split('event="')[1].split('"')[0]] += float(line.split()[-1])
        return counts

    def find(self, path):
        """None: there is no such object."""
        try:
            return self.ask("GET", path)
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return None

    def patch(self, path, body):
        return self.ask("PATCH", path, body, "application/merge-patch+json")

    def node_object(self):
        return self.find(f"/api/v1/nodes/{NAME}")

    def is_node_ready(self):
        made = self.node_object()
        return made and any(each["type"] == "Ready" and each["status"] == "True"
                            for each in made["status"].get("conditions", []))

    def kubectl(self, *words, **more):
        return self.must(helm.KUBECTL, f"--kubeconfig={self.config}", *words, **more)

    # --- cleave ---

    def deploy(self, tag, **values):
        """The chart with the image of this tag, as docs/kubernetes.md has it for a pipeline without
        Helm."""
        if not self.find(f"/api/v1/namespaces/{helm.NAMESPACE}"):
            self.kubectl("create", "namespace", helm.NAMESPACE)
            self.kubectl("label", "node", NAME, "cleave.dev/node=true",
                         "node-role.kubernetes.io/control-plane=")
        objects = helm.template({"image": f"cleave:{tag}", **values},
                                f"--kube-version=1.{cluster.minor()}.2")
        self.kubectl("apply", "-f", "-", input=objects)
        for name in ("cleave-node", "cleave-extender"):
            wait_until(lambda name=name: self.is_rolled_out(name))
            assert self.is_rolled_out(name), self.state_of_ours()
        offers = self.devices if values.get("dra") else lambda: self.shares() == 100
        assert wait_until(offers), self.state_of_ours()

    def is_rolled_out(self, name):
        made = self.ask("GET", OURS + name)
        status = made["status"]
        return (status.get("observedGeneration") == made["metadata"]["generation"]
                and status.get("updatedNumberScheduled") == status.get("numberReady") == 1)

    def our_pods(self, name):
        return [each for each in self.ask("GET", OUR_PODS)["items"]
                if each["metadata"]["name"].startswith(name)]

    def state_of_ours(self):
        events = self.ask("GET", f"/api/v1/namespaces/{helm.NAMESPACE}/events")["items"]
        return json.dumps([[each["status"] for each in self.our_pods("")],
                           [each["message"] for each in events]], indent=1)

    def shares(self):
        return int(self.node_object()["status"]["allocatable"].get(SHARE, 0))

    def devices(self):
        """Those of claims that the node publishes."""
        return [device for each in self.ask("GET", f"{CLAIMS_API}/resourceslices")["items"]
                for device in each["spec"].get("devices", [])]

    # --- Pods ---

    def run(self, name, share, *command, **spec):
        self.run_with({"limits": {SHARE: str(share)} if share else {}}, name, *command, **spec)

    def run_with(self, resources, name, *command, **spec):
        """Creates a pod with one container."""
        self.ask("POST", PODS, {
            "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
                     "dnsPolicy": "Default", "containers": [
                         {"name": "c", "image": "work:1", "command": list(command),
                          "resources": resources}], **spec}})

    def phase(self, name):
        return self.pod(name)["status"].get("phase")

    def delete(self, name):
        self.ask("DELETE", f"{PODS}/{name}")

    def is_gone(self, name):
        return self.find(f"{PODS}/{name}") is None

    def said(self, name, container="c"):
        """A kubelet that has just started does not know its pods for a moment."""
        path = f"{PODS}/{name}/log?container={container}"

        def ask():
            try:
                return [self.ask_for_text("GET", path)]
            except urllib.error.HTTPError as error:
                if error.code != 404 or not self.find(f"{PODS}/{name}"):
                    raise
                return None
        (text,) = wait_until(ask)
        return text

    def events(self, name):
        """[(reason, message)]"""
        return [(each["reason"], each["message"]) for each in self.ask(
            "GET", "/api/v1/namespaces/default/events")["items"]
            if each["involvedObject"]["name"] == name]

    def wait_for_phase(self, name, *phases):
        wait_until(lambda: self.phase(name) in phases)
        assert self.phase(name) in phases, (self.pod(name)["status"], self.events(name),
                                            self.log("kubelet"))
        return self.phase(name)
