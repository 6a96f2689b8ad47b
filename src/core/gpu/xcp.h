/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* The rules of AMD's compute and memory partitioning.  There are two sets of rules: what
 * the driver accepts (aqua_vanjaram.c of the amdgpu kernel driver), and what AMD has
 * validated (the "GPU partitioning" pages of amdgpu-docs).  Pure. */

enum clv_compute_mode {
	CLV_SPX, /* one device */
	CLV_DPX, /* two */
	CLV_TPX, /* three */
	CLV_QPX, /* four */
	CLV_CPX, /* one per accelerator die */
	_CLV_COMPUTE_MODE_MAX,
	_CLV_COMPUTE_MODE_INVALID = -22, /* -EINVAL */
};

/* Bits, because a device supports a set of them. */
enum clv_memory_mode {
	CLV_NPS1 = 1 << 0,
	CLV_NPS2 = 1 << 1,
	CLV_NPS4 = 1 << 2,
	CLV_NPS8 = 1 << 3,
};

const char *clv_compute_mode_to_string(enum clv_compute_mode mode);
enum clv_compute_mode clv_compute_mode_from_string(const char *text);

/* NULL or 0 if it is not a memory mode. */
const char *clv_memory_mode_to_string(enum clv_memory_mode mode);
uint32_t clv_memory_mode_from_string(const char *text);

/* Lists the modes of a mask: "NPS1, NPS4"; "none" if it is empty. */
void clv_memory_modes_list(uint32_t bits, char *ret, size_t ret_bytes);

/* Number of parts into which a mode divides the memory; 0 if it is not a single mode. */
unsigned clv_memory_mode_parts(enum clv_memory_mode mode);

struct clv_xcp_model {
	const char *name;
	uint32_t dies;          /* XCDs, which the driver calls XCCs */
	uint32_t per_io_die;    /* of them, on one I/O die; 0: unknown */
	uint32_t compute_units; /* of all dies */
	uint64_t memory_gb;     /* nominal; the driver reports as many GiB */
	uint32_t memory_modes;  /* mask of the supported enum clv_memory_mode */
	/* Masks of memory modes, by compute mode: in AMD's table of validated pairs, and
	 * beyond that in the text of AMD's overview of the model. */
	uint32_t validated[_CLV_COMPUTE_MODE_MAX];
	uint32_t described[_CLV_COMPUTE_MODE_MAX];
};

/* Number of devices that the mode makes of a GPU with that many dies; 0 if the driver
 * does not have the mode for it. */
unsigned clv_xcp_devices(enum clv_compute_mode mode, uint32_t dies);

/* Mask of the memory modes that the driver accepts with this compute mode, whether or not
 * the device supports them. */
uint32_t clv_xcp_memory_modes(enum clv_compute_mode mode, uint32_t dies);

/* The compute mode that the driver chooses at load for a memory mode:
 * __aqua_vanjaram_get_auto_mode() of aqua_vanjaram.c.  _CLV_COMPUTE_MODE_INVALID if it
 * finds none. */
enum clv_compute_mode clv_xcp_first_mode(uint32_t dies, enum clv_memory_mode memory);

/* The memory part, from 0, that belongs to the device with this number:
 * __aqua_vanjaram_get_xcp_mem_id().  -1 if the memory is not divided or there is no such
 * device. */
int32_t clv_xcp_memory_part(enum clv_compute_mode compute, enum clv_memory_mode memory,
	uint32_t dies, uint32_t number);

/* The I/O die, from 0, that the dies of the device with this number are on: the driver
 * gives each device the next dies in their order, and those on one I/O die follow each
 * other.  -1 if it is not known, the device has dies on several I/O dies, or there is no
 * such device. */
int32_t clv_xcp_io_die(const struct clv_xcp_model *model, enum clv_compute_mode compute,
	uint32_t number);

/* Returns 0 if the driver accepts the pair on this model, else -EINVAL with the reason
 * and the accepted modes. */
int clv_xcp_check(const struct clv_xcp_model *model, enum clv_compute_mode compute,
	enum clv_memory_mode memory, struct clv_error *err);

bool clv_xcp_is_validated(const struct clv_xcp_model *model,
	enum clv_compute_mode compute, enum clv_memory_mode memory);
/* AMD's overview names the pair as compatible, but its table of validated pairs does
 * not. */
bool clv_xcp_is_described(const struct clv_xcp_model *model,
	enum clv_compute_mode compute, enum clv_memory_mode memory);
