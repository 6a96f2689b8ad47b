/* SPDX-License-Identifier: Apache-2.0 */
/* The series of the agent's objects, and their file.  Each series is written every eighth
 * second, in its turn, so that ten thousand leases cause about a thousand small writes a
 * second and a kill loses eight seconds.  The rows of leases are recorded some at a time,
 * between requests, because the blocks of all leases may be full in the same second. */
#include "agent/history/history.h"

#include "agent/device/devices.h"
#include "agent/history/history-series.h"
#include "agent/history/usage.h"
#include "agent/ledger/ledger.h"
#include "agent/record/agent.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_EVERY 8u
#define OPEN_EVERY 60u
#define AT_ONCE 128u
#define IDLE_MAX 1000u /* of more leases only those in use are recorded */
#define ALL_USERS ((uint32_t)-1)

static const char *const kind_names[_CLV_HISTORY_KIND_MAX] = {
	[CLV_HISTORY_DEVICE] = "device",
	[CLV_HISTORY_PARTITION] = "partition",
	[CLV_HISTORY_LEASE] = "lease",
	[CLV_HISTORY_TENANT] = "tenant",
};

struct clv_history {
	struct clv_agent *agent;
	struct clv_history_book book;
	uint32_t n_ticks;
	sd_event_source *rest;  /* records the remaining leases of this second */
	struct clv_lease *next; /* to be recorded; NULL: all are */
	int64_t moment;         /* this second */
	bool is_of_all;         /* next walks all leases, not only those in use */
	int open_problem;       /* errno of the last failure that was logged */
	bool is_failing;        /* a failure to write was logged */
};

enum clv_history_kind clv_history_kind_from_string(const char *text, size_t n)
{
	for (int i = 0; i < _CLV_HISTORY_KIND_MAX; i++) {
		if (strlen(kind_names[i]) == n && memcmp(kind_names[i], text, n) == 0)
			return (enum clv_history_kind)i;
	}
	return _CLV_HISTORY_KIND_INVALID;
}

static int64_t now_s(void)
{
	return (int64_t)(clv_clock_real_ns() / CLV_NS_PER_S);
}

static int on_rest(sd_event_source *source, void *userdata);

struct clv_history *clv_history_new(struct clv_agent *agent)
{
	struct clv_history *history = calloc(1, sizeof(*history));

	if (!history)
		return NULL;
	history->agent = agent;
	clv_history_book_init(&history->book);
	if (sd_event_add_defer(agent->event, &history->rest, on_rest, history) < 0) {
		free(history);
		return NULL;
	}
	sd_event_source_set_enabled(history->rest, SD_EVENT_OFF);
	return history;
}

struct clv_history *clv_history_free(struct clv_history *history)
{
	if (!history)
		return NULL;
	sd_event_source_disable_unref(history->rest);
	clv_history_book_done(&history->book, now_s());
	free(history);
	return NULL;
}

static void open_file(struct clv_history *history)
{
	char path[CLV_FOLDER_MAX + 16], aside[CLV_FOLDER_MAX + 32];
	struct clv_error err = {0};
	int r;

	snprintf(path, sizeof(path), "%s/history", history->agent->config.state);
	r = clv_history_file_open(
		path, 0, &history->book.file, aside, sizeof(aside), &err);
	if (aside[0] != '\0')
		clv_log_warning(0,
			"the history file was damaged: it is renamed to %s and a new one "
			"is created",
			aside);
	if (r < 0 && r != history->open_problem)
		clv_log_warning(
			0, "only the last minutes of history are kept: %s", err.msg);
	history->open_problem = r < 0 ? r : 0;
	if (r >= 0 && clv_history_file_damaged(history->book.file) > 0)
		clv_log_warning(0, "%u blocks of the history are damaged and left out",
			clv_history_file_damaged(history->book.file));
}

static void report(struct clv_history *history)
{
	bool is_failing = history->book.problem < 0;

	if (is_failing && !history->is_failing)
		clv_log_warning(history->book.problem, "the history cannot be written");
	history->is_failing = is_failing;
}

static void put(struct clv_history *history, struct clv_usage *usage,
	enum clv_history_kind kind, const char *name, uint32_t owner, int64_t now)
{
	struct clv_history_book *book = &history->book;
	struct clv_history_series *series =
		clv_history_series_get(book, &usage->series, kind, name, owner);

	if (!series)
		return;
	clv_history_series_put(book, series, now, &usage->now);
	if (series->number % FLUSH_EVERY == history->n_ticks % FLUSH_EVERY)
		clv_history_series_flush(book, series, now);
}

