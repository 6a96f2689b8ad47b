/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/event-record.h"

#include <stdarg.h>
#include <stdint.h>
#include <sys/types.h>

struct clv_agent;
struct clv_error;

/* Events of the agent, for users and for programs that follow them.  An event gets its id
 * at once and reaches the state file at the end of the loop's iteration, so that no
 * request waits for the disk; while the file cannot be written events are kept in memory.
 */
struct clv_events;

int clv_events_new(
	struct clv_agent *agent, struct clv_events **ret, struct clv_error *err);
/* Writes the pending events first. */
struct clv_events *clv_events_free(struct clv_events *events);

/* Records an event of the agent itself. */
void clv_events_emit(struct clv_agent *agent, enum clv_event_type type,
	const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Records an event of a device, by its name. */
void clv_events_emit_for_device(struct clv_agent *agent, enum clv_event_type type,
	const char *device, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Records an event that only its owner, admins and viewers see; device may be NULL. */
void clv_events_emit_for_owner(struct clv_agent *agent, enum clv_event_type type,
	uid_t owner, const char *device, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* Records an event of a lease that is not in the ledger; clv_lease_emit() is for the
 * others. */
struct clv_lease_record;
void clv_events_emit_for_record(struct clv_agent *agent, enum clv_event_type type,
	const struct clv_lease_record *record, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Records an event; record and device (a name) may be NULL. */
void clv_events_emit_args(struct clv_agent *agent, enum clv_event_type type,
	const struct clv_lease_record *record, const char *device, const char *format,
	va_list args) __attribute__((format(printf, 5, 0)));

/* To be called when a state file could be opened only after the start: renumbers the
 * pending events behind those in the file. */
void clv_events_renumber(struct clv_events *events);

/* The id of the newest event; 0: there is none. */
uint64_t clv_events_last_id(const struct clv_events *events);

/* Writes the pending events.  If that fails they stay in memory. */
void clv_events_flush(struct clv_events *events);

/* As clv_store_read_events(), with the pending events, which are written before they are
 * read, if they can be. */
int clv_events_read(struct clv_events *events, uint64_t after, uint64_t limit, int all,
	uid_t uid, int (*callback)(void *userdata, const struct clv_event *event),
	void *userdata, struct clv_error *err);
