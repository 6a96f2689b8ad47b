# SPDX-License-Identifier: Apache-2.0
"""The console in a headless Chromium, served by a real agent on a simulated DGX A100."""
import json
import os
import shutil
import subprocess
from pathlib import Path

from tenants import BenchError

WEB = Path(__file__).resolve().parent.parent / "web"
HOUR = 3600  # updates, at sixty a minute
QUICK = 400
SOONER_MS, USUAL_MS = 20, 1000  # interval of updates
UNITS = {"first_load": "KiB", "first_paint": "ms", "interactive": "ms", "growth": "KiB",
         "updates_per_minute": "per minute"}


def measure(context, name, updates, pace_ms):
    """Runs web/test/browser/bench.ts and returns what it prints, line by line."""
    if not shutil.which("node") or not (WEB / "node_modules").is_dir():
        raise BenchError("the console's tools are missing: ./dev web fetches them")
    if not (WEB / "dist/index.html").exists():
        raise BenchError("the console is not built: ./dev web, then ./dev build")
    done = subprocess.run(
        ["node", "test/run.mjs", "bench", str(updates), str(pace_ms)], cwd=WEB, text=True,
        capture_output=True, env={**os.environ, "BUILDDIR": str(context.build)})
    if done.returncode:
        raise BenchError(f"web/test/browser/bench.ts: {done.stderr.strip()[-500:]}")
    for line in done.stdout.splitlines():
        figure = json.loads(line)
        context.add(name, "page", figure["metric"], figure["value"], UNITS[figure["metric"]])


def run(context):
    """The number of updates of an hour, without waits between them."""
    if context.with_cleave and context.wants("page"):
        measure(context, "console", QUICK if context.quick else HOUR, SOONER_MS)


def run_all(context):
    if context.with_cleave and context.wants("page"):
        context.tell("console-all: an hour")
        measure(context, "console-all", HOUR, USUAL_MS)
