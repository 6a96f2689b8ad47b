# SPDX-License-Identifier: Apache-2.0
"""Several processes and threads on one node, some of which are killed."""
import random
import signal
import threading
import time
from ctypes import byref, c_uint, c_void_p

import nvml
from harness import Case, Child, Setup, in_child, wait_until

WALKERS = 4
PROFILES = (19, 14, 9)
PLACES = ((19, 0, 1), (19, 2, 1), (19, 4, 1), (19, 5, 1), (19, 6, 1), (14, 0, 2), (14, 2, 2),
          (14, 4, 2), (9, 0, 4), (9, 4, 4))


def attach():
    lib = Setup.library()
    lib.do("nvmlInit_v2")
    return lib, lib.device()


def walk(seed, steps):
    """Creates and destroys instances that other processes may have created; steps < 0: until
    killed."""
    lib, device = attach()
    rng, n = random.Random(seed), 0
    while n != steps:
        n += 1
        profile, start, size = rng.choice(PLACES)
        gi = c_void_p()
        if rng.random() < .5:
            lib.code("nvmlDeviceCreateGpuInstanceWithPlacement", device, profile,
                     byref(nvml.Placement(start, size)), byref(gi))
            continue
        for gi in lib.instances(device, profile)[:1]:
            lib.code("nvmlGpuInstanceDestroy", gi)
    return n


class Sharing(Case):
    def layout(self):
        """(id, units) of each instance, after a check that they do not overlap."""
        found = []
        for line in self.control("show").splitlines():
            words = line.split()
            if words[0] == "gi":
                start, size = map(int, words[4].split(":"))
                found.append((int(words[2]), range(start, start + size)))
        units = [u for _, span in found for u in span]
        self.assertEqual(len(units), len(set(units)), found)
        self.assertEqual(len({id for id, _ in found}), len(found), found)
        return found

    def test_others_see_at_once(self):
        lib, device = self.start_mig()

        def make():
            other, its_device = attach()
            other.create_ci(other.create(its_device, 9), 2)

        in_child(make)
        self.assertEqual(len(lib.mig_list(device)), 1)
        gi = lib.instances(device, 9)[0]
        lib.do("nvmlComputeInstanceDestroy", lib.compute_instances(gi, 2)[0])
        lib.do("nvmlGpuInstanceDestroy", gi)
        self.assertEqual(in_child(lambda: len(attach()[0].mig_list(device))), 0)

    def test_both_want_the_same_place(self):
        lib, device = self.start_mig()
        children = [Child(lambda: lib.code(
            "nvmlDeviceCreateGpuInstanceWithPlacement", device, 9,
            byref(nvml.Placement(0, 4)), byref(c_void_p()))) for _ in range(6)]
        codes = sorted(child.result() for child in children)
        self.assertEqual(codes, [0] + [nvml.INSUFFICIENT_RESOURCES] * 5)

    def test_many_at_once(self):
        self.start_mig()
        children = [Child(walk, seed, 400) for seed in range(WALKERS)]
        self.assertEqual([child.result() for child in children], [400] * WALKERS)
        self.layout()

    def test_killed_anywhere(self):
        lib, device = self.start_mig()
        rng = random.Random(7)
        for seed in range(12):
            children = [Child(walk, seed * WALKERS + i, -1) for i in range(2)]
            time.sleep(.002 + .02 * rng.random())
            for child in children:
                child.kill(signal.SIGKILL)
            for child in children:
                self.assertEqual(child.result(), -signal.SIGKILL)
            self.layout()
            self.assertEqual(lib.get("nvmlDeviceGetCount_v2"), 1)
        for profile in PROFILES:
            for gi in lib.instances(device, profile):
                lib.do("nvmlGpuInstanceDestroy", gi)
        self.assertEqual(self.layout(), [])

    def test_killed_with_the_lock(self):
        """A process that died in the middle of a change has changed nothing, and the next one does
        not block on its lock."""
        lib, device = self.start_mig()
        self.write("faults", "nvmlDeviceCreateGpuInstance * kill during\n")
        for _ in range(3):
            self.assertEqual(in_child(lib.create, device, 19), -signal.SIGKILL)
        self.write("faults", "")
        self.assertEqual(self.layout(), [])
        lib.create(device, 19)
        self.assertEqual(len(self.layout()), 1)

    def test_threads(self):
        lib, device = self.start_mig()
        failures = []

        def ask():
            for _ in range(300):
                if lib.get("nvmlDeviceGetMaxMigDeviceCount", device) != 7:
                    failures.append(1)
                lib.code("nvmlDeviceCreateGpuInstance", device, 19, byref(c_void_p()))
                for gi in lib.instances(device, 19)[:1]:
                    lib.code("nvmlGpuInstanceDestroy", gi)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.layout()

    def test_a_thread_hangs_alone(self):
        lib = self.start("gpu T4")
        self.write("calls", "")
        self.write("faults", "nvmlDeviceGetCount_v2 1 hang\n")

        def ask():
            threading.Thread(target=lib.code, daemon=True,
                             args=("nvmlDeviceGetCount_v2", byref(c_uint()))).start()
            return wait_until(self.calls) and bool(lib.device())

        self.assertTrue(in_child(ask))
