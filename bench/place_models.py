# SPDX-License-Identifier: Apache-2.0
"""The model placement benchmark of Prism: fifty cases from numpy's generator with the seed
42, and the score of a placement, one over the mean of the worst pressures, plus one."""
import json
import random
import statistics
import subprocess

from tenants import BenchError

CASES = 50
MEMORY = 80
SEED = 42


class Numbers:
    """numpy.random.seed() and .randint(), without numpy: the Mersenne Twister seeded with
    one number, and draws of the needed number of bits, repeated until one is small enough."""

    def __init__(self, seed):
        state = [seed]
        for i in range(1, 624):
            state.append((1812433253 * (state[-1] ^ state[-1] >> 30) + i) & 0xffffffff)
        self.twister = random.Random()
        self.twister.setstate((3, (*state, 624), None))

    def randint(self, low, high):
        most = high - 1 - low
        mask = (1 << most.bit_length()) - 1
        while (draw := self.twister.getrandbits(32) & mask) > most:
            pass
        return low + draw


def cases():
    """[(GPUs, [(size, requests, latency)])]"""
    numbers = Numbers(SEED)
    found = []
    for _ in range(CASES):
        gpus = numbers.randint(5, 10)
        models = []
        for _ in range(2 * gpus):
            models.append((numbers.randint(10, 30), numbers.randint(1, 10),
                           numbers.randint(5, 10)))
        found.append((gpus, models))
    return found


def greedy(gpus, models):
    """Prism's own rule, the reference: the most demanding model first, at the least pressure."""
    loads = [[0.0, 0.0] for _ in range(gpus)]
    for size, requests, latency in sorted(models, key=lambda m: m[1] / m[2], reverse=True):
        fitting = [load for load in loads if size <= MEMORY - load[1]]
        best = min(fitting, key=lambda load: load[0] / (MEMORY - load[1]))
        best[0] += requests / latency
        best[1] += size
    return max(demand / (MEMORY - size) for demand, size in loads)


def score(worst):
    return 1 / statistics.mean(worst) + 1


def run(context, program):
    lines = [" ".join(str(n) for n in [gpus, MEMORY, *(
        n for size, requests, latency in models for n in (size, requests / latency))])
        for gpus, models in cases()]
    done = subprocess.run([program], input="\n".join(lines), capture_output=True, text=True,
                          timeout=300, check=False)
    if done.returncode:
        raise BenchError(done.stderr.strip())
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    context.add("place", "models", "greedy", score([greedy(*case) for case in cases()]), "")
    context.add("place", "models", "score", score([row["worst"] for row in rows]), "")
    context.add("place", "models", "proven", sum(row["proven"] for row in rows), "")
    context.add("place", "models", "longest", max(row["took_ms"] for row in rows), "ms")
