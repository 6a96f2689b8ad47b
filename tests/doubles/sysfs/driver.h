/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>

struct sy_function;
struct sy_node;

struct sy_driver {
	const char *name, *module;
	bool has_sriov; /* its number of virtual functions can be set */
	bool is_vfio;
	bool takes_vfs;
	bool is_loaded;
};

/* Ends with a NULL name. */
extern struct sy_driver sy_drivers[];
struct sy_driver *sy_driver_find(const char *name);

/* As at boot: loads the modules of the functions' own drivers and of VFIO, and binds all
 * functions. */
void sy_drivers_boot(void);

/* Binds a function without a driver to the matching one, if any. */
void sy_probe(struct sy_function *f);
/* 0 or -errno, like a write to the driver's file "bind". */
int sy_bind(struct sy_function *f, const struct sy_driver *driver);
/* Unbinds the driver, after the wait for the processes that VFIO waits for. */
int sy_release(struct sy_function *f);

/* 0 or -errno. -ENOENT for a module of no driver, -EBUSY for one in use. */
int sy_module_insert(const char *module);
int sy_module_remove(const char *module);

/* /bus/pci/drivers, /bus/pci/drivers_probe and /module. */
void sy_drivers_build(void);

/* The function's "driver_override" and "driver". */
void sy_driver_files(struct sy_function *f, struct sy_node *dir);
