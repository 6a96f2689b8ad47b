/* SPDX-License-Identifier: Apache-2.0 */
#include "amd.h"
#include "holders.h"
#include "pci.h"
#include "tree.h"
#include "world.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* A GPU on amdgpu, after amdgpu_gfx.c, amdgpu_gmc.c, amdgpu_xcp.c and aqua_vanjaram.c. */

static bool has_choice_of_memory(const struct sy_amd *amd)
{
	return !amd->is_old && !amd->is_guest &&
	       (amd->memory_modes & (amd->memory_modes - 1));
}

/* --- Compute partitions --- */

static int compute_show(struct sy_node *node, struct sy_text *ret)
{
	if (sy_held(SY_IN_RESET, node->f->bdf))
		return -EPERM;
	sy_add(ret, "%s\n", sy_compute_names[node->f->amd.compute]);
	return 0;
}

/* An old driver lists all modes that the dies allow, including those that the memory mode
 * excludes. */
static int compute_available_show(struct sy_node *node, struct sy_text *ret)
{
	const struct sy_amd *amd = &node->f->amd;
	const char *separator = "";

	for (uint64_t mode = 0; mode < SY_COMPUTE_MAX; mode++) {
		if (!(amd->is_old ? sy_amd_parts(amd, mode) != 0
				  : sy_amd_may_switch(amd, mode)))
			continue;
		sy_add(ret, "%s%s", separator, sy_compute_names[mode]);
		separator = ", ";
	}
	sy_add(ret, "\n");
	return 0;
}

static int find_word(const char *const *words, const char *text)
{
	for (int i = 0; words[i]; i++) {
		if (sy_starts(text, words[i]))
			return i;
	}
	return -EINVAL;
}

/* The driver accepts a write of the current mode without a check for users of the device.
 * Where the compute driver does not restart, the switch has happened all the same, and
 * from then on no process can block the next one. */
static int compute_store(struct sy_node *node, const char *text)
{
	struct sy_function *f = node->f;
	int mode = find_word(sy_compute_names, text);

	if (mode < 0 || f->amd.dies % 2)
		return -EINVAL;
	if (sy_held(SY_IN_RESET, f->bdf))
		return -EPERM;
	if ((uint64_t)mode == f->amd.compute)
		return 0;
	if (!sy_amd_may_switch(&f->amd, (uint64_t)mode))
		return -EINVAL;
	if (!f->amd.kfd_is_dead && sy_held(SY_HOLDS_KFD, f->bdf))
		return -EBUSY;
	f->amd.compute = (uint64_t)mode;
	if (f->amd.kfd_is_dead)
		return 0;
	f->amd.kfd_is_dead = sy_held(SY_KFD_INIT_FAILS, f->bdf);
	sy_kfd_renew(f);
	return f->amd.kfd_is_dead ? -EIO : 0;
}

/* --- Memory partitions --- */

static int memory_show(struct sy_node *node, struct sy_text *ret)
{
	if (sy_held(SY_IN_RESET, node->f->bdf))
		return -EPERM;
	sy_add(ret, "%s\n", sy_nps_names[node->f->amd.memory]);
	return 0;
}

static int memory_available_show(struct sy_node *node, struct sy_text *ret)
{
	const char *separator = "";

	for (int mode = SY_NPS1; mode < SY_NPS_MAX; mode++) {
		if (!(node->f->amd.memory_modes & 1U << mode))
			continue;
		sy_add(ret, "%s%s", separator, sy_nps_names[mode]);
		separator = ", ";
	}
	sy_add(ret, "\n");
	return 0;
}

static bool is_with(const struct sy_function *f, const struct sy_function *other)
{
	return f == other || (f->family == other->family && f->amd.hive &&
				     f->amd.hive == other->amd.hive);
}

/* A request for the current mode is accepted and ignored: it does not even cancel an
 * earlier one. */
