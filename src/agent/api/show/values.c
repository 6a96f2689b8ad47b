/* SPDX-License-Identifier: Apache-2.0 */
/* Values in the API's JSON. */
#include "agent/api/show/values.h"

#include "agent/device/devices.h"
#include "agent/record/device-fields.h"
#include "agent/record/field-json.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "core/share/share.h"

json_t *clv_show_text(const char *text)
{
	json_t *string = json_string(text);

	return string ? string : json_string("");
}

json_t *clv_show_number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

json_t *clv_show_number_or_null(int64_t value)
{
	return value < 0 ? json_null() : json_integer(value);
}

static json_t *fraction(uint64_t ppm)
{
	return json_real((double)ppm / CLV_PPM);
}

json_t *clv_show_seconds(uint64_t value_ns)
{
	return json_real((double)value_ns / (double)CLV_NS_PER_S);
}

json_t *clv_show_range(const struct clv_share_range *range)
{
	if (range->most_ppm == 0)
		return json_null();
	return json_pack("{s:o,s:o}", "least", fraction(range->least_ppm), "most",
		fraction(range->most_ppm));
}

static json_t *show_io_die(const void *object)
{
	const struct clv_agent_device *device = object;

	return clv_show_number_or_null(device->io_die);
}

json_t *clv_show_partition(const struct clv_agent_device *device)
{
	static const struct clv_field_show functions[] = {{"io_die", show_io_die}};
	struct clv_field_view view = {
		.record = &device->info,
		.object = device,
		.functions = functions,
		.n_functions = CLV_ARRAY_SIZE(functions),
	};

	if (device->info.parent[0] == '\0')
		return json_null();
	return clv_field_to_json(&clv_partition_fields, &view);
}
