/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/webhook/profile.h"
#include "bridge/webhook/settings.h"

#include <jansson.h>

struct clv_error;

/* The annotation or label of a pod that names a share profile: NAME, for the container
 * that kubectl.kubernetes.io/default-container names, or else the first; and in the
 * annotation also CONTAINER=NAME, separated by commas. */
#define CLV_WEBHOOK_PROFILE_KEY "cleave.dev/share-profile"

/* The annotation of a pod with the class of its leases, which cleave-kubelet reads. */
#define CLV_WEBHOOK_CLASS_KEY "cleave.dev/class"

/* What a pod lacks, as operations of JSON Patch in *ret_operations, which the caller
 * owns: an empty list for a pod that is complete, as for the result of an earlier call,
 * or that requests nothing of cleave.  -EINVAL: the pod is refused; err is a sentence
 * that says what would work.  -ENOMEM.  Depends on the arguments alone; any thread. */
int clv_webhook_mutate(const struct clv_webhook_settings *settings,
	const struct clv_webhook_profiles *profiles, const json_t *pod,
	json_t **ret_operations, struct clv_error *err);
