# SPDX-License-Identifier: Apache-2.0
"""Power as an objective: what the openb fleet draws with each policy as it fills, against FGD with
the same arrivals.

The trace says nothing of power.  The figures are those of the paper "Power- and
Fragmentation-aware Online Scheduling for GPU Datacenters" (CCGrid 2025), which assumes a processor
for each model of GPU, and that G2 is an A10 and G3 an A100."""
import csv
import statistics
import tempfile
from pathlib import Path

BASE = "fgd"
COUNTING = ("pwr-fgd", "pwr-balance")
POLICIES = ("pwr-fgd", "balance", "pwr-balance", "best-fit")
WEIGHTS = (0.1, 0.7)
DEFAULT = 0.1
LEVELS = (50, 75)  # percent of the fleet that is requested
FULL = 130
SEEDS = 3
COLUMNS = ("gpu_idle_w", "gpu_full_w", "socket_idle_w", "socket_full_w", "socket_cpu_milli")
# Two processors are a core.
E5_2682, XEON_8163, XEON_6326, XEON_8369 = ((15, 120, 32000), (20, 165, 48000),
                                            (20, 185, 32000), (20, 270, 64000))
A10, A100, V100 = (30, 150), (50, 400), (30, 300)
WATTS = {
    "": (0, 0, *E5_2682),
    "T4": (10, 70, *XEON_8163),
    "P100": (25, 250, *E5_2682),
    "V100M16": (*V100, *XEON_6326),
    "V100M32": (*V100, *XEON_6326),
    "A10": (*A10, *XEON_8369),
    "G2": (*A10, *XEON_8369),
    "G3": (*A100, *XEON_8369),
}


def write_fleet(nodes, path):
    """Copies a list of nodes and adds what they draw."""
    with open(nodes, newline="") as read, open(path, "w", newline="") as write:
        rows = csv.DictReader(read)
        to = csv.DictWriter(write, [*rows.fieldnames, *COLUMNS])
        to.writeheader()
        for row in rows:
            to.writerow({**row, **dict(zip(COLUMNS, WATTS[row["model"]]))})


def curves(simulate, fleet, pods, seed, policies, weight):
    """{policy: {percent requested: (watts, part allocated)}}"""
    rows = simulate(fleet, pods, "--fill", FULL, "--seed", seed, "--policy", ",".join(policies),
                    "--power", weight)
    return {row["policy"]: {round(100 * point["load"]): (point["watts"], point["allocated"])
                            for point in row["curve"]} for row in rows}


def add(context, case, runs, policies):
    """runs: curves of several seeds."""
    for policy in policies:
        for level in LEVELS:
            saved = [100 * (1 - run[policy][level][0] / run[BASE][level][0]) for run in runs]
            context.add("place", case, f"{policy}_saved_at_{level}", statistics.mean(saved),
                        "% of watts")
        above = [100 * (run[policy][FULL][1] - run[BASE][FULL][1]) for run in runs]
        context.add("place", case, f"{policy}_above_at_{FULL}", statistics.mean(above),
                    "% of fleet")


def run(context, simulate, openb, traces, first_seed):
    """simulate(fleet, trace, *options): the rows of cleave simulate."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = Path(folder) / "fleet.csv"
        write_fleet(openb / "openb_node_list_gpu_node.csv", fleet)
        for trace in traces:
            pods = openb / f"openb_pod_list_{trace}.csv"
            for weight in WEIGHTS:
                is_whole = trace == traces[0] and weight == DEFAULT
                policies = POLICIES if is_whole else COUNTING
                runs = [curves(simulate, fleet, pods, seed, (BASE, *policies), weight)
                        for seed in range(first_seed, first_seed + SEEDS)]
                add(context, f"power-{trace}" + ("" if weight == DEFAULT else f"-{weight}"),
                    runs, policies)
