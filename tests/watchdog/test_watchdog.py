# SPDX-License-Identifier: Apache-2.0
"""The watchdog: the double of libnvidia-ml reports the processes, the memory and the health of
GPUs; the agent compares it with its ledger.

usage: test_watchdog.py --build BUILD [unittest arguments]
"""
import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "apply"))

import worlds  # noqa: E402
from harness import Holder, UnixConnection, wait_until  # noqa: E402

MIB = 1 << 20
ONE = "gpu H100-80GB"
MIG = "gpu A100-40GB mig=on"


class Case(unittest.TestCase):
    def begin(self, node=ONE, watch="", driver="r580", every="1s"):
        """A node with an agent that queries the drivers every second."""
        self.live_in(worlds.Nvml(node, driver), watch, every)

    def live_in(self, world, watch="", every="1s", more=()):
        self.world = world
        self.addCleanup(self.world.close)
        path = os.path.join(self.world.folder, "cleaved.yaml")
        worlds.write_whole(path, f"version: 1\nwatch:\n  every: {every}\n  grace: 1s\n"
                           + textwrap.indent(textwrap.dedent(watch), "  "))
        self.world.arguments = ("--config", path, *more)
        self.agent = self.world.agent()
        self.holders, self.programs = [], []
        self.addCleanup(self.end)
        self.agent.start()
        self.agent.get("/v1/node")

    def end(self):
        for holder in self.holders:
            holder.end()
            holder.process.stdin.close()
            holder.process.stdout.close()
            holder.process.wait()
        for program in self.programs:
            program.kill()
            program.wait()
        self.assertEqual(self.agent.close(), 0)

    def holder(self):
        self.holders.append(Holder(self.agent))
        return self.holders[-1]

    def program(self):
        """A process of this machine, which the driver reports on a GPU."""
        self.programs.append(subprocess.Popen(["sleep", "600"]))
        return self.programs[-1]

    def device(self, name="gpu0"):
        return next(d for d in self.agent.get("/v1/devices")["items"] if d["name"] == name)

    def until(self, condition, what, seconds=15):
        self.assertTrue(wait_until(condition, seconds), (what, self.agent.log()[-2000:]))

    def until_health(self, state, word=""):
        def is_so():
            health = self.device()["health"]
            return health["state"] == state and word in " ".join(health["reasons"])
        self.until(is_so, (state, word))

    def until_event(self, kind, *words):
        def is_there():
            return [e for e in self.agent.events(kind)
                    if all(word in e["message"] for word in words)]
        self.until(is_there, (kind, words))
        return is_there()

    def metric(self, line):
        path = self.agent.api
        return [text for text in metrics(path).splitlines() if text.startswith(line)]


def metrics(path):
    connection = UnixConnection(path)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return text


class Readings(Case):
    def test_figures(self):
        self.begin()
        self.world.put("readings", "0 power 215500\n0 temperature 61\n0 energy 98765000\n"
                       "0 busy 75\n0 encoder 12\n0 decoder 0")
        self.until(lambda: self.device()["power_watts"] == 215.5, "power")
        device = self.device()
        self.assertEqual(device["temperature_celsius"], 61)
        self.assertEqual(device["energy_joules"], 98765)
        self.assertEqual(device["utilization"], 0.75)
        self.assertEqual(device["encoder_utilization"], 0.12)
        self.assertEqual(device["decoder_utilization"], 0)
        self.assertEqual(device["health"], {"state": "ok", "reasons": [], "since": None})
        self.assertEqual(self.metric('cleave_device_power_watts{device="gpu0"'),
                         ['cleave_device_power_watts{device="gpu0"} 215.5'])
        self.assertEqual(self.metric('cleave_device_energy_joules_total{device="gpu0"'),
                         ['cleave_device_energy_joules_total{device="gpu0"} 98765'])

    def test_missing_readings_are_null(self):
        """And no metric: a zero would be wrong."""
        self.begin(driver="r450")
        self.until(lambda: self.device()["utilization"] is not None, "a reading")
        device = self.device()
        for key in ("power_watts", "temperature_celsius", "energy_joules",
                    "encoder_utilization", "decoder_utilization"):
            self.assertIsNone(device[key], key)
        self.assertEqual(self.metric("cleave_device_power_watts{"), [])

    def test_a_driver_that_is_not_asked(self):
        self.begin(every="off")
        self.world.put("readings", "0 power 215500")
        time.sleep(2.5)
        self.assertIsNone(self.device()["power_watts"])


