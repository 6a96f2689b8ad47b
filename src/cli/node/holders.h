/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct clv_listing;

/* Who keeps partitions and devices from being changed.  Rows are owned by the caller. */

/* Of a plan's obstacles: a row for each holder, with where it is and why that is in the
 * way. */
json_t *clv_holders_of_obstacles(const json_t *obstacles);

/* Of a node: every holder of the device, its partitions and their parts. */
json_t *clv_holders_of_device(const json_t *device);

extern const struct clv_listing clv_listing_holders;

/* "gpu0/1g.10gb@4 is held by lease train of bob", and how many there are besides. */
void clv_holders_describe(const json_t *obstacles, char *ret, size_t ret_bytes);
