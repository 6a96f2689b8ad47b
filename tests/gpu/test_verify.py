# SPDX-License-Identifier: Apache-2.0
"""The verification of GPUs, on doubles.

usage: test_verify.py --build BUILD [unittest arguments]
"""
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import unittest.mock
from pathlib import Path

HERE = Path(__file__).resolve().parent
for folder in ("apply", "sysfs"):
    sys.path.insert(0, str(HERE.parent / folder))

import document  # noqa: E402
import exports  # noqa: E402
import nvml_read  # noqa: E402
import pack  # noqa: E402
import worlds  # noqa: E402
from case import Case, layout, main  # noqa: E402
from findings import Findings  # noqa: E402
from slow import slow  # noqa: E402
from trees import Tree  # noqa: E402

CHANGES = ("Set", "Create", "Destroy", "Clear", "Reset", "Enable", "Disable", "Modify", "Remove",
           "Freeze", "Attach", "Detach", "Stop", "Register", "Validate")
MIG_TYPES = ("A30-24GB", "A100-40GB", "A100-80GB", "H100-80GB", "H200-141GB",
             "RTX-PRO-6000-Blackwell-96GB")
LIBRARIES = "/lib/x86_64-linux-gnu"
OF_THE_DRIVER = {"libcuda.so.1"}
LOADER = "ld-linux-x86-64.so.2"
SOURCE = (HERE.parent.parent / "src/backend/nvidia/library.c").read_text()


def library(driver):
    return worlds.built(f"tests/doubles/nvml/{driver}/libnvidia-ml.so.1")


def unpacked(folder):
    """The top of a pack, unpacked there."""
    if not os.path.exists(worlds.built("bench/tenant")):
        raise unittest.SkipTest("bench is not built")
    archive = Path(folder) / "gpu.tar"
    subprocess.run([sys.executable, HERE / "pack.py", "--build", worlds.BUILD["path"], archive],
                   check=True, capture_output=True)
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    return Path(folder) / "cleave-gpu"


class Verified(Case):
    def verify(self, world, *arguments, path=None, **env):
        """(exit code, its lines)"""
        env = {"CLV_NVML_DOUBLE": world.folder, "CLEAVE_GPU_NVML": path or library(world.driver),
               **env}
        done = subprocess.run(
            [sys.executable, HERE / "verify.py", "--build", worlds.BUILD["path"], *arguments],
            env={**os.environ, **env}, capture_output=True, text=True, timeout=120)
        self.assertNotIn("Traceback", done.stderr)
        self.stderr = done.stderr
        return done.returncode, done.stdout.splitlines()

    def lines(self, verdict, lines):
        return [line for line in lines if line.startswith(f"{verdict}: ")]

    def agrees(self, world, **more):
        code, lines = self.verify(world, **more)
        self.assertEqual((code, self.lines("differs", lines)), (0, []), "\n".join(lines))
        self.assertTrue(self.lines("same", lines))
        return lines

    def one(self, lines, *words):
        found = [line for line in lines if all(word in line for word in words)]
        self.assertEqual(len(found), 1, (words, lines))
        return found[0]