class Health(Case):
    def test_signs_come_and_go(self):
        self.begin()
        self.world.put("readings", "0 ecc 2\n0 rows-pending 1\n0 rows-failed 0")
        self.until_health("degraded", "2 uncorrectable memory errors")
        self.until_health("degraded", "reset it when no process uses it")
        self.assertTrue(self.device()["health"]["since"])
        self.until_event("device_degraded", "remapped")
        self.assertEqual(self.metric("cleave_device_health{"),
                         ['cleave_device_health{device="gpu0"} 1'])
        self.world.put("readings", "0 ecc 0")
        self.until_health("ok")
        self.until_event("device_recovered")

    def test_an_xid_stays_until_an_admin_has_seen_to_it(self):
        self.begin()
        self.until(lambda: self.device()["utilization"] is not None, "a reading")
        self.world.put("xids", "0 48")
        self.until_health("degraded", "Xid 48")
        time.sleep(2.5)
        self.assertEqual(self.device()["health"]["state"], "degraded")
        status, device = self.agent.request("POST", "/v1/devices/gpu0/uncordon")
        self.assertEqual((status, device["health"]["state"]), (200, "ok"))
        self.until_event("device_recovered")

    def test_an_xid_of_a_program_is_an_event_alone(self):
        self.begin("gpu H100-80GB\ngpu H100-80GB")
        self.until(lambda: self.device("gpu1")["utilization"] is not None, "a reading")
        self.world.put("xids", "1 13")
        event = self.until_event("device_error", "Xid 13", "look at the program")[0]
        self.assertEqual(event["device"], "gpu1")
        self.assertEqual(self.device("gpu1")["health"]["state"], "ok")

    def test_a_gpu_that_falls_off_the_bus_and_comes_back(self):
        self.begin("gpu H100-80GB\ngpu H100-80GB")
        self.until(lambda: self.device()["utilization"] is not None, "a reading")
        self.world.control("lose", "0")
        self.until_health("lost", "the driver does not reach it any more")
        self.until_event("device_lost")
        # A lost device is not chosen, and refused by name; the other one is chosen.
        holder = self.holder()
        self.assertEqual(holder.lease(share=1)["device"], "gpu1")
        status, problem = holder.request("POST", "/v1/leases", {"share": .5, "device": "gpu0"})
        self.assertEqual((status, problem["code"]), (409, "does_not_fit"))
        self.assertIn("gpu0 is lost", problem["detail"])
        # It stays lost after a survey in which the driver leaves it out.
        self.agent.get("/v1/node")
        self.assertEqual(self.device()["health"]["state"], "lost")
        self.world.control("find", "0")
        self.agent.get("/v1/node")
        self.until_health("ok")

    def test_degraded_is_chosen_by_name_only(self):
        self.begin()
        self.world.put("readings", "0 ecc 1")
        self.until_health("degraded")
        holder = self.holder()
        status, problem = holder.request("POST", "/v1/leases", {"share": .5})
        self.assertEqual((status, problem["code"]), (409, "does_not_fit"))
        self.assertIn("--device", problem["detail"])
        self.assertEqual(holder.lease(share=.5, device="gpu0")["device"], "gpu0")

    def test_a_driver_that_hangs(self):
        """A separate process queries it, so that the agent still answers."""
        self.begin()
        self.until(lambda: self.device()["utilization"] is not None, "a reading")
        self.world.faults("nvmlDeviceGetUtilizationRates 1 hang")
        deadline, answered = time.monotonic() + 60, 0
        while time.monotonic() < deadline and self.device()["health"]["state"] == "ok":
            self.agent.get("/v1/leases")
            answered += 1
            time.sleep(.2)
        self.assertGreater(answered, 1, "while the driver is waited for")
        self.until_health("degraded", "does not answer")
        self.until_health("ok")

    def test_a_lease_that_keeps_the_device(self):
        """Alone it may compute for any time; beside a waiting lease it may not."""
        self.begin(watch="hang: 2s")
        keeper, other = self.holder(), self.holder()
        kept, waits = (h.lease(share=.5, name=n) for h, n in ((keeper, "keeper"), (other, "other")))
        for holder, lease in ((keeper, kept), (other, waits)):
            self.assertEqual(holder.do("attach", socket=lease["socket"])["status"], 0)
        keeper.do("commands", entered=1, done=0)
        keeper.do("stand_in_line", threads=1)
        time.sleep(4)
        self.assertEqual(self.device()["health"]["state"], "ok")
        other.do("stand_in_line", threads=1)
        self.until_health("degraded", "a lease has not returned the device for over 2 s")
        self.assertEqual({e["name"] for e in self.agent.events("drain_overdue")}, {"keeper"})
        # Tenants see the device's health and its events, and not whose lease that is.
        self.assertNotIn("keeper", json.dumps([self.device()["health"],
                                               self.agent.events("device_degraded")]))
        keeper.do("commands", entered=1, done=1)
        self.until_health("ok")
        self.until_event("device_recovered")


