# SPDX-License-Identifier: Apache-2.0
"""Read-only access to NVML.

The library is opened with ctypes and declarations of its own, after NVIDIA's public nvml.h,
because its results check those of src/backend/nvidia.  Only the functions of the list below are
ever looked up, the handle of the library is released, and a name outside of the list stops the
program: this file cannot request a change.
"""
import ctypes
import re
from ctypes import byref, c_char, c_int, c_uint, c_ulonglong, c_void_p

FUNCTIONS = """
nvmlInit_v2 nvmlShutdown nvmlErrorString
nvmlSystemGetDriverVersion nvmlSystemGetNVMLVersion
nvmlDeviceGetCount_v2 nvmlDeviceGetHandleByIndex_v2
nvmlDeviceGetName nvmlDeviceGetUUID nvmlDeviceGetPciInfo_v3 nvmlDeviceGetMemoryInfo
nvmlDeviceGetArchitecture nvmlDeviceGetCudaComputeCapability nvmlDeviceGetNumGpuCores
nvmlDeviceGetPersistenceMode nvmlDeviceGetVirtualizationMode nvmlDeviceGetHostVgpuMode
nvmlDeviceGetMigMode nvmlDeviceGetGpuInstanceProfileInfo nvmlDeviceGetGpuInstanceProfileInfoV
nvmlDeviceGetGpuInstancePossiblePlacements nvmlDeviceGetGpuInstancePossiblePlacements_v2
nvmlDeviceGetGpuInstanceRemainingCapacity nvmlDeviceGetGpuInstances nvmlGpuInstanceGetInfo
nvmlGpuInstanceGetComputeInstanceProfileInfo nvmlGpuInstanceGetComputeInstances
nvmlComputeInstanceGetInfo nvmlComputeInstanceGetInfo_v2
nvmlDeviceGetMaxMigDeviceCount nvmlDeviceGetMigDeviceHandleByIndex
nvmlDeviceGetGpuInstanceId nvmlDeviceGetComputeInstanceId
nvmlDeviceGetComputeRunningProcesses_v2 nvmlDeviceGetComputeRunningProcesses_v3
nvmlDeviceGetGraphicsRunningProcesses_v2 nvmlDeviceGetGraphicsRunningProcesses_v3
nvmlDeviceGetMPSComputeRunningProcesses_v2 nvmlDeviceGetMPSComputeRunningProcesses_v3
nvmlDeviceGetSupportedVgpus
nvmlVgpuTypeGetName nvmlVgpuTypeGetFramebufferSize nvmlVgpuTypeGetMaxInstances
""".split()
QUESTION = re.compile(r"nvml(Init_v2|Shutdown|ErrorString"
                      r"|(System|Device|GpuInstance|ComputeInstance|VgpuType)Get[A-Z]\w*)")

SUCCESS, INVALID_ARGUMENT, NOT_SUPPORTED, INSUFFICIENT_SIZE = 0, 2, 3, 7
FUNCTION_NOT_FOUND, VERSION_MISMATCH = 13, 25
OF_ANOTHER_FORM = (INVALID_ARGUMENT, FUNCTION_NOT_FOUND, VERSION_MISMATCH)
TEXTS = {FUNCTION_NOT_FOUND: "the library has no such function"}
NO_INSTANCE = 0xffffffff
INSTANCES_MAX, PLACES_MAX, PROCESSES_MAX, VGPU_TYPES_MAX = 32, 32, 512, 1024
ENTRY_BYTES, LONG_ENTRY_BYTES = 24, 32


def words(names, kind=c_uint):
    return [(name, kind) for name in names.split()]


class Pci(ctypes.Structure):
    _fields_ = ([("legacy", c_char * 16)]
                + words("domain bus device device_id subsystem_id") + [("id", c_char * 32)])


class Memory(ctypes.Structure):
    _fields_ = words("total free used", c_ulonglong)


COUNTS = "slices instances multiprocessors copy decoder encoder jpeg optical_flow"


