# SPDX-License-Identifier: Apache-2.0
"""The devices that NVML shows inside a lease, and the changes that it allows a program.

usage: test_devices.py --build BUILD [unittest arguments]
"""
import os
import subprocess
import sys
import unittest

import coverage
import looking
import worlds
from looking import DENIED, INVALID, NOT_FOUND

LIST = os.path.join(looking.HERE, "..", "..", "src", "gate", "nvml", "hooks.list")
MIG = """version: 1
devices:
  - {select: {index: 0}, mig: on, partitions: [{profile: 1g.5gb, count: 3}]}
"""
TWO = "gpu H100-80GB pci=00000000:3B:00.0\ngpu A100-40GB pci=00000000:86:00.0"


class Whole(looking.Case):
    def uuids(self):
        return [d["uuid"] for d in self.agent.get("/v1/devices")["items"]]

    def test_the_leases_device_alone(self):
        for driver in ("r450", "r580"):
            with self.subTest(driver):
                self.begin(node=TWO, driver=driver)
                other, own = self.uuids()
                process = self.look(device="gpu1")
                for expression, value in (
                        ("uuids()", [own]),
                        ('lib.get("nvmlDeviceGetIndex", device())', 0),
                        ('lib.code("nvmlDeviceGetHandleByIndex_v2", 1, byref(c_void_p()))',
                         INVALID),
                        ('lib.code("nvmlDeviceGetHandleByIndex_v2", 0, None)', INVALID),
                        ('lib.code("nvmlDeviceGetCount_v2", None)', INVALID),
                        (f'by("UUID", "{own}")', own), (f'by("UUID", "{other}")', NOT_FOUND),
                        ('by("PciBusId_v2", "00000000:86:00.0")', own),
                        ('by("PciBusId_v2", "00000000:3B:00.0")', NOT_FOUND),
                        ('by("UUID", "GPU-nobody\'s")', NOT_FOUND),
                        ('len(lib.array("nvmlDeviceGetTopologyNearestGpus", device(), c_uint(30),'
                         ' kind=c_void_p))', 0)):
                    self.assertEqual(self.ask(process, expression), value, expression)
                self.doCleanups()

    def test_before_the_beginning(self):
        self.begin()
        process = self.look()
        self.assertEqual(self.ask(process, 'lib.code("nvmlShutdown")'), 0)
        for call in ('"nvmlDeviceGetCount_v2", byref(c_uint())',
                     '"nvmlDeviceGetHandleByIndex_v2", 0, byref(c_void_p())',
                     '"nvmlDeviceGetHandleByUUID", b"GPU-x", byref(c_void_p())'):
            self.assertEqual(self.ask(process, f"lib.code({call})"), 1, call)

    def test_several_in_the_leases_order(self):
        self.begin(node="\n".join(["gpu H100-80GB"] * 3))
        self.look(memory="60G", device="gpu1")
        process = self.start_looking("--count", "2", "--name", "two", device=None)
        lease = self.agent.get("/v1/leases/two")
        uuids = {d["name"]: d["uuid"] for d in self.agent.get("/v1/devices")["items"]}
        names = [device["name"] for device in lease["devices"]]
        self.assertEqual(sorted(names), ["gpu0", "gpu2"])
        self.assertEqual(self.ask(process, "uuids()"), [uuids[name] for name in names])
        self.assertEqual(self.ask(process, '[lib.get("nvmlDeviceGetIndex", device(i)) '
                                           'for i in range(2)]'), [0, 1])
        self.assertEqual(self.ask(process, f'by("UUID", "{uuids["gpu1"]}")'), NOT_FOUND)


