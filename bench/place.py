# SPDX-License-Identifier: Apache-2.0
"""Placement on published traces: reproduces the results of published policies, compares the
policy balance with them on the same arrivals, and measures the time of decisions.

The traces are not part of the project.  The bench looks for them in the folder
CLEAVE_TRACES; docs/placement.md describes them and their origin.
"""
import gzip
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import place_chart
import place_models
import place_power
import place_serve
from tenants import BenchError

ROOT = Path(__file__).resolve().parent.parent
# cleave's names of the policies, and their names in the published table.
PUBLISHED = {"best-fit": "05-BestFit", "packing": "04-GpuPacking", "dot-product": "02-DotProd",
             "clustering": "03-GpuClustering", "published-fgd": "06-FGD"}
OURS, BASE = "balance", "fgd"
EXACT = "published-fgd"  # fgd with the arithmetic of the published program
CHARTED = "random,dot-product,clustering,packing,best-fit,fgd,balance"
FIRST_SEED = 42  # of the published list of ten
TUNED = (42, 43, 44)  # seeds of the default trace by which the policy balance was chosen
# Units: the same arrivals have the same result on any machine, so these are counts.
ALLOCATED, ACCEPTED = "% of fleet", "% of requests"
MIG_SEEDS, QUICK_MIG_SEEDS = 5, 2
MIG_LOADS = (1.0, 1.3)
DRAWN = 8  # fleets and mixes
OTHERS = ("fgd", "best-fit", "packing", "dot-product")
LOADED = ("default", "gpushare100", "gpuspec33", "multigpu50")
LOAD_SEEDS = {"fill": 3, "steady": 1}
SCALE = (1213, 3000, 10000, 30000, 100000)
DIVERSE_SCALE = (1213, 10000, 100000)


def traces():
    """The folder of the traces."""
    folder = os.environ.get("CLEAVE_TRACES")
    if folder and (Path(folder) / "openb").is_dir():
        return Path(folder)
    raise BenchError("the traces are not here: set CLEAVE_TRACES to the folder that has "
                     "openb and parvagpu in it")


def program(context, name):
    path = Path(context.build) / "bench" / name
    if not path.exists():
        raise BenchError(f"{name} is not built: build the project, then try again")
    return path


def run_program(*words):
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              timeout=1800, check=True)
    except subprocess.CalledProcessError as error:
        raise BenchError(error.stderr.strip() or str(error)) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchError(str(error)) from error
    return [json.loads(line) for line in done.stdout.splitlines()]


class Replays:
    """Replays of the openb traces; each is run once."""

    def __init__(self, context, folder):
        self.context = context
        self.openb = folder / "openb"
        self.done = {}

    def seeds(self, trace):
        names = sorted((self.openb / "orders").glob(f"{trace}_seed*.txt.gz"))
        return [int(re.search(r"seed(\d+)", name.name)[1]) for name in names]

    def traces(self):
        return sorted({re.match(r"(.*)_seed", p.name)[1]
                       for p in (self.openb / "orders").glob("*_seed*.txt.gz")})

    def run(self, trace, seed, policy):
        key = trace, seed, policy
        if key not in self.done:
            packed = self.openb / "orders" / f"{trace}_seed{seed}.txt.gz"
            with tempfile.NamedTemporaryFile("wb") as order:
                order.write(gzip.decompress(packed.read_bytes()))
                order.flush()
                self.done[key] = run_program(
                    program(self.context, "place-replay"),
                    self.openb / "openb_node_list_gpu_node.csv",
                    self.openb / f"openb_pod_list_{trace}.csv", order.name, policy)[0]
        return self.done[key]

    def allocated(self, trace, seed, policy, percent):
        return self.run(trace, seed, policy)["curve"][str(percent)][0]


def published_seeds(openb):
    """{policy: [allocated % at 130 %, by seed from FIRST_SEED on]} of the default trace."""
    text = (openb / "published_table.txt").read_text()
    lines = text.split("alloc at 130 seeds default")[1].splitlines()
    rows = [re.match(r"(\d\d-\w+) .*\[(.*)\]", line) for line in lines]
    return {row[1]: [float(n) for n in row[2].split(",")] for row in rows if row}


def published_means(openb):
    """{trace: FGD's mean of ten seeds at 130 %}"""
    rows = re.findall(r"openb_pod_list_(\w+) .*FGD ([0-9.]+) ([0-9.]+)",
                      (openb / "published_table.txt").read_text())
    return {trace: float(at_130) for trace, _, at_130 in rows}


