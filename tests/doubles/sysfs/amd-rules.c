/* SPDX-License-Identifier: Apache-2.0 */
#include "amd.h"
#include "world.h"
#include <string.h>

const char *const sy_nps_names[] = {"UNKNOWN", "NPS1", "NPS2", "NPS4", "NPS8", NULL};
const char *const sy_compute_names[] = {"SPX", "DPX", "TPX", "QPX", "CPX", NULL};

#define N1 (1U << SY_NPS1)
#define N2 (1U << SY_NPS2)
#define N4 (1U << SY_NPS4)
#define D(n) (1U << (n))

/* clang-format off */
/* parts: number of devices, 0 for one per die. dies: a bit for each number of dies that
 * has the mode. before: memory modes in kernels before 2025. */
static const struct {
	unsigned parts, dies, beside, before, beside_as_guest;
} modes[SY_COMPUTE_MAX] = {
	/*       parts  dies                       beside   before   as a guest */
	[SY_SPX] = { 1, D(8) | D(6) | D(4) | D(2) | D(1), N1,      N1,      N1 },
	[SY_DPX] = { 2, D(8) | D(4),                      N1 | N2, N1,      N1 | N2 },
	[SY_TPX] = { 3, D(6),                             N1 | N4, N1 | N4, N1 | N4 },
	[SY_QPX] = { 4, D(8),                             N1 | N4, N1 | N4, N1 | N4 },
	[SY_CPX] = { 0, D(8) | D(6) | D(4) | D(2) | D(1), N1 | N4, N1 | N4, N1 | N2 | N4 },
};

/* dma and decoders: of the whole device. A device without dies cannot be partitioned. */
static const struct model {
	const char *name;
	unsigned device, class, dies, compute_units, gb, memory_modes;
	bool is_apu;
	unsigned dma, decoders, gfx_version;
} models[] = {
	/* name      id      class    dies CUs  GB   memory modes  APU    DMA dec gfx */
	{ "MI300X", 0x74a1, 0x120000, 8, 304, 192, N1 | N2 | N4, false, 16, 4, 90402 },
	{ "MI325X", 0x74a5, 0x120000, 8, 304, 256, N1 | N4,      false, 16, 4, 90402 },
	{ "MI308X", 0x74a2, 0x120000, 4,  80, 192, N1,           false,  8, 4, 90402 },
	{ "MI300A", 0x74a0, 0x120000, 6, 228, 128, N1,           true,  12, 3, 90402 },
	{ "MI350X", 0x75a0, 0x120000, 8, 256, 288, N1 | N2,      false, 16, 4, 90500 },
	{ "MI355X", 0x75a3, 0x120000, 8, 256, 288, N1 | N2,      false, 16, 4, 90500 },
	{ "MI210",  0x740f, 0x038000, 0, 104,  64, 0,            false,  8, 1, 90010 },
};
/* clang-format on */

bool sy_amd_find_model(struct sy_function *f, const char *name)
{
	for (size_t i = 0; i < SY_COUNT(models); i++) {
		const struct model *model = &models[i];

		if (strcmp(model->name, name) != 0)
			continue;
		f->vendor = f->subsystem_vendor = 0x1002;
		f->device = f->subsystem_device = model->device;
		f->class = model->class;
		sy_print(f->home_driver, sizeof(f->home_driver), "amdgpu");
		sy_print(f->product_name, sizeof(f->product_name), "AMD Instinct %s",
			name);
		f->amd.dies = model->dies;
		f->amd.compute_units = model->compute_units;
		/* The firmware reserves 16 MiB. */
		f->amd.vram_bytes = ((uint64_t)model->gb << 30) - (16 << 20);
		f->amd.memory_modes = model->memory_modes;
		f->amd.is_apu = model->is_apu;
		f->amd.dma = model->dma;
		f->amd.decoders = model->decoders;
		f->amd.gfx_version = model->gfx_version;
		return true;
	}
	return false;
}

bool sy_amd_is_partitionable(const struct sy_amd *amd)
{
	return amd->dies > 0;
}

unsigned sy_amd_parts(const struct sy_amd *amd, uint64_t mode)
{
	if (mode >= SY_COMPUTE_MAX || amd->dies > 31 ||
		!(modes[mode].dies & 1U << amd->dies))
		return 0;
	return modes[mode].parts ? modes[mode].parts : (unsigned)amd->dies;
}

unsigned sy_amd_beside(const struct sy_amd *amd, uint64_t mode)
{
	if (!sy_amd_parts(amd, mode))
		return 0;
	if (amd->is_guest)
		return modes[mode].beside_as_guest;
	return amd->is_old ? modes[mode].before : modes[mode].beside;
}

/* CPX is listed for a single die, but the driver refuses it. */
bool sy_amd_may_switch(const struct sy_amd *amd, uint64_t mode)
{
	return (sy_amd_beside(amd, mode) & 1U << amd->memory) &&
	       (mode != SY_CPX || amd->dies > 1);
}

unsigned sy_amd_memory_parts(const struct sy_amd *amd)
{
	static const unsigned parts[SY_NPS_MAX] = {1, 1, 2, 4, 8};

	/* The processor has a quarter of an APU's memory. */
	return amd->memory == SY_NPS4 && amd->is_apu ? 3 : parts[amd->memory];
}

uint64_t sy_amd_auto_mode(const struct sy_amd *amd)
{
	unsigned parts = sy_amd_memory_parts(amd);

	if (parts == 1)
		return SY_SPX;
	if (parts == amd->dies)
		return SY_CPX;
	if (parts == amd->dies / 2)
		return amd->is_apu ? SY_TPX : SY_CPX;
	return parts == 2 && !amd->is_apu ? SY_DPX : SY_COMPUTE_MAX;
}
