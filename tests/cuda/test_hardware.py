# SPDX-License-Identifier: Apache-2.0
"""Shares of a GPU whose kernel driver can preempt: the hardware executor, on the double of its
resource manager.

usage: test_hardware.py --build BUILD [unittest arguments]
"""
import os
import signal
import subprocess
import sys
import time
import unittest

import machine
import worlds
from harness import wait_until
from measured import MEASURES, bound, disagreements, settles

LONG = 500_000_000
DISABLE_CHANNELS, SCHEDULE, SET_TIMESLICE = "0x2080110b", "0xa06c0101", "0xa06c0103"
NOT_PERMITTED, NOT_SUPPORTED = "0x1b", "0x56"
BY_SLICES = f"{DISABLE_CHANNELS} {NOT_SUPPORTED}\n{SCHEDULE} {NOT_SUPPORTED}\n"


class Case(machine.Case):
    def begin_machine(self, policy="", words="", **more):
        """words: more lines of the double's file `cuda`."""
        self.begin(kernel=True, cuda=f"tell-nvml 1\ndevice-mb-s 1000\n{words}", **more)
        self.world.put("policy", policy)

    def launch(self, share, style, kernel_ns, *options):
        """A busy tenant; returns its process as the GPU sees it."""
        name = f"t{len(self.started)}"
        process = self.start(machine.program("cuda-tenant"), style, str(kernel_ns), "60",
                             options=("--share", str(share), "--name", name, *options))
        self.assertEqual(process.stdout.readline(), "ready\n", process.poll())
        return self.agent.get(f"/v1/leases/{name}")["processes"][0]["pid"]

    def device(self):
        return self.agent.get("/v1/devices")["items"][0]

    def until(self, condition, what, seconds=60):
        self.assertTrue(wait_until(condition, seconds), (what, self.agent.log()[-2000:]))

    def launch_all(self, *tenants, word="is preempted"):
        """The others start when the executor is known, so that none has earlier debts."""
        pids = [self.launch(*tenants[0])]
        self.until_executor("hardware", word)
        pids += [self.launch(*each) for each in tenants[1:]]
        time.sleep(.5)
        return pids

    def until_executor(self, name, word, seconds=60):
        self.until(lambda: self.device()["executor"] == name and
                   word in (self.device()["executor_reason"] or ""), (name, word), seconds)
        self.until(lambda: any(word in e["message"] for e in self.agent.events("device_executor")),
                   "it is reported")

    def run_ns(self, *pids):
        now, processes = self.world.stats()
        return now, [processes[pid]["run_ns"] for pid in pids]

    def parts(self, pids, seconds=3):
        """How this much of the GPU's work was divided."""
        did = self.world.player.work(pids, seconds)
        return [each / sum(did) for each in did]

    def assert_parts(self, shares, pids, points=4, seconds=3):
        self.assertEqual(settles(
            lambda: disagreements(shares, self.parts(pids, seconds), points)), [])

    def open_files(self):
        return len(os.listdir(f"/proc/{self.agent.process.pid}/fd"))


class Executor(Case):
    def test_long_kernels_beside_short(self):
        """Half a second each, and no tenant waits for their end."""
        self.begin_machine()
        pids = self.launch_all((.2, "queue", LONG), (.8, "queue", 50_000), word="by channels")
        self.assert_parts([.2, .8], pids)
        if MEASURES:
            self.assertTrue(all(lease["overdue"] <= 1
                                for lease in self.agent.get("/v1/leases")["items"]))

    def test_only_long_kernels(self):
        self.begin_machine()
        pids = self.launch_all(*((share, "queue", LONG) for share in (.2, .5, .3)))
        self.assert_parts([.2, .5, .3], pids)

    def test_a_waiting_program_is_in_line(self):
        """A program that sleeps in the driver until its kernel is complete has work."""
        self.begin_machine()
        pids = self.launch_all((.3, "sync", LONG), (.7, "sync", LONG))
        self.assert_parts([.3, .7], pids)

    def test_a_cap_stops_running_work(self):
        self.begin_machine()
        pid = self.launch(.3, "queue", LONG, "--cap", "0.3")
        self.until_executor("hardware", "is preempted")
        time.sleep(1)
        then, before = self.run_ns(pid)
        time.sleep(3)
        now, after = self.run_ns(pid)
        part = (after[0] - before[0]) / (now - then)
        self.assertLess(abs(part - .3), bound(.02, .29), "neither none of the time nor most of it")

    def test_the_other_way(self):
        """A driver, or a GPU, that knows only groups."""
        self.begin_machine(policy=f"{DISABLE_CHANNELS} {NOT_SUPPORTED}")
        pids = self.launch_all((.3, "queue", LONG), (.7, "queue", 100_000), word="by groups")
        self.assert_parts([.3, .7], pids)


    def divides_on(self, drivers, word, policy=""):
        """Each context has four groups."""
        for driver in drivers:
            try:
                with self.subTest(driver):
                    self.begin_machine(policy=policy, words=f"driver {driver}\ncompute-groups 4\n")
                    pids = self.launch_all((.3, "queue", LONG), (.7, "queue", 100_000), word=word)
                    self.assert_parts([.3, .7], pids)
            finally:
                self.doCleanups()

    def by_groups_of(self, drivers):
        """The structure of a call has two bytes before 575, then three."""
        self.divides_on(drivers, "by groups", f"{DISABLE_CHANNELS} {NOT_SUPPORTED}")

    def test_groups_of_the_oldest_and_the_newest_driver(self):
        self.by_groups_of((535, 595))

    def test_groups_of_other_drivers(self):
        self.by_groups_of((550, 565, 570, 575, 590))

    def test_channels_of_all_drivers(self):
        self.divides_on((535, 550, 565, 570, 575, 580, 590, 595), "by channels")

    def test_by_time_slices(self):
        """A driver that cannot stop work, and divides the GPU by time slices."""
        self.begin_machine(policy=BY_SLICES)
        pids = self.launch_all((.3, "queue", LONG), (.7, "queue", 100_000), word="by slices")
        self.assert_parts([.3, .7], pids)


