# SPDX-License-Identifier: Apache-2.0
"""Programs of leases that use an API that has no gate, or bypass its gate: real drivers of
Vulkan and OpenCL on the processor.

usage: as harness.py says
"""
import ctypes.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from harness import Case, main, wait_until
from looks import RULER, Ruler

# Creates an instance, for which the loader maps the drivers, and stays.
VULKAN = """
import ctypes, sys, time
loader = ctypes.CDLL("libvulkan.so.1")
info = (ctypes.c_uint64 * 8)(1)  # VkInstanceCreateInfo: its type and nothing else
instance = ctypes.c_void_p()
result = loader.vkCreateInstance(ctypes.byref(info), None, ctypes.byref(instance))
time.sleep(600 if result == 0 else 0)
"""
# Makes the loader map the drivers when a file exists, and stays.  May make a file when it has.
OPENCL = """
import ctypes, os, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(.1)
n = ctypes.c_uint()
ctypes.CDLL("libOpenCL.so.1").clGetPlatformIDs(0, None, ctypes.byref(n))
if len(sys.argv) > 2:
    open(sys.argv[2], "w").close()
time.sleep(600)
"""

class Ungated(Case):
    def setUp(self):
        super().setUp()
        self.start_file = os.path.join(self.agent.folder, "start")

    def let_start(self):
        with open(self.start_file, "w", encoding="ascii"):
            pass

    def uses(self, lease):
        return self.lease(lease["id"])["uses_ungated"]


class OpenCL(Ungated):
    def test_a_driver_without_the_gate(self):
        holder, other = self.holder(), self.holder()
        lease, neighbour = holder.lease(share=.5), other.lease(share=.2)
        # The agent knows the process long before it maps the driver.
        program = holder.do("spawn", command=[sys.executable, "-c", OPENCL, self.start_file])
        time.sleep(6)
        self.assertEqual(self.uses(lease), [])
        self.let_start()
        self.assertTrue(wait_until(lambda: self.uses(lease), 10), self.agent.log())
        self.assertEqual(self.uses(lease), ["opencl"])
        event, = self.agent.events("ungated_api")
        self.assertEqual(event["lease"], lease["id"])
        self.assertEqual(event["message"], f"process {program} uses opencl, without its gate: its "
                                           "share is not enforced there")
        self.assertEqual(self.uses(neighbour), [])

    def test_within_two_looks(self):
        """One look per second, and two must agree."""
        ruler = Ruler(self.agent.folder, self.agent.events, wait_until)
        holder, other = self.holder(), self.holder()
        measuring, lease = holder.lease(share=.05), other.lease(share=.05)
        holder.do("spawn", command=[sys.executable, "-c", RULER, ruler.folder])
        mapped = os.path.join(self.agent.folder, "mapped")
        other.do("spawn", command=[sys.executable, "-c", OPENCL, self.start_file, mapped])
        time.sleep(3)
        self.let_start()
        self.assertTrue(wait_until(lambda: os.path.exists(mapped)))
        self.assertTrue(ruler.is_within("opencl", lease["id"], measuring["id"], 2),
                        self.agent.events("ungated_api"))

    def test_the_gate_is_mapped_and_no_process_attaches(self):
        """As with a loader that opens a layer and does not use it."""
        holder = self.holder()
        lease = holder.lease(share=.5)
        gate = os.path.join(self.agent.folder, "libcleave-opencl.so")
        subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-o", gate], check=True)
        holder.do("spawn", command=["env", f"LD_PRELOAD={gate}", sys.executable, "-c", OPENCL, "/"])
        self.assertTrue(wait_until(lambda: self.uses(lease), 10), self.agent.log())
        event, = self.agent.events("ungated_api")
        self.assertTrue(event["message"].endswith(
            "uses opencl, not attached: its share is not enforced there, unless its gate shows "
            "it no device"), event)

    def test_an_unattached_grandchild(self):
        """In a root file system of its own, and outside its parent's process tree."""
        if os.geteuid() != 0:
            self.skipTest("needs root to change it")
        holder = self.holder()
        lease = holder.lease(share=.5)
        root = os.path.join(self.agent.folder, "root")
        script = f"mkdir {root} && mount --rbind / {root} && mount -t tmpfs none {root}/mnt && " \
                 f"mkdir {root}/mnt/r && mount --rbind / {root}/mnt/r && " \
                 f"(chroot {root}/mnt/r {sys.executable} -c '{OPENCL}' / & wait)"
        holder.do("spawn", command=["unshare", "--mount", "sh", "-c", script])
        self.assertTrue(wait_until(lambda: self.uses(lease), 10), self.agent.log())