class Reading(Verified):
    def test_every_type_with_every_driver(self):
        for driver in ("r450", "r470", "r580"):
            for mig in ("", " mig=on"):
                node = "\n".join(f"gpu {kind}{mig}" for kind in MIG_TYPES) + "\ngpu T4\ngpu V100"
                lines = self.agrees(self.live_in(worlds.Nvml(node, driver)))
                if driver == "r580":
                    n = sum("(the agent)" in line for line in lines)
                    self.assertEqual(n, 5 + 4 * 7 + 11)

    def test_divided(self):
        """Instances, their parts and their processes."""
        world = self.live_in(worlds.Nvml("gpu A100-40GB\ngpu H200-141GB"))
        agent = self.start(world)
        agent.done(layout(
            "select: {index: 0}, mig: on, partitions: [{profile: 3g.20gb, count: 1, "
            "parts: [1c, 2c]}, {profile: 1g.5gb, count: 2}]",
            "select: {index: 1}, mig: on, partitions: [{profile: 7g.141gb}]"))
        gis = [line.split() for line in world.control("show").splitlines()]
        gi = next(words[2] for words in gis if words[:2] == ["gi", "0"])
        world.put("processes", f"{os.getpid()} 0 {gi} 0 4096\n4000001 0 {gi} 0 - G")
        lines = self.agrees(world)
        self.one(lines, "compute instances [1c@2 2c@0]")
        self.one(lines, "same: GPU 0: UUIDs of 4 MIG devices")
        self.one(lines, "same: GPU 0: processes: 2 stayed, 2 in cleave")
        self.one(lines, "same: GPU 0, 1g.5gb: still fits 2")

    def test_host_of_vgpus(self):
        world = self.live_in(worlds.Nvml(
            "gpu T4 vgpu=host\nvgpu-type 0 222 1024 16 GRID T4-1B\n"
            "vgpu-type 0 225 8192 2 GRID T4-8Q"))
        self.one(self.agrees(world), "same: GPU 0: vGPU types 2")

    def test_nothing_is_changed(self):
        world = self.live_in(worlds.Nvml("gpu A100-40GB mig=on\ngpu H100-80GB"))
        before = world.shape()
        names = {name for name, _ in world.calls(lambda: self.agrees(world))}
        self.assertIn("nvmlDeviceGetMigMode", names)
        self.assertEqual([n for n in names if not nvml_read.QUESTION.fullmatch(n)], [])
        self.assertEqual(world.shape(), before)

    def test_no_change_can_be_asked_for(self):
        for name in nvml_read.FUNCTIONS:
            self.assertTrue(nvml_read.QUESTION.fullmatch(name), name)
            self.assertFalse([word for word in CHANGES if word in name], name)
        for name in ("nvmlDeviceSetMigMode", "nvmlGpuInstanceDestroy", "nvmlDeviceCreateGpuInstance",
                     "nvmlGpuInstanceCreateComputeInstance"):
            self.assertFalse(nvml_read.QUESTION.fullmatch(name), name)
        with unittest.mock.patch.object(nvml_read, "FUNCTIONS", ["nvmlDeviceSetMigMode"]):
            self.assertRaises(ValueError, nvml_read.look_up, object())
        for file in HERE.glob("*.py"):
            if file.name != Path(__file__).name:
                self.assertNotRegex(file.read_text(), f"nvml[A-Z]\\w*({'|'.join(CHANGES)})")


class Differing(Verified):
    def differs(self, node, *words):
        code, lines = self.verify(self.live_in(worlds.Nvml(node)))
        self.assertEqual(code, 1)
        for line in self.lines("differs", lines):
            self.assertTrue(all(word in line for word in words), (words, line))
        self.assertTrue(self.lines("differs", lines))

    def test_memory(self):
        self.differs("gpu A100-40GB mig=on\nalter 0 2g.10gb memory 9857", "GPU 0, 2g.10gb",
                     "MiB: the driver says 9857", "the table A100-40GB 9856")

    def test_places(self):
        self.differs("gpu T4\ngpu A100-40GB\nalter 1 3g.20gb starts 0", "GPU 1, 3g.20gb",
                     "starts: the driver says [0]", "the table A100-40GB [0 4]")


