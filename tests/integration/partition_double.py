#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A double of the agent's routes for nodes, plans, layouts and operations.

It has no model of GPUs: its answers are in the JSON file that DOUBLE_SCRIPT names, so that a
test can cause any answer, also those that an agent rarely gives:

  node, plan, profiles    the objects themselves
  layout, wanted          texts; without wanted no layout has been applied
  problem                 {"PATH": [status, code, detail]}: in place of an answer
  slow                    {"PATH": seconds}: how long an answer takes
  operation               {"states": [[seconds, {...}], ...]}: the course of operations; with
                          "dies_at" the agent ends once, that many seconds after the first
                          began; with "lost" its successor does not know the operation;
                          "ended" has what its course is once it was ended while it waited

Requests are added to the file with the ending .log, a JSON array per line. Operations are in
the file with the ending .state, from which the double's successor reads them.
"""
import json
import os
import sys
import threading
import time

import api_double
from api_double import Problem

SCRIPT = os.environ.get("DOUBLE_SCRIPT", "")


def script():
    with open(SCRIPT) as file:
        return json.load(file)


def load_state():
    try:
        with open(SCRIPT + ".state") as file:
            return json.load(file)
    except OSError:
        return {"operations": {}, "died": False}


def save_state(state):
    with open(SCRIPT + ".new", "w") as file:
        json.dump(state, file)
    os.rename(SCRIPT + ".new", SCRIPT + ".state")


def log(*words):
    with open(SCRIPT + ".log", "a") as file:
        file.write(json.dumps(words) + "\n")


def die_when_told(plan):
    """Ends this process at the given time, as a crash does."""
    def wait():
        time.sleep(plan["dies_at"])
        state = load_state()
        state["died"] = True
        if plan.get("lost"):
            state["operations"] = {}
        save_state(state)
        os._exit(9)

    if "dies_at" in plan and not load_state()["died"]:
        threading.Thread(target=wait, daemon=True).start()


def begin(what):
    state = load_state()
    name = "op%d" % (len(state["operations"]) + 1)
    state["operations"][name] = {"what": what, "began": time.time(), "ended": False}
    save_state(state)
    die_when_told(script()["operation"])
    return operation(name)


def operation(name):
    """The operation now: the last of its states whose time has come."""
    record = load_state()["operations"].get(name)
    if not record:
        raise Problem(404, "not_found", "there is no operation '%s'" % name)
    states = script()["operation"]["states"]
    age = time.time() - record["began"]
    at = max(i for i, (seconds, _) in enumerate(states) if seconds <= age or i == 0)
    if record["ended"]:
        return {"id": name, "what": record["what"], "state": "failed", "revision": 99,
                "steps": [], "obstacles": [],
                "error": {"code": "ended", "detail": "its waiting was ended"},
                **script()["operation"].get("ended", {})}
    return {"id": name, "what": record["what"], "revision": at + 1, "step": 0, "steps": [],
            "obstacles": [], "error": None, "started_at": api_double.now(),
            "ended_at": None, **states[at][1]}


class Handler(api_double.Quiet):
    def route_more(self, method, parts, query, body):
        text = self.raw.decode(errors="replace")
        log(method, "/".join(parts), query, body if body else text)
        api_double.lock.wait(script().get("slow", {}).get(parts[-1], 0))
        problem = script().get("problem", {}).get("/".join(parts[1:]))
        if problem:
            raise Problem(*problem)
        route = getattr(self, "on_" + parts[1], None) if len(parts) > 1 else None
        if not route:
            raise Problem(404, "no_such_path", "the API has no such path")
        return route(method, parts, query, body)

    def on_node(self, method, parts, query, body):
        return 200, script()["node"]

    def on_plan(self, method, parts, query, body):
        return 200, script()["plan"]

    def on_profiles(self, method, parts, query, body):
        items = script()["profiles"]
        return 200, {"items": [each for each in items
                               if query.get("device") in (None, each["device"])]}

    def on_layout(self, method, parts, query, body):
        key = "wanted" if query.get("of") == "wanted" else "layout"
        if key not in script():
            raise Problem(404, "not_found", "no layout has been applied: cleave apply FILE applies one")
        return 200, {"layout": script()[key]}

    def on_apply(self, method, parts, query, body):
        return 202, begin("apply " + query["name"])

    def on_partitions(self, method, parts, query, body):
        if method == "DELETE":
            return 202, begin("destroy " + query["name"])
        if query.get("dry_run") == "true":
            return 200, script()["plan"]
        return 202, begin("create %(profile)s on %(device)s" % body)

    def on_operations(self, method, parts, query, body):
        if len(parts) == 2:
            return 200, {"items": [operation(each) for each in load_state()["operations"]]}
        if method == "DELETE":
            return self.end(parts[2])
        return 200, self.wait_for(parts[2], int(query.get("wait_ms", 0)) / 1000,
                                  int(query.get("after", -1)))

    @staticmethod
    def end(name):
        if operation(name)["state"] not in ("waiting", "surveying"):
            raise Problem(409, "in_use", "it runs: it cannot be ended any more")
        state = load_state()
        state["operations"][name]["ended"] = True
        save_state(state)
        return 204, None

    def wait_for(self, name, seconds, after):
        until = time.monotonic() + seconds
        while operation(name)["revision"] <= after and time.monotonic() < until and \
                not self.is_gone():
            api_double.lock.wait(0.02)
        return operation(name)


if __name__ == "__main__":
    sys.exit(api_double.main(Handler))
