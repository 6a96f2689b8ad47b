# SPDX-License-Identifier: Apache-2.0
"""An OpenCL driver answers any call with any error, or worse.

usage: test_opencl.py --build BUILD [unittest arguments]
"""
import os
import re
import sys
import unittest
from pathlib import Path

import sweep

import gpus  # noqa: E402
import worlds  # noqa: E402

GATE = Path(sweep.HERE, "..", "..", "src", "gate", "opencl")
# Of OpenCL 3.0, and some of extensions.
CODES = (*range(-19, 0), *range(-72, -29), -1001, -1002, -1057)
# What an error of one call once did to others, and what must not change.
ALWAYS = ("", "clGetPlatformIDs * -6", "clCreateContext * -2", "* * -6", "* 100+* -5",
          *(f"{make} * wild" for make in (
              "clCreateBuffer", "clCreateBufferWithProperties", "clCreateImage", "clCreatePipe",
              "clCreateCommandQueue", "clCreateCommandQueueWithProperties", "clCreateUserEvent")),
          "clEnqueueSVMFree * twice", "clSetEventCallback * twice",
          "clSetMemObjectDestructorCallback * twice",
          "clRetainEvent * -5", "clRetainEvent 1 -6", "clEnqueueNDRangeKernel * eventless",
          "clEnqueueMarkerWithWaitList * eventless",
          "clGetMemObjectInfo * mute", "clGetMemObjectInfo * -38",
          "clGetPlatformIDs * empty", "clGetPlatformIDs * more", "clGetDeviceIDs * empty",
          "clGetDeviceIDs * more",
          "clGetCommandQueueInfo * mute",
          "clCreateUserEvent 3+* mute",
          "clSetUserEventStatus 2+1 -5", "clSetUserEventStatus 2+4 -5",
          "clSetUserEventStatus 3+1 -6",
          "clSetMemObjectDestructorCallback * -5;clReleaseMemObject * -5",
          "clFinish * -5", "clFinish 3+1 -36", "clWaitForEvents * -5", "clWaitForEvents 2+1 -6",
          )
JUDGE = sweep.Judge(answers={
    # No platform is the lease's; a loader says what NULL is not.
    "clGetPlatformIDs": (-1001,), "clGetPlatformInfo": (-32,),
    # An object that cannot say when it is gone cannot be charged, and is not made.
    "clSetMemObjectDestructorCallback": (-38,),
    # It returns no error.
    "clSVMAlloc": (-9999,),
}, exact=False)
# What waits for an event that a driver never lets anybody set waits without the gate as well.
ENDLESS = ("clSetUserEventStatus 2+*",)
QUOTA = ("--memory", "64M")


class OpenCl(worlds.World):
    """The driver of driver.c in front of the double."""

    def __init__(self):
        super().__init__()
        os.mkdir(f"{self.folder}/vendors")
        worlds.write_whole(f"{self.folder}/vendors/errors.icd",
                           worlds.built("tests/errors/libcleave-errors-opencl.so") + "\n")

    def environment(self):
        return {"OCL_ICD_VENDORS": f"{self.folder}/vendors",
                "CLEAVE_DOUBLE_DEVICE": f"{self.folder}/device",
                "ERRORS_BELOW": worlds.built("tests/doubles/opencl/libcleave-double-opencl.so"),
                "ERRORS_FAULTS": f"{self.folder}/faults"}

    def put_faults(self, text):
        worlds.write_whole(f"{self.folder}/faults", text + "\n")

    def bytes_of(self, _, given):
        return given


class Errors(gpus.Case):
    WORLD = OpenCl

    def begin(self):
        super().begin()
        self.sweep = sweep.Sweep(self, worlds.built("tests/errors/errors-opencl"), QUOTA, QUOTA)

    def symbols(self):
        """What the program calls, and what the gate does."""
        own = {name for path in GATE.rglob("*.c")
               for name in re.findall(r"\bclv_real\.(cl\w+)", path.read_text(encoding="utf-8"))}
        return sorted(own | {*self.sweep.run().tried})

    def go_through(self, faults):
        for fault in faults:
            if fault.startswith(ENDLESS):
                continue
            with self.subTest(fault):
                self.assertEqual(JUDGE(self.sweep.run(*fault.split(";")), fault), [])


class Always(Errors):
    def test_each(self):
        self.begin()
        self.go_through(ALWAYS)

    def test_some(self):
        self.begin()
        self.go_through(sweep.some(self.symbols(), CODES, 100))


class Slow(Errors):
    FEW = (-5, -6, -36)

    def test_every_error(self):
        self.begin()
        self.go_through(sweep.every(self.symbols(), "*", CODES))

    def test_every_call(self):
        self.begin()
        self.go_through(sweep.every(self.symbols(), sweep.COUNTS, self.FEW))


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