class ProfileV1(ctypes.Structure):
    _fields_ = words("id p2p " + COUNTS) + [("memory_mib", c_ulonglong)]


class ProfileV2(ctypes.Structure):
    _fields_ = words("version") + ProfileV1._fields_ + [("name", c_char * 96)]


class ProfileV3(ctypes.Structure):
    _fields_ = (words("version id " + COUNTS)
                + [("memory_mib", c_ulonglong), ("name", c_char * 96), ("capabilities", c_uint)])


class Placement(ctypes.Structure):
    _fields_ = words("start size")


class GpuInstance(ctypes.Structure):
    _fields_ = words("device", c_void_p) + words("id profile_id") + [("at", Placement)]


class ComputeProfile(ctypes.Structure):
    _fields_ = words("id " + COUNTS)


class ComputeInstance(ctypes.Structure):
    """The first form of the answer ends before the placement, which then stays 0."""
    _fields_ = (words("device gpu_instance", c_void_p) + words("id profile_id")
                + [("at", Placement)])


class Process(ctypes.Structure):
    _fields_ = (words("pid") + words("used_bytes", c_ulonglong)
                + words("gpu_instance compute_instance"))


# The layouts that a compiler for x86-64 makes of the vendor's header.
SIZES = {Pci: 68, Memory: 24, ProfileV1: 48, ProfileV2: 152, ProfileV3: 152, Placement: 8,
         GpuInstance: 24, ComputeProfile: 36, ComputeInstance: 32, Process: 24}


class Unread(Exception):
    """The reason why a value is unknown, in place of the value."""

    def __init__(self, why, code=None):
        super().__init__(why)
        self.code = code


def attempt(question, *arguments):
    """The answer, or the Unread in its place."""
    try:
        return question(*arguments)
    except Unread as unread:
        return unread


def look_up(dll):
    """{name: function or None}, only of queries."""
    found = {}
    for name in FUNCTIONS:
        if not QUESTION.fullmatch(name):
            raise ValueError(f"{name} does not only ask")
        found[name] = getattr(dll, name, None)
    return found


class Nvml:
    """Queries by name. Each method returns the answer or raises Unread."""

    def __init__(self, path):
        for struct, size in SIZES.items():
            if ctypes.sizeof(struct) != size:
                raise Unread(f"{struct.__name__} is {ctypes.sizeof(struct)} bytes here")
        try:
            self._functions = look_up(ctypes.CDLL(path))
        except OSError as error:
            raise Unread(str(error)) from error
        if self._functions["nvmlErrorString"]:
            self._functions["nvmlErrorString"].restype = ctypes.c_char_p

    def has(self, name):
        return self._functions[name] is not None

    def code(self, name, *arguments):
        function = self._functions[name]
        return function(*arguments) if function else FUNCTION_NOT_FOUND

    def unread(self, name, code):
        text = TEXTS.get(code)
        if not text and self.has("nvmlErrorString"):
            text = self._functions["nvmlErrorString"](code).decode(errors="replace")
        return Unread(f"{name}: {text or f'code {code}'}", code)

    def ask(self, name, *arguments):
        code = self.code(name, *arguments)
        if code != SUCCESS:
            raise self.unread(name, code)

    def get(self, name, *arguments, kind=c_uint):
        """The value that the last parameter, a pointer, is set to."""
        ret = kind()
        self.ask(name, *arguments, byref(ret))
        return ret if isinstance(ret, ctypes.Structure) else ret.value

    def pair(self, name, *arguments, kind=c_uint):
        first, second = kind(), kind()
        self.ask(name, *arguments, byref(first), byref(second))
        return first.value, second.value

    def text(self, name, *arguments, size=96):
        buffer = ctypes.create_string_buffer(size)
        self.ask(name, *arguments, buffer, c_uint(size))
        return buffer.value.decode(errors="replace")

    def handle(self, name, *arguments):
        return c_void_p(self.get(name, *arguments, kind=c_void_p))

    def one_of(self, *names):
        """The first of several forms of a function that the library has."""
        return next((name for name in names if self.has(name)), names[0])


