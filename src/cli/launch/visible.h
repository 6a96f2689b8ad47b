/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

struct clv_error;

/* In the child that becomes the program: restricts it to the devices of its lease, which
 * are JSON of the API.  Vendors' runtimes read the environment; a set of processors is an
 * affinity.  0 or -errno. */
int clv_visible_set(const json_t *devices, struct clv_error *err);

/* Sets the lease's limit of multiprocessors, JSON of the API, for runtimes that read one
 * from the environment.  It is the only limit where no gate enforces it.  0 or -errno. */
int clv_visible_limit(const json_t *sm, struct clv_error *err);