static void put_devices(struct clv_history *history, int64_t now)
{
	struct clv_devices *devices = history->agent->devices;

	for (size_t i = 0; i < clv_devices_count(devices); i++) {
		struct clv_agent_device *device = clv_devices_at(devices, i);

		if (device->is_present)
			put(history, &device->usage,
				device->parent ? CLV_HISTORY_PARTITION
					       : CLV_HISTORY_DEVICE,
				device->info.name, ALL_USERS, now);
	}
}

static void put_lease(struct clv_history *history, struct clv_lease *lease, int64_t now)
{
	if (!lease->record.is_queued)
		put(history, &lease->usage.usage, CLV_HISTORY_LEASE, lease->record.id,
			lease->owner, now);
}

static struct clv_lease *next_lease(
	const struct clv_history *history, const struct clv_lease *lease)
{
	return history->is_of_all ? TAILQ_NEXT(lease, entry) : LIST_NEXT(lease, of_use);
}

/* A lease without processes does not change: of very many leases only the others are
 * recorded. */
static void begin_leases(struct clv_history *history, int64_t now)
{
	struct clv_agent *agent = history->agent;

	history->moment = now;
	history->is_of_all = agent->n_leases <= IDLE_MAX;
	history->next = history->is_of_all ? TAILQ_FIRST(clv_ledger_leases(agent->ledger))
					   : LIST_FIRST(&agent->in_use);
}

static void put_tenants(struct clv_history *history, int64_t now)
{
	struct clv_usage_tenant *tenant;

	for (size_t i = 0; (tenant = clv_usage_tenant_at(history->agent->usage, i));
		i++) {
		if (tenant->usage.n_leases > 0)
			put(history, &tenant->usage, CLV_HISTORY_TENANT, tenant->name,
				tenant->uid, now);
	}
}

static void put_leases(struct clv_history *history, uint32_t most)
{
	int is_on = SD_EVENT_OFF;

	sd_event_source_get_enabled(history->rest, &is_on);
	if (is_on == SD_EVENT_OFF)
		return;
	for (; history->next && most > 0; most--) {
		struct clv_lease *lease = history->next;

		history->next = next_lease(history, lease);
		put_lease(history, lease, history->moment);
	}
	if (history->next)
		return;
	sd_event_source_set_enabled(history->rest, SD_EVENT_OFF);
	clv_history_end_unseen(&history->book, history->moment);
	report(history);
}

static int on_rest(sd_event_source *source, void *userdata)
{
	put_leases(userdata, AT_ONCE);
	return 0;
}

void clv_history_tick(struct clv_history *history)
{
	int64_t now = now_s();

	put_leases(history, UINT32_MAX); /* left from a second that took too long */
	/* Not at the start: callers that wait for the agent need not wait for this. */
	if (!history->book.file && history->n_ticks % OPEN_EVERY == 0)
		open_file(history);
	history->n_ticks++;
	put_devices(history, now);
	put_tenants(history, now);
	begin_leases(history, now);
	sd_event_source_set_enabled(history->rest, SD_EVENT_ON);
}

void clv_history_end(struct clv_history *history, struct clv_lease *lease)
{
	if (!history)
		return;
	/* The lease has left the list of all leases, but still has its link to the next
	 * one. */
	if (history->next == lease)
		history->next = next_lease(history, lease);
	clv_history_series_end(&history->book, lease->usage.usage.series, now_s());
}

/* A query may come before the first tick. */
static void open_for_reading(struct clv_history *history)
{
	if (history->n_ticks == 0 && !history->book.file)
		open_file(history);
}

bool clv_history_has(struct clv_history *history, struct clv_history_key *key)
{
	open_for_reading(history);
	return clv_history_find(&history->book, key);
}

int clv_history_rows(struct clv_history *history, const struct clv_history_key *key,
	uint32_t step, int64_t from, size_t n, struct clv_history_row *rows,
	bool *has_row, struct clv_error *err)
{
	int r;

	open_for_reading(history);
	r = clv_history_get(&history->book, key, step, from, now_s(), n, rows, has_row);

	return r < 0 ? clv_error_errno(err, -r, "cannot read the history") : 0;
}

void clv_history_get_state(
	const struct clv_history *history, struct clv_history_state *ret)
{
	const struct clv_history_file *file = history->book.file;

	*ret = (struct clv_history_state){
		.n_failed = history->book.n_failed,
		.n_series = history->book.n_series,
	};
	if (!file)
		return;
	ret->n_damaged = clv_history_file_damaged(file);
	ret->n_bytes =
		((uint64_t)clv_history_file_blocks(file) + 1) * CLV_HISTORY_BLOCK_BYTES;
}