class Unreadable(Verified):
    def test_without_rights(self):
        world = self.live_in(worlds.Nvml("gpu A100-40GB\ngpu H100-80GB mig=on\nunprivileged"))
        lines = self.agrees(world)
        unread = self.lines("cannot be read", lines)
        self.assertIn("Insufficient Permissions", "\n".join(unread))
        self.assertTrue([line for line in unread if "GPU 0, 1g.5gb: starts" in line])

    @slow
    def test_functions_that_refuse(self):
        """One after the other, as a sandbox may refuse them."""
        for code in (3, 4, 999):
            for name in ("nvmlDeviceGetMigMode", "nvmlDeviceGetGpuInstances",
                         "nvmlDeviceGetName", "nvmlDeviceGetArchitecture",
                         "nvmlDeviceGetGpuInstancePossiblePlacements_v2",
                         "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetUUID",
                         "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetCount_v2",
                         "nvmlInit_v2"):
                world = self.live_in(worlds.Nvml("gpu H200-141GB mig=on"))
                world.faults(f"{name} * {code}")
                exit_code, lines = self.verify(world)
                self.assertEqual((exit_code, self.lines("differs", lines)), (0, []),
                                 (name, code))

    def test_library_with_next_to_nothing(self):
        world = self.live_in(worlds.Nvml("gpu T4"))
        path = worlds.built("tests/gpu/bare/libnvidia-ml.so.1")
        code, lines = self.verify(world, path=path)
        self.assertEqual((code, self.lines("differs", lines)), (0, []))
        self.one(lines, "functions: nvmlDeviceSetMigMode: the library does not have it")
        self.one(lines, "cannot be read: devices: of cleave", "nvmlShutdown")

    def test_no_library(self):
        world = self.live_in(worlds.Nvml("gpu T4"))
        code, lines = self.verify(world, path=f"{world.folder}/libnvidia-ml.so.1")
        self.assertEqual((code, self.lines("same", lines)), (0, []))
        self.one(lines, "cannot be read: devices: of the driver", "cannot open")


class Exports(Case):
    def test_of_each_driver(self):
        used = exports.used_by_cleave(SOURCE)
        self.assertEqual(len(used), len(re.findall(r"^\t\{ CLV_NVIDIA_\w+, AT\(", SOURCE, re.M)))
        for driver, lacks in (("r450", True), ("r580", False)):
            names = exports.exported(library(driver))
            self.assertIn("nvmlDeviceSetMigMode", names)
            self.assertEqual("nvmlDeviceGetArchitecture" not in names, lacks)
            self.assertFalse([name for name in names if name.startswith("dnv_")])


class Documents(Verified):
    def test_never_of_a_double(self):
        world = self.live_in(worlds.Nvml("gpu H200-141GB"))
        path = Path(world.folder) / "gpu.md"
        code, _ = self.verify(world, "--write-docs", str(path))
        self.assertEqual((code, path.exists()), (2, False))
        self.assertIn("is not written: CLEAVE_GPU_NVML is set", self.stderr)

    def sections(self, driver, verdict):
        world = self.live_in(worlds.Nvml("gpu H200-141GB\ngpu T4\ngpu T4"))
        os.environ["CLV_NVML_DOUBLE"] = world.folder
        self.addCleanup(os.environ.pop, "CLV_NVML_DOUBLE", None)
        machine, findings = nvml_read.read(library(driver)), Findings()
        findings.add(verdict, "GPU 0", "something")
        findings.add(verdict, "GPU 1, 1g.5gb", "another thing")
        findings.add(verdict, "devices", "all of them")
        return list(document.nvidia_sections(machine, findings))

    def test_sections_are_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "gpu.md"
            document.write(path, self.sections("r470", "differs"))
            document.write(path, self.sections("r580", "differs"))
            document.write(path, self.sections("r580", "same"))
            text = path.read_text()
        heads = re.findall(r"^## (.*)", text, re.M)
        self.assertEqual(heads, ["NVIDIA H200, driver 470.256.02", "Tesla T4, driver 470.256.02",
                                 "NVIDIA H200, driver 580.82.07", "Tesla T4, driver 580.82.07"])
        # The older driver's sections; in the newer one's all values are equal by now.
        self.assertEqual([text.count(f"differs: {what}") for what in
                          ("GPU 0: something", "GPU 1, 1g.5gb: another", "devices: all")],
                         [1, 1, 2])
        self.assertIn("1g.18gb+me", text)
        self.assertNotRegex(text, r"GPU-[0-9a-f]{8}-")


