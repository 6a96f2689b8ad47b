#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The probes of the chart: each fails when what it stands for is not the case.

usage: test_probes.py CLEAVE-KUBELET CLEAVED CLEAVE [unittest arguments]"""
import os
import signal
import subprocess
import unittest

import bed
import helm
from bed import Bed, wait_until


@unittest.skipIf(helm.why_not(), helm.why_not())
class Probes(Bed):
    def probe(self, container, kind):
        """Runs a probe of the chart's pod, with the paths of this machine."""
        spec = next(each for each in helm.containers(helm.documents())
                    if each["name"] == container)
        program, *arguments = spec[kind]["exec"]["command"]
        paths = {"/etc/cleave/kubelet.yaml": os.path.join(self.folder, "kubelet.yaml"),
                 "--socket=/run/cleave/api.sock": f"--socket={self.agent.api}"}
        return subprocess.run(
            [bed.PROGRAMS[program.removeprefix("cleave-")],
             *(paths.get(each, each) for each in arguments)],
            capture_output=True, text=True, timeout=60, check=False)

    def fails(self, container, kind, words):
        """The probe fails with these words before long."""
        last = []

        def is_seen():
            last[:] = [self.probe(container, kind)]
            return last[0].returncode != 0 and words in last[0].stderr
        self.assertTrue(wait_until(is_seen), last)

    def passes(self, container, kind):
        self.assertTrue(wait_until(lambda: self.probe(container, kind).returncode == 0),
                        self.probe(container, kind))


class OfAgent(Probes):
    def test_agent(self):
        for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
            self.assertEqual(self.probe("agent", kind).returncode, 0)
        self.agent.stop()
        for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
            self.assertEqual(self.probe("agent", kind).returncode, 69)

    def test_an_agent_without_state_lives_and_is_not_ready(self):
        self.agent.stop()
        database = os.path.join(self.agent.state, "cleaved.db")
        os.unlink(database)
        os.mkfifo(database)
        self.agent.start()
        self.assertEqual(self.probe("agent", "livenessProbe").returncode, 0)
        self.fails("agent", "readinessProbe", "not a regular file")


class OfKubelet(Probes):
    def start_bridge(self, **settings):
        super().start_bridge(status=os.path.join(self.folder, "status"), **settings)

    def test_registration(self):
        self.start_bridge()
        self.fails("kubelet", "readinessProbe", "has not registered cleave.dev/gpu-share")
        self.passes("kubelet", "livenessProbe")
        self.kubelet.start()
        self.passes("kubelet", "readinessProbe")
        self.kubelet.stop()
        self.fails("kubelet", "readinessProbe", "has not registered cleave.dev/gpu-share")
        self.passes("kubelet", "livenessProbe")

    def test_agent(self):
        self.agent.stop()
        self.start_bridge()
        self.fails("kubelet", "readinessProbe", "the agent does not answer")

    def test_stopped(self):
        self.kubelet.start()
        self.start_bridge()
        self.passes("kubelet", "readinessProbe")
        self.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.process.send_signal, signal.SIGCONT)
        for kind in ("livenessProbe", "readinessProbe"):
            self.fails("kubelet", kind, "has not written")

    def test_no_status(self):
        """The file cannot be written: cleave-kubelet does not start."""
        super().start_bridge(status=os.path.join(self.folder, "none/status"))
        self.assertEqual(self.process.wait(60), 125)
        self.assertIn("none/status", self.log())
        self.process = None
        self.fails("kubelet", "livenessProbe", "none/status")


if __name__ == "__main__":
    bed.main()