static int memory_store(struct sy_node *node, const char *text)
{
	struct sy_function *f = node->f;
	int mode = find_word(sy_nps_names, text);

	if (mode <= 0 || !(f->amd.memory_modes & 1U << mode))
		return -EINVAL;
	if ((uint64_t)mode == f->amd.memory)
		return 0;
	for (struct sy_function *other = NULL; (other = sy_next(other));) {
		if (is_with(f, other))
			other->amd.requested = (uint64_t)mode;
	}
	return 0;
}

/* The first device of a hive that loses its driver sends the request for all of them to
 * the firmware. */
static void unbound(struct sy_function *f)
{
	for (struct sy_function *other = NULL; (other = sy_next(other));) {
		struct sy_amd *amd = &other->amd;

		if (!is_with(f, other) || !amd->requested)
			continue;
		if (amd->memory_modes & 1U << amd->requested &&
			amd->requested != amd->memory)
			amd->pending = amd->requested;
		amd->requested = 0;
	}
	f->amd.kfd_is_dead = 0;
	sy_kfd_renew(f);
}

static void bound(struct sy_function *f)
{
	uint64_t mode;

	if (f->amd.pending)
		f->amd.memory = f->amd.pending;
	f->amd.pending = f->amd.requested = 0;
	mode = sy_amd_auto_mode(&f->amd);
	f->amd.compute = mode < SY_COMPUTE_MAX ? mode : SY_SPX;
	f->amd.shown = f->amd.compute;
	sy_kfd_renew(f);
}

static void power_on(struct sy_function *f)
{
	f->amd.memory = SY_NPS1;
	f->amd.compute = f->amd.shown = SY_SPX;
	f->amd.requested = f->amd.pending = f->amd.kfd_is_dead = f->amd.kfd_order = 0;
}

/* --- The rest --- */

static int used_show(struct sy_node *node, struct sy_text *ret)
{
	uint64_t bytes = 297 << 20; /* the driver's own memory */

	for (const struct sy_holder *h = NULL;
		(h = sy_holder_next(SY_HOLDS_KFD, node->f->bdf, h));)
		bytes += h->bytes;
	sy_add(ret, "%" PRIu64 "\n", bytes);
	return 0;
}

static int busy_show(struct sy_node *node, struct sy_text *ret)
{
	sy_add(ret, "%d\n", sy_held(SY_HOLDS_KFD, node->f->bdf) ? 100 : 0);
	return 0;
}

static const struct sy_attribute plain_files[] = {
	{"mem_info_vram_used", 0444, used_show, NULL, 0},
	{"gpu_busy_percent", 0444, busy_show, NULL, 0},
};
static const struct sy_attribute compute_available = {
	"available_compute_partition", 0444, compute_available_show, NULL, 0};
static const struct sy_attribute compute_current[] = {
	{"current_compute_partition", 0444, compute_show, NULL, 0},
	{"current_compute_partition", 0644, compute_show, compute_store, 0},
};
static const struct sy_attribute memory_available = {
	"available_memory_partition", 0444, memory_available_show, NULL, 0};
static const struct sy_attribute memory_current[] = {
	{"current_memory_partition", 0444, memory_show, NULL, 0},
	{"current_memory_partition", 0644, memory_show, memory_store, 0},
};

/* A device with a single memory mode has no list, and its mode cannot be written. */
static void build_partitions(struct sy_function *f, struct sy_node *dir)
{
	bool has_choice = has_choice_of_memory(&f->amd);

	sy_file(dir, &compute_available, f);
	sy_file(dir, &compute_current[!f->amd.is_guest], f);
	sy_file(dir, &memory_current[has_choice], f);
	if (has_choice)
		sy_file(dir, &memory_available, f);
	if (!f->amd.is_old)
		sy_amd_config_build(f, dir);
}

