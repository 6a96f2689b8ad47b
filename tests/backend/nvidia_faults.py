# SPDX-License-Identifier: Apache-2.0
"""Makes every call into a double of libnvidia-ml fail, one at a time, with every code, and checks
the results of the NVIDIA backend and the state that it leaves.

usage: nvidia_faults.py BACKEND_DRIVE FOLDER_OF_DOUBLES CONTROL_OF_DOUBLE [CASE...]
"""
import errno
import sys

from nvidia_node import ERRORS, expect, names, node, run

# 0 is a false success: the call does nothing and reports success.
CODES = (0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 25,
         26, 27, 28, 29, 30, 31, 998, 999)

BUSY_NODE = "gpu A100-40GB mig=on\ngpu H100-80GB mig=on"


def furnish(it):
    """Restores both GPUs' initial state from any other."""
    it.write("processes", "")
    it.survey()
    for name in ("gpu0", "gpu1"):
        for partition in names(it.read(name)):
            it.do("destroy", name, partition)
    it.do("create", "gpu0", "1g.5gb", 6, 0)
    it.do("create", "gpu0", "3g.20gb", 0, 1)
    it.do("create", "gpu1", "1g.20gb", 2, 0)
    it.read()
    it.do("create-part", "gpu0", "gpu0/3g.20gb@0", 1, 1)
    return it.survey()


USERS = "4000007 0 1 0 0\n4000008 1 - - 0"


def positions(it, *words):
    """Each call of the action, as the function and the number of the call."""
    counts, found = {}, []
    for function, _ in it.calls(lambda: it.ask(*words)):
        counts[function] = counts.get(function, 0) + 1
        found.append((function, counts[function]))
    return found


def faults_in_survey():
    """Each call fails with a few codes, each function's first with every code."""
    n = 0
    with node(BUSY_NODE) as it:
        furnish(it)
        it.write("processes", USERS)
        before = it.survey()
        for function, nth in positions(it, "survey"):
            for code in CODES if nth == 1 else (0, 3, 4, 15, 999):
                it.write("faults", f"{function} {nth} {code}")
                check_survey(it.ask("survey"), before, (function, nth, code))
                n += 1
        it.write("faults", "")
        expect(it.survey() == before, "another survey after all those faults")
    return f"{n} faults"


def check_survey(answer, before, fault):
    if answer["result"] < 0:
        expect(answer["result"] in ERRORS, fault, answer)
        expect(fault[0] in ("nvmlDeviceGetCount_v2", "nvmlInit_v2"), fault, answer)
        return
    shown = {d["info"]["uuid"]: d for d in answer["devices"]}
    expect(len(answer["devices"]) + len(answer["problems"]) == len(before), fault, answer)
    changed = [d for d in before if shown.get(d["info"]["uuid"]) != d]
    expect(len(changed) <= 1, fault, "hides or changes another GPU")
    for device in changed:
        now = shown.get(device["info"]["uuid"])
        if now and fault[2] not in ABSENT:
            check_honest(now, device, fault)
    expect(all("GPU" in p and ": " in p for p in answer["problems"]), answer["problems"])


# The driver's answer for a profile that a GPU lacks.
ABSENT = (2, 3)


def check_honest(now, before, fault):
    """The GPU is divided as before, or the result says that this is not known."""
    layouts = [[(p["name"], p["is_incomplete"], names({"partitions": p["parts"]}))
                for p in device["partitions"]] for device in (now, before)]
    expect(layouts[0] == layouts[1] or now["cannot_divide"], fault, layouts)
    expect(bool(now["cannot_divide"]) != now["mig"]["is_capable"], fault, now)


def faults_in_read():
    n = 0
    with node(BUSY_NODE) as it:
        furnish(it)
        it.write("processes", USERS)
        before = it.survey()
        for function, nth in positions(it, "read", "gpu0"):
            for code in CODES if nth == 1 else (0, 3, 15, 999):
                it.write("faults", f"{function} {nth} {code}")
                answer = it.ask("read", "gpu0")
                expect(answer["result"] == 0 or answer["result"] in ERRORS, answer)
                expect(answer["device"]["info"]["name"] == "gpu0", answer)
                n += 1
        it.write("faults", "")
        expect(it.survey() == before, "another survey after all those faults")
    return f"{n} faults"


def undone(it, words, before, fault):
    """The action fails, reports it, and leaves nothing incomplete."""
    it.write("faults", " ".join(str(f) for f in fault))
    answer = it.ask(*words)
    it.write("faults", "")
    after = it.survey()
    if answer["result"] == 0:
        return False
    expect(answer["result"] in ERRORS, fault, answer)
    expect(after == before, fault, words, "fails and leaves", after[0]["partitions"])
    return True


