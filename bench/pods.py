# SPDX-License-Identifier: Apache-2.0
"""The time that cleave adds to the start of a pod, in the whole cluster of tests/kubernetes:
Kubernetes 1.20, containerd and the chart, with the processor as the device.

It is measured from the request that creates the pod to the end of the first kernel of its program,
with a share and without, alternating, so that both run on the machine in the same state.  The image
is present.  The pod without a share uses the node's driver for OpenCL as it is.  A pod that waits is
measured from the deletion of the one whose room it gets.
"""
import json
import statistics
import subprocess
import sys
from pathlib import Path

from tenants import BenchError

SCRIPT = Path(__file__).resolve().parent / "pods_cluster.py"
PAIRS, QUICK_PAIRS = 20, 3
WAITS, QUICK_WAITS = 5, 1


def measure(context):
    n_pairs = QUICK_PAIRS if context.quick else PAIRS
    n_waits = QUICK_WAITS if context.quick else WAITS
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(context.build),
         str(n_pairs if context.wants("start") else 0),
         str(n_waits if context.wants("waiting") else 0)],
        capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"no pods: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def run(context):
    if not context.with_cleave or not (context.wants("start") or context.wants("waiting")):
        return
    found = measure(context)
    if "why" in found:
        context.leave_out("pods", found["why"])
        return
    if found["pairs"]:
        bare = statistics.median(alone for alone, _ in found["pairs"])
        added = statistics.median(shared - alone for alone, shared in found["pairs"])
        context.add("pods", "start", "bare_p50", bare, "ms")
        context.add("pods", "start", "added_p50", added, "ms")
        context.add("pods", "start", "excess", added - .1 * bare, "ms")
    if found["waits"]:
        context.add("pods", "waiting", "p50", statistics.median(found["waits"]), "ms")