static void build_hive(struct sy_function *f, struct sy_node *dir)
{
	struct sy_node *hive = sy_dir(dir, "xgmi_hive_info");
	unsigned n = 0;

	sy_fixed(hive, "xgmi_hive_id", "%" PRIu64 "\n", f->amd.hive);
	for (struct sy_function *other = NULL; (other = sy_next(other));) {
		char name[16];

		if (!is_with(f, other) || !sy_is_native(other))
			continue;
		sy_print(name, sizeof(name), "node%u", ++n);
		sy_link(hive, name, "%s", sy_pci_path(other));
	}
}

static unsigned drm_devices(const struct sy_function *f)
{
	return sy_amd_is_partitionable(&f->amd) ? SY_DRM_DEVICES : 1;
}

/* The other DRM devices are children of platform devices, which are numbered over all
 * GPUs and exist in every mode; a device that is not in use only refuses to be opened. */
static void build_drm(struct sy_function *f, struct sy_node *dir)
{
	unsigned first = 0;

	for (struct sy_function *other = sy_world.functions; other < f; other++)
		first += other->family == f->family ? drm_devices(other) - 1 : 0;
	sy_drm_build(f, dir, 0);
	for (unsigned i = 1; i < drm_devices(f); i++) {
		struct sy_node *device =
			sy_make("/devices/platform/amdgpu_xcp_%u", first + i - 1);

		sy_drm_build(f, device, i);
		sy_fixed(device, "uevent", "MODALIAS=platform:%s\n", device->name);
		sy_link(device, "subsystem", "/bus/platform");
		sy_link(sy_make("/bus/platform/devices"), device->name,
			"/devices/platform/%s", device->name);
	}
}

/* On a host for virtual machines gim is the driver of the GPU, and has none of these
 * files. */
static bool is_on_amdgpu(const struct sy_function *f)
{
	return strcmp(f->driver, "amdgpu") == 0;
}

static void build(struct sy_function *f, struct sy_node *dir)
{
	uint64_t unique =
		0x9a3bULL << 48 | (uint64_t)f->domain << 32 | f->bus << 8 | f->devfn;

	if (!is_on_amdgpu(f))
		return;
	sy_files(dir, plain_files, SY_COUNT(plain_files), f);
	sy_fixed(dir, "mem_info_vram_total", "%" PRIu64 "\n", f->amd.vram_bytes);
	sy_fixed(dir, "unique_id", "%016" PRIx64 "\n", unique);
	sy_fixed(dir, "product_name", "%s\n", f->product_name);
	if (f->amd.hive)
		build_hive(f, dir);
	if (sy_amd_is_partitionable(&f->amd))
		build_partitions(f, dir);
	build_drm(f, dir);
}

#define FIELD(name, member, kind, words) \
	SY_FIELD(struct sy_function, name, amd.member, kind, words)

static const struct sy_field config[] = {
	FIELD("hive", hive, SY_NUMBER, NULL),
	FIELD("old", is_old, SY_CHOICE, sy_no_yes),
	FIELD("guest", is_guest, SY_CHOICE, sy_no_yes),
	FIELD("memory_modes", memory_modes, SY_WORDS, sy_nps_names),
	FIELD("vram_bytes", vram_bytes, SY_NUMBER, NULL),
};

static const struct sy_field state[] = {
	FIELD("compute", compute, SY_CHOICE, sy_compute_names),
	FIELD("memory", memory, SY_CHOICE, sy_nps_names),
	FIELD("memory_requested", requested, SY_CHOICE, sy_nps_names),
	FIELD("memory_pending", pending, SY_CHOICE, sy_nps_names),
	FIELD("kfd_is_dead", kfd_is_dead, SY_CHOICE, sy_no_yes),
	FIELD("kfd_order", kfd_order, SY_NUMBER, NULL),
	FIELD("config_shown", shown, SY_CHOICE, sy_compute_names),
};

const struct sy_family sy_family_amd = {
	.name = "amd",
	.find_model = sy_amd_find_model,
	.config = config,
	.n_config = SY_COUNT(config),
	.state = state,
	.n_state = SY_COUNT(state),
	.drm_devices = drm_devices,
	.build = build,
	.bound = bound,
	.unbound = unbound,
	.power_on = power_on,
};
