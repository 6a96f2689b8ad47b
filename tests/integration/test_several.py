#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Leases on several devices, on nodes that the agent simulates: the devices of a
program, the rest for others, and the refusals with their reasons.

usage: test_several.py CLEAVE CLEAVED [TEST...]
"""
import json
import os
import signal
import subprocess

from cli_sandbox import Paths, is_alive, wait_until
from partition_sandbox import WithAgent, run_tests


class Several(WithAgent):
    def divide(self, node, layout):
        result = self.on(node, "apply", "--yes", self.layout(layout))
        self.assertEqual(result.returncode, 0, result.stderr)

    def layout(self, name):
        return os.path.join(self.NODES, "layouts", name + ".yaml")

    def seen(self, node, *arguments, variable="ROCR_VISIBLE_DEVICES"):
        result = self.on(node, "run", *arguments, "--", "printenv", variable)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.strip().split(",")

    def names(self, node):
        return [[d["name"] for d in lease["devices"]] for lease in self.leases(node)]

    def test_partitions_of_one_device(self):
        self.divide("mi300x", "mi300x-cpx-nps4")
        seen = self.seen("mi300x", "--profile", "CPX/NPS4", "--count", "4")
        self.assertEqual(len(set(seen)), 4)
        self.start("mi300x", "--profile", "CPX/NPS4", "--count", "5")
        self.start("mi300x", "--profile", "CPX/NPS4", "--count", "6")
        five, six = self.names("mi300x")
        self.assertEqual((len(five), len(six), set(five) & set(six)), (5, 6, set()))
        # Each on one device, because six do not fit beside five.
        self.assertEqual([len({n.split("/")[0] for n in names}) for names in (five, six)], [1, 1])
        self.assertIn("+4", self.on("mi300x", "ps").stdout)

    def test_nothing_stays_for_others(self):
        self.divide("mi300x", "mi300x-cpx-nps4")
        self.start("mi300x", "--profile", "CPX/NPS4", "--count", "60")
        result = self.on("mi300x", "run", "--profile", "CPX/NPS4", "--count", "5", "--", "true")
        self.assert_refused(result, 75, "5 alike are wanted and 4 are free now", "--wait")
        self.assertEqual(len(self.seen("mi300x", "--profile", "CPX/NPS4", "--count", "4")), 4)
        taken = self.names("mi300x")[0][0]
        result = self.on("mi300x", "run", "--device", taken, "--share", "0.1", "--", "true")
        self.assertEqual(result.returncode, 75)

    def test_waits_for_all(self):
        self.divide("mi300x", "mi300x-cpx-nps4")
        first = self.start("mi300x", "--profile", "CPX/NPS4", "--count", "60")
        waiting = subprocess.Popen(
            [Paths.cleave, "--sim", os.path.join(self.folder, "mi300x.yaml"), "run", "--wait=30s",
             "--profile", "CPX/NPS4", "--count", "8", "--", "printenv", "ROCR_VISIBLE_DEVICES"],
            env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(waiting.wait)
        self.assertTrue(wait_until(lambda: len(self.leases("mi300x")) == 2))
        first.terminate()
        self.assertEqual(len(waiting.communicate(timeout=60)[0].split(",")), 8)

    def test_outlives_its_agent(self):
        self.divide("mi300x", "mi300x-cpx-nps4")
        self.start("mi300x", "--profile", "CPX/NPS4", "--count", "60")
        before, (agent,) = self.names("mi300x"), self.agents()
        os.kill(agent, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not is_alive(agent)))
        self.assertEqual(self.names("mi300x"), before)
        result = self.on("mi300x", "run", "--profile", "CPX/NPS4", "--count", "5", "--", "true")
        self.assertEqual(result.returncode, 75)

    def test_partitions_are_not_destroyed(self):
        """Each of the partitions counts as held."""
        self.divide("mi300x", "mi300x-cpx-nps4")
        self.start("mi300x", "--profile", "CPX/NPS4", "--device", "gpu3", "--count", "8")
        result = self.on("mi300x", "apply", "--yes", self.layout("mi300x-dpx"))
        self.assertEqual(result.returncode, 75)
        self.assertIn("gpu3/CPX/NPS4@7", result.stdout + result.stderr)

    def test_whole_devices(self):
        seen = self.seen("dgx-a100", "--count", "2", variable="CUDA_VISIBLE_DEVICES")
        self.assertEqual([len(seen), all(s.startswith("GPU-") for s in seen)], [2, True])
        result = self.on("dgx-a100", "run", "--count", "9", "--", "true")
        self.assert_refused(result, 64, "9 alike are wanted and there are 8")

    def test_one_instance_of_mig(self):
        self.divide("dgx-a100", "dgx-a100-inference")
        result = self.on("dgx-a100", "run", "--profile", "1g.5gb", "--count", "2", "--", "true")
        self.assert_refused(result, 64, "CUDA shows a process one MIG instance",
                            "a larger profile")
        seen = self.seen("dgx-a100", "--profile", "1g.5gb", "--share", "0.25",
                         variable="CUDA_VISIBLE_DEVICES")
        self.assertRegex(seen[0], r"\AMIG-[0-9a-f-]{36}\Z")

    def test_numbers_of_partitions(self):
        """Drivers that give partitions no id of their own: ROCm numbers them consecutively."""
        self.divide("mi300x", "mi300x-cpx-nps4")
        numbers = {d["name"]: i for i, d in enumerate(
            d for d in json.loads(self.on("mi300x", "devices", "-o", "json").stdout)["items"]
            if d["parent"])}
        for name in ("gpu0/CPX/NPS4@0", "gpu0/CPX/NPS4@7", "gpu1/CPX/NPS4@0", "gpu7/CPX/NPS4@3"):
            self.assertEqual(self.seen("mi300x", "--count", "1", "--device", name),
                             [str(numbers[name])])
        self.assertEqual(len(numbers), 64)

    def test_numbers_after_a_change(self):
        """Dividing a device changes the numbers of all partitions after it."""
        for device, mode, number in (("gpu5", "DPX", "1"), ("gpu4", "CPX", "8")):
            path = os.path.join(self.folder, device + ".yaml")
            with open(path, "w", encoding="utf-8") as out:
                out.write("version: 1\ndevices:\n  - select: {index: %s}\n    compute-mode: %s\n"
                          % (device[3:], mode))
            result = self.on("mixed", "apply", "--yes", path)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(self.seen("mixed", "--count", "1", "--device", "gpu5/DPX/NPS1@0"), [number])

    def test_numbers_of_devices(self):
        for node, device, number in (("mixed", "gpu6", "0"), ("flex170", "gpu2", "2")):
            self.assertEqual(
                self.seen(node, "--count", "1", "--device", device, variable="ZE_AFFINITY_MASK"), [number])

    def test_one_whole_device(self):
        seen = self.seen("mi300x", "--count", "1")
        self.assertEqual((len(seen), "/" in seen[0]), (1, False))
        self.start("mi300x", "--count", "1")
        self.assertEqual(self.leases("mi300x")[0]["share"], 1)

    def test_inputs(self):
        for words, arguments in (
                ("whole devices", ("--count", "2", "--share", "0.5")),
                ("whole devices", ("--count", "2", "--memory", "1G")),
                ("add --count", ("--same-device", "--share", "0.5")),
                ("from 1 to", ("--count", "0")),
                ("from 1 to 64", ("--count", "65")),
                ("not with --in", ("--count", "2", "--in", "train")),
                ("--spill", ("--in", "train", "--spill", "1G")),
                ("--spill", ("--count", "2", "--spill", "1G")),
                ("leave out --share", ("--in", "train", "--share", "0.5")),
                ("takes --memory=SIZE", ("--isolation", "hardware", "--share", "0.5")),
                ("takes --memory=SIZE", ("--isolation", "hardware")),
                ("on one device and there are 1", ("--count", "2", "--same-device"))):
            with self.subTest(arguments):
                self.assert_refused(self.on("mi300x", "run", *arguments, "--", "true"), 64, words)


if __name__ == "__main__":
    run_tests(__doc__)
