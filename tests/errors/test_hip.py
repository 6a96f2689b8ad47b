# SPDX-License-Identifier: Apache-2.0
"""ROCm's libraries answer any call with any error.

usage: test_hip.py --build BUILD --rocm 5|6 [unittest arguments]
"""
import os
import sys

import sweep

sys.path.insert(0, os.path.join(sweep.HERE, "..", "hip"))

import machine  # noqa: E402
import worlds  # noqa: E402

HOOKS = [os.path.join(sweep.HERE, "..", "..", "src", "gate", name, "hooks.list")
         for name in ("hip", "hsa")]
# hipError_t, of ROCm 6.3, and hsa_status_t.
CODES = (*range(1, 14), 17, 21, 35, 52, 98, *range(100, 102), 200, 201, 202, *range(205, 219),
         *range(300, 305), 400, 401, 500, 600, *range(700, 706), *range(708, 710), *range(712, 714),
         719, 720, 801, *range(900, 911), 999, 1052, 1053)
HSA_CODES = (40, 41, 42, 43, 45, *range(0x1000, 0x102a))
# What an error of one call once did to others, and what must not change.
ALWAYS = ("", "hipInit * 3", "* * 999", "* 60+* 719",
          "hsa_agent_get_info * 1", "hsa_agent_get_info 3+* 4096", "hsa_agent_get_info 30+* 1",
          "hsa_iterate_agents * 1", "hsa_amd_agent_iterate_memory_pools * 1")
JUDGE = sweep.Judge(answers={
    # A GPU's queues are HIP's alone.
    "hsa_queue_create": (0x1002,),
}, keeps={
    # Whose a pool is: then what HIP has of the host's counts too.
    **dict.fromkeys(("hsa_agent_get_info", "hsa_iterate_agents", "hsa_agent_iterate_regions",
                     "hsa_amd_agent_iterate_memory_pools", "hsa_amd_memory_pool_get_info",
                     "hsa_region_get_info"), ("free", "end")),
    # An imported handle of the process's own memory that could not be released.
    "hipMemRelease": ("free", "end"), "hsa_amd_vmem_handle_release": ("free", "end"),
}, unready=[("hipEventQuery", 600)], captures=["hipStreamEndCapture"],
    changes={"hipThreadExchangeStreamCaptureMode": "mode-of-capturing"})


class Hip(machine.Hip):
    def put_faults(self, text):
        worlds.write_whole(f"{self.gpus}/hip-faults", text + "\n")

    def bytes_of(self, pid, _):
        return self.stats()[1].get(pid, {"bytes": 0})["bytes"]


class Errors(machine.Case):
    WORLD = Hip

    def begin(self):
        super().begin(hip="context-mib 0\n")
        self.sweep = sweep.Sweep(self, worlds.built(f"tests/errors/errors-hip-{machine.ROCM}"))

    def symbols(self):
        """What the program calls, and what the gate does: of either library.  HIP as the double
        plays it does not bear it if it gets no signal."""
        own = [name for hooks in HOOKS for policy in ("own", "use")
               for name in sweep.names_in(hooks, policy)]
        names = {*self.sweep.run().tried, *own}
        return [sorted(name for name in names
                       if name.startswith(begin) and not name.startswith("hsa_signal_"))
                for begin in ("hip", "hsa_")]

    def go_through(self, faults):
        for fault in faults:
            with self.subTest(fault):
                self.assertEqual(JUDGE(self.sweep.run(*fault.split(";")), fault), [])


class Always(Errors):
    def test_each(self):
        self.begin()
        self.go_through(ALWAYS)


    def test_some(self):
        self.begin()
        hip, hsa = self.symbols()
        self.go_through(sweep.some(hip, CODES, 50))
        self.go_through(sweep.some(hsa, HSA_CODES, 50))


class Slow(Errors):
    def test_every_error(self):
        self.begin()
        hip, hsa = self.symbols()
        self.go_through(sweep.every(hip, "*", CODES[::3]))
        self.go_through(sweep.every(hsa, "*", HSA_CODES))

    def test_every_call(self):
        self.begin()
        hip, hsa = self.symbols()
        self.go_through(sweep.every(hip, sweep.COUNTS, (2, 600, 719)))
        self.go_through(sweep.every(hsa, sweep.COUNTS, (0x1000, 0x1008)))


if __name__ == "__main__":
    machine.main()
