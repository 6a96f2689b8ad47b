/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out the rows of cleave defrag on an agent's node.  Instances without a holder
 * are destroyed and created, and replicas of services move, of which another one can run
 * at first; other programs are never ended, because only their owners know whether they
 * may be. */
#include "cli/fleet/defrag-apply.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "bridge/services/project/project.h"
#include "cli/fleet/move-replica.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/node/change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int finish(struct clv_change *change, json_t **operation)
{
	int r = clv_change_follow(change, operation);

	return clv_output_is_data(change->common->output)
		       ? r
		       : clv_change_report(change, *operation, r);
}

static int destroy(struct clv_change *change, const char *name)
{
	_cleanup_json_ json_t *operation = NULL;
	struct clv_client_error err;

	if (clv_client_partition_destroy(change->client, name, &operation, &err) < 0)
		return clv_change_fail_start(change, &err);
	return finish(change, &operation);
}

/* place: "gpu0/1g.10gb@4" */
static int create(struct clv_change *change, const char *place)
{
	_cleanup_free_ char *device = strdup(place);
	char *profile = device ? strchr(device, '/') : NULL;
	char *start = profile ? strrchr(profile, '@') : NULL;
	struct clv_client_partition_request request = {.has_start = true, .count = 1};
	_cleanup_json_ json_t *operation = NULL;
	struct clv_client_error err;

	if (!start)
		return clv_cli_fail(CLV_EXIT_FAILED, "'%.80s' cannot be created", place);
	*profile++ = *start++ = '\0';
	request.device = device;
	request.profile = profile;
	request.start = (uint32_t)strtoul(start, NULL, 10);
	if (clv_client_partition_create(change->client, &request, &operation, &err) < 0)
		return clv_change_fail_start(change, &err);
	return finish(change, &operation);
}

/* The last row is the request's own place. */
static int apply_row(
	struct clv_change *change, const json_t *row, bool is_last, bool makes_instance)
{
	const char *from = clv_json_text(row, "from"), *to = clv_json_text(row, "to");
	int r;

	if (json_object_get(row, "lease"))
		return clv_move_replica(clv_json_text(row, "lease"), to,
			clv_output_is_data(change->common->output) ? stderr : stdout);
	r = *from ? destroy(change, from) : 0;
	if (r == 0 && *to && (!is_last || makes_instance))
		r = create(change, to);
	return r;
}

/* Whether a row about a lease can be one step of a replica of this user to another
 * device: after two of them it would have another name.  The owner of a lease chooses its
 * command, so it names a replica only for check_moves(). */
static bool is_move(const json_t *rows, size_t at)
{
	const json_t *row = json_array_get(rows, at), *other;
	const json_t *uid = json_object_get(row, "uid");
	size_t i, n = 0;

	json_array_foreach (rows, i, other)
		n += strcmp(clv_json_text(other, "lease"), clv_json_text(row, "lease")) ==
		     0;
	return n == 1 && json_is_integer(uid) && json_integer_value(uid) == geteuid() &&
	       strcmp(clv_json_text(row, "do"), "restart") == 0 &&
	       strncmp(clv_json_text(row, "command"), CLV_SERVICES_COMMAND,
		       strlen(CLV_SERVICES_COMMAND)) == 0 &&
	       !strchr(clv_json_text(row, "to"), '/');
}

/* Before anything is changed. */
static int check_moves(const json_t *rows)
{
	const json_t *row;
	struct clv_error err;
	size_t i;

	json_array_foreach (rows, i, row) {
		if (json_object_get(row, "lease") &&
			clv_check_move(clv_json_text(row, "lease"),
				clv_json_text(row, "to"), &err) < 0)
			return clv_cli_fail(
				CLV_EXIT_NO_FIT, "nothing was changed: %s", err.msg);
	}
	return 0;
}

bool clv_defrag_restarts_programs(const json_t *rows)
{
	for (size_t i = 0; i < json_array_size(rows); i++) {
		if (json_object_get(json_array_get(rows, i), "lease") &&
			!is_move(rows, i))
			return true;
	}
	return false;
}

static size_t count_with(const json_t *rows, const char *key)
{
	const json_t *row;
	size_t i, n = 0;

	json_array_foreach (rows, i, row)
		n += json_object_get(row, key) != NULL;
	return n;
}

int clv_defrag_apply(const struct clv_common *common, bool is_confirmed,
	const json_t *rows, bool makes_instance)
{
	_cleanup_change_ struct clv_change change = {.signal_fd = -1};
	size_t n = json_array_size(rows), n_done = 0,
	       n_destroyed = count_with(rows, "from") - count_with(rows, "lease");
	char loss[64];
	int r;

	if (clv_defrag_restarts_programs(rows))
		return clv_cli_fail(CLV_EXIT_NO_FIT,
			"nothing was changed: the plan restarts programs, and --apply "
			"moves only replicas of services and unused instances: follow "
			"the rows, or allow more --moves");
	if (n == 1 && !makes_instance)
		return CLV_EXIT_OK;
	r = check_moves(rows);
	if (r == 0)
		r = clv_change_begin(common, is_confirmed, &change);
	snprintf(loss, sizeof(loss), "%zu unused instance%s would be destroyed",
		n_destroyed, n_destroyed == 1 ? "" : "s");
	if (r == 0)
		r = clv_change_confirm(&change, "Apply?", n_destroyed > 0 ? loss : NULL);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = apply_row(
			&change, json_array_get(rows, i), i == n - 1, makes_instance);
		n_done += r == 0;
	}
	if (r != 0 && n_done > 0)
		clv_output_line(stderr,
			"cleave: %zu of %zu rows were carried out: cleave defrag "
			"proposes "
			"the rest again",
			n_done, n);
	return r;
}
