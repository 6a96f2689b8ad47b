/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* The rules of AMD's compute and memory partitioning.  Two answers that differ: what the
 * driver takes (aqua_vanjaram.c of the amdgpu kernel driver), and what AMD has validated
 * (the "GPU partitioning" pages of amdgpu-docs).  Pure. */

enum clv_compute_mode {
	CLV_SPX, /* one device */
	CLV_DPX, /* two */
	CLV_TPX, /* three */
	CLV_QPX, /* four */
	CLV_CPX, /* one per accelerator die */
	_CLV_COMPUTE_MODE_MAX,
	_CLV_COMPUTE_MODE_INVALID = -22, /* -EINVAL */
};

/* Bits, since a device has several to choose from. */
enum clv_memory_mode {
	CLV_NPS1 = 1 << 0,
	CLV_NPS2 = 1 << 1,
	CLV_NPS4 = 1 << 2,
	CLV_NPS8 = 1 << 3,
};

const char *clv_compute_mode_to_string(enum clv_compute_mode mode);
enum clv_compute_mode clv_compute_mode_from_string(const char *text);

/* NULL and 0 for what is none. */
const char *clv_memory_mode_to_string(enum clv_memory_mode mode);
uint32_t clv_memory_mode_from_string(const char *text);

/* "NPS1, NPS4", of the bits; "none". */
void clv_memory_modes_list(uint32_t bits, char *ret, size_t ret_bytes);

/* Into how many parts a mode divides the memory; 0 for what is no single mode. */
unsigned clv_memory_mode_parts(enum clv_memory_mode mode);

struct clv_xcp_model {
	const char *name;
	uint32_t dies;          /* XCDs, which the driver calls XCCs */
	uint32_t compute_units; /* of all dies */
	uint64_t memory_gb;     /* decimal, as sold */
	uint32_t memory_modes;  /* of enum clv_memory_mode: those that the device has */
	uint32_t validated[_CLV_COMPUTE_MODE_MAX]; /* memory modes beside that one */
};

/* How many devices the mode makes of one with so many dies; 0: the driver has no such
 * mode for it. */
unsigned clv_xcp_devices(enum clv_compute_mode mode, uint32_t dies);

/* The memory modes beside which the driver takes this compute mode, whether or not the
 * device has them. */
uint32_t clv_xcp_memory_modes(enum clv_compute_mode mode, uint32_t dies);

/* The compute mode that the driver chooses in that memory mode when it starts:
 * __aqua_vanjaram_get_auto_mode() of aqua_vanjaram.c.  _CLV_COMPUTE_MODE_INVALID: it
 * finds none. */
enum clv_compute_mode clv_xcp_first_mode(uint32_t dies, enum clv_memory_mode memory);

/* In which part of the memory, from 0, the number-th device of the mode has its own:
 * __aqua_vanjaram_get_xcp_mem_id().  -1: the memory is one, or there is no such device.
 */
int32_t clv_xcp_memory_part(enum clv_compute_mode compute, enum clv_memory_mode memory,
	uint32_t dies, uint32_t number);

/* Whether the driver takes the pair on this device, or -EINVAL with why not and what
 * would do. */
int clv_xcp_check(const struct clv_xcp_model *model, enum clv_compute_mode compute,
	enum clv_memory_mode memory, struct clv_error *err);

bool clv_xcp_is_validated(const struct clv_xcp_model *model,
	enum clv_compute_mode compute, enum clv_memory_mode memory);
