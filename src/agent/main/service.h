/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_agent;
struct clv_agent_config;
struct clv_error;

/* What the agent and its service manager tell each other: sockets that the manager holds,
 * readiness and state, fields for the journal.  The watchdog is the event loop's own.
 *
 * Only an agent in the foreground has a manager.  One in the background was started on
 * demand by a program that may be a service itself, and must not speak in its name. */
struct clv_service;

/* Before anything else is opened or closed: takes the API's socket from the manager, if
 * it passes one of the name "api", into config->api_fd, and sees to it that what is
 * logged to the journal has fields. */
void clv_service_prepare(struct clv_agent_config *config);

/* The API's socket from the manager, for the caller to close, or -1. */
int clv_service_take_socket(const struct clv_agent_config *config);

/* The manager keeps the API's socket after our end: its name must stay. */
bool clv_service_keeps_socket(const struct clv_agent_config *config);

int clv_service_new(
	struct clv_agent *agent, struct clv_service **ret, struct clv_error *err);
struct clv_service *clv_service_free(struct clv_service *service);

/* The sockets listen. */
void clv_service_ready(struct clv_agent *agent);

/* Leases, processes or devices came or went: the state is told soon. */
void clv_service_changed(struct clv_agent *agent);

void clv_service_stopping(void);
