/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the opaque configuration of claims, strictly. */
#include "bridge/kubernetes/lease/claim-config.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"
#include "bridge/kubernetes/config/quantity.h"
#include "core/share/share.h"

#include <errno.h>
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static int read_class(const json_t *value, void *into, struct clv_error *err)
{
	const char *text = json_string_value(value);

	if (!text || (int)clv_class_from_string(text) < 0)
		return clv_error_set(
			err, -EINVAL, "latency, normal or batch is expected");
	snprintf(into, CLV_KUBE_CLASS_MAX, "%s", text);
	return 0;
}

/* A number, or a text such as "30%". */
static int read_fraction(const json_t *value, void *into, struct clv_error *err)
{
	char number[32];
	const char *text = json_string_value(value);

	if (json_is_number(value)) {
		snprintf(number, sizeof(number), "%.6f", json_number_value(value));
		text = number;
	}
	return clv_units_parse_fraction(text ? text : "", into, err);
}

static int read_bytes(const json_t *value, void *into, struct clv_error *err)
{
	const char *text = json_string_value(value);

	if (text && clv_kube_parse_quantity(text, into) == 0 && *(uint64_t *)into > 0)
		return 0;
	return clv_error_set(err, -EINVAL, "a quantity such as 4Gi is expected");
}

static const struct {
	const char *key;
	int (*read)(const json_t *value, void *into, struct clv_error *err);
	size_t at;
} keys[] = {
	{"class", read_class, offsetof(struct clv_kube_lease_options, class_name)},
	{"cap", read_fraction, offsetof(struct clv_kube_lease_options, cap_ppm)},
	{"shareMost", read_fraction,
		offsetof(struct clv_kube_lease_options, share_most_ppm)},
	{"sm", read_fraction, offsetof(struct clv_kube_lease_options, sm_ppm)},
	{"spill", read_bytes, offsetof(struct clv_kube_lease_options, spill_bytes)},
};

static int read_key(const char *key, const json_t *value,
	struct clv_kube_lease_options *into, struct clv_error *err)
{
	struct clv_error why = {};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(keys); i++) {
		if (strcmp(keys[i].key, key) != 0)
			continue;
		if (keys[i].read(value, (char *)into + keys[i].at, &why) < 0)
			return clv_error_set(err, -EINVAL,
				"the claim's configuration: %s: %s", key, why.msg);
		return 0;
	}
	return clv_error_set(err, -EINVAL,
		"the claim's configuration has the unknown key '%.60s': known are class, "
		"cap, shareMost, sm and spill",
		key);
}

static bool has_text(const json_t *object, const char *key, const char *text)
{
	const char *is = json_string_value(json_object_get(object, key));

	return is && strcmp(is, text) == 0;
}

static int read_parameters(const json_t *parameters, struct clv_kube_lease_options *into,
	struct clv_error *err)
{
	const json_t *value;
	const char *key;
	int r = 0;

	if (!has_text(parameters, "apiVersion", CLV_KUBE_CONFIG_VERSION) ||
		!has_text(parameters, "kind", CLV_KUBE_CONFIG_KIND))
		return clv_error_set(err, -EINVAL,
			"the claim's configuration must have apiVersion "
			"" CLV_KUBE_CONFIG_VERSION " and kind " CLV_KUBE_CONFIG_KIND);
	json_object_foreach ((json_t *)parameters, key, value) {
		if (r >= 0 && strcmp(key, "apiVersion") != 0 && strcmp(key, "kind") != 0)
			r = read_key(key, value, into, err);
	}
	return r;
}

/* Whether the entry is for the request: for all if it names none.  "a/b" is the
 * alternative b of the request a; an entry may name either. */
static bool is_for(const json_t *entry, const char *request)
{
	const json_t *names = json_object_get(entry, "requests"), *name;
	size_t i, n_first = strcspn(request, "/");

	json_array_foreach (names, i, name) {
		const char *text = json_string_value(name);

		if (text && (strcmp(text, request) == 0 ||
				    (strlen(text) == n_first &&
					    strncmp(text, request, n_first) == 0)))
			return true;
	}
	return json_array_size(names) == 0;
}

int clv_kube_claim_config_read(const struct json_t *config, const char *driver,
	const char *request, struct clv_kube_lease_options *ret, struct clv_error *err)
{
	const json_t *entry;
	size_t i;
	int r = 0;

	*ret = (struct clv_kube_lease_options){};
	json_array_foreach (config, i, entry) {
		const json_t *opaque = json_object_get(entry, "opaque");

		if (r >= 0 && has_text(opaque, "driver", driver) &&
			is_for(entry, request))
			r = read_parameters(
				json_object_get(opaque, "parameters"), ret, err);
	}
	return r;
}
