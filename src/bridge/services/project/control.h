/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

struct clv_error;
struct clv_project;

/* How a supervisor is asked: control.sock in the project's folder takes a JSON object on
 * one line, and answers with one.  A request has "do":
 *
 *   status  {"after"}: its pid, the services, and the events with a higher id
 *   reload  reads the kept file again
 *   scale   {"service", "replicas", "by"}: by is who asks, for people
 *   move    {"lease", "device", "check"}: a replica moves to another device; with
 *           "check": true it is only said why it could not
 *   give way {"leases", "for"}: idle replicas stop for a service that has no room
 *   down    ends all replicas, then the supervisor
 *
 * An answer that has "error" is a refusal. */

/* Asks, and waits for at most a minute.  -ECONNREFUSED: no supervisor runs.  -EINVAL: it
 * refuses, and *err is its reason.  The caller owns *ret, which may be NULL. */
int clv_control_ask(const struct clv_project *project, json_t *request, json_t **ret,
	struct clv_error *err);
/* The text of a member; "" if it is none. */
const char *clv_control_text(const json_t *object, const char *key);
/* The service of this name in the answer to "status"; borrowed.  NULL: none. */
const json_t *clv_control_service(const json_t *status, const char *name);