class Contexts(Case):
    """A program whose channels the agent does not know: not at all, or not yet."""

    def launch_contexts(self, n, words=""):
        """Beside another tenant, whose process is returned."""
        self.begin_machine(words=f"context-mib 1\n{words}")
        neighbour, = self.launch_all((.5, "queue", 1_000_000), word="by channels")
        self.program = self.start(machine.program("cuda-contexts"), str(n),
                                  options=("--share", "0.2", "--name", "x"))
        self.says("ready")
        return neighbour

    def says(self, word):
        self.assertEqual(self.program.stdout.readline(), f"{word}\n", self.program.poll())

    def tell(self):
        self.program.stdin.write("\n")
        self.program.stdin.flush()

    def let_it_work(self):
        self.tell()
        time.sleep(.7)
        return self.agent.get("/v1/leases/x")["processes"][0]["pid"]

    def reports(self):
        return [e["message"] for e in self.agent.events("device_executor") if e["name"] == "x"]

    def test_an_agent_that_does_not_read_for_a_while(self):
        """Reports that its socket had no room for are sent later."""
        neighbour = self.launch_contexts(12)
        self.agent.process.send_signal(signal.SIGSTOP)
        self.tell()
        self.says("made")
        self.agent.process.send_signal(signal.SIGCONT)
        self.assert_parts([.2 / .7, .5 / .7], [self.let_it_work(), neighbour])
        self.assertEqual(self.reports(), [])

    def test_more_channels_than_are_kept(self):
        """The agent waits for its work, charges it, and reports that."""
        neighbour = self.launch_contexts(70, "compute-groups 4\ncopy-groups 10\n")
        self.tell()
        self.says("made")
        self.until(self.reports, "it is reported")
        # A slow program has not reported all channels at the first check.
        self.assertRegex(self.reports()[0],
                         "more channels than the agent can record|not reported all its channels")
        self.assertIn("1 lease is waited for", self.device()["executor_reason"])
        self.assertEqual(self.device()["executor"], "hardware")
        self.assert_parts([.2 / .7, .5 / .7], [self.let_it_work(), neighbour])


