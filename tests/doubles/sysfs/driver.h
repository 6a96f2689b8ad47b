/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>

struct sy_function;
struct sy_node;

struct sy_driver {
	const char *name, *module;
	bool has_sriov; /* it can be told the number of virtual functions */
	bool is_vfio;
	bool takes_vfs;
	bool is_loaded;
};

/* NULL names its end. */
extern struct sy_driver sy_drivers[];
struct sy_driver *sy_driver_find(const char *name);

/* As at boot: the modules of the functions' own drivers and of VFIO, and all bound. */
void sy_drivers_boot(void);

/* Binds a function that has no driver to the one that wants it, if any. */
void sy_probe(struct sy_function *f);
/* 0 or -errno, as a write to the driver's file "bind". */
int sy_bind(struct sy_function *f, const struct sy_driver *driver);
/* Takes the driver away, after waiting for whom VFIO has to wait for. */
int sy_release(struct sy_function *f);

/* 0 or -errno.  A module of no driver is -ENOENT, one in use is -EBUSY. */
int sy_module_insert(const char *module);
int sy_module_remove(const char *module);

/* /bus/pci/drivers, /bus/pci/drivers_probe and /module. */
void sy_drivers_build(void);

/* The function's "driver_override" and "driver". */
void sy_driver_files(struct sy_function *f, struct sy_node *dir);
