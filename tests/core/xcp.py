# SPDX-License-Identifier: Apache-2.0
"""Holds AMD's rules as core has them against the collected facts.

usage: xcp.py XCP_TABLES FACTS

Three answers for each model and compute mode: the driver's memory modes, those of them that
the device has, and those that AMD has validated."""
import json
import subprocess
import sys



def validated(facts, model, mode):
    """The column of AMD's matrix for this mode, where the row says yes."""
    matrix = facts["validated_matrix_bare_metal"]
    row = matrix.get(model, [])
    return [column.split("+")[1] for column, cell in zip(matrix["columns"], row)
            if column.split("+")[0] == mode and cell.startswith("yes")]


def first_mode(dies, is_apu, memory):
    """The driver's auto_mode rule; an APU has three parts in NPS4."""
    parts = int(memory[3:])
    if is_apu and parts == 4:
        parts = 3
    if parts == 1:
        return "SPX"
    if parts == dies:
        return "CPX"
    if parts == dies // 2:
        return "TPX" if is_apu else "CPX"
    return "DPX" if parts == 2 and not is_apu else None


def main():
    program, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        facts = json.load(file)
    tables = json.loads(subprocess.run([program], capture_output=True, text=True,
                                       check=True).stdout)
    failures = 0

    def expect(have, wanted, *what):
        nonlocal failures
        if have != wanted:
            failures += 1
            print(*what, "is", have, "and the facts say", wanted)

    expect(list(tables), list(facts["devices"]), "the list of models")
    for name, fact in facts["devices"].items():
        table = tables[name]
        for key in ("xcds", "active_cu", "vram_gb"):
            expect(table[key], fact[key], name, key)
        expect(table["xcds_per_iod"], fact["xcds_per_iod"] or 0, name, "XCDs on an I/O die")
        is_apu = fact["is_apu"]
        for memory, have in table["first"].items():
            expect(have, first_mode(fact["xcds"], is_apu, memory), name, memory, "first mode")
        for mode, have in table["modes"].items():
            known = fact["compute_modes"].get(mode)
            expect(have["devices"], known["logical_devices"] if known else 0,
                   name, mode, "devices")
            expect(have["driver"], known["kernel_nps_mask"] if known else [],
                   name, mode, "driver")
            expect(have["taken"], known["usable_nps"] if known else [],
                   name, mode, "taken")
            expect(have["validated"], validated(facts, name, mode),
                   name, mode, "validated")
    print(len(tables), "models,", failures, "differences")
    sys.exit(failures > 0)


main()
