/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/demand.h"
#include "agent/store-key.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <systemd/sd-event.h>

#define CLV_FOLDER_MAX 1024

struct clv_apply;
struct clv_config;
struct clv_counters;
struct clv_devices;
struct clv_events;
struct clv_hardware;
struct clv_holder_watches;
struct clv_history;
struct clv_http;
struct clv_idle;
struct clv_lease;
struct clv_ledger;
struct clv_made;
struct clv_sampler;
struct clv_service;
struct clv_standing;
struct clv_store;
struct clv_tokens;
struct clv_usage_book;
struct clv_watchdog;

/* How the agent was started. */
struct clv_agent_config {
	char runtime[CLV_FOLDER_MAX];  /* sockets */
	char state[CLV_FOLDER_MAX];    /* the state file */
	char locks[CLV_FOLDER_MAX];    /* one lock file per device of the machine */
	char sim[CLV_FOLDER_MAX];      /* a simulated node's file; "": a real node */
	char restore[CLV_FOLDER_MAX];  /* a backup to put in place, and end; "": none */
	char settings[CLV_FOLDER_MAX]; /* the settings' file; "": where it usually is */
	bool is_system;                /* serves all users */
	bool allow_overcommit;
	bool is_foreground;
	uint32_t idle_exit_s; /* 0: never */
	int ready_fd;         /* -1: none */
	int api_fd;           /* the API's socket from the service manager; 0: none */
	bool api_is_stored;   /* the service manager keeps a copy of our own */
};

/* What the parts of the agent know of each other.  Owned by main; loop thread only. */
struct clv_agent {
	struct clv_agent_config config;
	struct clv_config *settings; /* the file's; never NULL */
	sd_event *event;
	struct clv_store *store; /* NULL: cannot be opened; then store_problem says why */
	bool store_is_copy;      /* only to be read, for the adoption */
	unsigned int store_n_waits;
	int store_code;
	char store_problem[256];
	bool store_is_stale; /* a write failed: to be put right when it works again */
	struct clv_events *events;
	struct clv_devices *devices;
	struct clv_hardware *hardware;
	struct clv_apply *apply;
	struct clv_standing *standing;
	struct clv_demand demand;
	struct clv_made *made;
	struct clv_tokens *tokens;
	struct clv_key_record current_key; /* of the request that is being handled */
	uint64_t first_survey; /* devices are not known before it is answered */
	struct clv_holder_watches *watches;
	struct clv_ledger *ledger;
	size_t n_leases, n_queued;
	LIST_HEAD(, clv_lease) in_use; /* leases that a process has attached to */
	uint64_t n_changes;            /* of leases: what is promised has changed since */
	struct clv_http *http;
	struct clv_idle *idle;
	struct clv_sampler *sampler;
	struct clv_service *service; /* NULL: no service manager */
	struct clv_counters *counters;
	struct clv_usage_book *usage;
	struct clv_history *history;
	struct clv_watchdog *watchdog;
	uint64_t started_real_ns;
};