def reproduce(context, replays):
    by_seed = published_seeds(replays.openb)
    for ours, theirs in PUBLISHED.items():
        differences = [
            abs(round(replays.allocated("default", seed, ours, 130), 2)
                - by_seed[theirs][seed - FIRST_SEED])
            for seed in replays.seeds("default")]
        context.add("place", "replay-default", ours.removeprefix("published-"),
                    max(differences), ALLOCATED)
    means = published_means(replays.openb)
    for trace in replays.traces():
        if trace == "default":
            continue
        mean = statistics.mean(replays.allocated(trace, seed, EXACT, 130)
                               for seed in replays.seeds(trace))
        context.add("place", f"replay-{trace}", BASE, abs(mean - means[trace]), ALLOCATED)


def compare(context, replays):
    """Policy balance against FGD, with the same arrivals and the same order of ties."""
    for trace in replays.traces():
        seeds = replays.seeds(trace)
        for percent in (100, 130):
            ours = [replays.allocated(trace, seed, OURS, percent) for seed in seeds]
            base = [replays.allocated(trace, seed, BASE, percent) for seed in seeds]
            case = f"ours-{trace}"
            context.add("place", case, f"at_{percent}", statistics.mean(ours), ALLOCATED)
            context.add("place", case, f"fgd_at_{percent}", statistics.mean(base), ALLOCATED)
            context.add("place", case, f"least_above_at_{percent}",
                        min(a - b for a, b in zip(ours, base)), ALLOCATED)
            if trace == "default":
                unseen = [a for a, seed in zip(ours, seeds) if seed not in TUNED]
                context.add("place", case, f"unseen_at_{percent}", statistics.mean(unseen),
                            ALLOCATED)


def time_decisions(context, replays):
    for policy in (BASE, OURS):
        rows = [replays.run("default", seed, policy) for seed in replays.seeds("default")]
        for metric in ("mean_us", "p99_us"):
            context.add("place", f"speed-{policy}", metric.removesuffix("_us"),
                        statistics.median(row[metric] for row in rows), "us")
        context.add("place", f"speed-{policy}", "replay",
                    max(row["seconds"] for row in rows), "s")


def scale(context):
    place_scale = program(context, "place-scale")
    for row in (run_program(place_scale, OURS, "repeated", *SCALE)
                + run_program(place_scale, OURS, "diverse", *DIVERSE_SCALE)):
        kind = "diverse" if row["shapes"] == "diverse" else "nodes"
        case = f"{kind}-{row['nodes']}"
        context.add("place", case, "mean", row["mean_us"], "us")
        context.add("place", case, "p99", row["p99_us"], "us")
        context.add("place", case, "bytes", row["bytes_per_device"], "B")


def paired(rows):
    """{policy: [points of the fleet that the policy balance allocates more, by level]}, and
    {policy: [what balance allocates over what that policy does]}; the arrivals are the same."""
    ours = {row["level"]: row["allocated"] for row in rows if row["policy"] == OURS}
    points, ratios = {}, {}
    for row in rows:
        points.setdefault(row["policy"], []).append(ours[row["level"]] - row["allocated"])
        ratios.setdefault(row["policy"], []).append(ours[row["level"]] / row["allocated"])
    return points, ratios


def add_load(context, case, mode, runs):
    """Adds the figures of runs with arrivals that differ: the levels of all count alike."""
    points, ratios = {}, {}
    for rows in runs:
        for into, of_run in zip((points, ratios), paired(rows)):
            for policy, values in of_run.items():
                into.setdefault(policy, []).extend(values)
    context.add("place", case, f"{mode}_mean", statistics.mean(points[BASE]), ALLOCATED)
    context.add("place", case, f"{mode}_loss", max(0, -min(points[BASE])), ALLOCATED)
    for policy in OTHERS:
        context.add("place", case, f"{mode}_to_{policy}", statistics.mean(ratios[policy]), "")


def load(context):
    """Policy balance against others at every fill, and with departures at every load, in
    orders of arrival and on drawn fleets and mixes that are new in each run."""
    openb = traces() / "openb"
    place_load = program(context, "place-load")
    seed = int(time.time())
    context.tell(f"bench place: orders and mixes are drawn by the seed {seed}")
    policies = ",".join((*OTHERS, OURS))
    fleet = openb / "openb_node_list_gpu_node.csv"

    def measure(case):
        trace, mode, seeds = case
        return run_program(place_load, fleet, openb / f"openb_pod_list_{trace}.csv", mode,
                           policies, seed, seeds)

    cases = [(trace, mode, seeds) for trace in LOADED for mode, seeds in LOAD_SEEDS.items()]
    panels = {}
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for (trace, mode, _), rows in zip(cases, pool.map(measure, cases)):
            add_load(context, f"load-{trace}", mode, [rows])
            panels[trace, mode] = rows
    if context.writes_docs:
        (ROOT / "docs/placement-load.svg").write_text(place_chart.chart(panels))
    add_load(context, "load-drawn", "fill", [
        run_program(place_load, "drawn", seed + mix, "fill", policies, 1, 2)
        for mix in range(DRAWN)])


