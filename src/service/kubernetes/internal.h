/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "service/service.h"

#include <jansson.h>

#define CLV_KUBE_NAME_MAX 64

/* A name that Kubernetes accepts: lower-case letters, digits and '-'. */
void clv_kube_name(const char *name, char ret[CLV_KUBE_NAME_MAX]);
json_t *clv_kube_name_json(const struct clv_service *service);

/* An object with its metadata. */
json_t *clv_kube_object(const char *version, const char *kind, const char *name,
	const struct clv_service *service);

/* Appends what scales the service. */
int clv_kube_add_scaling(
	json_t *to, const struct clv_service *service, struct clv_error *err);
