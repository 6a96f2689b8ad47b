/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/gpu/mig.h"
#include "core/gpu/vf.h"
#include "core/gpu/xcp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The models of GPUs: one description each, in gpu-nvidia.c, gpu-amd.c and gpu-intel.c.
 * All that is known of models by themselves comes from there: how they are divided, what
 * drivers call them, their PCI ids, what a simulated one is like.  A driver's own word
 * counts for more.  Static and immutable. */

enum clv_gpu_vendor {
	CLV_GPU_NVIDIA,
	CLV_GPU_AMD,
	CLV_GPU_INTEL,
	_CLV_GPU_VENDOR_MAX,
};

#define CLV_GPU_NAMES_MAX 4
#define CLV_GPU_PCI_MAX 6

/* A part of the name that NVML gives, from the start of a word on; products of one name
 * differ by their memory. */
struct clv_gpu_called {
	const char *part;
	uint16_t min_gib, max_gib;
};

struct clv_gpu {
	const char *name; /* in layouts and nodes' files, and of its table of profiles */
	enum clv_gpu_vendor vendor;
	const char *label;    /* for people; NULL: the name */
	const char *selector; /* what a layout selects it by; NULL: the name */
	const char *product;  /* what its driver calls it; NULL: not known */
	const char *pci_name; /* instead, where its driver does not say it; or NULL */

	bool has_mig;
	const struct clv_mig_model *mig; /* NULL: none, or its profiles are not known */
	const struct clv_xcp_model *xcp; /* NULL: it has no compute partitions */
	bool is_ga100; /* the one chip of the Ampere generation that has MIG */

	/* 0: what the largest profile of MIG has, or as xcp says. */
	uint32_t memory_mib;    /* as the driver shows it */
	uint32_t compute_units; /* multiprocessors, compute units, execution units */
	uint32_t memory_gib; /* as sold, where the driver does not say it; 0: it does */
	uint32_t vf_total;   /* virtual functions */
	enum clv_vf_framework vf_framework;

	struct clv_gpu_called called[CLV_GPU_NAMES_MAX]; /* part NULL behind the last */
	uint16_t pci[CLV_GPU_PCI_MAX];         /* device ids; 0 behind the last */
	uint16_t virtual_pci[CLV_GPU_PCI_MAX]; /* likewise, of its virtual functions */
};

/* One after the other, a vendor's together; NULL behind the last. */
const struct clv_gpu *clv_gpu_at(size_t at);

/* By name.  NULL: there is none. */
const struct clv_gpu *clv_gpu_find(const char *name);

/* By PCI id, also of a virtual function, which a guest sees without its host.  NULL: not
 * known, and *ret_is_virtual is false.  ret_is_virtual may be NULL. */
const struct clv_gpu *clv_gpu_find_pci(
	enum clv_gpu_vendor vendor, uint32_t device, bool *ret_is_virtual);

/* "nvidia", "amd", "intel" */
const char *clv_gpu_vendor_to_string(enum clv_gpu_vendor vendor);
const char *clv_gpu_label(const struct clv_gpu *gpu);
const char *clv_gpu_selector(const struct clv_gpu *gpu);

/* 0: not known. */
uint64_t clv_gpu_memory_bytes(const struct clv_gpu *gpu);
uint32_t clv_gpu_compute_units(const struct clv_gpu *gpu);

/* The tables of profiles, and of modes, one after the other; NULL behind the last. */
const struct clv_mig_model *clv_mig_model_at(size_t at);
const struct clv_xcp_model *clv_xcp_model_at(size_t at);

/* NULL when there is none of that name. */
const struct clv_mig_model *clv_mig_model_find(const char *name);
const struct clv_xcp_model *clv_xcp_model_find(const char *name);
