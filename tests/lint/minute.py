#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ./dev test --changed chooses for a room, or a folder of tests, takes no more than its time by
the durations of earlier runs or the recorded ones; each room that tests contain gets some.

Argument: the build's folder."""
import sys
from pathlib import Path

import budget
import changed
import rooms
import tree


def offenders_of(room, of_room, choice, parallel):
    chosen, out = choice.of_room(room, of_room)
    seconds = budget.span([(choice.seconds_of[n], parallel[n]) for n in chosen], changed.JOBS)
    if seconds > changed.SECONDS:
        yield f"{room}: its {len(chosen)} tests take {seconds:.0f} s; {changed.SECONDS} are for them"
    if out and not chosen and room in rooms.ROOMS:
        yield f"{room}: each of its {len(out)} tests takes too long"


def main():
    build = changed.Build(sys.argv[1])
    choice = changed.Choice(build)
    parallel = {t["name"]: t["is_parallel"] for t in choice.tests}
    by_room = {}
    for name in tree.files(under=("src", "tests")):
        by_room.setdefault(changed.room_of(name), set()).add(name)
    offenders = [offender for room, of_room in sorted(by_room.items())
                 for offender in offenders_of(room, of_room, choice, parallel)]
    known = {t["name"] for t in build.tests} | changed.described()
    offenders += [f"{changed.DURATIONS}: there is no test {name}"
                  for name in changed.recorded() if name not in known]
    for room, tests in changed.ABOUT.items():
        offenders += [f"{Path(changed.__file__).name}: {room}: there is no test {name}"
                      for name in tests if name not in known]
    tree.finish(offenders, len(by_room))


if __name__ == "__main__":
    main()
