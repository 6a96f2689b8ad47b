/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct clv_listing;

/* Partitions of a node, as objects of the API and as rows of tables.  The caller owns
 * what is returned, unless it is borrowed. */

/* {"items": [...]}: the partitions of a device, by name or UUID; NULL: of all. */
json_t *clv_partitions_of(const json_t *node, const char *device);

/* Whether the node has this device, by name or UUID. */
bool clv_partitions_has_device(const json_t *node, const char *device);

/* The partition, or the part of one, of that name, borrowed; NULL if there is none. */
json_t *clv_partitions_find(const json_t *node, const char *name);

/* Appends to rows a copy of each partition, and after it of its parts.  "label" is the
 * name, indented by indent and two more for each level. */
void clv_partitions_flatten(json_t *rows, const json_t *partitions, int indent);

/* What users should know of a device whose MIG profiles are in no table; NULL: nothing.
 */
const char *clv_partitions_unchecked(const json_t *device);

/* Prints {"items": [...]}.  0 or -errno. */
int clv_partitions_show(const char *format, const json_t *list);
