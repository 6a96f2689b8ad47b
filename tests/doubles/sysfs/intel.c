/* SPDX-License-Identifier: Apache-2.0 */
#include "intel.h"
#include "pci.h"
#include "tree.h"
#include <errno.h>
#include <string.h>

#define RESERVED_BYTES (256ULL << 20) /* of VRAM, for the driver itself */
#define GGTT_BYTES ((4ULL << 30) - (64ULL << 20))
#define CONTEXTS 65535
#define DOORBELLS 240

/* clang-format off */
const struct sy_intel_rule sy_intel_rules[SY_RESOURCE_MAX] = {
	/*             align    clamp     main   shared of a VF, of the PF */
	[SY_LMEM] =      { 2 << 20, 0,        true,  true,  "lmem_quota", "lmem_spare" },
	[SY_GGTT] =      { 1 << 16, 0,        true,  true,  "ggtt_quota", "ggtt_spare" },
	[SY_CONTEXTS] =  { 1, 0,              false, true,  "contexts_quota",
		"contexts_spare" },
	[SY_DOORBELLS] = { 1, 0,              false, true,  "doorbells_quota",
		"doorbells_spare" },
	[SY_QUANTUM] =   { 1, 100000,         false, false, "exec_quantum_ms",
		"exec_quantum_ms" },
	[SY_TIMEOUT] =   { 1, 100000000,      false, false, "preempt_timeout_us",
		"preempt_timeout_us" },
};

static const struct model {
	const char *name;
	unsigned device, class, totalvfs, gb;
	const char *product;
} models[] = {
	/* name      id      class     VFs GB */
	{ "Flex170", 0x56c0, 0x038000, 31, 16, "Intel Data Center GPU Flex 170" },
	{ "Flex140", 0x56c1, 0x038000, 31,  6, "Intel Data Center GPU Flex 140" },
	{ "B50",     0xe212, 0x030000, 12, 16, "Intel Arc Pro B50" },
	{ "B60",     0xe211, 0x030000, 12, 24, "Intel Arc Pro B60" },
};
/* clang-format on */

const char *const sy_priority_names[] = {"low", "normal", "high", NULL};

static bool find_model(struct sy_function *f, const char *name)
{
	for (size_t i = 0; i < SY_COUNT(models); i++) {
		const struct model *model = &models[i];

		if (strcmp(model->name, name) != 0)
			continue;
		f->vendor = f->subsystem_vendor = 0x8086;
		f->device = f->vf_device = model->device;
		f->class = model->class;
		f->totalvfs = model->totalvfs;
		f->intel.vram_bytes = (uint64_t)model->gb << 30;
		f->intel.gts = SY_GTS;
		sy_print(f->home_driver, sizeof(f->home_driver), "xe");
		sy_print(f->product_name, sizeof(f->product_name), "%s", model->product);
		return true;
	}
	return false;
}

/* --- Quotas --- */

struct sy_function *sy_intel_function(struct sy_function *pf, unsigned number)
{
	return number ? &pf->vfs[number - 1] : pf;
}

static uint64_t capacity(const struct sy_function *pf, enum sy_resource resource)
{
	const uint64_t all[SY_RESOURCE_MAX] = {
		[SY_LMEM] = pf->intel.vram_bytes - RESERVED_BYTES,
		[SY_GGTT] = GGTT_BYTES,
		[SY_CONTEXTS] = CONTEXTS,
		[SY_DOORBELLS] = DOORBELLS,
	};

	return all[resource];
}

static uint64_t free_of(struct sy_function *pf, enum sy_resource resource, unsigned gt)
{
	uint64_t left = capacity(pf, resource);

	for (unsigned i = 0; i <= pf->totalvfs; i++) {
		uint64_t taken = sy_intel_function(pf, i)->intel.value[resource][gt];

		left -= taken < left ? taken : left;
	}
	return left;
}

int sy_intel_set(
	struct sy_function *f, enum sy_resource resource, unsigned gt, uint64_t value)
{
	const struct sy_intel_rule *rule = &sy_intel_rules[resource];
	uint64_t *at = &f->intel.value[resource][gt];

	if (rule->clamp && value > rule->clamp)
		value = rule->clamp;
	if (value > UINT64_MAX - rule->align)
		return -ENOSPC;
	value = (value + rule->align - 1) / rule->align * rule->align;
	*at = 0;
	if (rule->is_shared && value > free_of(sy_pf(f), resource, gt))
		return -ENOSPC;
	*at = value;
	return 0;
}

int sy_intel_set_all_gts(struct sy_function *f, enum sy_resource resource, uint64_t value)
{
	unsigned gts =
		sy_intel_rules[resource].only_main ? 1 : (unsigned)sy_pf(f)->intel.gts;
	int result = 0;

	for (unsigned gt = 0; gt < gts; gt++) {
		int r = sy_intel_set(f, resource, gt, value);

		result = result ? result : r;
	}
	return result;
}

/* --- Automatic provisioning --- */

static bool has_nothing(const struct sy_function *f)
{
	for (int resource = SY_LMEM; resource <= SY_DOORBELLS; resource++) {
		for (unsigned gt = 0; gt < SY_GTS; gt++) {
			if (f->intel.value[resource][gt])
				return false;
		}
	}
	return true;
}

static uint64_t power_of_two_below(uint64_t value)
{
	uint64_t power = 1;

	while (power <= value / 2)
		power *= 2;
	return value ? power : 0;
}

