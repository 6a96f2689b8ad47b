# SPDX-License-Identifier: Apache-2.0
"""Shared by the cases of the self-test."""
import sys
import threading
import time
import unittest

from sysfs_double import Double

PCI = "bus/pci/devices/"
PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else ""


def wait_until(condition, seconds=60):
    until = time.monotonic() + seconds
    while time.monotonic() < until and not condition():
        time.sleep(0.01)
    return condition()


def is_mounted(path):
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        return any(line.split()[1] == path for line in mounts)


class Case(unittest.TestCase):
    devices = ()
    world = {}

    def setUp(self):
        self.double = self.make(*self.devices)

    def make(self, *devices):
        double = Double(PROGRAM, {"devices": list(devices), **self.world})
        self.addCleanup(double.close)
        self.addCleanup(self.end_well, double)
        return double.start()

    def end_well(self, double):
        self.assertEqual(double.stop(), "")

    def refused(self, error, path, value):
        before = self.double.try_read(path)
        self.assertEqual(self.double.try_write(path, value), error, (path, value))
        self.assertEqual(self.double.try_read(path), before, path)

    def background(self, path, value):
        """Writes in a thread; returns (the thread, a list that gets the result)."""
        outcome = []
        thread = threading.Thread(
            target=lambda: outcome.append(self.double.try_write(path, value)))
        thread.start()
        self.addCleanup(thread.join)
        return thread, outcome
