# SPDX-License-Identifier: Apache-2.0
"""The policy alone, with many leases and no kernels.

The program is the arbiter's; it prints one JSON object per number of leases:
{"leases": N, "decisions_per_second": F, "instructions_per_decision": F}.
"""
import json
import subprocess
from pathlib import Path

from tenants import BenchError

PROGRAMS = ("bench/policy-scale", "src/arbiter/policy-scale")
LEASES = (10, 100, 1000)


def measure_scale(context):
    for name in PROGRAMS:
        path = Path(context.build) / name
        if path.exists():
            break
    else:
        raise BenchError(f"{context.build}/{PROGRAMS[0]} is not built")
    command = [str(path)] + (["--quick"] if context.quick else [])
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise BenchError(f"{path} ended with {done.returncode}: {done.stderr.strip()}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {row["leases"]: row for row in rows}


def run(context):
    if not context.with_cleave:
        return
    rows = measure_scale(context)
    for leases in LEASES:
        context.add("scale", f"leases-{leases}", "decisions_per_second",
                    rows[leases]["decisions_per_second"], "per second")
    context.add("scale", "leases-1000", "instructions_growth",
                rows[1000]["instructions_per_decision"]
                / rows[10]["instructions_per_decision"], "ratio")