def faults_in_create():
    n = 0
    actions = (("create", "gpu0", "2g.10gb", 4, 0), ("create", "gpu0", "2g.10gb", 4, 1),
               ("create-part", "gpu0", "gpu0/3g.20gb@0", 2, 0))
    for words in actions:
        with node(BUSY_NODE) as it:
            furnish(it)
            if words[0] == "create-part":
                it.do("destroy-part", "gpu0", "gpu0/3g.20gb@0", "gpu0/3g.20gb@0/1c@1")
            before = it.survey()
            calls = positions(it, *words)
            undo(it, words)
            for function, nth in calls:
                for code in CODES:
                    if not undone(it, words, before, (function, nth, code)):
                        undo(it, words)
                    n += 1
    return f"{n} faults"


def undo(it, words):
    it.read()
    if words[0] == "create":
        it.do("destroy", "gpu0", f"gpu0/{words[2]}@{words[3]}")
    else:
        it.do("destroy-part", "gpu0", words[2], f"{words[2]}/{words[3]}c@{words[4]}")
    it.survey()


def filled_and_said_to_fail():
    """The driver creates the compute instance and reports a failure."""
    with node("gpu A100-40GB mig=on") as it:
        before = it.survey()
        expect(undone(it, ("create", "gpu0", "2g.10gb", 4, 0), before,
                      ("nvmlGpuInstanceCreateComputeInstance", 1, 10, "after")), "it worked")


def undo_fails():
    """The error names an instance that the rollback could not destroy."""
    with node("gpu A100-40GB mig=on") as it:
        it.survey()
        it.write("faults", "nvmlGpuInstanceCreateComputeInstance 1 23\n"
                           "nvmlGpuInstanceDestroy 1 19")
        it.refuse(errno.ENOSPC, "incomplete instance", "create", "gpu0", "2g.10gb", 4, 0)
        expect(it.read()["partitions"][0]["is_incomplete"], "it is not there")


def faults_in_destroy():
    """The result names exactly what is left: all of it, or without some compute instances."""
    n = 0
    for words in (("destroy", "gpu0", "gpu0/3g.20gb@0"), ("destroy", "gpu0", "gpu0/1g.5gb@6"),
                  ("destroy-part", "gpu0", "gpu0/3g.20gb@0", "gpu0/3g.20gb@0/1c@1")):
        with node(BUSY_NODE) as it:
            before = furnish(it)
            calls = positions(it, *words)
            furnish(it)
            for function, nth in calls:
                for code in CODES if nth == 1 else (0, 3, 19, 999):
                    it.write("faults", f"{function} {nth} {code}")
                    answer = it.ask(*words)
                    it.write("faults", "")
                    after = it.survey()
                    check_truth(answer, before, after, (function, nth, code))
                    if after != before:
                        expect(furnish(it) == before, "another node than before")
                    n += 1
    return f"{n} faults"


def check_truth(answer, before, after, fault):
    lost = set(names(before[0])) - set(names(after[0]))
    lost_parts = sum(len(p["parts"]) for p in before[0]["partitions"]) - \
        sum(len(p["parts"]) for p in after[0]["partitions"])
    emptied = [p["name"] for p in after[0]["partitions"] if p["is_incomplete"]]
    said = "of its compute instances are destroyed" in answer["error"]
    if answer["result"] == 0:
        expect(lost or lost_parts or fault[2] == 0, fault, "nothing has gone")
        return
    expect(answer["result"] in ERRORS, fault, answer)
    expect(not lost, fault, "fails and destroys", lost)
    # The true state cannot be reported under a driver that reports false successes.
    expect(fault[2] == 0 or bool(emptied) == said, fault, "emptied:", emptied, answer)


def faults_in_mode():
    n = 0
    with node("gpu A100-40GB\ngpu H100-80GB") as it:
        before = it.survey()
        calls = positions(it, "mig", "gpu0", 1)
        it.do("mig", "gpu0", 0)
        for function, nth in calls:
            for code in CODES:
                it.write("faults", f"{function} {nth} {code}")
                answer = it.ask("mig", "gpu0", 1)
                it.write("faults", "")
                after = it.survey()
                expect(answer["result"] == 0 or answer["result"] in ERRORS, answer)
                expect(after[0]["mig"]["is_on"] or after == before, function, code, after)
                it.do("mig", "gpu0", 0)
                it.survey()
                n += 1
    return f"{n} faults"


CASES = (faults_in_survey, faults_in_read, faults_in_create, filled_and_said_to_fail,
         undo_fails, faults_in_destroy, faults_in_mode)

if __name__ == "__main__":
    run(CASES, sys.argv[4:])