def place_mig(context):
    """Every way to place MIG instances online, against FGD at the same load and mix."""
    seeds = QUICK_MIG_SEEDS if context.quick else MIG_SEEDS
    with ThreadPoolExecutor() as pool:
        rows = sum(pool.map(lambda load: run_program(program(context, "place-mig"), load, seeds),
                            MIG_LOADS), [])
    base = {(row["load"], row["mix"]): row["accepted"] for row in rows if row["way"] == BASE}
    for row in rows:
        case, way = f"mig-{row['mix']}-{row['load']}", row["way"]
        if way == BASE:
            context.add("place", case, BASE, row["accepted"], ACCEPTED)
            context.add("place", case, f"{BASE}_held", row["held"], ACCEPTED)
        elif way.startswith(OURS):
            context.add("place", case, f"{way}_above",
                        row["accepted"] - base[row["load"], row["mix"]], ACCEPTED)
        if way == f"{OURS}-admit-moves":
            # FGD with the same moves and refusals, in its better variant, and what would be
            # accepted if places on the grids did not matter.
            alike = {other["way"]: other["accepted"] for other in rows
                     if (other["load"], other["mix"]) == (row["load"], row["mix"])}
            best = max(alike[f"{BASE}-admit-moves"], alike[f"{BASE}-fine-admit-moves"])
            context.add("place", case, "alike", row["accepted"] - best, ACCEPTED)
            context.add("place", case, "left", alike["pool-admit"] - best, ACCEPTED)
            context.add("place", case, "held", row["held"], ACCEPTED)
            context.add("place", case, "moves", row["moves_per_hundred"], "")


def draw(context, openb):
    """Draws the chart of docs/placement.md, by the command that the page names."""
    subprocess.run(
        [Path(context.build) / "src/cli/cleave", "simulate",
         openb / "openb_node_list_gpu_node.csv", openb / "openb_pod_list_default.csv",
         "--fill", "130", "--seed", str(FIRST_SEED), "--policy", CHARTED, "--svg",
         ROOT / "docs/placement.svg", "-o", "name"],
        stdout=subprocess.DEVNULL, timeout=1800, check=True)


def capacity(context):
    """The search for the cheapest nodes that accept the openb trace, of the fleet's kinds."""
    openb = traces() / "openb"
    begun = time.monotonic()
    done = subprocess.run(
        [Path(context.build) / "src/cli/cleave", "simulate",
         openb / "openb_node_list_gpu_node.csv", openb / "openb_pod_list_default.csv",
         "--accept", "99%", "-o", "json"], stdout=subprocess.PIPE, timeout=1800, check=True)
    found = json.loads(done.stdout)
    context.add("place", "capacity", "time", time.monotonic() - begun, "s")
    context.add("place", "capacity", "cost", found["cost"], "")
    context.add("place", "capacity", "replays", found["trials"], "")


def power(context):
    """What the fleet draws with each policy, with orders of arrival that are new in each run."""
    seed = int(time.time())
    context.tell(f"bench place: orders are drawn by the seeds from {seed} on")

    def simulate(*words):
        done = subprocess.run(
            [Path(context.build) / "src/cli/cleave", "simulate", *map(str, words), "-o", "json"],
            stdout=subprocess.PIPE, timeout=1800, check=True)
        return json.loads(done.stdout)["items"]

    place_power.run(context, simulate, traces() / "openb", LOADED, seed)


def replay(context):
    replays = Replays(context, traces())
    if context.writes_docs:
        draw(context, replays.openb)
    reproduce(context, replays)
    compare(context, replays)
    time_decisions(context, replays)


def serve(context):
    place_serve.run(context, program(context, "place-serve"), traces() / "parvagpu")


def models(context):
    place_models.run(context, program(context, "place-models"))


# The beginnings of the case names of a part, and the function that measures it.
PARTS = {"load": load, "nodes": scale, "diverse": scale, "mig": place_mig, "models": models,
         "capacity": capacity, "power": power, "serve": serve, "replay": replay, "ours": replay,
         "speed": replay}


def run(context):
    if not context.with_cleave:
        return
    wanted = [part for name, part in PARTS.items()
              if context.case is None or context.case.startswith(name)]
    for part in dict.fromkeys(wanted):
        part(context)
