/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of multiTenantGpu. */
#include "import/slicing.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "import/internal.h"

#include <errno.h>

bool clv_slicing_find(struct clv_yaml_value of, struct clv_yaml_value *ret)
{
	struct clv_yaml_value integrations;

	return clv_yaml_find(of, "x-internal-integrations", &integrations) &&
	       clv_yaml_find(integrations, "multiTenantGpu", ret);
}

static int read_type(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_slicing *slicing = into;

	slicing->type_at = value;
	return clv_yaml_read_text(value, slicing->type, sizeof(slicing->type), err);
}

static int read_replicas(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_slicing *slicing = into;
	uint64_t replicas;
	int r = clv_yaml_read_number(value, 1, CLV_IMPORT_NUMBER_MAX, &replicas, err);

	if (r < 0)
		return r;
	slicing->replicas = (uint32_t)replicas;
	slicing->replicas_at = value;
	return 0;
}

static int read_profile(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_slicing *slicing = into;
	int r = clv_import_parse_profile(
		value, clv_yaml_text(value), &slicing->profile, err);

	slicing->has_profile = true;
	slicing->profile_at = value;
	if (r < 0 || slicing->profile.part == 0)
		return r;
	return clv_yaml_fail(value, err, -EINVAL,
		"a whole GPU instance is expected here: take %s", slicing->profile.name);
}

static const struct clv_yaml_field fields[] = {
	{"instanceType", read_type, true},
	{"timeSlicingReplicas", read_replicas, false},
	{"migProfile", read_profile, false},
};

int clv_slicing_read(
	struct clv_yaml_value value, struct clv_slicing *ret, struct clv_error *err)
{
	int r = clv_yaml_read_map(value, fields, CLV_ARRAY_SIZE(fields), ret, err);

	if (r < 0)
		return r;
	if (ret->replicas == 0 && !ret->has_profile)
		return clv_yaml_fail(value, err, -EINVAL,
			"the GPUs are neither shared nor divided: set "
			"timeSlicingReplicas, migProfile or both");
	return 0;
}
