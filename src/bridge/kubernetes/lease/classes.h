/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/resource/desired.h"

struct clv_error;

/* Gives the leases of containers the class that their pod's annotation names.  Kubelet
 * tells device plugins nothing of pods, so the API server is asked, once for each lease,
 * by a thread with its own connections: it may be slow. */
struct clv_kube_classes;

#define CLV_KUBE_CLASS_ANNOTATION "cleave.dev/class"
#define CLV_KUBE_POD_NAME_MAX 254

/* A container's lease, and its pod. */
struct clv_kube_class_pod {
	char lease[CLV_KUBE_LEASE_MAX];
	char namespace[CLV_KUBE_NAME_MAX];
	char name[CLV_KUBE_POD_NAME_MAX];
};

int clv_kube_classes_new(const struct clv_kube_settings *settings,
	struct clv_kube_classes **ret, struct clv_error *err);
/* Accepts NULL; returns NULL. */
struct clv_kube_classes *clv_kube_classes_free(struct clv_kube_classes *classes);

/* All containers that kubelet lists now.  Takes the array; does not wait.  A lease that
 * does not exist yet, or whose pod could not be asked about, is one of the next list. */
void clv_kube_classes_list(
	struct clv_kube_classes *classes, struct clv_kube_class_pod *pods, size_t n);