class Amd(Case):
    """On the double of amdgpu's sysfs."""

    BDF = "0000:05:00.0"

    def begin_amd(self, *readings, model="MI300X"):
        try:
            world = worlds.Sysfs([{"bdf": self.BDF, "model": model}])
        except worlds.Unavailable as why:
            self.skipTest(str(why))
        self.live_in(world)
        self.read(*readings)

    def read(self, *readings):
        self.world.double.put("readings", [f"{self.BDF} {line}" for line in readings])

    def test_figures(self):
        self.begin_amd("hwmon/hwmon3/power1_input 321000000",
                       "hwmon/hwmon3/temp1_input 41000", "hwmon/hwmon3/temp1_label mem",
                       "hwmon/hwmon3/temp2_input 66000", "hwmon/hwmon3/temp2_label junction",
                       "hwmon/hwmon3/temp3_input 52000", "hwmon/hwmon3/temp3_label edge")
        self.until(lambda: self.device()["power_watts"] == 321, "power")
        device = self.device()
        self.assertEqual(device["temperature_celsius"], 66)
        self.assertEqual(device["utilization"], 0)
        self.assertEqual(device["driver_memory_used_bytes"], 297 * MIB)
        self.assertIsNone(device["energy_joules"])

    def test_errors_of_memory_and_of_the_rest(self):
        self.begin_amd("ras/umc_err_count ue: 2\\nce: 40\\nde: 0",
                       "ras/gfx_err_count ue: 1\\nce: 0", "ras/features feature mask: 0x3fff",
                       "ras/gpu_vram_bad_pages 0x00001 : 0x01000 : R\\n"
                       "0x00002 : 0x01000 : P\\n0x00003 : 0x01000 : F")
        self.until_health("degraded", "2 uncorrectable memory errors")
        reasons = self.device()["health"]["reasons"]
        self.assertEqual(len(reasons), 4, reasons)
        for words in ("1 uncorrectable errors", "1 pages of its memory wait",
                      "1 pages of its memory cannot be retired"):
            self.assertTrue(any(words in reason for reason in reasons), (words, reasons))
        self.read("ras/umc_err_count ue: 0\\nce: 41\\nde: 0")
        self.until_health("ok")

    def test_after_a_hang(self):
        self.begin_amd("devcoredump/data a state dump")
        self.until_health("degraded", "left a dump")

    def test_a_gpu_that_goes(self):
        self.begin_amd()
        self.until(lambda: self.device()["utilization"] == 0, "a reading")
        subprocess.run(["modprobe", "-r", "amdgpu"], check=True, env=self.agent.env)
        self.agent.get("/v1/node")
        self.until_health("lost")
        subprocess.run(["modprobe", "amdgpu"], check=True, env=self.agent.env)
        self.agent.get("/v1/node")
        self.until_health("ok")

    def test_processes_of_partitions(self):
        self.begin_amd()
        self.world.double.write(f"bus/pci/devices/{self.BDF}/current_compute_partition", "CPX")
        self.agent.get("/v1/node")
        holder = self.holder()
        lease = holder.lease(device="gpu0/CPX/NPS1@0", share=1)
        self.world.double.put("holders", [f"kfd {self.BDF} {holder.pid} {70 * MIB} 19"])
        self.until(lambda: self.agent.get(f"/v1/leases/{lease['id']}")["driver_memory_bytes"],
                   "it is seen")
        process = self.device(lease["device"])["processes"][0]
        self.assertEqual(process["utilization"], 19 / 38, "units of its part of 38")
        self.assertEqual(self.agent.events("lease_past_gate"), [], "it is of a moment")