class Profiles:
    """The profiles of a GPU's instances, in the newest form that the driver has."""

    INDEXES = 32

    def __init__(self, nvml, gpu):
        self.nvml, self.gpu = nvml, gpu
        self.unknown = {}  # index: the Unread, of profiles that this GPU lacks

    def ask(self, index):
        """(number of the form, struct)"""
        name = "nvmlDeviceGetGpuInstanceProfileInfoV"
        for number, form in ((3, ProfileV3), (2, ProfileV2)):
            info = form(version=ctypes.sizeof(form) | number << 24)
            code = self.nvml.code(name, self.gpu, index, byref(info))
            if code == SUCCESS:
                return number, info
            if code not in OF_ANOTHER_FORM:
                raise self.nvml.unread(name, code)
        return 1, self.nvml.get("nvmlDeviceGetGpuInstanceProfileInfo", self.gpu, index,
                                kind=ProfileV1)

    def places(self, profile_id):
        """[(start, size)]"""
        name = "nvmlDeviceGetGpuInstancePossiblePlacements_v2"
        places, count = (Placement * PLACES_MAX)(), c_uint(PLACES_MAX)
        if not self.nvml.has(name):
            name = "nvmlDeviceGetGpuInstancePossiblePlacements"
        self.nvml.ask(name, self.gpu, profile_id, places, byref(count))
        if count.value > PLACES_MAX:
            raise Unread(f"{name}: {count.value} places")
        return sorted((p.start, p.size) for p in places[:count.value])

    def describe(self, index, form, info):
        profile = {key: getattr(info, key) for key in f"id memory_mib {COUNTS}".split()}
        name = info.name.decode(errors="replace") if form > 1 else ""
        profile.update(
            index=index, form=form,
            name=name.removeprefix("MIG ") or Unread("the driver gives profiles no names"),
            p2p=bool(info.capabilities & 1) if form == 3 else bool(info.p2p),
            gfx=bool(info.capabilities & 2) if form == 3
            else Unread("the driver does not tell what a profile can"),
            places=attempt(self.places, info.id),
            remaining=attempt(self.nvml.get, "nvmlDeviceGetGpuInstanceRemainingCapacity",
                              self.gpu, info.id))
        return profile

    def read(self):
        found = {}
        for index in range(self.INDEXES):
            try:
                form, info = self.ask(index)
            except Unread as unread:
                if unread.code not in (NOT_SUPPORTED, INVALID_ARGUMENT):
                    raise
                self.unknown[index] = unread
                continue
            found.setdefault(info.id, self.describe(index, form, info))
        return sorted(found.values(), key=lambda p: (p["slices"], p["index"]))


class Instances:
    """How a GPU in MIG mode is divided."""

    COMPUTE_PROFILES, SHARED_ENGINES = 9, 0

    def __init__(self, nvml, gpu, profiles):
        self.nvml, self.gpu, self.profiles = nvml, gpu, profiles

    def handles(self, name, owner, profile_id):
        ret, count = (c_void_p * INSTANCES_MAX)(), c_uint(INSTANCES_MAX)
        self.nvml.ask(name, owner, profile_id, ret, byref(count))
        return [c_void_p(handle) for handle in ret[:count.value]]

    def compute_profiles(self, instance):
        found = {}
        for index in range(self.COMPUTE_PROFILES):
            info = attempt(lambda index=index: self.nvml.get(
                "nvmlGpuInstanceGetComputeInstanceProfileInfo", instance, index,
                self.SHARED_ENGINES, kind=ComputeProfile))
            if not isinstance(info, Unread):
                found.setdefault(info.id, info)
        return found

    def parts(self, instance, profiles):
        name = self.nvml.one_of("nvmlComputeInstanceGetInfo_v2", "nvmlComputeInstanceGetInfo")
        parts = []
        for profile_id, profile in profiles.items():
            for handle in self.handles("nvmlGpuInstanceGetComputeInstances", instance,
                                       profile_id):
                info = self.nvml.get(name, handle, kind=ComputeInstance)
                parts.append({"id": info.id, "profile_id": profile_id,
                              "slices": profile.slices, "start": info.at.start,
                              "size": info.at.size})
        return sorted(parts, key=lambda part: part["start"])

    def read(self):
        found = []
        for profile in self.profiles:
            for handle in self.handles("nvmlDeviceGetGpuInstances", self.gpu, profile["id"]):
                info = self.nvml.get("nvmlGpuInstanceGetInfo", handle, kind=GpuInstance)
                computes = self.compute_profiles(handle)
                found.append({"id": info.id, "profile": profile, "start": info.at.start,
                              "size": info.at.size, "parts": self.parts(handle, computes),
                              "compute_profiles": computes})
        return sorted(found, key=lambda instance: instance["start"])


