/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"
#include "core/fleet/fleet.h"

/* Shared by the verbs about fleets that files describe. */

struct clv_node_notes;
struct clv_place_policy;
struct clv_snapshot;
struct clv_snapshot_odd;

#define CLV_SCENARIO_POLICIES_MAX 16

/* Parses a comma-separated list of policies, or usual if text is NULL.  Returns their
 * number, or a negated exit code after printing the error. */
int clv_scenario_policies(const char *text, const char *usual,
	const struct clv_place_policy *ret[CLV_SCENARIO_POLICIES_MAX]);

/* Files may be pipes and "-", standard input: these are copied into memory, and the words
 * replaced by paths that can be read more than once.  Returns 0, or an exit code after
 * printing the error. */
int clv_scenario_keep_files(int argc, char **argv);

/* Reads the nodes, and what else the file says of them.  Returns 0, or an exit code after
 * printing the error.  The caller frees *ret. */
int clv_scenario_read_nodes(
	const char *path, struct clv_fleet **ret, struct clv_node_notes *notes);

/* The same; what runs on the nodes of a snapshot has its places.  The caller closes
 * *ret_snapshot, which is NULL if the file is no snapshot; NULL: it is not wanted. */
int clv_scenario_read_in_use(
	const char *path, struct clv_fleet **ret, struct clv_snapshot **ret_snapshot);

/* Says on stderr what was left out of a snapshot. */
void clv_scenario_tell_odd(const char *path, const struct clv_snapshot_odd *odd);

/* What if: the nodes of a list are lost ("0-15,rack=r7"), or nodes are added
 * ("L40S=10").  Returns 0, or an exit code after printing the error. */
int clv_scenario_lose(struct clv_fleet *fleet, const char *list);
int clv_scenario_add(
	struct clv_fleet *fleet, struct clv_node_notes *notes, const char *list);

/* Sets the relative speeds of models ("A100=1,T4=0.3").  Returns 0, or an exit code after
 * printing the error. */
int clv_scenario_speeds(struct clv_fleet *fleet, const char *list);

/* A duration in the largest unit of which it has one, as "1.5h". */
void clv_scenario_time_text(double seconds, char ret[16]);

/* Shows progress on stderr: on a terminal a bar, elsewhere a line every few seconds. part
 * is 0..1, or negative to clear the bar. */
void clv_scenario_progress(void *userdata, double part);

/* Prints a line on stderr, which is no terminal, if the last one is some seconds ago. */
void clv_scenario_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

CLV_DEFINE_CLEANUP(struct clv_fleet *, clv_fleet_free)
#define _cleanup_fleet_ CLV_CLEANUP(clv_fleet_freep)