class Ending(Ungated):
    def setUp(self):
        folder = tempfile.mkdtemp(prefix="cleave-config-")
        self.addCleanup(shutil.rmtree, folder)
        self.arguments = ["--config", os.path.join(folder, "cleaved.yaml")]
        with open(self.arguments[1], "w", encoding="ascii") as file:
            file.write("version: 1\nwatch: {ungated-api: end}\n")
        super().setUp()

    def test_it_is_ended(self):
        """A lease that is alone on its device is not ended."""
        holder = self.holder()
        lease = holder.lease(share=.5)
        script = f"{sys.executable} -c '{OPENCL}' /; echo $? >{self.agent.folder}/code"
        holder.do("spawn", command=["sh", "-c", script])
        code = os.path.join(self.agent.folder, "code")
        self.assertTrue(wait_until(lambda: os.path.exists(code) and os.path.getsize(code), 20))
        with open(code, encoding="ascii") as file:
            self.assertEqual(int(file.read()), 128 + signal.SIGTERM)
        event, = self.agent.events("ungated_api")
        self.assertTrue(event["message"].endswith("there, and is ended"), event)
        self.assertEqual(self.uses(lease), ["opencl"])
        holder.request("DELETE", f"/v1/leases/{lease['id']}")
        whole = holder.lease(share=1)
        holder.do("spawn", command=["sh", "-c", script.replace("/code", "/other")])
        self.assertTrue(wait_until(lambda: self.uses(whole), 20))
        time.sleep(2)
        self.assertFalse(os.path.exists(os.path.join(self.agent.folder, "other")))


@unittest.skipUnless(ctypes.util.find_library("vulkan"), "libvulkan1 is not installed")
class Vulkan(Ungated):

    def test_vulkan_beside_a_lease(self):
        holder, other = self.holder(), self.holder()
        lease, neighbour = holder.lease(share=.5), other.lease(share=.2)
        program = holder.do("spawn", command=[sys.executable, "-c", VULKAN])
        self.assertTrue(wait_until(lambda: self.uses(lease), 10), self.agent.log())
        self.assertEqual(self.uses(lease), ["vulkan"])
        event, = self.agent.events("ungated_api")
        self.assertEqual(event["lease"], lease["id"])
        self.assertIn(f"process {program} uses vulkan, for which there is no gate",
                      event["message"])
        self.assertEqual(self.uses(neighbour), [])
        # It is reported once.
        time.sleep(3)
        self.assertEqual(len(self.agent.events("ungated_api")), 1)

    def test_a_grandchild_that_comes_late(self):
        """Also the child of a thread: the agent searches the tree repeatedly."""
        holder = self.holder()
        lease = holder.lease(share=.5)
        late = f"import os, subprocess, sys, threading, time\n" \
               f"while not os.path.exists({self.start_file!r}): time.sleep(.1)\n" \
               f"run = lambda: subprocess.run([sys.executable, '-c', {VULKAN!r}])\n" \
               f"threading.Thread(target=run).start()"
        holder.do("spawn", command=[sys.executable, "-c", late])
        time.sleep(3)
        self.assertEqual(self.uses(lease), [])
        self.let_start()
        self.assertTrue(wait_until(lambda: self.uses(lease), 25), self.agent.log())

    def test_no_file_of_that_name_alone(self):
        """A file that the program reads is not a mapped library."""
        holder = self.holder()
        lease = holder.lease(share=.5)
        path = os.path.join(self.agent.folder, "libvulkan_lvp.so")
        with open(path, "w", encoding="ascii") as file:
            file.write("not a library")
        holder.do("spawn", command=["tail", "-f", path])
        time.sleep(5)
        self.assertEqual(self.uses(lease), [])


if __name__ == "__main__":
    main()