class Sim(Case):
    NODE = """
        version: 1
        name: lab
        devices:
          - model: H100-80GB
            count: 2
            readings: [{power: 350, temperature: 66, utilization: 80, memory: 12G}, {ecc-errors: 3}]
        holders:
          - {on: gpu0, process: python3, pid: 4194001, memory: 4G, utilization: 70}
    """

    def test_a_simulated_node_has_readings_too(self):
        world = worlds.Sim.of_text(textwrap.dedent(self.NODE))
        sim = world.arguments
        self.world = world
        self.live_in(world, more=sim)
        self.until(lambda: self.device()["power_watts"] == 350, "power")
        device = self.device()
        self.assertEqual((device["temperature_celsius"], device["utilization"]), (66, .8))
        self.assertEqual(device["processes"][0]["memory_bytes"], 4 << 30)
        self.assertEqual(device["processes"][0]["utilization"], .7)
        self.assertEqual(self.device("gpu1")["health"]["state"], "degraded")


class Truth(Case):
    def leased(self, **wanted):
        """A holder whose own process the driver sees."""
        holder = self.holder()
        return holder, holder.lease(**wanted)

    def see(self, *lines):
        """(pid, bytes) or (pid, gpu, gi, ci, bytes)"""
        rows = [line if len(line) > 2 else (line[0], 0, "-", "-", line[1]) for line in lines]
        self.world.put("processes", "\n".join(" ".join(map(str, row)) for row in rows))

    def compute(self, *lines):
        """(pid, percent)"""
        self.world.put("utilization", "\n".join(f"{pid} 0 {percent}" for pid, percent in lines))

    def lease(self, lease):
        return self.agent.get(f"/v1/leases/{lease['id']}")

    def test_processes_on_the_device(self):
        self.begin()
        holder, lease = self.leased(share=.5, memory_bytes=1024 * MIB)
        stranger = self.program()
        self.see((holder.pid, 300 * MIB), (stranger.pid, 200 * MIB))
        self.until(lambda: len(self.device()["processes"]) == 2, "both")
        ours, other = sorted(self.device()["processes"], key=lambda p: -p["memory_bytes"])
        self.assertEqual((ours["pid"], ours["lease"], ours["has_lease_here"]),
                         (holder.pid, lease["id"], True))
        self.assertEqual((other["pid"], other["lease"], other["command"], other["uid"]),
                         (stranger.pid, None, "sleep", os.getuid()))
        self.assertEqual(self.lease(lease)["driver_memory_bytes"], 300 * MIB)
        self.until_event("process_without_lease", str(stranger.pid), "sleep", "cleave run")
        self.assertEqual(len(self.agent.events("process_without_lease")), 1)
        self.assertEqual(self.metric("cleave_device_processes_without_lease{"),
                         ['cleave_device_processes_without_lease{device="gpu0"} 1'])
        self.assertIsNone(stranger.poll(), "the settings do not end it")

    def test_utilization(self):
        self.begin()
        holder, lease = self.leased(share=.5, memory_bytes=1024 * MIB)
        child = holder.do("attach_in_child", socket=lease["socket"])[0]
        stranger = self.program()
        self.see((holder.pid, 9 * MIB), (child, 9 * MIB), (stranger.pid, 9 * MIB))
        self.compute((holder.pid, 15), (stranger.pid, 40))
        self.until(lambda: len(self.device()["processes"]) == 3, "all")
        self.assertEqual({each["pid"]: each["utilization"] for each in self.device()["processes"]},
                         {holder.pid: .15, child: 0, stranger.pid: .4})
        self.assertEqual(self.lease(lease)["driver_utilization"], .15)
        self.assertEqual([line.split()[-1] for line in
                          self.metric("cleave_lease_driver_utilization_ratio{")], ["0.15"])
        self.until_event("process_without_lease", str(stranger.pid), "40 % of its compute")
        time.sleep(2.5)
        self.assertEqual(self.agent.events("lease_past_gate"), [], "within the tolerance")

    def test_computing_past_the_gate(self):
        """It had no turn, and the driver reports that it computes."""
        self.begin()
        holder, lease = self.leased(share=.3, memory_bytes=1024 * MIB, name="sly")
        self.see((holder.pid, 9 * MIB))
        self.compute((holder.pid, 90))
        event = self.until_event("lease_past_gate", "its turns were 0 %", "only reported")[0]
        self.assertEqual((event["lease"], event["name"]), (lease["id"], "sly"))
        self.assertTrue(self.lease(lease)["past_gate"])
        self.assertEqual([line.split()[-1] for line in
                          self.metric("cleave_lease_past_gate{")], ["1"])
        self.compute()
        self.until_event("lease_within_gate")
        self.assertFalse(self.lease(lease)["past_gate"])
        self.assertEqual(len(self.agent.events("lease_past_gate")), 1)
        self.assertIsNone(holder.process.poll())

    def test_computing_in_its_turns(self):
        """The same figure is correct for a lease that has the turn."""
        self.begin()
        holder, lease = self.leased(share=.3, memory_bytes=1024 * MIB)
        self.assertEqual(holder.do("attach", socket=lease["socket"])["status"], 0)
        holder.do("commands", entered=1, done=0)
        holder.do("stand_in_line", threads=1)
        self.until(lambda: self.lease(lease)["share_used"] > .9, "it has the turn")
        self.see((holder.pid, 9 * MIB))
        self.compute((holder.pid, 100))
        self.until(lambda: self.lease(lease)["driver_utilization"] == 1, "it is reported")
        time.sleep(5)
        self.assertEqual(self.agent.events("lease_past_gate"), [])

    def test_computing_past_the_gate_is_ended(self):
        self.begin(watch="past-gate: end")
        holder, _ = self.leased(share=.3)
        honest, _ = self.leased(share=.3)
        stranger = self.program()
        self.see((holder.pid, MIB), (honest.pid, MIB), (stranger.pid, MIB))
        self.compute((holder.pid, 90), (stranger.pid, 10))
        self.until(lambda: holder.process.poll() is not None, "it is ended")
        self.assertIsNone(honest.process.poll())
        self.assertIsNone(stranger.poll(), "it is not known to be a tenant's")

    def test_a_driver_that_tells_no_utilization(self):
        """NVIDIA's driver reports none for MIG devices."""
        self.begin(MIG)
        stranger = self.program()
        self.see((stranger.pid, 10 * MIB))
        self.compute((stranger.pid, 90))
        self.until(lambda: self.device()["processes"], "it is seen")
        self.assertIsNone(self.device()["processes"][0]["utilization"])

    def test_a_child_is_the_leases_too(self):
        self.begin()
        holder, lease = self.leased(share=.5, memory_bytes=1024 * MIB)
        child = holder.do("attach_in_child", socket=lease["socket"])[0]
        self.see((child, 100 * MIB), (holder.pid, 50 * MIB))
        self.until(lambda: self.lease(lease)["driver_memory_bytes"] == 150 * MIB, "the sum")

    def overhead(self, lease):
        return self.lease(lease)["memory_overhead_bytes"] // MIB

    def test_hidden_memory_counts(self):
        """A context: the driver reports its memory, and no call asked for it."""
        self.begin()
        holder, lease = self.leased(share=.5, memory_bytes=1024 * MIB)
        self.assertEqual(holder.do("attach", socket=lease["socket"])["status"], 0)
        holder.do("memory", value=100 * MIB)
        self.see((holder.pid, 350 * MIB))
        self.until(lambda: self.overhead(lease) == 250, "the difference")
        self.assertEqual(self.lease(lease)["memory_used_bytes"], 350 * MIB)
        self.assertEqual([line.split()[-1] for line in
                          self.metric("cleave_lease_memory_overhead_bytes{")], [str(250 * MIB)])
        holder.do("memory", value=200 * MIB)
        self.until(lambda: self.overhead(lease) == 150, "less at once")
        self.see((holder.pid, 190 * MIB))
        self.until(lambda: self.overhead(lease) == 0, "never less than nothing")

    def test_fresh_frees_are_not_overhead(self):
        """The driver's figure may be older than the free."""
        self.begin()
        holder, lease = self.leased(share=.5, memory_bytes=1024 * MIB)
        self.assertEqual(holder.do("attach", socket=lease["socket"])["status"], 0)
        holder.do("memory", value=300 * MIB)
        self.see((holder.pid, 300 * MIB))
        self.until(lambda: self.lease(lease)["driver_memory_bytes"], "it is seen")
        time.sleep(3)
        # Of three readings, a second apart, the third may count.
        until, overhead = time.monotonic() + 1.5, 0
        holder.do("memory", value=0)
        while time.monotonic() < until:
            self.assertEqual(overhead, 0)
            overhead = self.overhead(lease)
        self.until(lambda: self.overhead(lease) == 300, "it has it still: that counts")

    def test_over_quota_is_reported(self):
        self.begin(watch="tolerance: 64M")
        holder, lease = self.leased(share=.5, memory_bytes=1024 * MIB, name="greedy")
        self.see((holder.pid, (1024 + 64) * MIB))
        self.until(lambda: self.lease(lease)["driver_memory_bytes"], "a reading")
        time.sleep(2.5)
        self.assertFalse(self.lease(lease)["over_quota"], "its context is tolerated")
        self.see((holder.pid, (1024 + 65) * MIB))
        event = self.until_event("lease_over_quota", "1.06 GiB", "1 GiB", "only reported")[0]
        self.assertEqual((event["lease"], event["name"]), (lease["id"], "greedy"))
        self.assertTrue(self.lease(lease)["over_quota"])
        self.see((holder.pid, 500 * MIB))
        self.until_event("lease_within_quota")
        self.assertFalse(self.lease(lease)["over_quota"])
        self.assertEqual(len(self.agent.events("lease_over_quota")), 1)
        self.assertIsNone(holder.process.poll())

    def test_over_quota_is_throttled_until_it_is_within(self):
        self.begin(watch="over-quota: throttle\ntolerance: 0")
        holder, lease = self.leased(share=.5, memory_bytes=1024 * MIB)
        holder.do("attach", socket=lease["socket"])
        self.see((holder.pid, 1025 * MIB))
        self.until_event("lease_over_quota", "a tenth of its share")
        self.assertTrue(self.lease(lease)["throttled"])
        # A resize does not lift the throttling.
        status, _ = holder.request("PATCH", f"/v1/leases/{lease['id']}", {"share": .6})
        self.assertEqual(status, 200)
        self.assertTrue(self.lease(lease)["throttled"])
        self.see((holder.pid, 1024 * MIB))
        self.until(lambda: not self.lease(lease)["throttled"], "freed")

    def test_over_quota_is_ended(self):
        self.begin(watch="over-quota: end\ntolerance: 0")
        holder, lease = self.leased(share=.4, memory_bytes=1024 * MIB)
        neighbour, other = self.leased(share=.4, memory_bytes=1024 * MIB)
        stranger = self.program()
        self.see((holder.pid, 1025 * MIB), (neighbour.pid, 1024 * MIB),
                 (stranger.pid, 9999 * MIB))
        self.until(lambda: holder.process.poll() is not None, "it is ended")
        self.until(lambda: self.agent.request("GET", f"/v1/leases/{lease['id']}")[0] == 404,
                   "its lease too")
        self.assertIsNone(neighbour.process.poll())
        self.assertIsNone(stranger.poll(), "it is not known to be a tenant's")
        self.assertEqual(self.lease(other)["state"], "active")

    def test_one_that_does_not_listen_is_killed(self):
        self.begin(watch="over-quota: end\ntolerance: 0")
        holder, lease = self.leased(share=.4, memory_bytes=1024 * MIB)
        deaf = holder.do("attach_in_child", socket=lease["socket"])[0]
        self.addCleanup(end_quietly, deaf)
        subprocess.run(["kill", "-STOP", str(deaf)], check=True)
        self.see((deaf, 1025 * MIB))
        self.until(lambda: is_dead(deaf), "SIGKILL", 20)

    def test_on_a_device_that_its_lease_has_not_got(self):
        self.begin("gpu H100-80GB\ngpu H100-80GB", watch="no-lease: end")
        holder, lease = self.leased(share=1, device="gpu0", name="cheat")
        stranger = self.program()
        self.see((holder.pid, 1, "-", "-", 100 * MIB), (stranger.pid, 1, "-", "-", 9 * MIB))
        self.until_event("process_without_lease", "its lease cheat is on another device")
        # Only the owner, admins and viewers see an event of an owner's.
        self.assertEqual({e["uid"] for e in self.agent.events("process_without_lease")}, {0})
        self.until(lambda: holder.process.poll() is not None, "it is ended")
        self.until_event("process_without_lease", str(stranger.pid))
        time.sleep(2)
        self.assertIsNone(stranger.poll(), "it may be the machine's own")

    def test_remains_of_a_lease(self):
        """A process that belonged to a lease when it was first seen is known as a tenant's."""
        self.begin(watch="no-lease: end")
        holder, lease = self.leased(share=.5, name="gone")
        child = holder.do("spawn", command=["sleep", "600"])
        self.see((child, 10 * MIB))
        self.until(lambda: self.device()["processes"], "it is seen")
        self.assertEqual(self.device()["processes"][0]["lease"], lease["id"])
        holder.kill()
        self.until_event("process_without_lease", "its lease gone has ended")
        self.until(lambda: is_dead(child), "it is ended", 20)

    def test_one_that_leaves_its_tree(self):
        """Its parents have ended: it still belongs to the lease, and counts in its quota."""
        self.begin(watch="no-lease: end")
        holder, lease = self.leased(share=.5, memory_bytes=1024 * MIB)
        middle = holder.do("spawn", command=[
            "sh", "-c", f"sleep 600 & echo $! >{self.world.folder}/pid; wait"])
        path = os.path.join(self.world.folder, "pid")
        self.until(lambda: os.path.exists(path) and os.path.getsize(path), "a grandchild")
        with open(path, encoding="ascii") as file:
            child = int(file.read())
        self.addCleanup(end_quietly, child)
        self.see((child, 100 * MIB))
        self.until(lambda: self.lease(lease)["driver_memory_bytes"] == 100 * MIB, "its own")
        os.kill(middle, 9)
        self.until(lambda: not os.path.exists(f"/proc/{middle}") or is_dead(middle), "gone")
        self.see((child, 200 * MIB))
        self.until(lambda: self.lease(lease)["driver_memory_bytes"] == 200 * MIB, "still")
        time.sleep(2.5)
        self.assertEqual(self.agent.events("process_without_lease"), [])
        self.assertFalse(is_dead(child))

    def test_ignored(self):
        """By the program's file: a copy with the same name is another program."""
        self.begin(watch=f"ignore: [{shutil.which('sleep')}]")
        stranger = self.program()
        copy = shutil.copy(shutil.which("sleep"), os.path.join(self.world.folder, "sleep"))
        self.programs.append(subprocess.Popen([copy, "600"]))
        fake = self.programs[-1]
        self.see((stranger.pid, 10 * MIB), (fake.pid, 10 * MIB))
        self.until_event("process_without_lease", str(fake.pid))
        time.sleep(2.5)
        self.assertEqual(len(self.agent.events("process_without_lease")), 1)
        self.assertEqual({process["pid"]: process["reported"] for process in self.device()["processes"]},
                         {stranger.pid: False, fake.pid: True})

    def test_a_process_that_is_not_of_this_machine(self):
        self.begin()
        self.see((4194000, 10 * MIB))
        self.until_event("process_without_lease", "4194000 (?) of an unknown user")

    def test_memory_that_the_driver_does_not_tell(self):
        self.begin()
        holder, lease = self.leased(share=.5)
        self.see((holder.pid, "-"))
        self.until(lambda: self.device()["processes"], "it is seen")
        self.assertIsNone(self.device()["processes"][0]["memory_bytes"])
        self.assertIsNone(self.lease(lease)["driver_memory_bytes"])

    def test_in_a_partition(self):
        self.begin(MIG)
        status, answer = self.agent.request(
            "POST", "/v1/partitions", {"device": "gpu0", "profile": "1g.5gb"})
        self.assertEqual(status, 202, answer)
        operation = self.agent.wait(answer)
        self.assertEqual(operation["state"], "done", operation)
        holder, lease = self.leased(profile="1g.5gb", share=1)
        gi = self.world.control("show").split("gi 0 ")[1].split()[0]
        self.see((holder.pid, 0, gi, 0, 70 * MIB))
        self.until(lambda: self.lease(lease)["driver_memory_bytes"] == 70 * MIB, "its part")
        part = self.device(lease["device"])
        self.assertEqual([p["pid"] for p in part["processes"]], [holder.pid])
        self.assertEqual(part["health"]["state"], "ok")


def is_dead(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def end_quietly(pid):
    try:
        os.kill(pid, 9)
    except OSError:
        pass


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
