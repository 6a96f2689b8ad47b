#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The containers of the chart's DaemonSet start and work with what the chart gives to them.

usage: test_daemonset.py CLEAVE-KUBELET CLEAVED CLEAVE [unittest arguments]"""
import os
import sys
import unittest

import bed
import helm
from bed import Bed
from daemonset import Container

sys.path.insert(0, os.path.join(bed.ROOT, "tests/bridge"))
import podman  # noqa: E402

SHARE = "cleave.dev/gpu-share"
KUBELET = "/var/lib/kubelet"


@unittest.skipIf(helm.why_not(), helm.why_not())
class DaemonSet(Bed):
    def setUp(self):
        why = podman.why_not()
        if why:
            self.skipTest(why)
        super().setUp()
        self.podman = podman.Podman()
        self.addCleanup(self.podman.close)
        self.kubelet.start()

    def folder_of(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(path, exist_ok=True)
        return path

    def container(self, name, **values):
        """The container, with the host's folders in the folder of the test."""
        folders = {f"{KUBELET}/{each}": os.path.join(self.kubelet.folder, each)
                   for each in os.listdir(self.kubelet.folder)}
        made = Container({"extender": False, **values}, name, {
            **folders, "/run/cleave": os.path.dirname(self.agent.api),
            "/var/run/cdi": self.folder_of("cdi"), "settings": self.folder_of("settings"),
            "empty": self.folder_of("empty")})
        with open(os.path.join(self.folder, "settings/kubelet.yaml"), "w",
                  encoding="utf-8") as file:
            file.write(made.settings("kubelet.yaml"))
        return made

    def start(self, container):
        """Starts the container, and returns its name."""
        name = f"cleave-{container.spec['name']}-{os.getpid()}"
        program, *arguments = container.spec["command"]
        self.podman.started.append(name)
        done = self.podman.call(
            "run", "--detach", "--name", name, *self.podman.options((), "/:O")[:-2],
            *container.options(), "--rootfs", "/:O", self.program(program), *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return name

    def program(self, name):
        return bed.PROGRAMS[name.removeprefix("cleave-")]

    def test_kubelet_serves(self):
        self.start(self.container("kubelet"))
        self.assertEqual(len(self.kubelet.resource(SHARE).healthy()), 100)


if __name__ == "__main__":
    bed.main()
