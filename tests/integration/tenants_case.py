# SPDX-License-Identifier: Apache-2.0
"""Real tenants on PoCL in leases of a real agent, for tests of shares that are measured."""
import json
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import tenants  # noqa: E402
from measured import bound  # noqa: E402

BUILD = []
DEEP = ["--kernel", 1000, "--depth", 8]
REQUESTS = ["--mode", "request", "--kernel", 1000, "--request", 1000, "--hz", 10]


class Share:
    """The options of `cleave run`."""

    def __init__(self, share):
        self.share = share

    def options(self):
        return ["--share", self.share, "--memory", "64M"]

PATIENCE_S = 90  # limit for a hang


class Case(unittest.TestCase):
    VENDORS = None  # the machine's own drivers

    def setUp(self):
        self.session = tenants.Session(BUILD[0], True, self.VENDORS)
        self.addCleanup(self.session.close)
        self.prepare()
        self.start_agent()
        self.calibration = self.calibrate()
        self.holders = []
        self.addCleanup(self.end_holders)

    def prepare(self):
        pass

    def calibrate(self):
        return self.session.calibrate()

    def start_agent(self):
        """Starts the agent where `cleave` looks for it, with locks of its own, because the device is a
        processor that another agent may use as well."""
        folder = self.session.folder
        (folder / "locks").mkdir(exist_ok=True)
        ready, write_end = os.pipe()
        agent = subprocess.Popen(
            [f"{BUILD[0]}/src/agent/cleaved", "--runtime-dir", str(folder / "run/cleave"),
             "--state-dir", str(folder / "state/cleave"), "--lock-dir",
             str(folder / "locks"), "--foreground", f"--ready-fd={write_end}"],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=[write_end],
            env=self.session.environment)
        os.close(write_end)
        self.assertEqual(os.read(ready, 1), b"1")
        os.close(ready)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        return agent

    def end_holders(self):
        for holder in self.holders:
            holder.terminate()
            holder.wait()

    def cleave(self, *arguments):
        return subprocess.run([self.session.cleave(), *arguments], text=True,
                              capture_output=True, env=self.session.environment)

    def leases(self):
        listed = self.cleave("ps", "-o", "json")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        items = json.loads(listed.stdout)["items"]
        self.assertLessEqual(sum(item["share"] for item in items), 1.0001)
        for item in items:
            if item["share_range"]:
                self.assertGreaterEqual(item["share"], item["share_range"]["least"])
                self.assertLessEqual(item["share"], item["share_range"]["most"])
        return {item["name"]: item for item in items}

    def share(self, name):
        return self.leases()[name]["share"]

    def spawn(self, name, share, arguments=DEEP):
        return self.session.spawn(
            name, [*arguments, "--cal", self.calibration], Share(share))

    def wait_for(self, condition, seconds, what):
        seconds = bound(seconds, PATIENCE_S)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if condition(self.leases()):
                return
            time.sleep(0.25)
        self.fail(f"after {seconds} s not {what}: " + ", ".join(
            f"{name} {item['share']:.3f} used {item['share_used']:.3f}"
            for name, item in self.leases().items()))

    def events(self, kind):
        lines = self.cleave("events", "-o", "json").stdout
        return [e for e in json.loads(lines)["items"] if e["type"] == kind]

    def hold(self, name, share):
        """Holds a lease without an attached process."""
        self.holders.append(subprocess.Popen(
            [self.session.cleave(), "run", "--share", share, "--memory", "16M", "--name",
             name, "--no-namespace", "--", "sleep", "600"], env=self.session.environment))
        self.wait_for(lambda now: name in now, 10, f"there is {name}")


class OnDouble(Case):
    """On a device whose kernels take a millisecond each without a processor, so that other programs
    do not disturb it."""

    def setUp(self):
        self.VENDORS = Path(BUILD[0]) / "tests/doubles/opencl/vendors"
        if not any(self.VENDORS.glob("*.icd")):
            self.skipTest("the double is not built")
        super().setUp()

    def prepare(self):
        self.session.environment.update(
            CLEAVE_DOUBLE_KERNEL_US="1000",
            CLEAVE_DOUBLE_DEVICE=str(self.session.folder / "device"))

    def calibrate(self):
        return "0,1"