static int give_fair(
	struct sy_function *pf, unsigned n, enum sy_resource resource, unsigned gt)
{
	uint64_t align = sy_intel_rules[resource].align;
	uint64_t fair = power_of_two_below(free_of(pf, resource, gt) / n) / align * align;
	int r = fair ? 0 : -ENOSPC;

	for (unsigned i = 1; r == 0 && i <= n; i++)
		r = sy_intel_set(sy_intel_function(pf, i), resource, gt, fair);
	return r;
}

static void release(struct sy_function *vf)
{
	memset(vf->intel.value, 0, sizeof(vf->intel.value));
	vf->intel.is_stopped = 0;
}

static void after_disable(struct sy_function *pf, unsigned n)
{
	for (unsigned i = 1; i <= n && !pf->intel.is_manual; i++)
		release(sy_intel_function(pf, i));
}

/* One manual quota disables automatic provisioning. Some kernels then refuse to enable
 * virtual functions. */
static int before_enable(struct sy_function *pf, unsigned n)
{
	int result = 0;

	if (pf->intel.is_manual)
		return 0;
	for (unsigned i = 1; i <= n; i++) {
		if (!has_nothing(sy_intel_function(pf, i)))
			return pf->intel.refuses_partial ? -EUCLEAN : 0;
	}
	for (int resource = SY_LMEM; resource <= SY_DOORBELLS; resource++) {
		unsigned gts =
			sy_intel_rules[resource].only_main ? 1 : (unsigned)pf->intel.gts;

		for (unsigned gt = 0; gt < gts; gt++) {
			int r = give_fair(pf, n, (enum sy_resource)resource, gt);

			result = result ? result : r;
		}
	}
	if (result < 0)
		after_disable(pf, n);
	return result;
}

static void reset(struct sy_function *f)
{
	f->intel.is_stopped = 0;
}

static void power_on(struct sy_function *f)
{
	release(f);
	f->intel.priority = SY_LOW;
	f->intel.is_manual = 0;
}

/* Only i915 has iov. */
static void ready(struct sy_function *f)
{
	bool is_i915 =
		f->intel.interface == SY_IOV || f->intel.interface == SY_PRELIM_IOV;

	if (is_i915)
		sy_print(f->home_driver, sizeof(f->home_driver), "i915");
	if (!f->intel.gts || f->intel.gts > SY_GTS)
		sy_die("%s: %d GTs at most, and one at least", f->bdf, SY_GTS);
}

static unsigned drm_devices(const struct sy_function *f)
{
	return 1;
}

static void build(struct sy_function *f, struct sy_node *dir)
{
	struct sy_node *card = sy_drm_build(f, dir, 0);
	uint64_t interface = f->intel.interface;

	if (f->physfn || !f->totalvfs)
		return;
	if (interface == SY_IOV || interface == SY_PRELIM_IOV) {
		sy_iov_build(f, card);
		return;
	}
	if (interface == SY_SRIOV_ADMIN)
		sy_sriov_admin_build(f, dir);
	sy_debugfs_build(f);
}

static const char *const interfaces[] = {
	"sriov_admin", "debugfs", "iov", "prelim_iov", NULL};

#define FIELD(name, member, kind, words) \
	SY_FIELD(struct sy_function, name, intel.member, kind, words)

static const struct sy_field config[] = {
	FIELD("interface", interface, SY_CHOICE, interfaces),
	FIELD("vram_bytes", vram_bytes, SY_NUMBER, NULL),
	FIELD("gts", gts, SY_NUMBER, NULL),
	FIELD("refuses_partial", refuses_partial, SY_CHOICE, sy_no_yes),
};

static const struct sy_field state[] = {
	FIELD("lmem", value[SY_LMEM][0], SY_NUMBER, NULL),
	FIELD("ggtt", value[SY_GGTT][0], SY_NUMBER, NULL),
	FIELD("contexts.0", value[SY_CONTEXTS][0], SY_NUMBER, NULL),
	FIELD("contexts.1", value[SY_CONTEXTS][1], SY_NUMBER, NULL),
	FIELD("doorbells.0", value[SY_DOORBELLS][0], SY_NUMBER, NULL),
	FIELD("doorbells.1", value[SY_DOORBELLS][1], SY_NUMBER, NULL),
	FIELD("quantum.0", value[SY_QUANTUM][0], SY_NUMBER, NULL),
	FIELD("quantum.1", value[SY_QUANTUM][1], SY_NUMBER, NULL),
	FIELD("timeout.0", value[SY_TIMEOUT][0], SY_NUMBER, NULL),
	FIELD("timeout.1", value[SY_TIMEOUT][1], SY_NUMBER, NULL),
	FIELD("priority", priority, SY_CHOICE, sy_priority_names),
	FIELD("stopped", is_stopped, SY_CHOICE, sy_no_yes),
	FIELD("manual", is_manual, SY_CHOICE, sy_no_yes),
};

const struct sy_family sy_family_intel = {
	.name = "intel",
	.find_model = find_model,
	.config = config,
	.n_config = SY_COUNT(config),
	.state = state,
	.n_state = SY_COUNT(state),
	.ready = ready,
	.drm_devices = drm_devices,
	.build = build,
	.before_enable = before_enable,
	.after_disable = after_disable,
	.reset = reset,
	.power_on = power_on,
};
