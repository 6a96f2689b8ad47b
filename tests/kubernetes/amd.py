# SPDX-License-Identifier: Apache-2.0
"""A node with an MI300X in eight partitions, as the kernel shows it."""


def add_partitions(tree):
    """Returns the variables of an agent that sees the tree's."""
    tree.pci("0000:05:00.0", "1002:74a1", driver="amdgpu", unique_id="466450b96fbde849",
             current_compute_partition="CPX", available_compute_partition="SPX, CPX",
             current_memory_partition="NPS4", available_memory_partition="NPS1, NPS4")
    for i in range(8):
        node = f"sys/class/kfd/kfd/topology/nodes/{i + 1}"
        tree.write(f"{node}/gpu_id", 1001 + i)
        tree.write(f"{node}/properties", "\n".join((
            "cpu_cores_count 0", "simd_count 152", "simd_per_cu 4", "domain 0", "num_xcc 1",
            f"location_id {0x500 + i}", f"drm_render_minor {128 + i}", f"unique_id {77 + i}")))
        tree.write(f"{node}/mem_banks/0/properties", f"heap_type 1\nsize_in_bytes {24 << 30}")
    return {"CLEAVE_SYSFS": str(tree.root / "sys"), "CLEAVE_PROCFS": str(tree.root / "proc")}


def add_nodes(tree):
    """Returns a root in whose /dev the partitions have their nodes."""
    for name in ("kfd", *(f"dri/renderD{128 + i}" for i in range(8))):
        tree.write(f"root/dev/{name}", "")
    return str(tree.root / "root")
