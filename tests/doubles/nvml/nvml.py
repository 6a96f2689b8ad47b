# SPDX-License-Identifier: Apache-2.0
"""libnvidia-ml.so.1 for ctypes, declared independently of the double's header, so that an error in
its layouts is found."""
import ctypes
from ctypes import byref, c_char, c_char_p, c_uint, c_ulonglong, c_void_p

SUCCESS = 0
UNINITIALIZED = 1
INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
NO_PERMISSION = 4
NOT_FOUND = 6
INSUFFICIENT_SIZE = 7
DRIVER_NOT_LOADED = 9
GPU_IS_LOST = 15
RESET_REQUIRED = 16
IN_USE = 19
INSUFFICIENT_RESOURCES = 23
VERSION_MISMATCH = 25
GPU_NOT_FOUND = 28

NONE = 0xffffffff
NOT_AVAILABLE = 0xffffffffffffffff


def fields(kind, names):
    return [(name, kind) for name in names.split()]


class Struct(ctypes.Structure):
    def dict(self):
        return {name: getattr(self, name) for name, *_ in self._fields_}


class PciInfo(Struct):
    _fields_ = ([("legacy_id", c_char * 16)]
                + fields(c_uint, "domain bus device device_id subsystem_id")
                + [("id", c_char * 32)])


class Memory(Struct):
    _fields_ = fields(c_ulonglong, "total free used")


class MemoryV2(Struct):
    _fields_ = [("version", c_uint)] + fields(c_ulonglong, "total reserved free used")


class Attributes(Struct):
    _fields_ = fields(c_uint, "sms ces decoders encoders jpegs ofas gi_slices ci_slices") + [
        ("memory_mib", c_ulonglong)]


class Utilization(Struct):
    _fields_ = fields(c_uint, "gpu memory")


class ProcessV1(Struct):
    _fields_ = [("pid", c_uint), ("bytes", c_ulonglong)]


class Process(Struct):
    _fields_ = [("pid", c_uint), ("bytes", c_ulonglong), ("gi", c_uint), ("ci", c_uint)]


class Detail(Struct):
    _fields_ = Process._fields_ + [("protected_bytes", c_ulonglong)]


class DetailList(Struct):
    _fields_ = fields(c_uint, "version mode n") + [("items", ctypes.POINTER(Detail))]


class Use(Struct):
    _fields_ = [("pid", c_uint), ("time_us", c_ulonglong)] + fields(
        c_uint, "sm memory encoder decoder")


class UseInfo(Struct):
    _fields_ = [("time_us", c_ulonglong)] + fields(
        c_uint, "pid sm memory encoder decoder jpeg ofa")


class UseList(Struct):
    _fields_ = fields(c_uint, "version n") + [("since_us", c_ulonglong),
                                              ("items", ctypes.POINTER(UseInfo))]


class Limits(Struct):
    _fields_ = [("cgroup", c_char_p)] + fields(c_ulonglong, "soft hard used")


class Accounting(Struct):
    _fields_ = (fields(c_uint, "gpu memory") + fields(c_ulonglong, "most_bytes time_ms start_us")
                + [("is_running", c_uint), ("reserved", c_uint * 5)])


class Placement(Struct):
    _fields_ = fields(c_uint, "start size")


class GiInfo(Struct):
    _fields_ = [("device", c_void_p), ("id", c_uint), ("profile", c_uint),
                ("placement", Placement)]


class CiInfoV1(Struct):
    _fields_ = [("device", c_void_p), ("gi", c_void_p), ("id", c_uint), ("profile", c_uint)]


class CiInfo(Struct):
    _fields_ = CiInfoV1._fields_ + [("placement", Placement)]


COUNTS = "slices max sms ces decoders encoders jpegs ofas"


class GiProfile(Struct):
    _fields_ = fields(c_uint, f"id p2p {COUNTS}") + [("memory_mib", c_ulonglong)]


class GiProfileV2(Struct):
    _fields_ = [("version", c_uint)] + GiProfile._fields_ + [("name", c_char * 96)]


class GiProfileV3(Struct):
    _fields_ = fields(c_uint, f"version id {COUNTS}") + [
        ("memory_mib", c_ulonglong), ("name", c_char * 96), ("capabilities", c_uint)]


class CiProfile(Struct):
    _fields_ = fields(c_uint, f"id {COUNTS}")


class CiProfileV2(Struct):
    _fields_ = [("version", c_uint)] + CiProfile._fields_ + [("name", c_char * 96)]


class CiProfileV3(Struct):
    _fields_ = CiProfileV2._fields_ + [("capabilities", c_uint)]


# The layouts that a compiler for x86-64 makes of the vendor's header.
SIZES = {PciInfo: 68, Memory: 24, MemoryV2: 40, Attributes: 40, ProcessV1: 16, Process: 24,
         Detail: 32, DetailList: 24, Use: 32, UseInfo: 40, UseList: 24, Limits: 32, Accounting: 56,
         GiInfo: 24, CiInfoV1: 24, CiInfo: 32, GiProfile: 48, GiProfileV2: 152,
         GiProfileV3: 152, CiProfile: 36, CiProfileV2: 136, CiProfileV3: 140}