class Parts(looking.Case):
    def test_its_mig_device_alone(self):
        for driver in ("r470", "r580"):
            with self.subTest(driver):
                self.begin(node="gpu A100-40GB\ngpu H100-80GB", driver=driver)
                operation = self.agent.wait(self.agent.apply(MIG))
                self.assertEqual(operation["state"], "done", operation)
                self.check_part()
                self.doCleanups()

    def check_part(self):
        devices = {d["name"]: d for d in self.agent.get("/v1/devices")["items"]}
        parts = sorted(n for n in devices if n.startswith("gpu0/"))
        self.assertEqual(len(parts), 3)
        own, other = devices[parts[1]], devices[parts[2]]
        process = self.look(device=own["name"], share="0.5")
        self.assertEqual(self.ask(process, "uuids()"), [devices["gpu0"]["uuid"]])
        mig = "lib.mig_list(device())"
        for expression, value in (
                (f"[lib.uuid(h) for h in {mig}.values()]", [own["uuid"]]),
                (f"list({mig})", [0]),
                (f'lib.get("nvmlDeviceGetIndex", {mig}[0])', 0),
                (f'by("UUID", "{own["uuid"]}")', own["uuid"]),
                (f'by("UUID", "{other["uuid"]}")', NOT_FOUND),
                (f'by("UUID", "{devices["gpu1"]["uuid"]}")', NOT_FOUND),
                (f"[m[0] for m in memory({mig}[0])][:1]", [1 << 30]),
                (f'[lib.code("nvmlDeviceGetGpuInstanceById", device(), i, byref(c_void_p())) == 0'
                 f' for i in range(16)].count(True)', 1)):
            self.assertEqual(self.ask(process, expression), value, expression)
        self.assertEqual(self.ask(process, f'lib.get("nvmlDeviceGetAttributes_v2", {mig}[0], '
                                           'kind=nvml.Attributes).memory_mib'), 1024)


class Changes(looking.Case):
    def test_none(self):
        """Every denied function that the double has."""
        self.begin(driver="r615")
        double = worlds.built("tests/doubles/nvml/r615/libnvidia-ml.so.1")
        names = [name for name, policy in coverage.read_list(LIST).items() if policy == "deny"]
        there = sorted(set(names) & coverage.exports_of(double))
        self.assertGreater(len(there), 5)
        process = self.look()
        shape = self.world.shape()
        for name in there:
            call = f'lib.code("{name}", device(), c_uint(1), None, None)'
            self.assertEqual(self.ask(process, call), DENIED, name)
        self.assertEqual(self.world.shape(), shape)
        self.assertEqual(self.ask(process, 'lib.code("nvmlDeviceGetMinorNumber", device(), '
                                           'byref(c_uint()))'), 0)

    def outside(self, **env):
        """Started without cleave run, but with the gate."""
        process = subprocess.Popen(
            [sys.executable, os.path.join(looking.HERE, "look.py"), looking.DECLARATIONS],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**self.agent.env, "LD_PRELOAD": worlds.built("src/gate/libcleave-cuda.so"),
                 "CLEAVE_LEASE": "/nonexistent", **env})
        self.started.append(process)
        self.ask(process, "start()")
        return process

    def test_refused_programs_see_nothing(self):
        self.begin(node=TWO)
        process = self.outside()
        for expression, value in (
                ("uuids()", []),
                ('lib.code("nvmlDeviceGetHandleByIndex_v2", 0, byref(c_void_p()))', INVALID),
                ('by("PciBusId_v2", "00000000:86:00.0")', NOT_FOUND),
                ('lib.code("nvmlDeviceSetPowerManagementLimit", None, 1)', DENIED)):
            self.assertEqual(self.ask(process, expression), value, expression)
        process.kill()
        self.assertIn("cleave: no device for process", process.stderr.read())

    def test_programs_without_a_lease(self):
        self.begin(node=TWO)
        process = self.outside(CLEAVE_IF_NO_AGENT="open")
        self.assertEqual(len(self.ask(process, "uuids()")), 2)
        self.assertGreater(self.ask(process, 'lib.get("nvmlDeviceGetMemoryInfo", device(), '
                                             'kind=nvml.Memory).total'), 79 << 30)
        self.assertEqual(self.ask(
            process, 'lib.code("nvmlDeviceSetPowerManagementLimit", device(1), 300000)'), 0)


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
