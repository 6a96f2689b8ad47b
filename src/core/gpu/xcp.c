/* SPDX-License-Identifier: Apache-2.0 */
/* AMD's compute and memory modes: names, and what the driver accepts. */
#include "core/gpu/xcp.h"

#include "base/error.h"
#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* clang-format off */
/* From the driver: a bitmap of the numbers of dies that have the mode, the number of
 * devices that it makes (0: one per die), and the memory modes that it accepts. */
static const struct {
	const char *name;
	uint32_t dies;
	unsigned devices;
	uint32_t memory_modes;
} modes[_CLV_COMPUTE_MODE_MAX] = {
	[CLV_SPX] = { "SPX", 1u << 8 | 1u << 6 | 1u << 4 | 1u << 2 | 1u << 1, 1, CLV_NPS1 },
	[CLV_DPX] = { "DPX", 1u << 8 | 1u << 4,                     2, CLV_NPS1 | CLV_NPS2 },
	[CLV_TPX] = { "TPX", 1u << 6,                               3, CLV_NPS1 | CLV_NPS4 },
	[CLV_QPX] = { "QPX", 1u << 8,                               4, CLV_NPS1 | CLV_NPS4 },
	[CLV_CPX] = { "CPX", 1u << 8 | 1u << 6 | 1u << 4 | 1u << 2, 0, CLV_NPS1 | CLV_NPS4 },
};

/* Modes at load.  A GPU of six dies is an APU, of whose memory the CPU has a quarter.
 * For eight dies in NPS4, drivers before 2024 choose QPX instead of CPX. */
static const struct {
	uint32_t dies; /* 0: any number */
	enum clv_memory_mode memory;
	enum clv_compute_mode mode;
} first_modes[] = {
	{ 0, CLV_NPS1, CLV_SPX },
	{ 8, CLV_NPS2, CLV_DPX },
	{ 8, CLV_NPS4, CLV_CPX },
	{ 8, CLV_NPS8, CLV_CPX },
	{ 6, CLV_NPS4, CLV_TPX },
	{ 4, CLV_NPS2, CLV_CPX },
	{ 4, CLV_NPS4, CLV_CPX },
	{ 2, CLV_NPS2, CLV_CPX },
};

static const struct {
	const char *name;
	enum clv_memory_mode mode;
	unsigned parts;
} memories[] = {
	{ "NPS1", CLV_NPS1, 1 },
	{ "NPS2", CLV_NPS2, 2 },
	{ "NPS4", CLV_NPS4, 4 },
	{ "NPS8", CLV_NPS8, 8 },
};
/* clang-format on */

#define N_MEMORIES (sizeof(memories) / sizeof(memories[0]))

const char *clv_compute_mode_to_string(enum clv_compute_mode mode)
{
	assert(mode >= 0 && mode < _CLV_COMPUTE_MODE_MAX);
	return modes[mode].name;
}

enum clv_compute_mode clv_compute_mode_from_string(const char *text)
{
	for (int i = 0; i < _CLV_COMPUTE_MODE_MAX; i++) {
		if (strcmp(modes[i].name, text) == 0)
			return i;
	}
	return _CLV_COMPUTE_MODE_INVALID;
}

const char *clv_memory_mode_to_string(enum clv_memory_mode mode)
{
	for (size_t i = 0; i < N_MEMORIES; i++) {
		if (memories[i].mode == mode)
			return memories[i].name;
	}
	return NULL;
}

uint32_t clv_memory_mode_from_string(const char *text)
{
	for (size_t i = 0; i < N_MEMORIES; i++) {
		if (strcmp(memories[i].name, text) == 0)
			return memories[i].mode;
	}
	return 0;
}

unsigned clv_memory_mode_parts(enum clv_memory_mode mode)
{
	for (size_t i = 0; i < N_MEMORIES; i++) {
		if (memories[i].mode == mode)
			return memories[i].parts;
	}
	return 0;
}

