/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

#include <stdint.h>

struct clv_client;
struct json_t;
struct clv_error;

/* Partitions that are created for a claim and destroyed with it.  They are recorded in
 * the undo log; other partitions are never destroyed. */

/* Creates the partition PROFILE@start of the device, after recording it. */
int clv_kube_ephemeral_create(const struct clv_kube_settings *settings,
	struct clv_client *client, const char *device, const char *profile,
	uint32_t start, struct clv_error *err);
/* Destroys the partition if it was created for a claim.  -EAGAIN: it cannot be destroyed
 * now, for example because it is in use. */
int clv_kube_ephemeral_destroy(const struct clv_kube_settings *settings,
	struct clv_client *client, const char *partition, struct clv_error *err);
/* Waits until the operation has ended, and frees operation.  -EAGAIN: it failed. */
int clv_kube_ephemeral_wait(
	struct clv_client *client, struct json_t *operation, struct clv_error *err);
/* Destroys all recorded partitions without a lease. */
void clv_kube_ephemeral_sweep(
	const struct clv_kube_settings *settings, struct clv_client *client);
