/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

struct clv_error;
struct clv_services;

/* Manifests of Kubernetes for the services of a compose file: Deployments (Jobs for
 * services that do not restart), Services, claims of volumes, and what scales them:
 * HorizontalPodAutoscaler, or for services that stop when idle KEDA's ScaledObject with
 * the HTTPScaledObject of its add-on.  Adds remarks on what they lack to the services.
 *
 * *ret is an array of objects, which the caller owns.  -EINVAL or -ENOMEM. */
int clv_service_kubernetes(
	struct clv_services *services, json_t **ret, struct clv_error *err);
