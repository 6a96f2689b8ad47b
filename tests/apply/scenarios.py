# SPDX-License-Identifier: Apache-2.0
"""Changes of a node with every kind of step: from a first layout to a second one, with parts in
use."""
from worlds import Nvml, Sysfs

HOLDER = 4000007  # no process of this machine

MIG_NODE = """gpu A100-40GB mig=on
gpu H100-80GB
gpu H100-80GB mig=on"""
MIG_FIRST = """version: 1
devices:
  - select: {name: gpu0}
    partitions:
      - {profile: 3g.20gb, start: [0], parts: [1c, 1c]}
      - {profile: 2g.10gb, start: [4]}
      - {profile: 1g.5gb, start: [6]}
  - select: {name: gpu1}
    mig: off
  - select: {name: gpu2}
    mig: on
    partitions: [{profile: 1g.10gb, start: [2]}]
"""
MIG_SECOND = """version: 1
devices:
  - select: {name: gpu0}
    partitions:
      - {profile: 3g.20gb, start: [0], parts: [1c, 2c]}
      - {profile: 2g.10gb, start: [4]}
  - select: {name: gpu1}
    mig: on
    partitions: [{profile: 4g.40gb}, {profile: 1g.10gb+me}]
  - select: {name: gpu2}
    mig: off
"""

AMD_NODE = [
    {"bdf": "0000:05:00.0", "model": "MI300X", "hive": 7},
    {"bdf": "0000:26:00.0", "model": "MI300X", "hive": 7},
    {"bdf": "0000:46:00.0", "model": "MI300X", "hive": 9},
]
AMD_FIRST = """version: 1
devices:
  - {select: {pci: "0000:05:00.0"}, compute-mode: DPX, memory-mode: NPS1}
  - {select: {pci: "0000:26:00.0"}, compute-mode: SPX, memory-mode: NPS1}
  - {select: {pci: "0000:46:00.0"}, compute-mode: CPX, memory-mode: NPS1}
"""
AMD_SECOND = """version: 1
devices:
  - {select: {pci: ["0000:05:00.0", "0000:26:00.0"]}, compute-mode: CPX, memory-mode: NPS4}
"""

VF_NODE = [{"bdf": "0000:3a:00.0", "model": "Flex170"},
           {"bdf": "0000:5a:00.0", "model": "Flex170"}]
VF_FIRST = """version: 1
devices:
  - {select: {pci: "0000:3a:00.0"}, vf: {count: 0}}
  - {select: {pci: "0000:5a:00.0"}, vf: {count: 2}}
"""
VF_SECOND = """version: 1
devices:
  - {select: {pci: "0000:3a:00.0"},
     vf: {count: 2, memory: 3G, exec-quantum: 16ms, preempt-timeout: 32ms,
          contexts: 1024, doorbells: 60, driver: vfio-pci}}
  - {select: {pci: "0000:5a:00.0"}, vf: {count: 3, driver: vfio-pci}}
"""

VGPU_NODE = [{"bdf": "0000:41:00.0", "model": "L40S"}]
VGPU_FIRST = """version: 1
devices:
  - {select: {pci: "0000:41:00.0"}, vf: {count: 0}}
"""
VGPU_SECOND = """version: 1
devices:
  - {select: {pci: "0000:41:00.0"}, vf: {count: 2, type: NVIDIA L40S-24Q}}
"""


class Scenario:
    def __init__(self, name, make, first, second, kept=()):
        self.name, self.make = name, make
        self.first, self.second, self.kept = first, second, kept

    def occupy(self, world):
        """Adds a user of a partition that both layouts keep."""

    def is_nvml(self):
        return self.name.startswith("mig")


class Mig(Scenario):
    def occupy(self, world):
        for line in world.control("show").splitlines():
            words = line.split()
            if words[0] == "gi" and words[4] == "4:2":
                world.put("processes", f"{HOLDER} 0 {words[2]} 0 1048576")
                return
        raise AssertionError("there is no 2g.10gb")


SCENARIOS = (
    Mig("mig", lambda: Nvml(MIG_NODE), MIG_FIRST, MIG_SECOND,
        ("gi 0 14 4:2", "gi 0 14 4:2 ci 1 0:2")),
    Scenario("amd", lambda: Sysfs(AMD_NODE), AMD_FIRST, AMD_SECOND),
    Scenario("vf", lambda: Sysfs(VF_NODE), VF_FIRST, VF_SECOND),
    Scenario("vgpu", lambda: Sysfs(VGPU_NODE), VGPU_FIRST, VGPU_SECOND),
)
