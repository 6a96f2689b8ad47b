/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

struct clv_client;
struct clv_error;

/* GPUs of AMD's whose mode was changed for a claim.  It is changed back when nobody has
 * anything of the GPU any more, unless somebody else has changed it meanwhile.  Which
 * mode there was is noted. */

/* profile: "CPX/NPS1", say.  -EAGAIN: somebody has a part of the GPU as it is. */
int clv_kube_mode_set(const struct clv_kube_settings *settings, struct clv_client *client,
	const char *device, const char *profile, struct clv_error *err);
/* Nothing where it was never changed; what fails is tried again by the sweep. */
void clv_kube_mode_back(const struct clv_kube_settings *settings,
	struct clv_client *client, const char *device);
/* All of them. */
void clv_kube_modes_sweep(
	const struct clv_kube_settings *settings, struct clv_client *client);
