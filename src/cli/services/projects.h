/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/services/project/project.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

/* The supervisors of projects, as verbs ask them.  Functions that fail print the error
 * and return an exit code. */

/* Asks the supervisor of a project, as clv_control_ask(). */
int clv_projects_ask(const struct clv_project *project, json_t *request, json_t **ret);

/* Starts a supervisor that outlives the command, and waits until it answers.  socket: the
 * agent's, or NULL.  option: "--fresh", services that could be asleep start, or "--down":
 * then it may have done its work already, and ended.  Where another one has taken the
 * project over meanwhile, that one reads the file again, or ends the project. */
int clv_projects_start(
	const struct clv_project *project, const char *socket, const char *option);

/* Fails with the last line of what its supervisor wrote. */
int clv_projects_fail(const struct clv_project *project, const char *what);

/* The process id of the supervisor that answers; 0: none does. */
pid_t clv_projects_pid(const struct clv_project *project);
bool clv_projects_is_running(const struct clv_project *project);

/* All that `cleave up` has kept; the caller frees *ret. */
int clv_projects_list(struct clv_project **ret, size_t *ret_n);

/* The project of that name, or, with NULL, the only one. */
int clv_projects_choose(const char *name, struct clv_project *ret);

/* Splits "PROJECT/SERVICE" or "SERVICE"; *ret_service is borrowed.  With SERVICE alone
 * the project is chosen. */
int clv_projects_of_service(
	const char *text, struct clv_project *ret, const char **ret_service);
