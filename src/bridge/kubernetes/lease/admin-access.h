/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

struct clv_client;
struct clv_error;

/* Prepares a device for a claim with adminAccess: the device's nodes, beside all leases
 * and without one, so nothing limits its programs.  Kubernetes permits such claims in
 * labelled namespaces only.  name: of the CDI file and of its device.  ret_cdi: the CDI
 * device; "": the device has no nodes. */
int clv_kube_admin_access(const struct clv_kube_settings *settings,
	struct clv_client *client, const char *device, const char *name,
	char ret_cdi[CLV_KUBE_NAME_MAX + 32], struct clv_error *err);
