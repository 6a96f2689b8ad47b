/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct clv_agent_device;
struct clv_share_range;

/* Values in the API's JSON. The caller owns the results. */

/* A string; "" for text that is not UTF-8. */
json_t *clv_show_text(const char *text);
json_t *clv_show_number(uint64_t value);
json_t *clv_show_number_or_null(int64_t value); /* below 0: null */
json_t *clv_show_seconds(uint64_t value_ns);
json_t *clv_show_range(const struct clv_share_range *range);
/* The partition that a device is, with what a client must do to use it; null for a whole
 * device. */
json_t *clv_show_partition(const struct clv_agent_device *device);
