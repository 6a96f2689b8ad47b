/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of single values that several sections of the settings file have. */
#include "agent/config/config-internal.h"

#include "base/error.h"
#include "base/units.h"

#include <errno.h>

int clv_config_no_memory(struct clv_yaml_value value, struct clv_error *err)
{
	return clv_yaml_fail(value, err, -ENOMEM, "out of memory");
}

int clv_config_read_text(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_text(value, into, CLV_CONFIG_TEXT_MAX, err);
}

int clv_config_read_path(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	int r = clv_config_read_text(value, into, err);

	if (r >= 0 && ((const char *)into)[0] != '/')
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.100s' is not an absolute path: begin it with /",
			(const char *)into);
	return r;
}

int clv_config_read_bytes(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	int r = clv_units_parse_bytes(clv_yaml_text(value), into, err);

	return r < 0 ? clv_yaml_prefix_position(value, err) : r;
}
