/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

struct clv_error;

/* In the child that becomes the program: sets what keeps it to the devices of its lease,
 * which are as the API shows them.  Vendors' runtimes read it from the environment,
 * processors are an affinity.  0 or -errno. */
int clv_visible_set(const json_t *devices, struct clv_error *err);

/* The lease's limit in space, as the API has it, where a runtime reads one from the
 * environment: what no gate does so for holds to this alone. */
int clv_visible_limit(const json_t *sm, struct clv_error *err);
