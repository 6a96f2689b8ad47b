# SPDX-License-Identifier: Apache-2.0
"""Programs that no gate can be loaded into: refused, unless they need no limit or the user allows
it.

usage: test_programs.py --build BUILD [unittest arguments]
"""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import machine
import worlds
from harness import NOBODY

PLAIN, STATIC = "cuda-plain", "cuda-plain-static"
OTHER_LOADER = "/lib/ld-musl-x86_64.so.1"
# For i386: exit(0), and nothing else.
EXIT_IN_32_BITS = b"\x7fELF\1\1\1" + bytes(9) + struct.pack(
    "<HHIIIIIHHHHHH" "IIIIIIII", 2, 3, 1, 0x10054, 52, 0, 0, 52, 32, 1, 0, 0, 0,
    1, 0, 0x10000, 0x10000, 92, 92, 5, 0x1000) + b"\x31\xdb\x31\xc0\x40\xcd\x80\x90"
REFUSED, NOT_EXECUTABLE, NOT_FOUND = 77, 126, 127


class Programs(machine.Case):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cleave-programs-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)

    def path(self, name):
        return os.path.join(self.folder, name)

    def copy(self, name, of=PLAIN, mode=0o755):
        shutil.copyfile(machine.program(of), self.path(name))
        os.chmod(self.path(name), mode)
        return self.path(name)

    def write(self, name, text):
        worlds.write_whole(self.path(name), text)
        os.chmod(self.path(name), 0o755)
        return self.path(name)

    def changed(self, name, change):
        """A copy of a dynamic program with other bytes."""
        with open(self.copy(name), "r+b") as file:
            data = change(file.read())
            file.seek(0)
            file.write(data)
        return self.path(name)

    def attempt(self, *command, **more):
        process = self.start(*command, **more)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def refused(self, *command, why, **more):
        code, out, err = self.attempt(*command, **more)
        self.assertEqual((code, out), (REFUSED, ""), err)
        self.assertEqual(err.count("\n"), 1, err)
        for words in (why, "--allow-ungated", "--profile"):
            self.assertIn(words, err)
        # The remedy that the message names.
        options = more.pop("options", ("--share", "0.5"))
        code, _, err = self.attempt(*command, options=(*options, "--allow-ungated"), **more)
        self.assertIn(why, err)
        self.assertIn("as asked", err)
        self.assertEqual(self.agent.get("/v1/leases")["items"], [])
        return code

    def runs(self, *command, **more):
        self.assertEqual(self.attempt(*command, **more), (0, "runs\n", ""))

    def test_linked_statically(self):
        self.begin()
        self.runs(machine.program(PLAIN))
        self.assertEqual(self.refused(self.static_program(STATIC), why="is linked statically"), 0)
        self.assertEqual(self.refused(os.path.basename(self.static_program(STATIC)), why="statically",
                                      env={"PATH": os.path.dirname(self.static_program(STATIC))}), 0)

    def test_a_device_of_its_own_needs_no_gate(self):
        self.begin()
        self.runs(self.static_program(STATIC), options=("--share", "1"))
        for options in (("--share", "1", "--memory", "1G"), ("--share", "1", "--cap", "1"),
                        ("--share", "0.5..1"), ("--memory", "1G")):
            with self.subTest(options):
                self.refused(self.static_program(STATIC), why="is linked statically", options=options)

    def test_a_partition_of_its_own_needs_no_gate(self):
        self.begin(node="gpu H100-80GB mig=on")
        self.agent.done("version: 1\ndevices:\n"
                        "  - {select: {index: 0}, partitions: [{profile: 3g.40gb}]}\n")
        device = self.agent.get("/v1/devices")["items"][0]["name"]
        whole = ("--isolation", "hardware", "--memory", "8G")
        for options in (("--profile", "3g.40gb"), whole):
            with self.subTest(options):
                self.runs(self.static_program(STATIC), options=options)
        self.refused(self.static_program(STATIC), why="is linked statically",
                     options=("--profile", "3g.40gb", "--share", "0.5"))
        self.assertIn("gpu0", device)

    def test_another_processor_or_library(self):
        self.begin()
        with open(self.write("words", ""), "wb") as file:
            file.write(EXIT_IN_32_BITS)
        self.refused(self.path("words"), why="another processor or word size")
        machines = self.changed("machines", lambda data: data[:18] + b"\xf3\0" + data[20:])
        self.assertEqual(self.refused(machines, why="another processor or word size"),
                         NOT_EXECUTABLE)

        def other_loader(data):
            at = data.index(b"/lib", 64)
            end = data.index(b"\0", at)
            loader = OTHER_LOADER.encode()
            return data[:at] + loader + b"\0" * (end - at - len(loader)) + data[end:]
        self.refused(self.changed("musl", other_loader), why="is made for another C library")

    @unittest.skipIf(os.geteuid(), "only root gives files away")
    def test_programs_that_gain_rights(self):
        self.begin()
        for mode in (0o4755, 0o2755):
            path = self.copy(f"of-nobody-{mode:o}", mode=mode)
            os.chown(path, NOBODY, NOBODY)
            os.chmod(path, mode)
            self.assertEqual(self.refused(path, why="runs as another user or group"), 0)
        # No right is gained if the file is the user's own, or the group may not run it.
        self.runs(self.copy("of-root", mode=0o6755))
        path = self.copy("locks")
        os.chown(path, 0, NOBODY)
        os.chmod(path, 0o2745)
        self.runs(path)
        # A script gains nothing.
        script = self.write("script", f"#!{machine.program(PLAIN)}\n")
        os.chown(script, NOBODY, NOBODY)
        os.chmod(script, 0o4755)
        self.runs(script)

    def test_no_new_rights_to_gain(self):
        self.begin()
        path = self.copy("of-nobody", mode=0o4755)
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
            os.chmod(path, 0o4755)
        process = subprocess.run(
            ["setpriv", "--no-new-privs", worlds.built("src/cli/cleave"), "run", "--socket",
             self.agent.api, "--share", "0.5", "--device", "gpu0", path],
            capture_output=True, text=True, env=self.agent.env)
        self.assertEqual((process.returncode, process.stdout), (0, "runs\n"), process.stderr)

    def test_scripts(self):
        self.begin()
        static = self.static_program(STATIC)
        self.runs(self.write("good", f"#! {machine.program(PLAIN)} -x\n"))
        first = self.write("first", f"#!{static}\n")
        self.assertEqual(self.refused(first, why=f"is run by '{static}', which is linked"), 0)
        path = first
        for depth in range(4):
            path = self.write(f"chain-{depth}", f"#!{path}\n")
        self.assertEqual(self.refused(path, why="is linked statically"), 0)
        # One more than the kernel follows.
        path = self.write("too-deep", f"#!{path}\n")
        self.assertEqual(self.attempt(path)[0], NOT_EXECUTABLE)

    def test_errors_of_the_system(self):
        self.begin()
        self.assertEqual(self.attempt(self.path("missing"))[0], NOT_FOUND)
        self.assertEqual(self.attempt(self.folder)[0], NOT_EXECUTABLE)
        self.assertEqual(self.attempt(self.write("data", "\1\0\2"))[0], NOT_EXECUTABLE)
        # The shell runs a text, as under env(1).
        self.assertEqual(self.attempt(self.write("text", "exit 5\n"))[0], 5)
        self.assertEqual(self.attempt(self.write("nothing", ""))[0], 0)
        script = self.write("lost", f"#!{self.path('missing')}\n")
        self.assertEqual(self.attempt(script)[0], NOT_FOUND)

    def test_a_program_built_in_a_lease(self):
        """As frameworks do that compile their own code: it links with the driver's library, whose
        place the gate has taken, and runs in its share."""
        self.begin()
        source = self.write("source.c", "int cuInit(unsigned); int cuDeviceTotalMem_v2(long *, int);\n"
                            "int printf(const char *, ...);\n"
                            "int main(void) { long n = 0; return cuInit(0) || "
                            "cuDeviceTotalMem_v2(&n, 0) || printf(\"%ld\\n\", n) < 0; }\n")
        program, folder = self.path("program"), worlds.built("tests/doubles/cuda/driver")
        for linker in ("bfd", "gold", "lld"):
            if not shutil.which(f"ld.{linker}"):
                continue
            for library in ("-lcuda", "-l:libcuda.so.1"):
                with self.subTest(linker, library=library):
                    build = f"cc -fuse-ld={linker} -o {program} {source} -L{folder} {library}"
                    self.assertEqual(
                        self.attempt("sh", "-c", f"{build} && {program}",
                                     options=("--share", ".5", "--memory", "1G")),
                        (0, f"{1 << 30}\n", ""))
        undefined = self.write("undefined.c", "int cuNothing(void); int main(void) "
                               "{ return cuNothing(); }\n")
        code, _, err = self.attempt("sh", "-c",
                                    f"cc -o {program} {undefined} -L{folder} -lcuda")
        self.assertNotEqual(code, 0)
        self.assertIn("cuNothing", err)

    def test_later_programs_are_not_checked(self):
        """Only the watchdog reports it."""
        self.begin()
        code, out, err = self.attempt("sh", "-c", f"{self.static_program(STATIC)}; true")
        self.assertEqual((code, out, err), (0, "runs\n", ""))


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
