# SPDX-License-Identifier: Apache-2.0
"""The guides of Docker and containerd, and leases in their containers, with the engines themselves.

usage: test_engines.py CLEAVE CLEAVED GATES FOLDER [unittest arguments]

FOLDER keeps their root (engine_root.py).  CLEAVE_ENGINES_FROM: another release of Debian."""
import os
import re
import shutil
import subprocess
import sys
import unittest

import container_cases
import engines
import guide
from container_cases import CLEAVE, GATES, MIB

FOLDER = os.path.abspath(sys.argv[4])
BUILD = os.path.dirname(os.path.dirname(GATES))


class ContainerCase(container_cases.ContainerCase):
    def make_engine(self):
        return self.ENGINE(FOLDER, self.folder, BUILD)

    def describe(self):
        self.call("cdi", "generate", "--to", os.path.join(self.engine.specs, "cleave.json"))

    def follow(self, page, programs):
        """Each command of the guide; cleave's are of this machine, the others of the root."""
        env = dict(self.env, CLEAVE_SOCKET=self.socket,
                   PATH=os.path.dirname(CLEAVE) + ":" + self.env["PATH"])
        told = guide.commands(page)
        self.assertEqual({line.split()[0] for line in told}, {"cleave", *programs})
        for line in told:
            line = self.adapt(line.replace("/var/run/cdi", self.engine.specs))
            with self.subTest(line):
                words = ["sh", "-c", line]
                done = subprocess.run(
                    words if line.startswith("cleave") else self.engine.root.command(*words),
                    env=env, capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                if "clinfo" in line:
                    self.assertIn(str(200 * MIB), done.stdout)

    def adapt(self, line):
        """To what a machine without networks and limits of its own can do."""
        return line


class Docker(container_cases.Cases, container_cases.MeasuredCases, ContainerCase):
    ENGINE = engines.Docker

    def adapt(self, line):
        line = line.replace("docker run", f"docker run --network=none {' '.join(engines.LIMITS)}")
        return line.replace("docker compose", "docker compose --file /root/compose.yaml")

    def test_guide(self):
        self.engine.root.write("/root/compose.yaml", guide.block("docker.md", "yaml").replace(
            "    image:", "    network_mode: none\n    image:"))
        self.follow("docker.md", {"docker"})


class Compose(ContainerCase):
    """cleave as the provider of Docker Compose: the programs of this machine, with their libraries,
    run in the root."""
    ENGINE = engines.Docker

    def needs_providers(self):
        version = self.engine.must("docker", "compose", "version", "--short").strip().lstrip("v")
        if tuple(map(int, version.split(".")[:2])) < (2, 36):
            self.skipTest(f"Docker Compose {version} has no providers: CLEAVE_ENGINES_FROM=forky "
                          "has a newer one")

    def install(self):
        """cleave's own loader and libraries, which the root has in other versions."""
        folder = os.path.join(self.folder, "program")
        os.mkdir(folder)
        linked = subprocess.run(["ldd", CLEAVE], capture_output=True, text=True, check=True).stdout
        for path in [CLEAVE, *re.findall(r"(/\S+) \(0x", linked)]:
            shutil.copy(path, folder)
        loader = re.search(r"/\S*/(ld-linux\S*)", linked)[1]
        self.engine.root.write("/usr/bin/cleave", "#!/bin/sh\n"
                               f"export CLEAVE_SOCKET={self.socket} CLEAVE_GATE_DIR={GATES}\n"
                               f'exec {folder}/{loader} --library-path {folder} {folder}/cleave "$@"\n')
        self.engine.must("chmod", "+x", "/usr/bin/cleave")

    def compose(self, *words):
        return self.engine.call("docker", "compose", "--file", "/root/compose.yaml", *words)

    def write(self, old="", new=""):
        text = guide.block("docker-compose.md", "yaml").replace(
            "    image:", "    network_mode: none\n    image:")
        self.assertIn(old, text)
        self.engine.root.write("/root/compose.yaml", text.replace(old, new))

    def test_guide(self):
        self.needs_providers()
        self.install()
        self.write()
        for line in guide.commands("docker-compose.md"):
            done = self.compose(*line.split()[2:])
            self.assertEqual(done.returncode, 0, done.stderr)
            if "clinfo" in line:
                self.assertIn(str(200 * MIB), done.stdout)
            if "up" in line.split():
                self.assertIn("GPU_LEASE=shop-gpu", self.compose("exec", "chat", "env").stdout)
                self.assertEqual(list(self.leases()), ["shop-gpu"])
        self.assertEqual(self.leases(), {})

    def test_again_and_refused(self):
        self.needs_providers()
        self.install()
        self.write("memory:", "quota:")
        done = self.compose("up", "--detach")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("quota", done.stderr)
        self.assertEqual(self.leases(), {})
        self.write()
        self.assertEqual(self.compose("up", "--detach").returncode, 0)
        self.write("share: 0.3", "share: 0.4")
        self.assertEqual(self.compose("up", "--detach").returncode, 0)
        self.assertEqual(self.leases()["shop-gpu"]["share"], .4)
        self.assertEqual(self.compose("down", "--timeout=0").returncode, 0)
        self.assertEqual(self.leases(), {})


class Containerd(container_cases.Cases, container_cases.MeasuredCases, ContainerCase):
    ENGINE = engines.Containerd

    def adapt(self, line):
        return line.replace(
            "ctr ", f"ctr --address={self.folder}/containerd.sock --namespace=k8s.io ")

    def test_guide(self):
        if not self.engine.knows_cdi():
            self.skipTest("ctr is older than 2.0: CLEAVE_ENGINES_FROM=forky has a newer one")
        self.follow("containerd.md", {"ctr"})


if __name__ == "__main__":
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("needs root and debootstrap")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
