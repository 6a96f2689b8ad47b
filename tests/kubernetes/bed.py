# SPDX-License-Identifier: Apache-2.0
"""An agent, a kubelet's double and cleave-kubelet, in folders of their own."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../integration"))
import harness  # noqa: E402
from kubelet import Kubelet, Refused  # noqa: E402,F401

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
PROGRAMS = {}
PREFIX = "k8s-"
CDI = "cleave.dev/gpu="


def wait_until(condition, seconds=60):
    return harness.wait_until(condition, seconds)


class Bed(unittest.TestCase):
    settings = {}
    sim = None  # the text of a node
    agent_env = {}  # more variables of the agent
    agent_arguments = ()

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cleave-kube-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.kubelet = Kubelet(os.path.join(self.folder, "kubelet"))
        self.addCleanup(self.kubelet.stop)
        arguments = list(self.agent_arguments)
        if self.sim:
            path = os.path.join(self.folder, "node.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.sim)
            arguments += ["--sim", path]
        harness.PROGRAMS["cleaved"] = PROGRAMS["cleaved"]
        self.agent = harness.Agent(arguments=arguments, env=self.agent_env)
        self.addCleanup(self.agent.close)
        self.agent.start()
        self.process = None
        self.addCleanup(self.end_bridge)

    def end_bridge(self):
        if self.process and self.process.poll() is None:
            code = self.stop_bridge()
            self.assertEqual(code, 0, self.log())
        for word in ("Sanitizer", "runtime error"):
            self.assertNotIn(word, self.log() if self.process else "")

    # --- cleave-kubelet ---

    def write_settings(self, **more):
        path = os.path.join(self.folder, "kubelet.yaml")
        settings = {"version": 1, "kubelet": self.kubelet.folder, "agent": self.agent.api,
                    "cdi": os.path.join(self.folder, "cdi"), "gates": "/usr/lib/cleave",
                    "hook": "/usr/lib/cleave/cleave-cdi-hook", "reconcile": "100ms",
                    "grace": "200ms", **self.settings, **more}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(settings, file)
        return path

    def start_bridge(self, **settings):
        self.log_path = os.path.join(self.folder, "bridge.log")
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [PROGRAMS["kubelet"], "--config", self.write_settings(**settings)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=dict(os.environ, CLEAVE_LOG="info"))

    def stop_bridge(self, with_signal=signal.SIGTERM):
        self.process.send_signal(with_signal)
        return self.process.wait(60)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    # --- The ledger ---

    def leases(self):
        items = self.agent.get("/v1/leases?limit=10000")["items"]
        return {lease["name"]: lease for lease in items if lease["name"].startswith(PREFIX)}

    def specs(self):
        try:
            names = os.listdir(os.path.join(self.folder, "cdi"))
        except FileNotFoundError:
            return set()
        return {n.removeprefix("cleave-").removesuffix(".json") for n in names
                if n.endswith(".json")}

    def wanted(self):
        """The leases that kubelet's pods need."""
        return {name.removeprefix(CDI) for pod in self.kubelet.starts.values()
                for names in pod.values() for name in names}

    def check_ledger(self, seconds=60):
        """The ledger becomes equal to kubelet's pods, and only these have specs."""
        wait_until(lambda: set(self.leases()) == self.wanted() == self.specs(), seconds)
        self.assertEqual(set(self.leases()), self.wanted(), self.log())
        self.assertEqual(self.specs(), self.wanted())

    def devices(self):
        return {d["name"]: d for d in self.agent.get("/v1/devices")["items"]}


def main():
    PROGRAMS["kubelet"], PROGRAMS["cleaved"], PROGRAMS["cleave"] = map(
        os.path.abspath, sys.argv[1:4])
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])


def pause(seconds):
    time.sleep(seconds)
