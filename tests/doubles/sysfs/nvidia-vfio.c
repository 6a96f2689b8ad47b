/* SPDX-License-Identifier: Apache-2.0 */
#include "holders.h"
#include "nvidia.h"
#include "tree.h"
#include <errno.h>
#include <inttypes.h>

/* The vendor-specific VFIO framework: a virtual function becomes a vGPU by the number of
 * its type. The driver is not public; the errors are those that users have reported. */

static int creatable_show(struct sy_node *node, struct sy_text *ret)
{
	struct sy_function *vf = node->f, *pf = vf->physfn;

	if (!pf->nvidia.has_no_header)
		sy_add(ret, "ID    : vGPU Name\n");
	for (size_t i = 0; i < pf->nvidia.n_types && !vf->nvidia.type; i++) {
		const struct sy_vgpu_type *type = &pf->nvidia.types[i];

		if (sy_vgpu_room(pf, type))
			sy_add(ret, "%-5" PRIu64 " : %s\n", type->id, type->name);
	}
	return 0;
}

static int current_show(struct sy_node *node, struct sy_text *ret)
{
	sy_add(ret, "%" PRIu64 "\n", node->f->nvidia.type);
	return 0;
}

/* One type must be removed before another is set, and not while a machine runs on it. */
static int current_store(struct sy_node *node, const char *text)
{
	struct sy_function *vf = node->f;
	const struct sy_vgpu_type *type;
	uint64_t id;

	if (sy_parse(text, UINT32_MAX, &id) < 0)
		return -EINVAL;
	if (id == vf->nvidia.type)
		return 0;
	if (sy_held(SY_HOLDS_VFIO, vf->bdf))
		return -EPERM;
	if (id == 0) {
		vf->nvidia.type = 0;
		return 0;
	}
	if (vf->nvidia.type)
		return -EBUSY;
	type = sy_vgpu_type_find(vf, id);
	if (!type)
		return -EINVAL;
	if (!sy_vgpu_room(vf->physfn, type))
		return -EIO;
	vf->nvidia.type = id;
	return 0;
}

/* The driver's own numbers, which exist for a vGPU only. */
static int placement_show(struct sy_node *node, struct sy_text *ret)
{
	if (!node->f->nvidia.type)
		return -ENXIO;
	sy_add(ret, "%u\n", node->f->vf - 1);
	return 0;
}

static int instance_show(struct sy_node *node, struct sy_text *ret)
{
	return -ENXIO;
}

static const struct sy_attribute files[] = {
	{"creatable_vgpu_types", 0444, creatable_show, NULL, 0},
	{"current_vgpu_type", 0644, current_show, current_store, 0},
	{"placement_id", 0444, placement_show, NULL, 0},
	{"gpu_instance_id", 0444, instance_show, NULL, 0},
};

void sy_vgpu_vfio_build(struct sy_function *vf, struct sy_node *dir)
{
	sy_files(sy_dir(dir, "nvidia"), files, SY_COUNT(files), vf);
	if (vf->nvidia.type) {
		char name[32];

		sy_print(name, sizeof(name), "vfio%" PRIu64, vf->group);
		sy_dir(sy_dir(dir, "vfio-dev"), name);
	}
}