class Packed(Verified):
    def test_runs_elsewhere(self):
        """Unpacked in a folder that has nothing else, without a compiler."""
        world = self.live_in(worlds.Nvml("gpu H200-141GB mig=on"))
        top = unpacked(world.folder)
        self.assertFalse([lib for lib in (top / "build/lib").iterdir()
                          if re.match(r"(ld-linux|libc\.|libm\.)", lib.name)])
        env = {"PATH": self.path_without_compilers(world), "HOME": world.folder,
               "CLV_NVML_DOUBLE": world.folder, "CLEAVE_GPU_NVML": library("r580")}
        done = subprocess.run([top / "dev", "gpu", "--packed"], env=env, cwd="/",
                              capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("same: GPU 0: MIG on True", done.stdout)
        written = Path("docs/gpu-verification.md")
        self.assertEqual((top / written).read_text(), (HERE.parent.parent / written).read_text(),
                         "a double is no GPU")
        # Its programs are the packed ones with the packed libraries.
        loaded = subprocess.run(["ldd", top / "build/src/agent/cleaved"], text=True, check=True,
                                env=env, stdout=subprocess.PIPE).stdout
        for name in set(os.listdir(top / "build/lib")) & set(re.findall(r"\S+\.so\S*", loaded)):
            self.assertRegex(loaded, rf"{re.escape(name)} => {top}/build/\S*/{re.escape(name)} ")
        self.assertIn("libjansson.so.4 => ", loaded)

    def test_requirements_of_the_machine(self):
        """No glibc newer than Ubuntu 22.04's, and no folder of this machine."""
        with tempfile.TemporaryDirectory() as folder:
            unpacked(folder)
            self.assertLess((Path(folder) / "gpu.tar").stat().st_size, 64 << 20)
            n = 0
            for path in filter(Path.is_file, Path(folder).rglob("build/**/*")):
                dynamic = subprocess.run(["objdump", "-p", path], text=True, check=True,
                                         stdout=subprocess.PIPE).stdout
                versions = {tuple(map(int, v)) for v in re.findall(r"GLIBC_(\d+)\.(\d+)", dynamic)}
                self.assertLessEqual(max(versions, default=(0, 0)), (2, 35), path)
                self.assertNotIn("GLIBC_ABI_DT_RELR", dynamic, path)
                self.assertNotIn("RUNPATH", dynamic, path)
                for paths in re.findall(r"RPATH\s+(\S+)", dynamic):
                    self.assertTrue(all(each.startswith("$ORIGIN/") for each in paths.split(":")),
                                    (path, paths))
                n += 1
            self.assertGreater(n, 20)

    @unittest.skipUnless(shutil.which("bwrap"), "there is no bwrap")
    @slow
    def test_glibc_is_all_that_it_needs_of_the_machine(self):
        """Every packed program is loaded in a root that has only the pack and glibc."""
        with tempfile.TemporaryDirectory() as folder:
            unpacked(folder)
            root = ["bwrap", "--ro-bind", folder, "/opt"]
            for library in filter(pack.OF_GLIBC.fullmatch, os.listdir(LIBRARIES)):
                root += ["--ro-bind", os.path.join(LIBRARIES, library), f"{LIBRARIES}/{library}"]
            for program in pack.PROGRAMS:
                done = subprocess.run([*root, "--setenv", "LD_TRACE_LOADED_OBJECTS", "1",
                                       f"{LIBRARIES}/{LOADER}", f"/opt/cleave-gpu/build/{program}"],
                                      capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""), program)
                missing = set(re.findall(r"(\S+) => not found", done.stdout))
                self.assertLessEqual(missing, OF_THE_DRIVER, program)

    @unittest.skipUnless(shutil.which("bwrap"), "there is no bwrap")
    def test_defaults_of_a_pack(self):
        """On a machine that may be lent, as its Python sees it: the whole run takes ten minutes
        unless the caller says otherwise, what is found is saved, and no folder is added to those
        in which programs look for libraries."""
        for more, minutes in (((), "10"), (("--minutes", "3"), "3")):
            first, second = self.packed_calls("--packed", *more)
            self.assertEqual([first[0], second[0]], ["unset", "unset"])
            self.assertIn(" tests/gpu/verify.py --build build --limit 60 ", first[1])
            self.assertIn(f" tests/gpu/verify_cuda.py --build build --minutes {minutes} "
                          "--results gpu-results.json ", second[1])

    def packed_calls(self, *arguments):
        """[(LD_LIBRARY_PATH or unset, words)] of each start of Python by a pack's `./dev gpu`."""
        with tempfile.TemporaryDirectory() as folder:
            top, calls = unpacked(folder), Path(folder) / "calls"
            python = Path(folder) / "python3"
            python.write_text('#!/bin/sh\necho "${LD_LIBRARY_PATH-unset}| $*" >>' f"{calls}\n")
            python.chmod(0o755)
            env = {name: value for name, value in os.environ.items()
                   if name not in ("LD_LIBRARY_PATH", "CLEAVE_GPU_NVML")}
            subprocess.run(["bwrap", "--dev-bind", "/", "/", "--dev", "/dev",
                            "--ro-bind", "/dev/null", "/dev/nvidiactl",
                            "--ro-bind", python, os.path.realpath("/usr/bin/python3"),
                            top / "dev", "gpu", *arguments],
                           env=env, check=True, capture_output=True, timeout=60)
            return [line.split("|") for line in calls.read_text().splitlines()]

    def test_order_of_the_checks(self):
        """What tells most comes first, since the time may be up at any moment."""
        with tempfile.TemporaryDirectory() as folder:
            script = ("import sys; sys.path.insert(0, 'tests/gpu'); import verify_cuda; "
                      "print(*verify_cuda.parse_arguments().only[:3])")
            env = {name: value for name, value in os.environ.items() if name != "CLEAVE_GPU_LOOKS"}
            done = subprocess.run([sys.executable, "-c", script], cwd=unpacked(folder), env=env,
                                  text=True, check=True, stdout=subprocess.PIPE)
        self.assertEqual(done.stdout.split(), ["try-preempt", "shares", "torch-runs"])

    def path_without_compilers(self, world):
        folder = Path(world.folder) / "bin"
        folder.mkdir()
        for name in ("sh", "dirname", "grep", "cat", "nproc", "uname", "python3", "ldd", "bash"):
            (folder / name).symlink_to(shutil.which(name))
        return str(folder)


