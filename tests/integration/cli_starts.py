# SPDX-License-Identifier: Apache-2.0
"""What `cleave run` reports instead of starting a program that no gate could limit, and what a
program sees of its lease."""
import json
import os
import subprocess

from cli_sandbox import Paths


class Starts:
    """Tests for a case with an agent: see test_cli.py."""

    def build(self, name, text, *options):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run(["gcc", "-x", "c", "-", "-o", path, *options], input=text, text=True,
                       check=True)
        return path

    def build_loader(self, name, *strings):
        """Builds a library with the strings by which a loader is recognized; returns its folder."""
        text = "".join(f'"{each}", ' for each in strings)
        path = self.build(f"{name}/libOpenCL.so.1", "int clGetPlatformIDs(void) { return -1; }\n"
                          "const char *const all[] = {%s};" % text, "-shared")
        return os.path.dirname(path)

    def test_loader_without_layers(self):
        """ocl-icd before 2.2.14: found by LD_LIBRARY_PATH, RPATH or RUNPATH."""
        ocl_icd = ("OCL_ICD_PLATFORM_SORT", "2.2.12", "/etc/OpenCL/vendors")
        folder = self.build_loader("old", *ocl_icd)
        good = self.build_loader("new", *ocl_icd, "OCL_ICD_LAYERS")
        by_header = {kind: self.build(f"bin/{kind}", "int main(void) { return 0; }", f"-Wl,{tags}",
                                      "-Wl,-rpath,$ORIGIN/../old")
                     for kind, tags in (("rpath", "--disable-new-dtags"),
                                        ("runpath", "--enable-new-dtags"))}
        for program, libraries, is_old in (
                ("true", folder, True), ("true", good, False), ("true", None, False),
                (by_header["rpath"], good, True), (by_header["runpath"], good, False),
                (by_header["runpath"], None, True)):
            env = {"LD_LIBRARY_PATH": libraries} if libraries else {}
            for options, code in ((("--no-namespace",), 77), (("--allow-ungated",), 0)):
                with self.subTest(program=program, libraries=libraries, options=options):
                    result = self.cleave("run", *options, "-s.1", program, env=env)
                    self.assertEqual(result.returncode, code if is_old else 0, result.stderr)
                    if is_old and code:
                        self.assertRegex(result.stderr, r"libOpenCL\.so\.1 \(ocl-icd 2\.2\.12\), "
                                         "takes no layers, so no gate would enforce the share: "
                                         "install ")
                    else:
                        self.assertEqual(result.stderr, "")
        self.assertEqual(self.leases(), [])
        if self.isolation()[0]:
            result = self.cleave("run", "-s.1", "true", env={"LD_LIBRARY_PATH": folder})
            self.assertEqual(result.returncode, 0)
            self.assertEqual(result.stderr, "")

    def test_loader_that_opens_drivers_itself(self):
        """The loader would bypass the folder with the gate: the gate opens these drivers itself."""
        if not self.isolation()[0]:
            self.skipTest("no mount namespace")
        khronos = ("OCL_ICD_FILENAMES", "/etc/OpenCL/vendors")
        old = self.build_loader("old", *khronos)
        new = self.build_loader("new", *khronos, "OPENCL_LAYERS")
        other = self.build_loader("other", "OCL_ICD_PLATFORM_SORT", "/etc/OpenCL/vendors")
        for folder, files, options, is_held in (
                (old, "libpocl.so.2", (), True), (old, "libpocl.so.2", ("--no-namespace",), False),
                (old, "", (), True), (old, None, (), True), (new, "libpocl.so.2", (), True),
                (new, "libpocl.so.2", ("--no-namespace",), True),
                (other, "libpocl.so.2", (), True)):
            with self.subTest(folder=folder, files=files, options=options):
                env = {"LD_LIBRARY_PATH": folder}
                if files is not None:
                    env["OCL_ICD_FILENAMES"] = files
                result = self.cleave("run", *options, "-s.1", "env", env=env)
                if is_held:
                    self.assertEqual((result.returncode, result.stderr), (0, ""))
                    words = result.stdout.split("\n")
                    self.assertEqual(f"CLEAVE_ICD_FILENAMES={files}" in words,
                                     bool(files) and not options)
                    self.assertEqual(f"OCL_ICD_FILENAMES={files}" in words, files is not None and (
                        bool(options) or not files))
                else:
                    self.assert_refused(result, 77, "(Khronos' loader), takes no layers, so no gate "
                                        "would enforce the share: install ")
        self.assertEqual(self.leases(), [])

    def test_loader_with_a_folder_of_its_own(self):
        """A driver that is the loader itself, or a loader of another prefix."""
        if not self.isolation()[0]:
            self.skipTest("no mount namespace")
        strings = "OCL_ICD_PLATFORM_SORT", "/opt/here/etc/OpenCL/vendors"
        folder = self.build_loader("old", *strings)
        result = self.cleave("run", "-s.1", "true", env={"LD_LIBRARY_PATH": folder})
        self.assert_refused(result, 77, "does not look for drivers in /etc/OpenCL/vendors")
        folder = self.build_loader("new", *strings, "OPENCL_LAYERS")
        result = self.cleave("run", "-s.1", "true", env={"LD_LIBRARY_PATH": folder})
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_doctor_judges_loaders(self):
        folder = "/etc/OpenCL/vendors"
        for strings, verdict in ((("OPENCL_LAYERS",), "ok"), ((folder,), "warning"), ((), "fail")):
            with self.subTest(strings):
                path = self.build_loader(verdict, "OCL_ICD_PLATFORM_SORT", *strings)
                report = self.cleave("doctor", "-o", "json", env={"LD_LIBRARY_PATH": path}).stdout
                found = next(each for each in json.loads(report)["items"]
                             if each["check"] == "opencl-loader")
                self.assertEqual(found["verdict"], verdict, found)

    def test_musl(self):
        with open("/bin/true", "rb") as file:
            text = file.read()
        loader, musl = b"/lib64/ld-linux-x86-64.so.2", b"/lib/ld-musl-x86_64.so.1"
        if loader not in text:
            self.skipTest("not for this processor")
        path = os.path.join(self.folder, "musl")
        with open(path, "wb") as file:
            file.write(text.replace(loader, musl.ljust(len(loader), b"\0")))
        os.chmod(path, 0o755)
        result = self.cleave("run", "-s.1", path)
        self.assertEqual(result.returncode, 77, result.stderr)
        self.assertIn("is made for another C library (musl), so the share could not be "
                      "enforced on its use of OpenCL", result.stderr)
        result = self.cleave("run", "-s.1", "--allow-ungated", path)
        self.assertIn(result.returncode, (0, 126, 127))
        self.assertIn("(musl)", result.stderr)

    def test_text_without_an_interpreter(self):
        """As under env(1) and in shells."""
        path = os.path.join(self.folder, "text")
        for content, code, out in ((b'echo "$# $CLEAVE_LEASE"\nexit 3\n', 3, "2 /"),
                                   (b"", 0, ""), (b"\1\0\2", 126, "")):
            with self.subTest(content):
                with open(path, "wb") as file:
                    file.write(content)
                os.chmod(path, 0o755)
                result = self.cleave("run", "-s.1", "--", path, "a", "b")
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(out, result.stdout)

    def test_where_apparmor_keeps_namespaces(self):
        """The message names AppArmor, because the system reports only 'not permitted'."""
        setting = os.path.join(self.folder, "restrict")
        without = ["unshare", "--user", "--map-user=1000", "--keep-caps", "sh", "-c",
                   "echo 0 >/proc/sys/user/max_user_namespaces && "
                   "exec setpriv --inh-caps=-all --ambient-caps=-all \"$0\" \"$@\""]
        if subprocess.run([*without, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no user namespace")
        for value, words in (("1\n", "AppArmor lets only programs with a profile"),
                             ("0\n", "user.max_user_namespaces")):
            with open(setting, "w") as file:
                file.write(value)
            env = {**self.env, "CLEAVE_APPARMOR_SETTING": setting}
            result = subprocess.run([*without, Paths.cleave, "run", "-s.1", "true"], env=env,
                                    capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((result.returncode, result.stdout), (125, ""), result.stderr)
            self.assertIn(words, result.stderr)
            self.assertIn("or add --no-namespace\n", result.stderr)
            result = subprocess.run([*without, Paths.cleave, "doctor", "-o", "json"], env=env,
                                    capture_output=True, text=True, timeout=60, check=False)
            found = next(each for each in json.loads(result.stdout)["items"]
                         if each["check"] == "mount-namespace")
            self.assertEqual(found["verdict"], "warning")
            self.assertIn(words, found["remedy"])


class StartsInLease:
    """Starts in a lease that exists, which the double has not."""

    def test_programs_cannot_change_what_later_ones_see(self):
        """What the first program of a lease puts into the lease's folder of drivers, or into the
        place of what is there, the next one does not see."""
        if not self.isolation()[0] or not os.path.isdir("/etc/OpenCL/vendors"):
            self.skipTest("no mount namespace, or no vendors")
        see = "cd /etc/OpenCL/vendors; ls; cat cleave.icd; readlink lease.sock libcleave-opencl.so"
        plant = (f'{see}; cd "$(readlink /etc/OpenCL/vendors/vendors.real)/../vendors"; mkdir folder; '
                 "for name in lease.sock libcleave-opencl.so cleave.icd lease.open; do "
                 "ln -sfn /tmp/elsewhere $name; done")
        self.assertEqual(self.cleave("reserve", "-s.1", "--name=kept").returncode, 0)
        first = self.cleave("run", "--lease=kept", "sh", "-c", plant)
        self.assertEqual((first.returncode, first.stderr), (0, ""))
        later = self.cleave("run", "--lease=kept", "sh", "-c", see)
        self.assertEqual((later.returncode, later.stderr, later.stdout), (0, "", first.stdout))
        self.assertEqual(self.cleave("release", "kept").returncode, 0)
