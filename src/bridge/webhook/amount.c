/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the names of cleave's resources, and their amounts more strictly than Kubernetes'
 * quantities: what rounding would make of 0.5 is not what its author wants. */
#include "bridge/webhook/amount.h"

#include "base/error.h"
#include "bridge/kubernetes/config/quantity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOMAIN "cleave.dev/"
#define MEMORY DOMAIN "gpu-memory"
#define MIB (UINT64_C(1) << 20)
#define UNIT_MOST_MIB (1u << 20)

/* The unit of "-256mi" and "-1gi"; 0: it has another form. */
static uint32_t read_unit(const char *suffix)
{
	unsigned long number;
	char *end;

	if (suffix[0] == '\0')
		return 1;
	if (suffix[0] != '-' || suffix[1] < '1' || suffix[1] > '9')
		return 0;
	number = strtoul(suffix + 1, &end, 10);
	if (number > UNIT_MOST_MIB)
		return 0;
	if (strcmp(end, "mi") == 0)
		return (uint32_t)number;
	return strcmp(end, "gi") == 0 && number <= UNIT_MOST_MIB / 1024
		       ? (uint32_t)number * 1024
		       : 0;
}

enum clv_webhook_kind clv_webhook_kind_of(const char *resource, uint32_t *ret_unit_mib)
{
	uint32_t unit;

	*ret_unit_mib = 0;
	if (strncmp(resource, DOMAIN, strlen(DOMAIN)) != 0)
		return CLV_WEBHOOK_FOREIGN;
	if (strcmp(resource, CLV_WEBHOOK_SHARE_RESOURCE) == 0)
		return CLV_WEBHOOK_SHARE;
	if (strcmp(resource, DOMAIN "gpu") == 0 ||
		strcmp(resource, DOMAIN "gpu-replica") == 0)
		return CLV_WEBHOOK_WHOLE;
	if (strncmp(resource, DOMAIN "mig-", strlen(DOMAIN "mig-")) == 0)
		return CLV_WEBHOOK_MIG;
	if (strncmp(resource, MEMORY, strlen(MEMORY)) != 0)
		return CLV_WEBHOOK_PART;
	unit = read_unit(resource + strlen(MEMORY));
	*ret_unit_mib = unit;
	return unit > 0 ? CLV_WEBHOOK_MEMORY : CLV_WEBHOOK_PART;
}

void clv_webhook_name_memory(uint64_t unit_bytes, char ret[CLV_WEBHOOK_RESOURCE_MAX])
{
	uint64_t mib = unit_bytes / MIB;

	if (mib == 1)
		snprintf(ret, CLV_WEBHOOK_RESOURCE_MAX, MEMORY);
	else if (mib % 1024 == 0)
		snprintf(ret, CLV_WEBHOOK_RESOURCE_MAX, MEMORY "-%" PRIu64 "gi",
			mib / 1024);
	else
		snprintf(ret, CLV_WEBHOOK_RESOURCE_MAX, MEMORY "-%" PRIu64 "mi", mib);
}

static int fail_fraction(const char *resource, const char *text, struct clv_error *err)
{
	if (strcmp(resource, CLV_WEBHOOK_SHARE_RESOURCE) == 0)
		return clv_error_set(err, -EINVAL,
			"%.24s of %.64s is not a whole number: it counts hundredths of a "
			"device, so half a device is 50",
			text, resource);
	return clv_error_set(err, -EINVAL,
		"%.24s of %.64s is not a whole number: request 1 or more", text,
		resource);
}

/* Kubernetes writes 0.5 as "500m". */
static bool is_fraction(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (strcmp(end, "m") == 0)
		value /= 1000;
	else if (*end != '\0')
		return false;
	return value > 0 && value < 1e15 && value != (double)(uint64_t)value;
}

static int read_text(
	const char *resource, const char *text, uint64_t *ret, struct clv_error *err)
{
	if (text[0] == '-')
		return clv_error_set(err, -EINVAL,
			"%.24s of %.64s is negative: request 1 or more", text, resource);
	if (clv_kube_parse_quantity(text, ret) < 0)
		return clv_error_set(err, -EINVAL,
			"'%.24s' of %.64s is no number that a device can have: request a "
			"whole number",
			text, resource);
	return is_fraction(text) ? fail_fraction(resource, text, err) : 0;
}

int clv_webhook_read_amount(
	const char *resource, const json_t *value, uint64_t *ret, struct clv_error *err)
{
	char number[32];

	if (json_is_string(value))
		return read_text(resource, json_string_value(value), ret, err);
	if (json_is_integer(value))
		snprintf(number, sizeof(number), "%lld", json_integer_value(value));
	else if (json_is_real(value))
		snprintf(number, sizeof(number), "%.6f", json_real_value(value));
	else
		return clv_error_set(err, -EINVAL,
			"the amount of %.64s is no number: request a whole number",
			resource);
	return read_text(resource, number, ret, err);
}
