/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_agent;
struct clv_agent_config;
struct clv_error;

/* The link to the service manager: sockets that it passes or keeps, readiness, status,
 * fields of the journal.  sd-event answers its watchdog.
 *
 * Only an agent in the foreground has a service manager.  An agent in the background was
 * started on demand by a program that may be a service itself, and must not notify in
 * that service's name. */
struct clv_service;

/* To be called before any descriptor is opened or closed: stores the API's socket in
 * config->api_fd, if the manager passes one named "api", and has log lines for the
 * journal written with fields. */
void clv_service_prepare(struct clv_agent_config *config);

/* The API's socket from the manager, which the caller then owns; -1: there is none. */
int clv_service_take_socket(const struct clv_agent_config *config);

/* Whether the manager keeps the API's socket after the agent's end: its path must stay.
 */
bool clv_service_keeps_socket(const struct clv_agent_config *config);

/* *ret is NULL without a service manager. */
int clv_service_new(
	struct clv_agent *agent, struct clv_service **ret, struct clv_error *err);
struct clv_service *clv_service_free(struct clv_service *service);

/* Notifies the manager that the sockets listen. */
void clv_service_ready(struct clv_agent *agent);

/* Leases, processes or devices have changed: the status is sent within a second. */
void clv_service_changed(struct clv_agent *agent);

void clv_service_stopping(void);
