/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

#include <stdbool.h>

struct clv_kube_cluster;
struct json_t;

/* Shows in the status of a claim why its node refused it, as the condition Ready of its
 * devices, for users who look at the claim and not at the events of its pod.  The
 * worker's thread only. */
struct clv_kube_claim_status {
	bool was_logged; /* that the API server does not permit it, or does not keep it */
};

/* claim: as the API server has it; refusal: NULL if the claim is prepared.  Writes
 * nothing if the status has the same refusal, or if there was none.  A failure to write
 * is logged only: the refusal is in kubelet's event in any case. */
void clv_kube_claim_status_show(struct clv_kube_claim_status *status,
	struct clv_kube_cluster *cluster, const struct clv_kube_settings *settings,
	const struct json_t *claim, const char *refusal);
