/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct clv_agent;
struct clv_lease;
struct clv_error;

enum clv_event_type {
	CLV_EVENT_AGENT_STARTED,
	CLV_EVENT_AGENT_STOPPING,
	CLV_EVENT_LEASE_QUEUED,
	CLV_EVENT_LEASE_CREATED,
	CLV_EVENT_LEASE_RESIZED,
	CLV_EVENT_LEASE_ENDED,
	CLV_EVENT_PROCESS_ATTACHED,
	CLV_EVENT_PROCESS_REFUSED,
	CLV_EVENT_PROCESS_ENDED,
	CLV_EVENT_MEMORY_REFUSED,
	CLV_EVENT_DRAIN_OVERDUE,
	CLV_EVENT_LEASE_ADOPTED,
	CLV_EVENT_PROCESS_STRAYED,
	CLV_EVENT_APPLY_DONE,
	CLV_EVENT_APPLY_FAILED,
	CLV_EVENT_APPLY_ROLLED_BACK,
	CLV_EVENT_APPLY_RESUMED,
	CLV_EVENT_LEASE_EXPIRED,
	CLV_EVENT_DEVICE_CORDONED,
	CLV_EVENT_DEVICE_UNCORDONED,
	CLV_EVENT_DEVICE_DEGRADED,
	CLV_EVENT_DEVICE_LOST,
	CLV_EVENT_DEVICE_RECOVERED,
	CLV_EVENT_DEVICE_ERROR,
	CLV_EVENT_PROCESS_WITHOUT_LEASE,
	CLV_EVENT_LEASE_OVER_QUOTA,
	CLV_EVENT_LEASE_WITHIN_QUOTA,
	CLV_EVENT_LEASE_PAST_GATE,
	CLV_EVENT_LEASE_WITHIN_GATE,
	CLV_EVENT_DEVICE_EXECUTOR,
	CLV_EVENT_UNGATED_API,
	CLV_EVENT_SHARE_MOVED,
	CLV_EVENT_SM_NOT_HELD,
	_CLV_EVENT_TYPE_MAX,
};

const char *clv_event_type_to_string(enum clv_event_type type);

#define CLV_EVENT_NOBODY ((uid_t)-1) /* of the agent, shown to all */
#define CLV_EVENTS_KEPT 10000u

struct clv_event {
	uint64_t id;
	uint64_t time_real_ns;
	char type[32];
	char lease[24];
	char name[64];
	char device[72];
	uid_t uid;
	char message[256];
};

/* What happened, for people and programs that watch.  Events get their number at once and
 * reach the state file at the end of the loop's turn, so that no request waits for them;
 * while the file cannot be written they are kept in memory. */
struct clv_events;

int clv_events_new(
	struct clv_agent *agent, struct clv_events **ret, struct clv_error *err);
/* Writes what is left. */
struct clv_events *clv_events_free(struct clv_events *events);

/* lease may be NULL. */
void clv_events_emit(struct clv_agent *agent, enum clv_event_type type,
	const struct clv_lease *lease, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Of a device, by its name. */
void clv_events_emit_for_device(struct clv_agent *agent, enum clv_event_type type,
	const char *device, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* For a lease that this agent has never had. */
struct clv_lease_record;
void clv_events_emit_for_record(struct clv_agent *agent, enum clv_event_type type,
	const struct clv_lease_record *record, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

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