def version(struct, number):
    return ctypes.sizeof(struct) | number << 24


class NvmlError(Exception):
    def __init__(self, function, code):
        super().__init__(f"{function}: {code}")
        self.code = code


class Library:
    """Calls by name; returns the requested value, and raises a code that is not 0."""

    def __init__(self, path):
        self.dll = ctypes.CDLL(path)
        self.dll.nvmlErrorString.restype = ctypes.c_char_p

    def has(self, name):
        return hasattr(self.dll, name)

    def code(self, name, *arguments):
        return getattr(self.dll, name)(*arguments)

    def do(self, name, *arguments):
        code = self.code(name, *arguments)
        if code:
            raise NvmlError(name, code)

    def get(self, name, *arguments, kind=c_uint):
        """The value that the last parameter, a pointer, is set to."""
        ret = kind()
        self.do(name, *arguments, byref(ret))
        return ret if isinstance(ret, Struct) else ret.value

    def handle(self, name, *arguments):
        return c_void_p(self.get(name, *arguments, kind=c_void_p))

    def text(self, name, *arguments, size=96):
        buffer = ctypes.create_string_buffer(size)
        self.do(name, *arguments, buffer, c_uint(size))
        return buffer.value.decode()

    def versioned(self, name, *arguments, kind, number):
        info = kind(version=version(kind, number))
        self.do(name, *arguments, byref(info))
        return info

    def array(self, name, *arguments, kind, known=False):
        """Calls twice, as the vendor requires: for the number, and for the elements. known: the
        first call for the number may succeed."""
        count = c_uint(0)
        code = self.code(name, *arguments, *((None, byref(count)) if known
                                             else (byref(count), None)))
        if code not in (SUCCESS, INSUFFICIENT_SIZE):
            raise NvmlError(name, code)
        items = (kind * max(1, count.value))()
        self.do(name, *arguments, *((items, byref(count)) if known
                                    else (byref(count), items)))
        return list(items[:count.value])

    # Short names for what almost every test does.

    def device(self, index=0):
        return self.handle("nvmlDeviceGetHandleByIndex_v2", index)

    def mode(self, device):
        current, pending = c_uint(), c_uint()
        self.do("nvmlDeviceGetMigMode", device, byref(current), byref(pending))
        return current.value, pending.value

    def set_mode(self, device, mode):
        return self.get("nvmlDeviceSetMigMode", device, mode, kind=ctypes.c_int)

    def create(self, device, profile, start=None, size=None):
        if start is None:
            return self.handle("nvmlDeviceCreateGpuInstance", device, profile)
        at = Placement(start, size)
        return self.handle("nvmlDeviceCreateGpuInstanceWithPlacement", device, profile,
                           byref(at))

    def create_ci(self, gi, profile):
        return self.handle("nvmlGpuInstanceCreateComputeInstance", gi, profile)

    def gi(self, handle):
        return self.get("nvmlGpuInstanceGetInfo", handle, kind=GiInfo)

    def ci(self, handle):
        return self.get("nvmlComputeInstanceGetInfo_v2", handle, kind=CiInfo)

    def place(self, device, profile):
        """The driver's placement of an instance of this profile."""
        return self.gi(self.create(device, profile)).placement.start

    def instances(self, device, profile, room=8):
        ret, count = (c_void_p * room)(), c_uint()
        self.do("nvmlDeviceGetGpuInstances", device, profile, ret, byref(count))
        return [c_void_p(h) for h in ret[:count.value]]

    def compute_instances(self, gi, profile, room=8):
        ret, count = (c_void_p * room)(), c_uint()
        self.do("nvmlGpuInstanceGetComputeInstances", gi, profile, ret, byref(count))
        return [c_void_p(h) for h in ret[:count.value]]

    def profiles(self, device, last=0x12):
        """By index: the existing profiles."""
        found = {}
        for index in range(last):
            info = GiProfile()
            code = self.code("nvmlDeviceGetGpuInstanceProfileInfo", device, index,
                             byref(info))
            if code == SUCCESS:
                found[index] = info
            elif code not in (NOT_SUPPORTED, INVALID_ARGUMENT):
                raise NvmlError("nvmlDeviceGetGpuInstanceProfileInfo", code)
        return found

    def placements(self, device, profile):
        return self.array("nvmlDeviceGetGpuInstancePossiblePlacements_v2", device, profile,
                          kind=Placement, known=True)

    def mig_list(self, device):
        """By index: handles of the MIG devices."""
        found = {}
        for index in range(self.get("nvmlDeviceGetMaxMigDeviceCount", device)):
            handle = c_void_p()
            code = self.code("nvmlDeviceGetMigDeviceHandleByIndex", device, index,
                             byref(handle))
            if code == SUCCESS:
                found[index] = handle
            elif code != NOT_FOUND:
                raise NvmlError("nvmlDeviceGetMigDeviceHandleByIndex", code)
        return found

    def uuid(self, device):
        return self.text("nvmlDeviceGetUUID", device)
