/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/webhook/mutate.h"

/* Answers an AdmissionReview of admission.k8s.io/v1 (k8s.io/api/admission/v1, types.go).
 * A pod that is created gets a patch, or is refused with the reason; anything else is
 * allowed.  The caller owns *ret.  -EINVAL: that is no such review; -ENOMEM.  Depends on
 * the arguments alone; any thread. */
int clv_webhook_review(const struct clv_webhook_settings *settings,
	const struct clv_webhook_profiles *profiles, const json_t *review, json_t **ret,
	struct clv_error *err);
