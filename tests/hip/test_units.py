# SPDX-License-Identifier: Apache-2.0
"""HIP programs with a limit in space: cleave run --sm.

usage: test_units.py --build BUILD --rocm 5|6 [unittest arguments]
"""
import signal

import machine
import worlds
from gpus import one_of_each
from harness import wait_until

QUARTER = ("--share", "0.25", "--sm", "25%")
UNITS = 304  # of an MI300X
PART = 76
ALL = "0-303"
KERNEL_NS = 10_000_000


class Units(machine.Case):
    def begin(self, **more):
        super().begin(hip="trace 1", **more)

    def units(self, *words, before=(), options=QUARTER, env=None):
        """Parses hip-units: the GPU's units, and by which factor each kernel took longer."""
        process = self.start(*before, machine.program("hip-units"), *words, options=options,
                             env=env)
        line = process.stdout.readline()
        if not line:
            self.fail(process.communicate(timeout=60))
        n, *times = line.split()
        return int(n), [float(time) for time in times]

    def assert_units(self, said, n, *times):
        """The program runs two kernels in each place, timed by the GPU's clock."""
        self.assertEqual((said[0], len(said[1])), (n, len(times)), said)
        took = self.world.player.kernels(self.lease()["processes"][0]["pid"])
        found = one_of_each(round(ns / KERNEL_NS, 1) for ns in took)
        self.assertEqual(len(found), len(one_of_each(times)), (found, times))
        for got, wanted in zip(found, one_of_each(times)):
            self.assertLess(abs(got - wanted), wanted / 10, (found, times))

    def lease(self):
        return self.agent.get("/v1/leases")["items"][-1]

    def test_without(self):
        self.begin()
        self.assert_units(self.units("none", ALL, options=("--share", "0.5")), UNITS, 1, 1)
        self.assertIsNone(self.lease()["sm"])

    def test_a_quarter(self):
        """Also where the program asks for more; a smaller request is granted."""
        self.begin()
        self.assert_units(self.units("none", "all", ALL, "0-37", "70-90", "100-200"),
                          PART, 4, 4, 4, 8, UNITS / 6, 4)
        self.assertEqual(self.lease()["sm"], {
            "fraction": .25, "count": PART, "first": 0, "held_by": "masks", "reason": None})
        self.assertEqual(self.agent.events("sm_not_held"), [])

    def test_an_environment_of_its_own(self):
        self.begin()
        library = f"LD_LIBRARY_PATH={self.agent.env['LD_LIBRARY_PATH']}"
        for before in (("env", "-u", "HSA_CU_MASK"), ("env", f"HSA_CU_MASK=0:{ALL}"),
                       ("env", "-i", library, f"CLV_HIP_DOUBLE={self.world.gpus}")):
            with self.subTest(before):
                self.assert_units(self.units("none", ALL, before=before), PART, 4, 4)

    def test_variable_of_the_mask(self):
        """For OpenCL's runtime, on which HSA enforces it."""
        self.begin()
        print_it = ("printenv", "HSA_CU_MASK")
        self.assertEqual(self.run_in_lease(*print_it, options=QUARTER), "0:0-75\n")
        self.assertEqual(self.start(*print_it).wait(60), 1, "without a limit there is none")

    def test_a_cooperative_launch(self):
        """As large as the part, and no larger: more blocks would never all be resident."""
        self.begin()
        for options, n in ((("--share", "0.5"), UNITS), (QUARTER, PART)):
            process = self.start(machine.program("hip-units"), "cooperative", options=options)
            self.assertEqual(process.stdout.readline(), f"{n} 0 720\n")

    def test_parts_of_several_leases(self):
        self.begin()
        quarter = ("--share", "0.1", "--sm", "0.25")
        firsts = []
        for _ in range(3):
            self.assert_units(self.units("none", "0-37", options=quarter), PART, 4, 8)
            firsts.append(self.lease()["sm"]["first"])
        self.assertEqual(firsts, [0, PART, 2 * PART])
        self.started[1].communicate("\n", timeout=60)
        self.assert_units(self.units("none", options=quarter), PART, 4)
        self.assertEqual(self.lease()["sm"]["first"], PART)

    def test_a_new_agent(self):
        """It keeps the part in place, and is told again what enforces it."""
        self.begin()
        self.units("none")
        before = self.lease()["sm"]
        self.agent.stop(signal.SIGKILL)
        self.agent.start()
        self.assertTrue(wait_until(lambda: self.lease()["sm"] == before, 10),
                        (before, self.lease()["sm"]))

    def test_no_masks(self):
        """A queue that cannot be limited to its part is reported."""
        self.begin()
        worlds.write_whole(f"{self.world.gpus}/hip-faults",
                           "hsa_amd_queue_cu_get_mask 100 0x1000\n"
                           "hsa_amd_queue_cu_set_mask 100 0x1000\n")
        self.units("none")
        sm = self.lease()["sm"]
        self.assertEqual((sm["held_by"], sm["count"]), ("nothing", PART))
        self.assertIn("driver", sm["reason"])
        self.assertEqual(len(self.agent.events("sm_not_held")), 1)
        listing = machine.gpus.subprocess.run(
            [worlds.built("src/cli/cleave"), "ps", "--socket", self.agent.api], text=True,
            capture_output=True, check=True, env=self.agent.env).stdout
        self.assertIn("SM limit not enforced", listing)


class Requests(machine.Case):
    def refused(self, *options):
        process = self.start("true", options=options)
        _, err = process.communicate(timeout=60)
        self.assertEqual(len(err.splitlines()), 1, err)
        return process.returncode, err

    def test_nonsense(self):
        self.begin()
        for word in ("0", "0%", "101%", "1.5", "-1", "much", "NaN", "25 %"):
            with self.subTest(word):
                self.assertEqual(self.refused("--share", "0.5", f"--sm={word}")[0], 64)
        code, err = self.refused("--count", "1", "--sm", "0.5", "--isolation", "hardware",
                                 "--memory", "1G")
        self.assertEqual((code, "leave out" in err or "no --sm" in err), (64, True), err)


if __name__ == "__main__":
    machine.main()
