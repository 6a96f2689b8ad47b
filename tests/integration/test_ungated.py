# SPDX-License-Identifier: Apache-2.0
"""Programs of leases that use an API without a gate: a real Vulkan driver on the processor.

usage: as harness.py says
"""
import ctypes.util
import os
import sys
import time
import unittest

from harness import Case, main, wait_until

# Makes an instance, for which the loader maps the drivers, and stays.
VULKAN = """
import ctypes, sys, time
loader = ctypes.CDLL("libvulkan.so.1")
info = (ctypes.c_uint64 * 8)(1)  # VkInstanceCreateInfo: its type and nothing else
instance = ctypes.c_void_p()
result = loader.vkCreateInstance(ctypes.byref(info), None, ctypes.byref(instance))
time.sleep(600 if result == 0 else 0)
"""


@unittest.skipUnless(ctypes.util.find_library("vulkan"), "libvulkan1 is not installed")
class Ungated(Case):
    def uses(self, lease):
        return self.lease(lease["id"])["uses_ungated"]

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
        # It is said once.
        time.sleep(3)
        self.assertEqual(len(self.agent.events("ungated_api")), 1)

    def test_a_grandchild_that_comes_late(self):
        """And one of a thread's: the tree is looked through again and again."""
        holder = self.holder()
        lease = holder.lease(share=.5)
        late = f"import subprocess, sys, threading, time; time.sleep(3)\n" \
               f"run = lambda: subprocess.run([sys.executable, '-c', {VULKAN!r}])\n" \
               f"threading.Thread(target=run).start()"
        holder.do("spawn", command=[sys.executable, "-c", late])
        self.assertEqual(self.uses(lease), [])
        self.assertTrue(wait_until(lambda: self.uses(lease), 25), self.agent.log())

    def test_no_file_of_that_name_alone(self):
        """What the program reads is not what it maps."""
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