class Fallback(Case):
    def test_a_driver_that_refuses(self):
        self.begin_machine(policy="".join(f"{each} {NOT_PERMITTED}\n" for each in
                                          (DISABLE_CHANNELS, SCHEDULE, SET_TIMESLICE)))
        pids = [self.launch(.3, "queue", 100_000), self.launch(.7, "queue", 100_000)]
        self.until_executor("gate", "status 0x1b")
        self.assert_parts([.3, .7], pids)

    def test_slices_that_do_not_divide(self):
        """A driver that accepts time slices and ignores them is not relied on."""
        self.begin_machine(policy=BY_SLICES)
        uuid = self.device()["uuid"]
        for before, answer in (("", "ok slices "),
                               (worlds.built("tests/cuda/libsame-slices.so:"), "do not divide")):
            env = {**os.environ, **self.world.environment()}
            env["LD_PRELOAD"] = before + env["LD_PRELOAD"]
            done = subprocess.run([worlds.built("src/rm/cleave-try-preempt"), uuid], text=True,
                                  capture_output=True, check=True, timeout=60, env=env)
            self.assertIn(answer, done.stdout)

    def test_a_machine_without_the_interface(self):
        self.begin()
        self.launch(.3, "queue", 100_000)
        self.until_executor("gate", "no channel group")

    def test_a_driver_that_changes_its_mind(self):
        self.begin_machine()
        pids = self.launch_all((.3, "queue", 100_000), (.7, "queue", 100_000))
        self.world.put("policy", f"{DISABLE_CHANNELS} {NOT_PERMITTED}")
        self.until_executor("gate", "refuses to stop work (status 0x1b)")
        self.world.put("policy", "")
        time.sleep(2)
        self.assertGreater(min(self.parts(pids)), bound(.1, 0), "both run again, and pay for what was")

    def test_a_gpu_that_is_full(self):
        """Then the executor cannot be tested."""
        self.begin(kernel=True, cuda="tell-nvml 1\ncontext-mib 90000")
        self.start(machine.program("cuda-tenant"), "queue", "100000", "60")
        self.until_executor("gate", "CUDA error 2")

    def test_the_settings_say_no(self):
        self.begin_machine(config="version: 1\nexecutor: gate\n")
        self.launch(.3, "queue", 100_000)
        self.assertEqual(self.device()["executor"], "gate")
        self.assertIn("the setting executor is gate", self.device()["executor_reason"])
        self.assertEqual(self.agent.events("device_executor"), [])


class Life(Case):
    def two_tenants(self, policy="", neighbours=100_000):
        """The second is stopped for most of the time."""
        self.begin_machine(policy=policy)
        return self.launch_all((.95, "queue", neighbours), (.05, "queue", LONG))

    def test_without_an_agent_all_go_on(self):
        self.go_on_without_an_agent("")

    def test_without_an_agent_all_have_slices(self):
        self.go_on_without_an_agent(BY_SLICES)

    def go_on_without_an_agent(self, policy):
        tenants = self.two_tenants(policy)
        self.agent.process.send_signal(signal.SIGKILL)
        self.agent.process.wait()
        self.assert_goes_on(*tenants)
        self.agent.start()

    def assert_goes_on(self, neighbour, still):
        """Neither delays the other: otherwise one would have a twentieth, or nothing."""
        time.sleep(.2)
        self.assertGreater(min(self.parts([still, neighbour], 1)), bound(.3, .15))

    def test_a_stopped_agent(self):
        """What was off the GPU goes on, and only until the agent continues. Meanwhile each queue
        has one command at a time, so both have long ones."""
        neighbour, still = self.two_tenants(neighbours=LONG)
        self.agent.process.send_signal(signal.SIGSTOP)
        try:
            self.assert_goes_on(neighbour, still)
        finally:
            self.agent.process.send_signal(signal.SIGCONT)
        self.assert_parts([.95, .05], [neighbour, still])

    def test_the_next_agent_takes_up(self):
        self.begin_machine()
        pids = self.launch_all((.6, "queue", 100_000), (.4, "queue", LONG))
        self.agent.process.send_signal(signal.SIGKILL)
        self.agent.process.wait()
        self.agent.start()
        self.until_executor("hardware", "is preempted")
        time.sleep(1)
        self.assert_parts([.6, .4], pids)

    def test_an_agent_that_is_asked_to_go(self):
        tenants = self.two_tenants()
        self.agent.process.send_signal(signal.SIGTERM)
        self.agent.process.wait(60)
        self.assert_goes_on(*tenants)
        self.agent.start()

    def test_killed_while_stopped(self):
        """The agent has its files too, and closes them."""
        _, still = self.two_tenants()
        os.kill(still, signal.SIGKILL)
        self.until(lambda: self.world.stats()[1][still]["bytes"] == 0, "its memory is free")

    def test_processes_come_and_go(self):
        """None of their files stays open."""
        self.begin_machine()
        self.launch(.2, "queue", LONG)
        self.until_executor("hardware", "is preempted")
        files = self.open_files()
        for _ in range(5):
            self.run_in_lease(machine.program("cuda-tenant"), "queue", "100000", "1",
                              options=("--share", "0.3"))
        self.until(lambda: self.open_files() <= files + 2, "files are closed")


class Hostile(Case):
    """A tenant sends arbitrary data on its lease's connection."""

    def test_files_that_are_no_gpus(self):
        self.begin_machine()
        pid = self.launch(.5, "queue", 100_000)
        self.until_executor("hardware", "is preempted")
        files = self.open_files()
        self.run_in_lease(sys.executable, os.path.join(os.path.dirname(__file__), "liar.py"),
                          options=("--share", "0.5"))
        self.until(lambda: self.open_files() <= files + 2, "files are closed")
        self.world.player.work([pid], 1)  # it continues


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
