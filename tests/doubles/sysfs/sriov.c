/* SPDX-License-Identifier: Apache-2.0 */
#include "sriov.h"
#include "driver.h"
#include "pci.h"
#include "tree.h"
#include "world.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* After drivers/pci/iov.c. Delays for hardware are left out. */

static void appear(struct sy_function *vf)
{
	struct sy_function *pf = vf->physfn;

	vf->driver[0] = vf->driver_override[0] = '\0';
	vf->group = pf->vf_groups == SY_GROUP_PHYSFN ? pf->group : sy_free_group();
	vf->is_present = 1;
	sy_probe(vf);
}

static int enable(struct sy_function *pf, unsigned n)
{
	int r = 0;

	if (sy_is_native(pf) && pf->family->before_enable)
		r = pf->family->before_enable(pf, n);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < n; i++)
		appear(&pf->vfs[i]);
	pf->numvfs = n;
	sy_world.has_changed = true;
	return 0;
}

static int disappear(struct sy_function *vf)
{
	int r = sy_release(vf);

	if (r < 0)
		return r;
	vf->is_present = vf->group = 0;
	vf->driver_override[0] = '\0';
	if (vf->family->reset)
		vf->family->reset(vf);
	sy_world.has_changed = true;
	return 0;
}

static int disable(struct sy_function *pf)
{
	unsigned n = (unsigned)pf->numvfs;

	for (unsigned i = 0; i < n; i++) {
		int r = disappear(&pf->vfs[i]);

		if (r < 0)
			return r;
	}
	pf->numvfs = 0;
	if (pf->family->after_disable)
		pf->family->after_disable(pf, n);
	sy_world.has_changed = true;
	return 0;
}

static int wait_for_device(struct sy_function *pf)
{
	while (pf->is_locked) {
		if (!sy_wait())
			return -EINTR;
	}
	return 0;
}

int sy_sriov_set(struct sy_function *pf, unsigned n)
{
	int r = wait_for_device(pf);

	if (r < 0 || pf->numvfs == n)
		return r;
	pf->is_locked = true;
	r = n ? enable(pf, n) : disable(pf);
	pf->is_locked = false;
	return r;
}

/* The order of the checks is the kernel's: a write of the current number succeeds even
 * with a driver that cannot set it. */
static int numvfs_store(struct sy_node *node, const char *text)
{
	struct sy_function *pf = node->f;
	const struct sy_driver *driver;
	uint64_t n;

	if (sy_parse(text, UINT16_MAX, &n) < 0)
		return -EINVAL;
	if (n > pf->totalvfs)
		return -ERANGE;
	if (wait_for_device(pf) < 0)
		return -EINTR;
	if (n == pf->numvfs)
		return 0;
	driver = sy_driver_find(pf->driver);
	if (!driver || !driver->has_sriov)
		return -ENOENT;
	if (n && pf->numvfs)
		return -EBUSY;
	return sy_sriov_set(pf, (unsigned)n);
}

static int autoprobe_store(struct sy_node *node, const char *text)
{
	bool value;

	if (sy_parse_bool(text, &value) < 0)
		return -EINVAL;
	node->f->autoprobe = value;
	return 0;
}

enum { TOTALVFS, NUMVFS, OFFSET, STRIDE, AUTOPROBE };

static int number_show(struct sy_node *node, struct sy_text *ret)
{
	struct sy_function *f = node->f;
	unsigned which = node->index;
	int r = which == NUMVFS ? wait_for_device(f) : 0;
	const uint64_t numbers[] = {
		f->totalvfs, f->numvfs, f->offset, f->stride, f->autoprobe};

	if (r == 0)
		sy_add(ret, "%" PRIu64 "\n", numbers[which]);
	return r;
}

static int vf_device_show(struct sy_node *node, struct sy_text *ret)
{
	sy_add(ret, "%" PRIx64 "\n", node->f->vf_device);
	return 0;
}

static const struct sy_attribute files[] = {
	{"sriov_totalvfs", 0444, number_show, NULL, TOTALVFS},
	{"sriov_numvfs", 0644, number_show, numvfs_store, NUMVFS},
	{"sriov_offset", 0444, number_show, NULL, OFFSET},
	{"sriov_stride", 0444, number_show, NULL, STRIDE},
	{"sriov_vf_device", 0444, vf_device_show, NULL, 0},
	{"sriov_drivers_autoprobe", 0644, number_show, autoprobe_store, AUTOPROBE},
};

void sy_sriov_files(struct sy_function *f, struct sy_node *dir)
{
	if (f->physfn) {
		sy_link(dir, "physfn", "%s", sy_pci_path(f->physfn));
		return;
	}
	if (!f->totalvfs)
		return;
	sy_files(dir, files, SY_COUNT(files), f);
	for (unsigned i = 0; i < f->numvfs; i++) {
		char name[32];

		if (!f->vfs[i].is_present)
			continue;
		sy_print(name, sizeof(name), "virtfn%u", i);
		sy_link(dir, name, "%s", sy_pci_path(&f->vfs[i]));
	}
}
