/* SPDX-License-Identifier: Apache-2.0 */
#include "intel.h"
#include "pci.h"
#include "tree.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* The older interfaces, which have separate numbers for each GT: xe's debugfs, after
 * xe_gt_sriov_pf_debugfs.c, and i915's iov, which never was in the kernel. */

static unsigned pack(unsigned resource, unsigned gt)
{
	return resource << 4 | gt;
}

static enum sy_resource resource_of(const struct sy_node *node)
{
	return (enum sy_resource)(node->index >> 4);
}

static int value_show(struct sy_node *node, struct sy_text *ret)
{
	sy_add(ret, "%" PRIu64 "\n",
		node->f->intel.value[resource_of(node)][node->index & 0xf]);
	return 0;
}

/* debugfs reports a number that is too large for its type as an overflow. */
static int value_store(struct sy_node *node, const char *text)
{
	enum sy_resource resource = resource_of(node);
	bool is_wide = resource == SY_LMEM || resource == SY_GGTT;
	struct sy_function *pf = sy_pf(node->f);
	uint64_t value;
	int r = sy_parse(text, UINT64_MAX, &value);

	if (r < 0)
		return r;
	if (!is_wide && value > UINT32_MAX)
		return -EOVERFLOW;
	if (node->f->physfn && resource <= SY_DOORBELLS && pf->intel.interface >= SY_IOV)
		pf->intel.is_manual = 1;
	return sy_intel_set(node->f, resource, node->index & 0xf, value);
}

static void build_gt(struct sy_function *f, struct sy_node *dir, unsigned gt)
{
	for (unsigned i = 0; i < SY_RESOURCE_MAX; i++) {
		const struct sy_intel_rule *rule = &sy_intel_rules[i];
		struct sy_attribute attribute = {
			.name = f->physfn ? rule->quota : rule->spare,
			.permissions = 0644,
			.show = value_show,
			.store = value_store,
			.index = pack(i, gt),
		};

		if (!gt || !rule->only_main)
			sy_file(dir, &attribute, f);
	}
}

static const char *name_of(unsigned number, char *name, size_t size)
{
	if (number)
		sy_print(name, size, "vf%u", number);
	else
		sy_print(name, size, "pf");
	return name;
}

/* --- debugfs --- */

static int control_show(struct sy_node *node, struct sy_text *ret)
{
	sy_add(ret, "stop\npause\nresume\n");
	return 0;
}

static int control_store(struct sy_node *node, const char *text)
{
	if (!sy_same(text, "stop") && !sy_same(text, "pause") && !sy_same(text, "resume"))
		return -EINVAL;
	node->f->intel.is_stopped = node->f->intel.is_stopped || sy_same(text, "stop");
	return 0;
}

static const struct sy_attribute control_file = {
	"control", 0600, control_show, control_store, 0};

void sy_debugfs_build(struct sy_function *pf)
{
	struct sy_node *root = sy_make("/kernel/debug/dri/%u", pf->card);
	char name[16];

	sy_fixed(root, "name", "xe dev=%s unique=%s\n", pf->bdf, pf->bdf);
	for (unsigned gt = 0; gt < pf->intel.gts; gt++) {
		struct sy_node *dir;

		sy_print(name, sizeof(name), "gt%u", gt);
		dir = sy_dir(root, name);
		for (unsigned i = 0; i <= pf->totalvfs; i++) {
			struct sy_function *f = sy_intel_function(pf, i);
			struct sy_node *of = sy_dir(dir, name_of(i, name, sizeof(name)));

			build_gt(f, of, gt);
			if (i)
				sy_file(of, &control_file, f);
		}
	}
}

/* --- iov --- */

static int auto_show(struct sy_node *node, struct sy_text *ret)
{
	sy_add(ret, "%d\n", !node->f->intel.is_manual);
	return 0;
}

/* The return to automatic provisioning clears all manual values. */
static int auto_store(struct sy_node *node, const char *text)
{
	struct sy_function *pf = node->f;
	bool value;

	if (sy_parse_bool(text, &value) < 0)
		return -EINVAL;
	if (value != (bool)pf->intel.is_manual)
		return 0;
	if (pf->numvfs)
		return -EBUSY;
	pf->intel.is_manual = !value;
	if (value)
		pf->family->after_disable(pf, (unsigned)pf->totalvfs);
	return 0;
}

static const struct sy_attribute auto_file = {
	"auto_provisioning", 0644, auto_show, auto_store, 0};

/* The kernel with the prefix has one GT, and does not number it. */
void sy_iov_build(struct sy_function *pf, struct sy_node *card)
{
	bool is_prelim = pf->intel.interface == SY_PRELIM_IOV;
	struct sy_node *iov = sy_dir(card, is_prelim ? "prelim_iov" : "iov");
	char name[16];

	for (unsigned i = 0; i <= pf->totalvfs; i++) {
		struct sy_function *f = sy_intel_function(pf, i);
		struct sy_node *of = sy_dir(iov, name_of(i, name, sizeof(name)));

		if (f->is_present)
			sy_link(of, "device", "%s", sy_pci_path(f));
		if (!i)
			sy_file(of, &auto_file, f);
		for (unsigned gt = 0; gt < (is_prelim ? 1 : pf->intel.gts); gt++) {
			if (is_prelim)
				sy_print(name, sizeof(name), "gt");
			else
				sy_print(name, sizeof(name), "gt%u", gt);
			build_gt(f, sy_dir(of, name), gt);
		}
	}
}
