# SPDX-License-Identifier: Apache-2.0
"""Counts the agent's looks at processes by the order of its events: how long a look takes, and how
late it is, does not change the count.

A ruler is a process of a lease of its own. It maps files that are named like drivers of APIs without
a gate, one after the other. The agent reports such a file at its first look at the process after
that, and the next file is mapped once the one before has been reported. So what is reported before
the n-th file was found within n - 1 looks from when the first file was mapped; and a look more would
come after the n-th file, because the agent looks at the ruler, which it has known for longer, first.
"""
import os

APIS = (("vulkan", "libvulkan_lvp.so"), ("opengl", "libEGL_nvidia.so"), ("video", "libnvcuvid.so"))
# Maps the files of the folder when they appear.  Says "ready".
RULER = f"""
import mmap, os, sys, time
kept = []
print("ready", flush=True)
for name in {tuple(name for _, name in APIS)!r}:
    path = os.path.join(sys.argv[1], name)
    while not os.path.exists(path):
        time.sleep(.01)
    with open(path, "rb") as file:
        kept.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
time.sleep(600)
"""


class Ruler:
    """events() returns the agent's, oldest first; wait_until(condition) waits for one."""

    def __init__(self, folder, events, wait_until):
        self.folder, self.events, self.wait_until = folder, events, wait_until

    def reported(self, api, lease):
        """The place of the lease's event among all events, or None."""
        return next((i for i, event in enumerate(self.events()) if event["type"] == "ungated_api"
                     and event["lease"] == lease and f" uses {api}," in event["message"]), None)

    def has_passed(self, lease, n_looks):
        """Goes on until the agent has reported what it found at a later look than so many."""
        for api, name in APIS[:n_looks + 1]:
            path = os.path.join(self.folder, name)
            with open(path + ".new", "wb") as file:
                file.write(bytes(4096))
            os.rename(path + ".new", path)
            if not self.wait_until(lambda api=api: self.reported(api, lease) is not None):
                return False
        return True

    def is_within(self, api, lease, ruler, n_looks):
        """Whether the API of a lease, in use already, is reported within so many looks."""
        if not self.has_passed(ruler, n_looks):
            raise AssertionError("the agent does not look")
        place, end = self.reported(api, lease), self.reported(APIS[n_looks][0], ruler)
        return place is not None and place < end
