/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

struct clv_agent;
struct clv_error;

/* The names of whole devices, gpu0, gpu1, ...: one for each UUID, kept in the state file.
 * A device has its name for ever, and no other device ever gets it: names do not depend
 * on the order in which drivers start, nor on devices that are added or lost.  The rest
 * of the agent, the worker too, takes names from here.  Loop thread only. */
struct clv_names;

/* Reads the names of earlier agents; an error there is logged. */
int clv_names_new(struct clv_agent *agent, struct clv_names **ret, struct clv_error *err);
struct clv_names *clv_names_free(struct clv_names *names);

/* The name of the device, borrowed; NULL: it has none yet. */
const char *clv_names_find(const struct clv_names *names, const char *uuid);
/* The same, and gives one to a device without: `wanted` if no device has it (a name of an
 * earlier version; ""), or else the lowest number that none had.  NULL: out of memory. */
const char *clv_names_give(struct clv_names *names, const char *uuid, const char *wanted);

/* Stores the names that could not be stored when they were given. */
void clv_names_store(struct clv_names *names);

/* {UUID: NAME} of all of them. */
json_t *clv_names_to_json(const struct clv_names *names);