class Device:
    def __init__(self, nvml, index, driver):
        self.nvml, self.index = nvml, index
        self.gpu = nvml.handle("nvmlDeviceGetHandleByIndex_v2", index)
        # R535 before 535.98 writes longer entries behind the same symbol.
        version = [int(n) for n in re.findall(r"\d+", str(driver))[:2]]
        is_long = version[:1] == [535] and version[1:] < [98]
        self.entry_bytes = LONG_ENTRY_BYTES if is_long else ENTRY_BYTES

    def pci(self):
        info = self.nvml.get("nvmlDeviceGetPciInfo_v3", self.gpu, kind=Pci)
        return {"id": info.id.decode(), "device_id": info.device_id}

    def mig_devices(self):
        """[(GPU instance, compute instance, handle)]; the list has holes."""
        found = []
        most = attempt(self.nvml.get, "nvmlDeviceGetMaxMigDeviceCount", self.gpu)
        for index in range(0 if isinstance(most, Unread) else most):
            handle = attempt(self.nvml.handle, "nvmlDeviceGetMigDeviceHandleByIndex", self.gpu,
                             index)
            if not isinstance(handle, Unread):
                found.append((self.nvml.get("nvmlDeviceGetGpuInstanceId", handle),
                              self.nvml.get("nvmlDeviceGetComputeInstanceId", handle), handle))
        return found

    def mig_uuids(self):
        """{(GPU instance, compute instance): UUID}"""
        return {(gi, ci): self.nvml.text("nvmlDeviceGetUUID", handle)
                for gi, ci, handle in self.mig_devices()}

    def processes_of(self, name, handle):
        """{(pid, GPU instance)} of one kind; a missing list is empty."""
        buffer = ctypes.create_string_buffer(PROCESSES_MAX * LONG_ENTRY_BYTES)
        count = c_uint(PROCESSES_MAX)
        self.nvml.ask(name, handle, byref(count), buffer)
        entries = (Process.from_buffer(buffer, i * self.entry_bytes)
                   for i in range(min(count.value, PROCESSES_MAX)))
        return {(entry.pid, entry.gpu_instance) for entry in entries}

    def processes(self):
        """{pid: GPU instances}, of the GPU and of its MIG devices."""
        found, refusals, answers = {}, [], 0
        handles = [(None, self.gpu)] + [(gi, h) for gi, _, h in self.mig_devices()]
        for instance, handle in handles:
            for kind in ("Compute", "Graphics", "MPSCompute"):
                name = self.nvml.one_of(*(f"nvmlDeviceGet{kind}RunningProcesses_v{v}"
                                          for v in (3, 2)))
                pairs = attempt(self.processes_of, name, handle)
                if isinstance(pairs, Unread):
                    refusals.append(pairs)
                    continue
                answers += 1
                for pid, of in pairs:
                    found.setdefault(pid, set()).add(of if instance is None else instance)
        if not answers:
            raise refusals[0]
        return {pid: places - {NO_INSTANCE} for pid, places in found.items()}

    def vgpu_types(self):
        """{id: (name, bytes, most)}"""
        name, count = "nvmlDeviceGetSupportedVgpus", c_uint(VGPU_TYPES_MAX)
        ids = (c_uint * VGPU_TYPES_MAX)()
        self.nvml.ask(name, self.gpu, byref(count), ids)
        return {i: self.vgpu_type(i) for i in ids[:count.value]}

    def vgpu_type(self, type_id):
        text, size = ctypes.create_string_buffer(64), c_uint(64)
        self.nvml.ask("nvmlVgpuTypeGetName", type_id, text, byref(size))
        memory = attempt(lambda: self.nvml.get("nvmlVgpuTypeGetFramebufferSize", type_id,
                                               kind=c_ulonglong))
        most = attempt(self.nvml.get, "nvmlVgpuTypeGetMaxInstances", self.gpu, type_id)
        return text.value.decode(errors="replace"), memory, most

    def read(self):
        nvml, gpu = self.nvml, self.gpu
        profiles = Profiles(nvml, gpu)
        device = {
            "index": self.index,
            "name": attempt(nvml.text, "nvmlDeviceGetName", gpu),
            "uuid": attempt(nvml.text, "nvmlDeviceGetUUID", gpu),
            "pci": attempt(self.pci),
            "architecture": attempt(nvml.get, "nvmlDeviceGetArchitecture", gpu),
            "capability": attempt(lambda: nvml.pair("nvmlDeviceGetCudaComputeCapability", gpu,
                                                    kind=c_int)),
            "memory": attempt(lambda: nvml.get("nvmlDeviceGetMemoryInfo", gpu,
                                               kind=Memory).total),
            "cores": attempt(nvml.get, "nvmlDeviceGetNumGpuCores", gpu),
            "persistence": attempt(nvml.get, "nvmlDeviceGetPersistenceMode", gpu),
            "virtualization": attempt(nvml.get, "nvmlDeviceGetVirtualizationMode", gpu),
            "host_vgpu": attempt(nvml.get, "nvmlDeviceGetHostVgpuMode", gpu),
            "mig": attempt(nvml.pair, "nvmlDeviceGetMigMode", gpu),
            "profiles": attempt(profiles.read),
            "unknown_indexes": profiles.unknown,
            "vgpu_types": attempt(self.vgpu_types),
            "processes": attempt(self.processes),
        }
        device.update(self.read_division(device))
        return device

    def read_division(self, device):
        """The state that exists only in MIG mode."""
        if isinstance(device["mig"], Unread):
            return {"instances": device["mig"], "mig_uuids": device["mig"]}
        if not device["mig"][0]:
            return {"instances": [], "mig_uuids": {}}
        if isinstance(device["profiles"], Unread):
            return {"instances": device["profiles"], "mig_uuids": attempt(self.mig_uuids)}
        instances = Instances(self.nvml, self.gpu, device["profiles"])
        return {"instances": attempt(instances.read), "mig_uuids": attempt(self.mig_uuids)}


class Machine:
    """NVML from its start to its end.  Raises Unread where it does not start."""

    def __init__(self, path):
        self.nvml = Nvml(path)

    def __enter__(self):
        self.nvml.ask("nvmlInit_v2")
        return self

    def __exit__(self, *_):
        self.nvml.code("nvmlShutdown")

    def devices(self):
        driver = attempt(lambda: self.nvml.text("nvmlSystemGetDriverVersion", size=80))
        found = [attempt(Device, self.nvml, index, driver)
                 for index in range(self.nvml.get("nvmlDeviceGetCount_v2"))]
        return [device if isinstance(device, Unread) else device.read() for device in found]

    def read(self):
        return {"driver": attempt(lambda: self.nvml.text("nvmlSystemGetDriverVersion", size=80)),
                "nvml": attempt(lambda: self.nvml.text("nvmlSystemGetNVMLVersion", size=80)),
                "devices": attempt(self.devices)}


def read(path):
    with Machine(path) as machine:
        return machine.read()
