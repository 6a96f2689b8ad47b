/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"
#include "holders.h"
#include "pci.h"
#include "sriov.h"
#include "tree.h"
#include "world.h"
#include <errno.h>
#include <string.h>

/* Drivers and functions, after drivers/base/bus.c and drivers/pci/pci-driver.c. */

/* clang-format off */
struct sy_driver sy_drivers[] = {
	/* name          module         SR-IOV  VFIO   VFs    loaded */
	{ "amdgpu",      "amdgpu",      false,  false, true,  false },
	{ "gim",         "gim",         true,   false, false, false },
	{ "xe",          "xe",          true,   false, true,  false },
	{ "i915",        "i915",        true,   false, true,  false },
	/* sriov-manage is its only way to SR-IOV. */
	{ "nvidia",      "nvidia",      false,  false, true,  false },
	{ "ast",         "ast",         false,  false, false, false },
	{ "vfio-pci",    "vfio_pci",    false,  true,  true,  false },
	{ NULL,          NULL,          false,  false, false, false },
};
/* clang-format on */

struct sy_driver *sy_driver_find(const char *name)
{
	for (struct sy_driver *driver = sy_drivers; driver->name; driver++) {
		if (sy_same(name, driver->name))
			return driver;
	}
	return NULL;
}

void sy_drivers_boot(void)
{
	for (struct sy_driver *driver = sy_drivers; driver->name; driver++) {
		driver->is_loaded = driver->is_vfio;
		for (size_t i = 0; i < sy_world.n_functions; i++) {
			if (strcmp(sy_world.functions[i].home_driver, driver->name) == 0)
				driver->is_loaded = true;
		}
	}
	for (size_t i = 0; i < sy_world.n_functions; i++)
		sy_probe(&sy_world.functions[i]);
}

/* With an override only that driver may have the function; without one, the ids decide,
 * and VFIO's driver has none. */
static bool is_match(const struct sy_function *f, const struct sy_driver *driver)
{
	if (f->driver_override[0])
		return strcmp(f->driver_override, driver->name) == 0;
	return strcmp(f->home_driver, driver->name) == 0 &&
	       (!f->physfn || driver->takes_vfs);
}

/* With sriov_drivers_autoprobe at 0 a virtual function is bound to its override only,
 * even by hand. */
static bool may_probe(struct sy_function *f)
{
	return !f->physfn || f->physfn->autoprobe || f->driver_override[0];
}

static int attach(struct sy_function *f, const struct sy_driver *driver)
{
	if (sy_held(SY_PROBE_FAILS, f->bdf))
		return -EIO;
	sy_print(f->driver, sizeof(f->driver), "%s", driver->name);
	if (sy_is_native(f) && f->family->bound)
		f->family->bound(f);
	sy_world.has_changed = true;
	return 0;
}

void sy_probe(struct sy_function *f)
{
	for (struct sy_driver *driver = sy_drivers; driver->name; driver++) {
		if (!f->driver[0] && driver->is_loaded && is_match(f, driver) &&
			may_probe(f))
			attach(f, driver);
	}
}

int sy_bind(struct sy_function *f, const struct sy_driver *driver)
{
	if (!is_match(f, driver))
		return -ENODEV;
	if (f->driver[0])
		return -EBUSY;
	if (!may_probe(f))
		return -ENODEV;
	return attach(f, driver);
}

/* VFIO does not release a function that a process has open: the writer blocks. */
static int wait_for_vfio(struct sy_function *f)
{
	while (sy_held(SY_HOLDS_VFIO, f->bdf)) {
		const struct sy_driver *driver = sy_driver_find(f->driver);

		if (!driver || !driver->is_vfio)
			return 0;
		if (!sy_wait())
			return -EINTR;
	}
	return 0;
}

int sy_release(struct sy_function *f)
{
	bool was_native = sy_is_native(f);
	int r = 0;

	if (!f->driver[0])
		return 0;
	if (f->numvfs && was_native)
		r = sy_sriov_set(f, 0);
	if (r == 0)
		r = wait_for_vfio(f);
	if (r < 0)
		return r;
	f->driver[0] = '\0';
	if (was_native && f->family->unbound)
		f->family->unbound(f);
	sy_world.has_changed = true;
	return 0;
}

/* --- Modules --- */

static const struct sy_driver *driver_of_module(const char *module)
{
	for (struct sy_driver *driver = sy_drivers; driver->name; driver++) {
		size_t i = 0;

		/* modprobe accepts a dash for an underscore. */
		while (driver->module[i] &&
			(module[i] == driver->module[i] ||
				(module[i] == '-' && driver->module[i] == '_')))
			i++;
		if (!driver->module[i] && !module[i])
			return driver;
	}
	return NULL;
}

