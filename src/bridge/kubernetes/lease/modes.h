/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

struct clv_client;
struct clv_error;

/* Compute modes of AMD's GPUs that are changed for claims.  The original mode is recorded
 * in the undo log, and restored when the GPU has no lease any more, unless another client
 * has changed the mode since. */

/* Changes the mode to the profile, for example "CPX/NPS1".  -EAGAIN: not possible now,
 * for example because the GPU is in use. */
int clv_kube_mode_set(const struct clv_kube_settings *settings, struct clv_client *client,
	const char *device, const char *profile, struct clv_error *err);
/* Restores the mode if it was changed and the GPU is unused.  The sweep retries failures.
 */
void clv_kube_mode_restore(const struct clv_kube_settings *settings,
	struct clv_client *client, const char *device);
/* Restores the modes of all recorded GPUs that are unused. */
void clv_kube_modes_sweep(
	const struct clv_kube_settings *settings, struct clv_client *client);
