/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

#include <stddef.h>

struct clv_error;
struct json_t;

/* The CDI device of a lease, in a file of its own for each: what container runtimes put
 * into a container. */

/* "cleave.dev/gpu=k8s-..." */
void clv_kube_spec_name(const char *lease, char ret[CLV_KUBE_NAME_MAX + 32]);

/* Written unless it is there as it should be.  lease is the agent's object. */
int clv_kube_spec_write(const struct clv_kube_settings *settings,
	const struct json_t *lease, struct clv_error *err);
void clv_kube_spec_remove(const struct clv_kube_settings *settings, const char *lease);
/* Removes those of leases of containers that are none any more. */
void clv_kube_spec_sweep(const struct clv_kube_settings *settings,
	bool (*is_wanted)(const char *lease, const void *userdata), const void *userdata);
