/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of values that occur in both files of this backend, the node's file and the
 * state file. */
#include "backend/sim/sim.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"

#include <errno.h>

const char *const clv_sim_calls[_CLV_SIM_CALL_MAX] = {
	[CLV_SIM_CREATE] = "create",
	[CLV_SIM_DESTROY] = "destroy",
	[CLV_SIM_MIG_MODE] = "mig-mode",
	[CLV_SIM_COMPUTE_MODE] = "compute-mode",
	[CLV_SIM_MEMORY_MODE] = "memory-mode",
	[CLV_SIM_RELOAD] = "reload",
	[CLV_SIM_VF_COUNT] = "vf-count",
	[CLV_SIM_VF_QUOTA] = "vf-quota",
};

int clv_sim_read_value(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	*(struct clv_yaml_value *)into = value;
	return 0;
}

int clv_sim_read_plain(
	struct clv_yaml_value value, char *ret, size_t ret_bytes, struct clv_error *err)
{
	for (const char *p = clv_yaml_text(value); *p; p++) {
		if (*p < ' ' || *p > '~' || *p == '"' || *p == '\\')
			return clv_yaml_fail(value, err, -EINVAL,
				"only printable ASCII without quotes and backslashes is "
				"allowed here");
	}
	return clv_yaml_read_text(value, ret, ret_bytes, err);
}

int clv_sim_read_flag(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_bool(value, into, err);
}

int clv_sim_read_number(struct clv_yaml_value value, uint32_t least, uint32_t most,
	uint32_t *ret, struct clv_error *err)
{
	uint64_t number;
	int r = clv_yaml_read_number(value, least, most, &number, err);

	if (r == 0)
		*ret = (uint32_t)number;
	return r;
}

int clv_sim_read_positive(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_sim_read_number(value, 1, INT32_MAX, into, err);
}

int clv_sim_read_bytes(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	int r = clv_units_parse_bytes(clv_yaml_text(value), into, err);

	if (r < 0)
		clv_yaml_prefix_position(value, err);
	return r;
}

static int read_duration(struct clv_yaml_value value, uint64_t unit_ns, uint32_t *ret,
	struct clv_error *err)
{
	uint64_t ns;
	int r = clv_units_parse_duration(clv_yaml_text(value), &ns, err);

	if (r < 0) {
		clv_yaml_prefix_position(value, err);
		return r;
	}
	if (ns / unit_ns > UINT32_MAX)
		return clv_yaml_fail(value, err, -ERANGE, "this is too long");
	*ret = (uint32_t)(ns / unit_ns);
	return 0;
}

int clv_sim_read_ms(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_duration(value, CLV_NS_PER_MS, into, err);
}

int clv_sim_read_us(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_duration(value, CLV_NS_PER_US, into, err);
}

int clv_sim_read_calls(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint32_t *numbers = into;
	int r = 0;

	if (clv_yaml_kind(value) != CLV_YAML_MAP)
		return clv_yaml_fail(value, err, -EINVAL,
			"a map of calls and numbers is expected here");
	for (size_t i = 0; i < clv_yaml_count(value) && r >= 0; i++) {
		r = clv_yaml_read_choice(
			clv_yaml_key(value, i), clv_sim_calls, _CLV_SIM_CALL_MAX, err);
		if (r >= 0)
			r = clv_sim_read_positive(
				clv_yaml_at(value, i), &numbers[r], err);
	}
	return r < 0 ? r : 0;
}
