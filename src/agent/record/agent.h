/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/os/scan-budget.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <systemd/sd-event.h>

#define CLV_FOLDER_MAX 1024

struct clv_apply;
struct clv_buckets;
struct clv_config;
struct clv_counters;
struct clv_demand;
struct clv_devices;
struct clv_events;
struct clv_hardware;
struct clv_holder_watches;
struct clv_history;
struct clv_http;
struct clv_idle;
struct clv_lease;
struct clv_ledger;
struct clv_lifecycle;
struct clv_ephemeral;
struct clv_names;
struct clv_notify;
struct clv_published;
struct clv_reapply;
struct clv_reload;
struct clv_resurvey;
struct clv_route_table;
struct clv_sampler;
struct clv_service;
struct clv_standing;
struct clv_state;
struct clv_tokens;
struct clv_usage_book;
struct clv_watchdog;

/* How the agent was started: its command line, and what the service manager passed. */
struct clv_agent_config {
	char runtime[CLV_FOLDER_MAX];  /* sockets */
	char state[CLV_FOLDER_MAX];    /* the state file */
	char locks[CLV_FOLDER_MAX];    /* one lock file per device of the machine */
	char sim[CLV_FOLDER_MAX];      /* a simulated node's file; "": a real node */
	char restore[CLV_FOLDER_MAX];  /* a backup to restore before exiting; "": none */
	char settings[CLV_FOLDER_MAX]; /* the settings file; "": the default path */
	bool is_system;                /* serves all users */
	bool allow_overcommit;
	bool is_foreground;
	bool checks_users;    /* users that the settings name have to exist */
	uint32_t idle_exit_s; /* 0: never */
	int ready_fd;         /* -1: none */
	int api_fd;         /* the API's socket, passed by the service manager; 0: none */
	bool api_is_stored; /* the service manager's fd store has our own socket */
};

/* The parts of the agent, for all rooms.  Owned by main(); loop thread only. */
struct clv_agent {
	struct clv_agent_config config;
	struct clv_config *settings; /* of the settings file, or defaults; never NULL */
	unsigned int n_reloads;      /* how often settings was replaced */
	struct clv_reload *reload;
	sd_event *event;
	struct clv_notify *notify;
	struct clv_state *state;
	struct clv_events *events;
	struct clv_names *names; /* of devices */
	struct clv_devices *devices;
	struct clv_hardware *hardware;
	struct clv_apply *apply;
	struct clv_reapply *reapply;
	struct clv_resurvey *resurvey;
	struct clv_standing *standing;
	struct clv_demand *demand;
	struct clv_ephemeral *ephemeral;
	struct clv_tokens *tokens;
	struct clv_published *published;
	uint64_t first_survey; /* created at the start; finds the partitions */
	struct clv_holder_watches *watches;
	struct clv_ledger *ledger;
	struct clv_lifecycle *lifecycle;
	size_t n_leases, n_queued, n_expiring; /* of the ledger */
	bool awaits_users; /* whether the tenant of a queued lease has groups that are not
			      known */
	uint64_t ranked_ns; /* when the queues were last ranked; 0: they must be again */
	LIST_HEAD(, clv_lease) in_use; /* leases that a process has attached to */
	uint64_t n_changes;            /* of promises and of in_use */
	const struct clv_route_table *routes;
	struct clv_lease_changes *changes;
	struct clv_http *http;
	struct clv_idle *idle;
	struct clv_sampler *sampler;
	struct clv_service *service; /* NULL: no service manager */
	struct clv_counters *counters;
	/* Limit the rows of the audit and the lines of the log. */
	struct clv_buckets *refusals, *tenant_changes;
	struct clv_usage_book *usage;
	struct clv_history *history;
	struct clv_watchdog *watchdog;
	struct clv_scan_budget scan_budget;
	uint64_t started_real_ns;
};
