/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/gpu/mig.h"
#include "core/gpu/vf.h"
#include "core/gpu/xcp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Models of GPUs, described in gpu-nvidia.c, gpu-amd.c and gpu-intel.c: how each is
 * divided, what drivers call it, its PCI ids, and what a simulated one is like.  All
 * other knowledge of a model comes from a driver, whose report takes precedence.  Static
 * and immutable. */

enum clv_gpu_vendor {
	CLV_GPU_NVIDIA,
	CLV_GPU_AMD,
	CLV_GPU_INTEL,
	_CLV_GPU_VENDOR_MAX,
};

#define CLV_GPU_NAMES_MAX 4
#define CLV_GPU_PCI_MAX 6

/* Matches the product name that NVML reports: `part` must begin at the start of a word,
 * and the memory must be within the bounds, because products of one name differ by
 * memory. */
struct clv_gpu_match {
	const char *part;
	uint16_t min_gib, max_gib;
};

struct clv_gpu {
	const char *name; /* in layouts and node files, and of its table of profiles */
	enum clv_gpu_vendor vendor;
	const char *label;    /* shown to users; NULL: the name */
	const char *selector; /* the model in selectors of layouts; NULL: the name */
	const char *product;  /* product name that the driver reports; NULL: unknown */
	const char *pci_name; /* product name if the driver reports none; else NULL */

	bool has_mig;
	const struct clv_mig_model *mig; /* NULL: no MIG, or unknown profiles */
	const struct clv_xcp_model *xcp; /* NULL: no compute partitions */
	bool is_ga100; /* the one chip of the Ampere generation that has MIG */

	/* 0: taken from the largest MIG profile or from xcp. */
	uint32_t memory_mib;    /* as the driver reports it */
	uint32_t compute_units; /* multiprocessors, compute units, execution units */
	uint32_t memory_gib;    /* nominal, if the driver does not report it; else 0 */
	uint32_t vf_total;      /* number of virtual functions */
	enum clv_vf_framework vf_framework;

	struct clv_gpu_match called[CLV_GPU_NAMES_MAX]; /* part NULL: unused */
	uint16_t pci[CLV_GPU_PCI_MAX];                  /* device ids; 0: unused */
	uint16_t virtual_pci[CLV_GPU_PCI_MAX]; /* the same for its virtual functions */
};

/* The models, grouped by vendor; NULL after the last. */
const struct clv_gpu *clv_gpu_at(size_t at);

/* Finds a model by name; NULL if there is none. */
const struct clv_gpu *clv_gpu_find(const char *name);

/* Finds a model by its PCI device id or by that of its virtual functions, which a guest
 * sees without the physical function.  If there is none, returns NULL and sets
 * *ret_is_virtual to false.  ret_is_virtual may be NULL. */
const struct clv_gpu *clv_gpu_find_pci(
	enum clv_gpu_vendor vendor, uint32_t device, bool *ret_is_virtual);

/* "nvidia", "amd", "intel" */
const char *clv_gpu_vendor_to_string(enum clv_gpu_vendor vendor);
const char *clv_gpu_label(const struct clv_gpu *gpu);
const char *clv_gpu_selector(const struct clv_gpu *gpu);

/* 0 if unknown. */
uint64_t clv_gpu_memory_bytes(const struct clv_gpu *gpu);
uint32_t clv_gpu_compute_units(const struct clv_gpu *gpu);

/* The tables of MIG profiles and of XCP modes; NULL after the last. */
const struct clv_mig_model *clv_mig_model_at(size_t at);
const struct clv_xcp_model *clv_xcp_model_at(size_t at);

/* Whether a partition can have this profile, also one of a GPU that no table has:
 * "1g.10gb", "1c.3g.40gb+me", "CPX/NPS4", "cores:4", "vf:8". */
bool clv_gpu_is_profile(const char *name);

/* By name; NULL if there is none. */
const struct clv_mig_model *clv_mig_model_find(const char *name);
/* For users of a GPU whose MIG profiles only its driver knows: that nothing checks them.
 * NULL if a table has a model of this name. */
const char *clv_mig_unchecked(const char *name);
const struct clv_xcp_model *clv_xcp_model_find(const char *name);
