/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sched.h>
#include <stddef.h>

struct clv_error;

/* The sets of processors into which CPU devices are divided.  No driver stores them, so
 * they are in the file that CLEAVE_CORES names.  Without the variable there are no sets,
 * and none can be created. */

struct clv_core_set {
	char device[96]; /* UUID */
	cpu_set_t cpus;
};

struct clv_core_sets {
	struct clv_core_set *items; /* owned */
	size_t n;
};

void clv_core_sets_clear(struct clv_core_sets *sets);

/* Reads all sets; a missing file has none.  -EINVAL: the file is malformed. */
int clv_core_sets_load(struct clv_core_sets *ret, struct clv_error *err);

/* Add or remove one set, under a lock of the file.  -ENOSPC: a processor is in another
 * set; -ENODEV: there is no such set; -ENOTSUP: CLEAVE_CORES is not set. */
int clv_core_sets_add(const char *device, const cpu_set_t *cpus, struct clv_error *err);
int clv_core_sets_remove(
	const char *device, const cpu_set_t *cpus, struct clv_error *err);