int sy_module_insert(const char *module)
{
	const struct sy_driver *driver = driver_of_module(module);

	if (!driver)
		return -ENOENT;
	if (driver->is_loaded)
		return 0;
	sy_driver_find(driver->name)->is_loaded = true;
	for (struct sy_function *f = NULL; (f = sy_next(f));) {
		if (f->is_present)
			sy_probe(f);
	}
	sy_world.has_changed = true;
	return 0;
}

static bool is_used(const struct sy_function *f)
{
	static const enum sy_holding kinds[] = {
		SY_HOLDS_KFD, SY_HOLDS_DRM, SY_HOLDS_VFIO, SY_HOLDS_NVIDIA};

	for (size_t i = 0; i < SY_COUNT(kinds); i++) {
		if (sy_held(kinds[i], f->bdf))
			return true;
	}
	return false;
}

int sy_module_remove(const char *module)
{
	const struct sy_driver *driver = driver_of_module(module);
	int r = 0;

	if (!driver || !driver->is_loaded)
		return -ENOENT;
	if (sy_held(SY_HOLDS_MODULE, driver->module))
		return -EBUSY;
	for (struct sy_function *f = NULL; (f = sy_next(f));) {
		if (strcmp(f->driver, driver->name) == 0 && is_used(f))
			return -EBUSY;
	}
	for (struct sy_function *f = NULL; r == 0 && (f = sy_next(f));) {
		if (strcmp(f->driver, driver->name) == 0)
			r = sy_release(f);
	}
	if (r == 0)
		sy_driver_find(driver->name)->is_loaded = false;
	return r;
}

/* --- Files --- */

static int bind_store(struct sy_node *node, const char *text)
{
	struct sy_function *f = sy_function_find(text);

	return f ? sy_bind(f, node->data) : -ENODEV;
}

static int unbind_store(struct sy_node *node, const char *text)
{
	struct sy_function *f = sy_function_find(text);
	const struct sy_driver *driver = node->data;

	if (!f || strcmp(f->driver, driver->name) != 0)
		return -ENODEV;
	return sy_release(f);
}

static int drivers_probe_store(struct sy_node *node, const char *text)
{
	struct sy_function *f = sy_function_find(text);

	if (!f)
		return -ENODEV;
	sy_probe(f);
	return 0;
}

static int override_show(struct sy_node *node, struct sy_text *ret)
{
	/* The kernel prints a null pointer as "(null)". */
	sy_add(ret, "%s\n",
		node->f->driver_override[0] ? node->f->driver_override : "(null)");
	return 0;
}

static int override_store(struct sy_node *node, const char *text)
{
	size_t length = strcspn(text, "\n");

	if (length >= sizeof(node->f->driver_override))
		return -EINVAL;
	sy_print(node->f->driver_override, sizeof(node->f->driver_override), "%.*s",
		(int)length, text);
	return 0;
}

static const struct sy_attribute driver_files[] = {
	{"bind", 0200, NULL, bind_store, 0},
	{"unbind", 0200, NULL, unbind_store, 0},
};
static const struct sy_attribute probe_file = {
	"drivers_probe", 0200, NULL, drivers_probe_store, 0};
static const struct sy_attribute override_file = {
	"driver_override", 0644, override_show, override_store, 0};

void sy_driver_files(struct sy_function *f, struct sy_node *dir)
{
	sy_file(dir, &override_file, f);
	if (f->driver[0])
		sy_link(dir, "driver", "/bus/pci/drivers/%s", f->driver);
}

static unsigned users_of(const struct sy_driver *driver)
{
	unsigned n = 0;

	for (struct sy_function *f = NULL; (f = sy_next(f));)
		n += strcmp(f->driver, driver->name) == 0 && is_used(f);
	return n + sy_held(SY_HOLDS_MODULE, driver->module);
}

static void build_module(const struct sy_driver *driver)
{
	struct sy_node *dir = sy_make("/module/%s", driver->module);
	char name[SY_NAME + 4];

	sy_fixed(dir, "initstate", "live\n");
	sy_fixed(dir, "refcnt", "%u\n", users_of(driver));
	sy_print(name, sizeof(name), "pci:%s", driver->name);
	sy_link(sy_dir(dir, "drivers"), name, "/bus/pci/drivers/%s", driver->name);
}

static void build_driver(const struct sy_driver *driver)
{
	struct sy_node *dir = sy_make("/bus/pci/drivers/%s", driver->name);

	for (size_t i = 0; i < SY_COUNT(driver_files); i++)
		sy_file(dir, &driver_files[i], NULL)->data = driver;
	sy_link(dir, "module", "/module/%s", driver->module);
	for (struct sy_function *f = NULL; (f = sy_next(f));) {
		if (strcmp(f->driver, driver->name) == 0)
			sy_link(dir, f->bdf, "%s", sy_pci_path(f));
	}
}

void sy_drivers_build(void)
{
	sy_file(sy_make("/bus/pci"), &probe_file, NULL);
	for (const struct sy_driver *driver = sy_drivers; driver->name; driver++) {
		if (!driver->is_loaded)
			continue;
		build_driver(driver);
		build_module(driver);
	}
}
