/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct clv_listing;

/* Partitions of a node, as the API gives them, and as rows of tables.  What is returned
 * is the caller's unless it says borrowed. */

/* {"items": [...]}: the partitions of a device, by name or UUID; NULL: of all. */
json_t *clv_partitions_of(const json_t *node, const char *device);

/* Whether the node has this device, by name or UUID. */
bool clv_partitions_has_device(const json_t *node, const char *device);

/* The partition, or the part of one, of that name, borrowed; NULL if there is none. */
json_t *clv_partitions_find(const json_t *node, const char *name);

/* Appends a copy of each, and behind it of its parts: "label" is the name, so far
 * indented. */
void clv_partitions_flatten(json_t *rows, const json_t *partitions, int indent);

/* Of {"items": [...]}.  0 or -errno. */
int clv_partitions_show(const char *format, const json_t *list);
