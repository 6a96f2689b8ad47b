/* SPDX-License-Identifier: Apache-2.0 */
#include "nvidia.h"
#include "holders.h"
#include "pci.h"
#include "sriov.h"
#include "tree.h"
#include <errno.h>
#include <string.h>

/* Type ids differ between releases of the driver: these are examples. */
/* clang-format off */
static const struct sy_vgpu_type l40s[] = {
	{ 1148, 1024,  16, "NVIDIA L40S-1Q" },
	{ 1149, 2048,  16, "NVIDIA L40S-2Q" },
	{ 1151, 4096,  12, "NVIDIA L40S-4Q" },
	{ 1152, 6144,   8, "NVIDIA L40S-6Q" },
	{ 1153, 8192,   6, "NVIDIA L40S-8Q" },
	{ 1154, 12288,  4, "NVIDIA L40S-12Q" },
	{ 1155, 16384,  3, "NVIDIA L40S-16Q" },
	{ 1156, 24576,  2, "NVIDIA L40S-24Q" },
	{ 1157, 49152,  1, "NVIDIA L40S-48Q" },
};
static const struct sy_vgpu_type h200[] = {
	{ 1428, 144384, 1, "NVIDIA H200X-141C" },
	{ 1427, 71680,  2, "NVIDIA H200X-70C" },
	{ 1426, 35840,  4, "NVIDIA H200X-35C" },
};
static const struct sy_vgpu_type a100[] = {
	{ 468, 4096,  10, "GRID A100-4C" },
	{ 469, 5120,   8, "GRID A100-5C" },
	{ 470, 8192,   5, "GRID A100-8C" },
	{ 471, 10240,  4, "GRID A100-10C" },
	{ 472, 20480,  2, "GRID A100-20C" },
	{ 473, 40960,  1, "GRID A100-40C" },
};
static const struct sy_vgpu_type t4[] = {
	{ 230, 1024,  16, "GRID T4-1Q" },
	{ 231, 2048,   8, "GRID T4-2Q" },
	{ 232, 4096,   4, "GRID T4-4Q" },
	{ 233, 8192,   2, "GRID T4-8Q" },
	{ 234, 16384,  1, "GRID T4-16Q" },
};

static const struct model {
	const char *name;
	unsigned device, totalvfs, memory_mb, framework, parent;
	const struct sy_vgpu_type *types;
	size_t n_types;
} models[] = {
	/* name   id      VFs MiB     framework       parent        types */
	{ "L40S", 0x26b9, 16, 49152,  SY_VENDOR_VFIO, 0,            l40s, SY_COUNT(l40s) },
	{ "H200", 0x2335, 24, 144384, SY_VENDOR_VFIO, 0,            h200, SY_COUNT(h200) },
	{ "A100", 0x20f1, 16, 40960,  SY_MDEV,        SY_PARENT_VF, a100, SY_COUNT(a100) },
	{ "T4",   0x1eb8, 0,  16384,  SY_MDEV,        SY_PARENT_PF, t4,   SY_COUNT(t4) },
};
/* clang-format on */

static bool find_model(struct sy_function *f, const char *name)
{
	for (size_t i = 0; i < SY_COUNT(models); i++) {
		const struct model *model = &models[i];

		if (strcmp(model->name, name) != 0)
			continue;
		f->vendor = f->subsystem_vendor = 0x10de;
		f->device = f->vf_device = model->device;
		f->class = 0x030200;
		f->totalvfs = model->totalvfs;
		f->nvidia.memory_mb = model->memory_mb;
		f->nvidia.framework = model->framework;
		f->nvidia.parent = model->parent;
		f->nvidia.n_types = model->n_types;
		f->nvidia.types = sy_alloc(model->n_types, sizeof(*model->types));
		memcpy(f->nvidia.types, model->types,
			model->n_types * sizeof(*model->types));
		sy_print(f->home_driver, sizeof(f->home_driver), "nvidia");
		sy_print(f->product_name, sizeof(f->product_name), "NVIDIA %s", name);
		return true;
	}
	return false;
}

const struct sy_vgpu_type *sy_vgpu_type_find(struct sy_function *f, uint64_t id)
{
	const struct sy_nvidia *nvidia = &sy_pf(f)->nvidia;

	for (size_t i = 0; i < nvidia->n_types; i++) {
		if (nvidia->types[i].id == id)
			return &nvidia->types[i];
	}
	return NULL;
}

/* --- Room --- */

struct tally {
	uint64_t memory_mb, same, others_in_size;
};

static void count(struct tally *tally, struct sy_function *pf, uint64_t id,
	const struct sy_vgpu_type *wanted)
{
	const struct sy_vgpu_type *type = id ? sy_vgpu_type_find(pf, id) : NULL;

	if (!type)
		return;
	tally->memory_mb += type->memory_mb;
	tally->same += type->memory_mb == wanted->memory_mb;
	tally->others_in_size += type->memory_mb != wanted->memory_mb;
}

/* Types of one size share the number of instances; with mixed sizes only the memory
 * counts. The start positions that a real driver requires are not modelled. */
