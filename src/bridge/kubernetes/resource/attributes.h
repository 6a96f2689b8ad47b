/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct json_t;

/* Attributes of a slice's device, with the names and limits of Kubernetes.  Pure. */

#define CLV_KUBE_ATTRIBUTE_MAX 64 /* bytes of a text or version */

/* Makes the first numbers of a driver's version a semantic version, which has three
 * numbers without leading zeros: "535.104.05" becomes "535.104.5", "12.2" becomes
 * "12.2.0", "6.1.0-18-amd64" becomes "6.1.0", because "-18" would make it older than
 * 6.1.0.  False: the text does not begin with a number. */
bool clv_kube_semver(const char *text, char ret[CLV_KUBE_ATTRIBUTE_MAX + 1]);

/* Adds a text, cut to the limit, unless it is "". */
void clv_kube_attribute_add(
	struct json_t *attributes, const char *name, const char *text);
/* Adds what the agent knows of the node's device. */
void clv_kube_attributes_add_device(
	struct json_t *attributes, const struct json_t *device);
