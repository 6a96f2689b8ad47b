# SPDX-License-Identifier: Apache-2.0
"""A program in a lease that queries its GPU through NVML as the vendor's bindings for Python do:
with ctypes, and symbols by name. Evaluates the expressions that it gets, a line each, and prints
the results as JSON: ["ok", value] or ["failed", text].

usage: look.py FOLDER-OF-nvml.py
"""
import ctypes
import json
import os
import subprocess
import sys
from ctypes import byref, c_int, c_size_t, c_uint, c_ulonglong, c_void_p

sys.path.insert(0, sys.argv[1])
import nvml  # noqa: E402
from nvml import (Accounting, Detail, DetailList, Limits, Process, ProcessV1, Use,  # noqa: E402
                  UseInfo, UseList, Utilization)

MIB = 1 << 20
lib = nvml.Library("libnvidia-ml.so.1")


class Cuda:
    """The memory of the first device, through the driver's API."""

    def __init__(self):
        self.dll = ctypes.CDLL("libcuda.so.1")
        self.do("cuInit", c_uint(0))
        context = c_void_p()
        self.do("cuDevicePrimaryCtxRetain", byref(context), c_int(0))
        self.do("cuCtxSetCurrent", context)
        self.blocks = []

    def do(self, name, *arguments):
        code = getattr(self.dll, name)(*arguments)
        assert code == 0, (name, code)

    def alloc(self, mib):
        """0 or the driver's code."""
        address = c_ulonglong()
        code = self.dll.cuMemAlloc_v2(byref(address), c_size_t(mib * MIB))
        if code == 0:
            self.blocks.append(address)
        return code

    def free(self):
        self.do("cuMemFree_v2", self.blocks.pop())
        return 0

    def info(self):
        left, total = c_size_t(), c_size_t()
        self.do("cuMemGetInfo_v2", byref(left), byref(total))
        return [total.value, left.value, total.value - left.value]


state = {}


def cuda():
    if "cuda" not in state:
        state["cuda"] = Cuda()
    return state["cuda"]


def start():
    lib.do("nvmlInit_v2")
    return os.getpid()


def device(index=0):
    return lib.device(index)


def memory(handle=None):
    """[total, free, used] by each form that the driver has."""
    handle = handle or device()
    v1 = lib.get("nvmlDeviceGetMemoryInfo", handle, kind=nvml.Memory)
    found = [[v1.total, v1.free, v1.used]]
    if lib.has("nvmlDeviceGetMemoryInfo_v2"):
        v2 = lib.versioned("nvmlDeviceGetMemoryInfo_v2", handle, kind=nvml.MemoryV2, number=2)
        assert v2.reserved == 0, v2.reserved
        found.append([v2.total, v2.free, v2.used])
    return found


def processes(what="Compute"):
    """{form: {pid: bytes}} by each form that the driver has."""
    found = {}
    for suffix, kind in (("", ProcessV1), ("_v2", Process), ("_v3", Process)):
        name = f"nvmlDeviceGet{what}RunningProcesses{suffix}"
        if lib.has(name):
            found[suffix] = {p.pid: p.bytes for p in lib.array(name, device(), kind=kind)}
    return found


def details(mode, room):
    """(code, n, {pid: bytes})"""
    items = (Detail * max(1, room))()
    asked = DetailList(version=nvml.version(DetailList, 1), mode=mode, n=room,
                       items=items if room else None)
    code = lib.code("nvmlDeviceGetRunningProcessDetailList", device(), byref(asked))
    return code, asked.n, {p.pid: p.bytes for p in items[:asked.n]} if code == 0 else {}


def uses(room=16, since=0):
    items, n = (Use * room)(), c_uint(room)
    code = lib.code("nvmlDeviceGetProcessUtilization", device(), items, byref(n),
                    c_ulonglong(since))
    return code, {p.pid: p.sm for p in items[:n.value]} if code == 0 else {}


def use_infos(room=16):
    items = (UseInfo * room)()
    asked = UseList(version=nvml.version(UseList, 1), n=room, items=items)
    code = lib.code("nvmlDeviceGetProcessesUtilizationInfo", device(), byref(asked))
    return code, {p.pid: p.sm for p in items[:asked.n]} if code == 0 else {}


def account(pid):
    stats = Accounting()
    return lib.code("nvmlDeviceGetAccountingStats", device(), c_uint(pid), byref(stats))


def limits():
    asked = Limits(cgroup=b"/sys/fs/cgroup/any")
    lib.do("nvmlDeviceGetMemoryLimits_v1", device(), byref(asked))
    return [asked.soft, asked.hard, asked.used]


def rates():
    found = lib.get("nvmlDeviceGetUtilizationRates", device(), kind=Utilization)
    return [found.gpu, found.memory]


def by(way, name):
    """The UUID of the device found, or the error code."""
    handle = c_void_p()
    code = lib.code(f"nvmlDeviceGetHandleBy{way}", name.encode(), byref(handle))
    return lib.uuid(handle) if code == 0 else code


def uuids():
    return [lib.uuid(device(i)) for i in range(lib.get("nvmlDeviceGetCount_v2"))]


def spawn():
    """Starts another one in the same lease."""
    state["child"] = subprocess.Popen([sys.executable, *sys.argv], text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return of("start()")


def of(expression):
    """Evaluates the expression in that process."""
    child = state["child"]
    child.stdin.write(expression + "\n")
    child.stdin.flush()
    word, value = json.loads(child.stdout.readline())
    assert word == "ok", value
    return value


def end():
    state["child"].kill()
    return state["child"].wait()


def evaluate(line):
    try:
        return ["ok", eval(line)]  # pylint: disable=eval-used
    except Exception as error:  # pylint: disable=broad-except
        return ["failed", repr(error)]


for each in sys.stdin:
    print(json.dumps(evaluate(each)), flush=True)
