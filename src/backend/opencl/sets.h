/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sched.h>
#include <stddef.h>

struct clv_error;

/* The sets of processors into which this agent has divided CPU devices, kept in the file
 * that CLEAVE_CORES names: no driver keeps them for us.  Without it they are none, and
 * none can be made. */

struct clv_core_set {
	char device[96]; /* UUID */
	cpu_set_t cpus;
};

struct clv_core_sets {
	struct clv_core_set *items; /* owned */
	size_t n;
};

void clv_core_sets_clear(struct clv_core_sets *sets);

/* 0, or -EINVAL for a file that is none. */
int clv_core_sets_load(struct clv_core_sets *ret, struct clv_error *err);

/* One more, or one less: 0; -ENOSPC when a processor is in another set, -ENODEV when
 * there is no such set, -ENOTSUP without a file. */
int clv_core_sets_add(const char *device, const cpu_set_t *cpus, struct clv_error *err);
int clv_core_sets_remove(
	const char *device, const cpu_set_t *cpus, struct clv_error *err);
