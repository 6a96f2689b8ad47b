# SPDX-License-Identifier: Apache-2.0
"""CUDA's driver answers any call with any error.

usage: test_cuda.py --build BUILD [unittest arguments]
"""
import os
import sys
import unittest

import sweep

sys.path.insert(0, os.path.join(sweep.HERE, "..", "cuda"))

import machine  # noqa: E402
import worlds  # noqa: E402

HOOKS = os.path.join(sweep.HERE, "..", "..", "src", "gate", "cuda", "hooks.list")
# CUresult, of the toolkit 13.0.
CODES = (*range(1, 9), 34, 36, 46, *range(100, 103), *range(200, 203), *range(205, 227),
         *range(300, 305), *range(400, 403), 500, 600, *range(700, 706), *range(708, 722),
         *range(800, 811), *range(900, 913), 999)
# What is asked of the gate depends on the lease.
LEASES = {
    "plain": sweep.MEMORY,
    "units": (*sweep.MEMORY, "--sm", "25%"),
    "spill": ("--memory", "64M", "--spill", "448M"),
}
# What an error of one call once did to others, and what must not change.
ALWAYS = {
    "plain": (
        "", "cuInit * 3", "cuDevicePrimaryCtxRetain * 2", "* * 700", "* 40+* 719", "* 120+* 4",
        "cuMemPoolGetAttribute * 1", "cuMemPoolGetAttribute 5+1 700",
        "cuDeviceGetGraphMemAttribute * 999",
        "cuCtxGetDevice * 201", "cuCtxGetDevice 1 1", "cuCtxGetDevice 2 1",
        "cuCtxGetDevice 6+1 3", "cuDeviceGetMemPool * 801", "cuDeviceGetMemPool 2 700",
        "cuGraphGetNodes * 1", "cuGraphGetNodes 3+1 999", "cuGraphNodeGetType * 400",
        "cuGraphMemAllocNodeGetParams * 1", "cuGraphMemAllocNodeGetParams 1 801",
        "cuGraphChildGraphNodeGetGraph 1 1", "cuGraphExecDestroy 1 999",
        "cuStreamIsCapturing * 1", "cuStreamIsCapturing * 906", "cuStreamIsCapturing 3+* 700",
        "cuMemPoolDestroy * 999", "cuMemPoolDestroy 1 1", "cuMemFreeAsync * 1",
        "cuCtxGetLimit * 215", "cuCtxGetLimit 1+1 1", "cuCtxGetLimit 2+1 1",
        "cuCtxGetLimit 3+* 700", "cuCtxGetCurrent * 1", "cuCtxGetCurrent 5+* 4",
        "cuThreadExchangeStreamCaptureMode 1 1", "cuThreadExchangeStreamCaptureMode 2 1",
        "cuStreamGetCtx * 1", "cuCtxSetCurrent 2+* 201",
    ),
    "units": ("", "cuEventQuery * 1"),
    "spill": ("",),
}
ANSWERS = {
    # Where no context is current the gate asks for the stream's device before.
    "cuGraphLaunch": (201,),
}
KEEPS = {
    # What a pool has.
    "cuMemPoolGetAttribute": ("free", "end"), "cuDeviceGetGraphMemAttribute": ("free", "end"),
    # Whether a stream has come to what was freed in its order; and with which context it goes.
    "cuEventCreate": ("free",), "cuEventRecord": ("free",), "cuEventQuery": ("free",),
    "cuCtxSetCurrent": ("free",), "cuCtxGetCurrent": ("free", "end"),
    # Of which the gate has one of its own for that, beside blocking streams of the program.
    "cuStreamCreate": ("free",),
}
# A capture that never ends takes the launches of its stream, and no marker is possible in the legacy
# stream meanwhile.
COMMON = {"unready": [("cuEventQuery", 600)], "captures": ["cuStreamEndCapture"],
          "changes": {"cuThreadExchangeStreamCaptureMode": "mode-of-capturing"}}
JUDGES = {
    "plain": sweep.Judge(ANSWERS, KEEPS, **COMMON),
    # Streams are made in a green context.
    "units": sweep.Judge({**ANSWERS, "cuStreamCreate": (0,), "cuStreamCreateWithPriority": (0,)},
                         KEEPS, **COMMON),
    # Managed memory stands in for the device's, and no stream frees it.
    "spill": sweep.Judge({**ANSWERS, "cuMemAlloc_v2": (0,), "cuMemAllocPitch_v2": (0,),
                          "cuMemFreeAsync": (0,)}, KEEPS, **COMMON),
}


class Cuda(machine.Cuda):
    def put_faults(self, text):
        self.put("cuda-faults", text)

    def bytes_of(self, pid, _):
        return self.stats()[1].get(pid, {"bytes": 0})["bytes"]


class Errors(machine.Case):
    WORLD = Cuda

    def begin(self, lease="plain"):
        super().begin(cuda="tell-nvml 1\ncontext-mib 0\n")
        self.judge = JUDGES[lease]
        self.sweep = sweep.Sweep(self, worlds.built("tests/errors/errors-cuda"), LEASES[lease])

    def symbols(self):
        """What the program calls, and what the gate does."""
        return sorted({*self.sweep.run().tried, *sweep.names_in(HOOKS, "use")})

    def go_through(self, faults):
        for fault in faults:
            with self.subTest(fault):
                self.assertEqual(self.judge(self.sweep.run(*fault.split(";")), fault), [])


class Always(Errors):
    def test_plain(self):
        self.begin()
        self.go_through(ALWAYS["plain"])

    def test_units(self):
        self.begin("units")
        self.go_through(ALWAYS["units"])

    def test_spill(self):
        self.begin("spill")
        self.go_through(ALWAYS["spill"])


    def test_some(self):
        for lease, n in ("plain", 100), ("units", 25), ("spill", 25):
            self.begin(lease)
            self.go_through(sweep.some(self.symbols(), CODES, n))
            self.doCleanups()


class Slow(Errors):
    FEW = (1, 600, 709)

    def test_every_error(self):
        """Of calls in which the gate has a part of its own."""
        self.begin()
        own = {*sweep.names_in(HOOKS, "own"), *sweep.names_in(HOOKS, "use")}
        self.go_through(sweep.every(sorted(own & {*self.symbols()}), "*", CODES))

    def test_every_call(self):
        for lease in LEASES:
            self.begin(lease)
            self.go_through(sweep.every(self.symbols(), sweep.COUNTS, self.FEW))
            self.doCleanups()


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
