/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/event-record.h"

#include <stdarg.h>
#include <stdint.h>
#include <sys/types.h>

struct clv_agent;
struct clv_error;

/* What happened, for people and programs that watch.  Events get their number at once and
 * reach the state file at the end of the loop's turn, so that no request waits for them;
 * while the file cannot be written they are kept in memory. */
struct clv_events;

int clv_events_new(
	struct clv_agent *agent, struct clv_events **ret, struct clv_error *err);
/* Writes what is left. */
struct clv_events *clv_events_free(struct clv_events *events);

/* Of the agent itself. */
void clv_events_emit(struct clv_agent *agent, enum clv_event_type type,
	const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Of a device, by its name. */
void clv_events_emit_for_device(struct clv_agent *agent, enum clv_event_type type,
	const char *device, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Of a lease; clv_lease_emit() is for one that this agent has. */
struct clv_lease_record;
void clv_events_emit_for_record(struct clv_agent *agent, enum clv_event_type type,
	const struct clv_lease_record *record, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* device: its name, or NULL. */
void clv_events_emit_args(struct clv_agent *agent, enum clv_event_type type,
	const struct clv_lease_record *record, const char *device, const char *format,
	va_list args) __attribute__((format(printf, 5, 0)));

/* The state file has come late, with events of its own: goes on from their numbers. */
void clv_events_renumber(struct clv_events *events);

/* Of the newest one; 0: there is none. */
uint64_t clv_events_last_id(const struct clv_events *events);

/* Tries to write what is pending. */
void clv_events_flush(struct clv_events *events);

/* As clv_store_read_events, what is still in memory included. */
int clv_events_read(struct clv_events *events, uint64_t after, uint64_t limit, int all,
	uid_t uid, int (*callback)(void *userdata, const struct clv_event *event),
	void *userdata, struct clv_error *err);
