# SPDX-License-Identifier: Apache-2.0
"""A control plane of real programs: Debian's etcd, and the kube-apiserver and kube-scheduler that
build-cluster.sh makes, or those of another version in the folder that CLEAVE_KUBERNETES names.
There is no kubelet: nodes are objects that a test makes."""
import functools
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import bed

CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
BIN = (os.environ.get("CLEAVE_KUBERNETES")
       or os.path.join(CACHE, "cleave", "kubernetes", "bin"))
TOKEN = "t0ken"
SCHEDULER = os.path.join(bed.ROOT, "packaging/kubernetes/scheduler.yaml")


def why_not():
    """Why there is no cluster, or None."""
    for name in ("kube-apiserver", "kube-scheduler"):
        if not os.path.exists(os.path.join(BIN, name)):
            return f"there is no {BIN}/{name}: tests/kubernetes/build-cluster.sh builds it"
    if not shutil.which("etcd"):
        return "there is no etcd: install Debian's package etcd-server"
    return None


@functools.cache
def minor():
    """n of the programs' version 1.n."""
    said = subprocess.run([os.path.join(BIN, "kube-apiserver"), "--version"], capture_output=True,
                          text=True, check=True).stdout
    return int(said.split(".")[1])


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Recorder:
    """Passes requests on to the extender, and keeps each with its answer, and how many seconds
    that took."""

    def __init__(self, target):
        self.target, self.seen, self.took = target, [], []
        handler = type("Handler", (RecorderHandler,), {"recorder": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def requests(self, path):
        return [asked for where, asked, _ in self.seen if where == path]

    def answers(self, path):
        return [answer for where, _, answer in self.seen if where == path]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class RecorderHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    recorder = None

    def log_message(self, *arguments):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        began = time.perf_counter()
        with urllib.request.urlopen(self.recorder.target + self.path, body, 60) as answer:
            data = answer.read()
        self.recorder.took.append((self.path, json.loads(body), time.perf_counter() - began))
        self.recorder.seen.append((self.path, json.loads(body), json.loads(data)))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Cluster:
    ADDRESS, PORT = "127.0.0.1", None
    TOKENS = (f"{TOKEN},admin,admin,system:masters",)
    # Of the API server.  No controller makes the accounts of namespaces.
    MORE = ("--authorization-mode=AlwaysAllow", "--disable-admission-plugins=ServiceAccount")

    def __init__(self, folder):
        self.folder, self.processes = folder, []
        self.config = self.path("kubeconfig")
        self.make_keys()
        self.port = self.PORT or free_port()
        self.start_control_plane()
        self.context = ssl.create_default_context(cafile=self.path("api.crt"))
        assert bed.wait_until(self.is_ready, 120), self.log("kube-apiserver")

    def start_control_plane(self):
        etcd = f"http://127.0.0.1:{free_port()}"
        self.start("etcd", ["etcd", "--data-dir", self.path("etcd"), "--listen-client-urls", etcd,
                            "--advertise-client-urls", etcd,
                            "--listen-peer-urls", f"http://127.0.0.1:{free_port()}"])
        self.etcd = etcd
        self.start_api_server()

    def start_api_server(self):
        etcd = self.etcd
        self.start("kube-apiserver", [
            f"{BIN}/kube-apiserver", f"--etcd-servers={etcd}", f"--bind-address={self.ADDRESS}",
            f"--secure-port={self.port}", f"--tls-cert-file={self.path('api.crt')}",
            f"--tls-private-key-file={self.path('api.key')}",
            f"--token-auth-file={self.path('tokens')}",
            f"--service-account-issuer=https://{self.ADDRESS}",
            f"--service-account-key-file={self.path('api.key')}",
            f"--service-account-signing-key-file={self.path('api.key')}",
            "--service-cluster-ip-range=10.0.0.0/24", f"--cert-dir={self.path('certs')}",
            *self.MORE])

    def stop_api_server(self):
        (server,) = [each for each in self.processes if each.args[0].endswith("/kube-apiserver")
                     and each.poll() is None]
        server.kill()
        server.wait()

    def path(self, name):
        return os.path.join(self.folder, name)

    def make_keys(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
                        "-subj", f"/CN={self.ADDRESS}",
                        "-addext", f"subjectAltName=IP:{self.ADDRESS}",
                        "-keyout", self.path("api.key"), "-out", self.path("api.crt")],
                       check=True, capture_output=True)
        with open(self.path("tokens"), "w", encoding="ascii") as file:
            file.writelines(line + "\n" for line in self.TOKENS)

    def start(self, name, arguments):
        with open(self.path(name + ".log"), "wb") as log:
            self.processes.append(subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder))

    def log(self, name):
        with open(self.path(name + ".log"), encoding="utf-8", errors="replace") as log:
            return log.read()[-4000:]

    def close(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()

    # --- The API server ---

    def kubeconfig(self, token=TOKEN, path=None):
        path = path or self.config
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "here",
                       "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
                       "clusters": [{"name": "c", "cluster": {
                           "server": f"https://{self.ADDRESS}:{self.port}",
                           "certificate-authority": self.path("api.crt")}}],
                       "users": [{"name": "u", "user": {"token": token}}]}, file)
        return path

    def ask(self, method, path, body=None, kind="application/json"):
        text = self.ask_for_text(method, path, body, kind)
        return json.loads(text) if text.startswith("{") else text

    def ask_for_text(self, method, path, body=None, kind="application/json"):
        request = urllib.request.Request(
            f"https://{self.ADDRESS}:{self.port}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": kind,
                     "Accept": kind if body is None else "application/json"})
        with urllib.request.urlopen(request, timeout=600, context=self.context) as answer:
            return answer.read().decode()

    def is_ready(self):
        try:
            self.ask("GET", "/readyz")
            self.ask("GET", "/api/v1/namespaces/default")
            return True
        except (OSError, urllib.error.URLError):
            return False

    def add_node(self, name, **resources):
        """A node that is ready and has these resources."""
        self.ask("POST", "/api/v1/nodes", {"metadata": {"name": name}})
        merge = "application/merge-patch+json"
        amounts = {"cpu": "8", "memory": "64Gi", "pods": "110", **resources}
        self.ask("PATCH", f"/api/v1/nodes/{name}/status", {"status": {
            "capacity": amounts, "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                            "lastHeartbeatTime": "2026-01-01T00:00:00Z",
                            "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}, merge)
        # Each new node has a taint, which the controller of nodes would remove.
        self.ask("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": None}}, merge)

    def announce(self, name, *free_milli):
        """As cleave-kubelet does, for a node without one."""
        devices = [{"name": f"gpu{i}", "model": "H100-80GB", "memory_mib": 81559,
                    "free_milli": milli, "free_mib": 81559 * milli // 1000}
                   for i, milli in enumerate(free_milli)]
        self.ask("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"annotations": {
            "cleave.dev/devices": json.dumps(devices)}}}, "application/merge-patch+json")

    def add_pod(self, name, **limits):
        self.ask("POST", "/api/v1/namespaces/default/pods", {
            "metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "image": "registry.example/c:1",
                                     "resources": {"limits": limits}}]}})

    def pod(self, name):
        return self.ask("GET", f"/api/v1/namespaces/default/pods/{name}")

    def reasons(self, name):
        """The messages of the events that tell why the pod is not scheduled."""
        return [event["message"] for event in self.ask(
            "GET", "/api/v1/namespaces/default/events")["items"]
            if event["involvedObject"]["name"] == name and event["reason"] == "FailedScheduling"]

    # --- kube-scheduler ---

    def schedule(self, extender, has_names=True, port=0):
        """Starts kube-scheduler with the configuration that is shipped, as its version has it.  port:
        of its metrics; 0: none."""
        with open(SCHEDULER, encoding="utf-8") as file:
            text = file.read()
        group, is_old = "kubescheduler.config.k8s.io/", minor() < 25
        for old, new in ((group + "v1\n", group + ("v1beta1\n" if is_old else "v1\n")),
                         ("http://127.0.0.1:8888", extender),
                         ("nodeCacheCapable: true", f"nodeCacheCapable: {str(has_names).lower()}")):
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        with open(self.path("scheduler.yaml"), "w", encoding="utf-8") as file:
            file.write(text + "leaderElection: {leaderElect: false}\n"
                              f"clientConnection: {{kubeconfig: {self.kubeconfig()}}}\n")
        ports = ([f"--port={port}", "--secure-port=0"] if is_old else
                 [f"--secure-port={port}", "--authorization-always-allow-paths=/metrics"])
        self.start("kube-scheduler", [f"{BIN}/kube-scheduler", *ports,
                                      "--config", self.path("scheduler.yaml")])
