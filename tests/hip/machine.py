# SPDX-License-Identifier: Apache-2.0
"""A machine with AMD GPUs: the doubles of amdgpu's sysfs and of ROCm's libraries, an agent, and
programs that cleave run starts there. ROCM is the version of ROCm: 5 or 6."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "apply"))

import gpus  # noqa: E402
import worlds  # noqa: E402

MIB = gpus.MIB
ROCM = "6"


class Hip(worlds.Sysfs):
    """Simulated GPUs (hip-double-gpu), which report their allocated memory to amdgpu's double."""

    def __init__(self, models=("MI300X",), hip="", config=None):
        """config: the agent's settings."""
        places = [f"0000:{5 + 16 * i:02x}:00.0" for i in range(len(models))]
        super().__init__([{"bdf": place, "model": model}
                          for place, model in zip(places, models)])
        if config:
            path = os.path.join(self.folder, "cleaved.yaml")
            worlds.write_whole(path, config)
            self.arguments = ("--config", path)
        self.gpus = self.double.control
        worlds.write_whole(f"{self.gpus}/amd", "".join(
            f"gpu {model} bdf={place}\n" for place, model in zip(places, models)))
        worlds.write_whole(f"{self.gpus}/hip", f"tell-sysfs 1\n{hip}\n")
        self.player = gpus.Player(worlds.built("tests/doubles/hip/hip-double-gpu"), self.gpus)

    def environment(self):
        return {**super().environment(), "CLV_HIP_DOUBLE": self.gpus,
                "LD_LIBRARY_PATH": worlds.built(f"tests/doubles/hip/rocm-{ROCM}")}

    def stats(self):
        return self.player.stats()

    def close(self):
        self.player.close()
        super().close()


class Case(gpus.Case):
    WORLD = Hip

    def begin(self, **machine):
        try:
            super().begin(**machine)
        except worlds.Unavailable as why:
            self.skipTest(str(why))


def program(name):
    return worlds.built(f"tests/hip/{name}-{ROCM}")


def main():
    """usage: TEST --build BUILD --rocm 5|6 [unittest arguments]"""
    global ROCM  # pylint: disable=global-statement
    worlds.set_build(sys.argv[2])
    ROCM = sys.argv[4]
    gpus.unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[5:]])
