# SPDX-License-Identifier: Apache-2.0
"""The time that cleave adds to the start of a job of Slurm, on the cluster of tests/bridge.

It is measured from srun's start to the task's first output, with and without a share,
alternating, so that both run on the machine in the same state.
"""
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tenants import BenchError

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests/bridge"))
import slurm_bed  # noqa: E402 (found by the path above)

PAIRS, QUICK_PAIRS = 60, 10
WARM_UP = 3


def start_ms(cluster, *options):
    """Milliseconds until the task runs, which prints the time."""
    began = time.time()
    done = cluster.run("srun", "-Q", "-n1", "-w", slurm_bed.NODES[0], *options, "date", "+%s.%N")
    if done.returncode:
        raise BenchError(f"srun {' '.join(options)}: {done.stderr.strip()}")
    took = 1000 * (float(done.stdout) - began)
    slurm_bed.wait_until(cluster.is_idle)
    return took


def run(context):
    if not context.wants("slurm-start"):
        return
    slurm_bed.PROGRAMS.update(
        cleave=str(context.build / "src/cli/cleave"), cleaved=str(context.build / "src/agent/cleaved"),
        plugin=str(context.build / "src/bridge/slurm/spank_cleave.so"),
        tenant=str(context.build / "bench/tenant"))
    reason = slurm_bed.missing()
    if reason:
        raise BenchError(f"no cluster of Slurm: {reason}")
    cluster = slurm_bed.Cluster()
    # Sockets are in memory, as in /run, and the agent's state file is on a disk.
    disk = tempfile.TemporaryDirectory(prefix="cleave-bench-")
    cluster.agent_state = disk.name
    try:
        cluster.start()
        for _ in range(WARM_UP):
            start_ms(cluster, "--gpu-share=0.3")
        pairs = [(start_ms(cluster), start_ms(cluster, "--gpu-share=0.3"))
                 for _ in range(QUICK_PAIRS if context.quick else PAIRS)]
    finally:
        cluster.close()
        disk.cleanup()
    context.add("engines", "slurm-start", "added_p50",
                statistics.median(shared - bare for bare, shared in pairs), "ms")
    context.add("engines", "slurm-start", "bare_p50",
                statistics.median(bare for bare, _ in pairs), "ms")
