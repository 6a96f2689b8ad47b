/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

#include <stdint.h>

struct clv_client;
struct json_t;
struct clv_error;

/* Partitions that were made for a claim, to be given back with it; others stay.  Which
 * they are is noted. */

/* The partition, as the agent calls it, is made where it is missing. */
int clv_kube_ephemeral_create(const struct clv_kube_settings *settings,
	struct clv_client *client, const char *device, const char *profile,
	uint32_t start, struct clv_error *err);
/* Destroys it if it was made for a claim.  -EAGAIN: somebody has it. */
int clv_kube_ephemeral_destroy(const struct clv_kube_settings *settings,
	struct clv_client *client, const char *partition, struct clv_error *err);
/* Until the operation, which is taken over, has ended.  -EAGAIN: it failed. */
int clv_kube_ephemeral_wait(
	struct clv_client *client, struct json_t *operation, struct clv_error *err);
/* All that no lease is on. */
void clv_kube_ephemeral_sweep(
	const struct clv_kube_settings *settings, struct clv_client *client);
