/* SPDX-License-Identifier: Apache-2.0 */
#include "amd.h"
#include "tree.h"
#include "world.h"
#include <errno.h>

/* The folder compute_partition_config: the resources of a partition in each mode. A write
 * of a mode to xcp_config selects the mode that is shown; it does not switch. */

#define RINGS_PER_JPEG 8

enum { XCC, DMA, DEC, JPEG };

static int supported_show(struct sy_node *node, struct sy_text *ret)
{
	const char *separator = "";

	for (uint64_t mode = 0; mode < SY_COMPUTE_MAX; mode++) {
		if (!sy_amd_parts(&node->f->amd, mode))
			continue;
		sy_add(ret, "%s%s", separator, sy_compute_names[mode]);
		separator = ", ";
	}
	sy_add(ret, "\n");
	return 0;
}

static int nps_show(struct sy_node *node, struct sy_text *ret)
{
	const struct sy_amd *amd = &node->f->amd;
	unsigned both = sy_amd_beside(amd, amd->shown) & (unsigned)amd->memory_modes;
	const char *separator = "";

	for (int mode = SY_NPS1; mode < SY_NPS_MAX; mode++) {
		if (!(both & 1U << mode))
			continue;
		sy_add(ret, "%s%s", separator, sy_nps_names[mode]);
		separator = ", ";
	}
	sy_add(ret, "%s\n", both ? "" : "Not supported");
	return 0;
}

static int config_show(struct sy_node *node, struct sy_text *ret)
{
	sy_add(ret, "%s\n", sy_compute_names[node->f->amd.shown]);
	return 0;
}

static int config_store(struct sy_node *node, const char *text)
{
	for (uint64_t mode = 0; mode < SY_COMPUTE_MAX; mode++) {
		if (!sy_starts(text, sy_compute_names[mode]))
			continue;
		if (!sy_amd_parts(&node->f->amd, mode))
			return -EINVAL;
		node->f->amd.shown = mode;
		return 0;
	}
	return -EINVAL;
}

static unsigned whole(const struct sy_amd *amd, unsigned resource)
{
	switch (resource) {
	case XCC:
		return (unsigned)amd->dies;
	case DMA:
		return (unsigned)amd->dma;
	default:
		return (unsigned)amd->decoders;
	}
}

static int instances_show(struct sy_node *node, struct sy_text *ret)
{
	const struct sy_amd *amd = &node->f->amd;
	unsigned parts = sy_amd_parts(amd, amd->shown), all = whole(amd, node->index);
	unsigned each = all < parts ? 1 : all / parts;

	sy_add(ret, "%u\n", node->index == JPEG ? each * RINGS_PER_JPEG : each);
	return 0;
}

static int shared_show(struct sy_node *node, struct sy_text *ret)
{
	const struct sy_amd *amd = &node->f->amd;
	unsigned parts = sy_amd_parts(amd, amd->shown), all = whole(amd, node->index);

	sy_add(ret, "%u\n", all < parts ? parts / all : 1);
	return 0;
}

static const struct sy_attribute files[] = {
	{"supported_xcp_configs", 0444, supported_show, NULL, 0},
	{"supported_nps_configs", 0444, nps_show, NULL, 0},
	{"xcp_config", 0644, config_show, config_store, 0},
};

void sy_amd_config_build(struct sy_function *f, struct sy_node *dir)
{
	static const char *const resources[] = {"xcc", "dma", "dec", "jpeg"};
	struct sy_node *config = sy_dir(dir, "compute_partition_config");

	sy_files(config, files, SY_COUNT(files), f);
	for (unsigned i = 0; i < SY_COUNT(resources); i++) {
		struct sy_node *of = sy_dir(config, resources[i]);
		const struct sy_attribute numbers[] = {
			{"num_inst", 0444, instances_show, NULL, i},
			{"num_shared", 0444, shared_show, NULL, i},
		};

		sy_files(of, numbers, SY_COUNT(numbers), f);
	}
}
