/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct clv_listing;

/* The holders of partitions and devices, which cannot be changed while they are held. The
 * caller owns the rows. */

/* From a plan's obstacles: a row for each holder, with its place and why it blocks the
 * plan. */
json_t *clv_holders_of_obstacles(const json_t *obstacles);

/* From a device of the node: every holder of it, its partitions and their parts. */
json_t *clv_holders_of_device(const json_t *device);

extern const struct clv_listing clv_listing_holders;

/* Writes "gpu0/1g.10gb@4 is held by lease train of bob", and the number of other holders.
 */
void clv_holders_describe(const json_t *obstacles, char *ret, size_t ret_bytes);
