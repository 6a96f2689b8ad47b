/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/resource/desired.h"

struct clv_error;
struct json_t;

/* The opaque configuration of claims and device classes, with apiVersion
 * CLV_KUBE_CONFIG_VERSION and kind CLV_KUBE_CONFIG_KIND.  Pure. */

#define CLV_KUBE_CONFIG_VERSION "gpu.cleave.dev/v1"
#define CLV_KUBE_CONFIG_KIND "LeaseConfig"

/* Reads what config (status.allocation.devices.config of a claim; NULL: nothing) has for
 * this driver and request.  Later entries override earlier ones: Kubernetes lists those
 * of the class first.  -EINVAL: something that this version does not know, because a
 * setting that is not understood must not be left out. */
int clv_kube_claim_config_read(const struct json_t *config, const char *driver,
	const char *request, struct clv_kube_lease_options *ret, struct clv_error *err);