uint64_t sy_vgpu_room(struct sy_function *pf, const struct sy_vgpu_type *type)
{
	struct tally tally = {0};
	uint64_t by_memory, by_number;

	for (unsigned i = 0; i < pf->totalvfs; i++)
		count(&tally, pf, pf->vfs[i].is_present ? pf->vfs[i].nvidia.type : 0,
			type);
	for (struct sy_mdev *m = sy_world.mdevs; m; m = m->next)
		count(&tally, pf, sy_pf(m->parent) == pf ? m->type : 0, type);
	if (tally.others_in_size && !pf->nvidia.is_mixed)
		return 0;
	by_memory = (pf->nvidia.memory_mb - tally.memory_mb) / type->memory_mb;
	by_number = type->most > tally.same ? type->most - tally.same : 0;
	return by_memory < by_number ? by_memory : by_number;
}

/* --- sriov-manage --- */

static bool is_used(struct sy_function *pf)
{
	if (sy_held(SY_HOLDS_NVIDIA, pf->bdf))
		return true;
	for (unsigned i = 0; i < pf->numvfs; i++) {
		if (sy_held(SY_HOLDS_VFIO, pf->vfs[i].bdf))
			return true;
	}
	for (struct sy_mdev *m = sy_world.mdevs; m; m = m->next) {
		if (sy_pf(m->parent) == pf && sy_held(SY_HOLDS_MDEV, m->uuid))
			return true;
	}
	return false;
}

int sy_vgpu_sriov(struct sy_function *pf, bool enable)
{
	if (pf->family != &sy_family_nvidia || !pf->totalvfs || !sy_is_native(pf))
		return -ENODEV;
	if (enable == (pf->numvfs > 0))
		return 0;
	if (is_used(pf))
		return -EBUSY;
	pf->nvidia.is_mixed = 0; /* the driver is rebound meanwhile */
	return sy_sriov_set(pf, enable ? (unsigned)pf->totalvfs : 0);
}

int sy_vgpu_set_mixed(struct sy_function *pf, bool mixed)
{
	struct sy_vgpu_type any = {.memory_mb = 1, .most = UINT64_MAX};
	struct tally tally = {0};

	if (pf->family != &sy_family_nvidia || pf->physfn)
		return -ENODEV;
	for (unsigned i = 0; i < pf->totalvfs; i++)
		count(&tally, pf, pf->vfs[i].nvidia.type, &any);
	for (struct sy_mdev *m = sy_world.mdevs; m; m = m->next)
		count(&tally, pf, sy_pf(m->parent) == pf ? m->type : 0, &any);
	if (tally.memory_mb)
		return -EBUSY;
	pf->nvidia.is_mixed = mixed;
	return 0;
}

/* --- The family --- */

/* An unbound virtual function loses the vGPU core's state, and a new binding does not
 * restore it. */
static void unbound(struct sy_function *f)
{
	f->nvidia.type = 0;
	if (f->physfn)
		f->nvidia.is_broken = 1;
	f->nvidia.is_mixed = 0;
	sy_mdev_forget(f);
}

static void power_on(struct sy_function *f)
{
	f->nvidia.type = f->nvidia.is_broken = f->nvidia.is_mixed = 0;
}

static void after_disable(struct sy_function *pf, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		power_on(&pf->vfs[i]);
}

static unsigned drm_devices(const struct sy_function *f)
{
	return 1;
}

static void build(struct sy_function *f, struct sy_node *dir)
{
	const struct sy_nvidia *nvidia = &sy_pf(f)->nvidia;

	if (!f->physfn)
		sy_drm_build(f, dir, 0);
	if (f->nvidia.is_broken)
		return;
	if (sy_mdev_is_parent(f))
		sy_mdev_parent_build(f, dir);
	else if (f->physfn && nvidia->framework == SY_VENDOR_VFIO)
		sy_vgpu_vfio_build(f, dir);
}

static const char *const frameworks[] = {"vendor-vfio", "mdev", NULL};
static const char *const parents[] = {"pf", "vf", NULL};

#define FIELD(name, member, kind, words) \
	SY_FIELD(struct sy_function, name, nvidia.member, kind, words)

static const struct sy_field config[] = {
	FIELD("framework", framework, SY_CHOICE, frameworks),
	FIELD("mdev_parent", parent, SY_CHOICE, parents),
	FIELD("memory_mb", memory_mb, SY_NUMBER, NULL),
	FIELD("types_have_no_header", has_no_header, SY_CHOICE, sy_no_yes),
};

static const struct sy_field state[] = {
	FIELD("vgpu_type", type, SY_NUMBER, NULL),
	FIELD("broken", is_broken, SY_CHOICE, sy_no_yes),
	FIELD("mixed", is_mixed, SY_CHOICE, sy_no_yes),
};

const struct sy_family sy_family_nvidia = {
	.name = "nvidia",
	.find_model = find_model,
	.config = config,
	.n_config = SY_COUNT(config),
	.state = state,
	.n_state = SY_COUNT(state),
	.drm_devices = drm_devices,
	.build = build,
	.after_disable = after_disable,
	.unbound = unbound,
	.power_on = power_on,
};