unsigned clv_xcp_devices(enum clv_compute_mode mode, uint32_t dies)
{
	if (dies >= 32 || !(modes[mode].dies & 1u << dies))
		return 0;
	return modes[mode].devices ? modes[mode].devices : dies;
}

uint32_t clv_xcp_memory_modes(enum clv_compute_mode mode, uint32_t dies)
{
	return clv_xcp_devices(mode, dies) ? modes[mode].memory_modes : 0;
}

void clv_memory_modes_list(uint32_t bits, char *ret, size_t ret_bytes)
{
	ret[0] = '\0';
	for (size_t i = 0; i < N_MEMORIES; i++) {
		if (bits & memories[i].mode)
			clv_text_list(ret, ret_bytes, memories[i].name);
	}
	if (ret[0] == '\0')
		clv_text_list(ret, ret_bytes, "none");
}

static void list_modes(uint32_t dies, char *ret, size_t ret_bytes)
{
	ret[0] = '\0';
	for (int i = 0; i < _CLV_COMPUTE_MODE_MAX; i++) {
		if (clv_xcp_devices((enum clv_compute_mode)i, dies))
			clv_text_list(ret, ret_bytes, modes[i].name);
	}
}

enum clv_compute_mode clv_xcp_first_mode(uint32_t dies, enum clv_memory_mode memory)
{
	for (size_t i = 0; i < sizeof(first_modes) / sizeof(first_modes[0]); i++) {
		if (first_modes[i].memory == memory &&
			(first_modes[i].dies == 0 || first_modes[i].dies == dies))
			return first_modes[i].mode;
	}
	return _CLV_COMPUTE_MODE_INVALID;
}

int32_t clv_xcp_memory_part(enum clv_compute_mode compute, enum clv_memory_mode memory,
	uint32_t dies, uint32_t number)
{
	unsigned devices = clv_xcp_devices(compute, dies);
	unsigned parts = clv_memory_mode_parts(memory);

	if (number >= devices || parts <= 1 || parts > devices)
		return -1;
	return (int32_t)(number / (devices / parts));
}

int32_t clv_xcp_io_die(
	const struct clv_xcp_model *model, enum clv_compute_mode compute, uint32_t number)
{
	unsigned devices = clv_xcp_devices(compute, model->dies), dies;

	if (number >= devices || model->per_io_die == 0)
		return -1;
	dies = model->dies / devices;
	if (model->per_io_die % dies != 0)
		return -1;
	return (int32_t)(number * dies / model->per_io_die);
}

int clv_xcp_check(const struct clv_xcp_model *model, enum clv_compute_mode compute,
	enum clv_memory_mode memory, struct clv_error *err)
{
	const char *name = clv_compute_mode_to_string(compute);
	uint32_t allowed = clv_xcp_memory_modes(compute, model->dies);
	char known[64];

	if (!allowed) {
		list_modes(model->dies, known, sizeof(known));
		return clv_error_set(err, -EINVAL, "%s has no mode %s: it has %s",
			model->name, name, known);
	}
	if (!(model->memory_modes & memory)) {
		clv_memory_modes_list(model->memory_modes, known, sizeof(known));
		return clv_error_set(err, -EINVAL, "%s has no memory mode %s: it has %s",
			model->name, clv_memory_mode_to_string(memory), known);
	}
	if (!(allowed & memory)) {
		clv_memory_modes_list(
			allowed & model->memory_modes, known, sizeof(known));
		return clv_error_set(err, -EINVAL,
			"%s cannot be used with %s on %s: %s allows %s",
			clv_memory_mode_to_string(memory), name, model->name, name,
			known);
	}
	return 0;
}

bool clv_xcp_is_validated(const struct clv_xcp_model *model,
	enum clv_compute_mode compute, enum clv_memory_mode memory)
{
	return (model->validated[compute] & memory) != 0;
}

bool clv_xcp_is_described(const struct clv_xcp_model *model,
	enum clv_compute_mode compute, enum clv_memory_mode memory)
{
	return (model->described[compute] & memory) != 0;
}