class Amd(Verified):
    MODES = {"current_compute_partition": "CPX", "current_memory_partition": "NPS4",
             "available_compute_partition": "SPX, DPX, QPX, CPX",
             "available_memory_partition": "NPS1, NPS2, NPS4"}

    def look(self, **files):
        world = self.live_in(worlds.Nvml("gpu T4"))
        with Tree() as tree:
            tree.pci("0000:05:00.0", "1002:74a1", driver="amdgpu",
                     unique_id="466450b96fbde849", product_name="AMD Instinct MI300X OAM",
                     mem_info_vram_total=192 << 30, **files)
            return self.verify(world, CLEAVE_SYSFS=str(tree.root / "sys"), CLEAVE_GPU_NVML="")

    def test_modes(self):
        code, lines = self.look(**self.MODES)
        self.assertEqual((code, self.lines("differs", lines)), (0, []))
        self.one(lines, "same: 0000:05:00.0: compute mode CPX", "memory mode [NPS4]")

    def test_sections(self):
        machine = {"0000:05:00.0": {**self.MODES, "product_name": "MI300X"},
                   "0000:06:00.0": {**self.MODES, "product_name": "MI325X"}}
        findings = Findings()
        findings.differs("0000:05:00.0", "compute mode: something")
        first, second = document.amd_sections(machine, findings, "6.12")
        self.assertEqual((first[0], second[0]), ("MI300X, amdgpu 6.12", "MI325X, amdgpu 6.12"))
        self.assertIn("differs: 0000:05:00.0", first[1])
        self.assertNotIn("0000:05:00.0", second[1])

    def test_none(self):
        code, lines = self.look()
        self.assertEqual((code, self.lines("differs", lines)), (0, []))
        self.one(lines, "same: 0000:05:00.0: partitions")


if __name__ == "__main__":
    main()
