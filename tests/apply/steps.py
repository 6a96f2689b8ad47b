# SPDX-License-Identifier: Apache-2.0
"""The time of a step of an apply besides the driver: on the double of libnvidia-ml, which answers
at once, eight GPUs are divided into seven parts each and then merged again.

usage: steps.py --build BUILD
"""
import argparse
import json
import statistics
import time

import worlds

NODE = "\n".join(["gpu A100-40GB"] * 8)
SEVENTHS = """version: 1
devices:
  - select: {vendor: nvidia}
    mig: on
    partitions: [{profile: 1g.5gb, count: 7}]
"""
WHOLE = """version: 1
devices: [{select: {vendor: nvidia}, mig: off}]
"""
ROUNDS = 3


def measure():
    """Milliseconds: of an apply by its steps, and of each step as the operation shows it; both
    include the double's time."""
    shares, steps = [], []
    with worlds.Nvml(NODE) as world:
        agent = world.agent()
        agent.start()
        for _ in range(ROUNDS):
            for layout in (SEVENTHS, WHOLE):
                began = time.monotonic()
                operation = agent.done(layout)
                took = time.monotonic() - began
                shares.append(1000 * took / len(operation["steps"]))
                steps += [1000 * step["seconds"] for step in operation["steps"]]
        agent.close()
    return {"steps": len(steps), "apply_ms_per_step": round(statistics.median(shares), 2),
            "median_ms": round(statistics.median(steps), 2),
            "p99_ms": round(sorted(steps)[int(len(steps) * 0.99)], 2),
            "worst_ms": round(max(steps), 2)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    worlds.set_build(parser.parse_args().build)
    print(json.dumps(measure()))
