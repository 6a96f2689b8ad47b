# SPDX-License-Identifier: Apache-2.0
"""The policy alone, with many leases and no kernels.

`policy-scale LEASES DECISIONS` makes this number of decisions among this number of leases and
prints one JSON object: {"leases": N, "decisions": N, "seconds": F}.  This file counts the
instructions.
"""
import json
from pathlib import Path

from tenants import BenchError, Session

PROGRAMS = ("tests/unit/policy-scale", "bench/policy-scale")
LEASES = (10, 100, 1000)
DECISIONS, QUICK_DECISIONS = 1_000_000, 100_000
COUNTED = (20_000, 60_000)


def run(context):
    if not context.with_cleave:
        return
    for program in (Path(context.build) / name for name in PROGRAMS):
        if program.exists():
            break
    else:
        raise BenchError("policy-scale is not built: build the project, then try again")

    decisions = QUICK_DECISIONS if context.quick else DECISIONS
    instructions = {}
    with Session(context.build, False) as session:
        for leases in LEASES:
            timed = json.loads(session.output([str(program), str(leases), str(decisions)]))
            instructions[leases] = session.instructions(
                [([], [str(program), str(leases), str(n)]) for n in COUNTED], COUNTED)
            context.add("scale", f"leases-{leases}", "decisions_per_second",
                        timed["decisions"] / timed["seconds"], "per second")
            context.add("scale", f"leases-{leases}", "instructions",
                        instructions[leases], "instructions")
    context.add("scale", "leases-1000", "instructions_growth",
                instructions[1000] / instructions[10], "ratio")
