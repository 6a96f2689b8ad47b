# SPDX-License-Identifier: Apache-2.0
"""ParvaGPU's scenarios: services with a rate and a latency each, divided into MIG instances
and packed onto GPUs.  This file checks the results by the rules of the scenario."""
import csv
import json
import subprocess

from tenants import BenchError

SIZES = (1, 2, 3, 4, 7)
STARTS = {1: range(7), 2: (0, 2, 4), 3: (0, 4), 4: (0,), 7: (0,)}
UNITS = {1: 1, 2: 2, 3: 4, 4: 4, 7: 8}
SAFETY = 0.9  # of half the required latency


def profiles(folder):
    """{model: [(slices, throughput of all processes, latency in ms)]}"""
    found = {}
    for path in sorted((folder / "prof_data").glob("*.csv")):
        with path.open() as file:
            found[path.stem] = [
                (int(row["Mig instance"]),
                 float(row["Throughput"]) * int(row["Workload Number"]),
                 float(row["Latency"]) * 1000)
                for row in csv.DictReader(file) if float(row["Throughput"]) > 0]
    return found


def scenarios(folder):
    """[{model: (rate, latency in ms)}]"""
    names = sorted(path.stem for path in (folder / "prof_data").glob("*.csv"))
    rows = [[line.split(",") for line in (folder / "SLO" / name).read_text().split()]
            for name in ("SLO_req_rate.csv", "SLO_latency.csv")]
    return [{name: (float(rate), float(latency))
             for name, rate, latency in zip(names, rates, latencies) if rate != "N/A"}
            for rates, latencies in zip(*rows)]


def capacities(rows, latency):
    return [max((rate for slices, rate, took in rows
                 if slices == size and took < SAFETY * latency / 2), default=0.0)
            for size in SIZES]


def check(scenario, able, instances):
    """Checks that every rate is served, and that no GPU has more instances than fit."""
    served, taken, slices = dict.fromkeys(scenario, 0.0), {}, {}
    names = list(scenario)
    for gpu, service, size, start in instances:
        served[names[service]] += able[names[service]][SIZES.index(size)]
        cells = {(gpu, start + unit) for unit in range(UNITS[size])}
        slices[gpu] = slices.get(gpu, 0) + size
        if start not in STARTS[size] or cells & taken.keys() or slices[gpu] > 7:
            raise BenchError(f"GPU {gpu} cannot have {size}g at {start}")
        taken.update(dict.fromkeys(cells))
    return sum(served[name] + 1e-6 < rate for name, (rate, _) in scenario.items())


def run(context, program, folder):
    found = profiles(folder)
    for number, scenario in enumerate(scenarios(folder), 1):
        able = {name: capacities(found[name], latency)
                for name, (_, latency) in scenario.items()}
        lines = [" ".join(str(n) for n in [rate, *able[name]])
                 for name, (rate, _) in scenario.items()]
        done = subprocess.run([program], input="\n".join(lines), capture_output=True,
                              text=True, timeout=300, check=False)
        if done.returncode:
            raise BenchError(done.stderr.strip())
        instances = [json.loads(line) for line in done.stdout.splitlines()]
        context.add("place", f"serve-S{number}", "gpus",
                    len({gpu for gpu, *_ in instances}), "")
        context.add("place", f"serve-S{number}", "missed",
                    check(scenario, able, instances), "")
