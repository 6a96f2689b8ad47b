/* SPDX-License-Identifier: Apache-2.0 */
/* The table of metrics, and writing them for the agent and for each device, lease and
 * tenant. tests/metrics/test_metrics.py compares docs/metrics.md with the table.
 * Counters come from usage.c and counters.c, so they start at 0 with the agent and only
 * grow. */
#include "agent/api/show/metrics.h"

#include "agent/api/object/route.h"
#include "agent/api/show/exposition.h"
#include "agent/api/show/readiness.h"
#include "agent/apply/apply.h"
#include "agent/device/condition.h"
#include "agent/device/devices.h"
#include "agent/event/counters.h"
#include "agent/history/history.h"
#include "agent/history/usage.h"
#include "agent/http/http.h"
#include "agent/layout/reapply.h"
#include "agent/lease/debts.h"
#include "agent/ledger/ledger.h"
#include "agent/os/self.h"
#include "agent/record/agent.h"
#include "agent/store/state.h"
#include "agent/user/bucket.h"
#include "agent/watch/watchdog.h"
#include "arbiter/arbiter.h"
#include "base/cleanup.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NS 1e-9
#define TEXT_MAX 160u

/* A lease with its labels, which are formatted once. */
struct shown {
	const struct clv_lease *lease;
	char *labels;
	bool has_worked;   /* is shown with all metrics */
	unsigned int also; /* is shown with these, too */
};

/* What getters read from; members that do not apply are NULL. */
struct source {
	struct clv_agent *agent;
	const struct clv_usage *usage;
	const struct clv_agent_device *device;
	const struct clv_lease *lease;
	struct clv_self self;
	struct clv_history_state history;
	struct shown *shown; /* the active leases in order */
	size_t n_shown;
	uint32_t n_worked;
};

/* What a metric is for: the agent, or each device or partition, lease and tenant. */
#define AGENT 1u
#define DEVICE 2u
#define LEASE 4u
#define TENANT 8u
#define ALL (DEVICE | LEASE | TENANT)
/* Also of leases in which no program has run: of all, and of those of which the watchdog
 * knows something, because programs that bypass the gate have no turns. */
#define IDLE 16u
#define OBSERVED 32u

struct metric {
	unsigned int of;
	struct clv_family family; /* "cleave_device_", ... goes before the name */
	/* The source, one of these: a getter, a counter of usage with its scale, a column
	 * of the last second, the histogram of waits, or a writer of all samples. counter
	 * and column are 1 more than the index; 0: not this one. */
	double (*get)(const struct source *source);
	double scale;
	int counter, column;
	bool is_waits;
	void (*write)(struct clv_exposition *to, const struct clv_family *family,
		struct source *source);
};

/* Getters. */

static double get_one(const struct source *source)
{
	return 1;
}

static double get_ready(const struct source *source)
{
	struct clv_readiness readiness = clv_readiness(source->agent);

	return clv_readiness_is_whole(&readiness);
}

static double get_stale(const struct source *source)
{
	return source->agent->state->is_stale || !clv_state_get(source->agent, NULL);
}

static double get_state_errors(const struct source *source)
{
	return (double)source->agent->state->n_errors;
}

static double get_busy(const struct source *source)
{
	return clv_apply_is_busy(source->agent->apply);
}

static double get_layout_waiting(const struct source *source)
{
	return (double)clv_reapply_n_waiting(source->agent->reapply);
}

static double get_waiting(const struct source *source)
{
	return (double)clv_http_count_waiting(source->agent->http);
}

static double get_unwritten(const struct source *source)
{
	return (double)clv_buckets_n_withheld(source->agent->refusals);
}

static double get_unwritten_changes(const struct source *source)
{
	return (double)clv_buckets_n_withheld(source->agent->tenant_changes);
}

static double get_history_bytes(const struct source *source)
{
	return (double)source->history.n_bytes;
}

static double get_history_series(const struct source *source)
{
	return source->history.n_series;
}

static double get_history_damaged(const struct source *source)
{
	return (double)source->history.n_damaged;
}

static double get_history_errors(const struct source *source)
{
	return (double)source->history.n_failed;
}

static double get_cpu(const struct source *source)
{
	return source->self.cpu_seconds;
}

static double get_resident(const struct source *source)
{
	return (double)source->self.resident_bytes;
}

static double get_fds(const struct source *source)
{
	return source->self.n_fds;
}

static double get_start(const struct source *source)
{
	return (double)source->agent->started_real_ns * NS;
}

static double get_omitted(const struct source *source)
{
	return source->n_worked > CLV_METRICS_WORKED_MAX
		       ? source->n_worked - CLV_METRICS_WORKED_MAX
		       : 0;
}

static double get_size(const struct source *source)
{
	return (double)source->device->info.memory_bytes;
}

static double get_past_debt(const struct source *source)
{
	return (double)clv_debts_of_past_ns(source->device) * NS;
}

static double get_present(const struct source *source)
{
	return source->device->is_present;
}

static double get_cordoned(const struct source *source)
{
	return source->device->is_cordoned;
}

static const struct clv_reading *reading_of(const struct source *source)
{
	const struct clv_condition *condition = source->device->condition;

	return condition ? &condition->reading : NULL;
}

#define DEFINE_GET_READING(name)                                        \
	static double get_##name(const struct source *source)           \
	{                                                               \
		const struct clv_reading *reading = reading_of(source); \
                                                                        \
		return reading ? reading->name : NAN;                   \
	}

DEFINE_GET_READING(power_watts)
DEFINE_GET_READING(temperature_celsius)
DEFINE_GET_READING(energy_joules)
DEFINE_GET_READING(utilization)
DEFINE_GET_READING(encoder)
DEFINE_GET_READING(decoder)

static double get_driver_memory(const struct source *source)
{
	const struct clv_reading *reading = reading_of(source);

	return reading && reading->memory_used_bytes != CLV_READING_UNKNOWN
		       ? (double)reading->memory_used_bytes
		       : NAN;
}

static double get_health(const struct source *source)
{
	return clv_condition_state(source->device);
}

static double get_without_lease(const struct source *source)
{
	const struct clv_driver_processes *processes =
		clv_watchdog_processes(source->agent->watchdog);
	uint32_t n = 0;

	for (size_t i = 0; i < processes->n; i++)
		n += processes->items[i].device == source->device &&
		     processes->items[i].kind != CLV_DRIVER_PROCESS_LEASED;
	return n;
}

static double get_lease_driver_memory(const struct source *source)
{
	const struct clv_lease_observed *observed = &source->lease->observed;

	return observed->is_known ? (double)observed->memory_bytes : NAN;
}

static double get_lease_driver_utilization(const struct source *source)
{
	const struct clv_lease_work *work = &source->lease->observed.work;

	return work->is_known ? work->utilization : NAN;
}

static double get_past_gate(const struct source *source)
{
	const struct clv_lease_work *work = &source->lease->observed.work;

	return work->is_known ? work->bypasses_gate : NAN;
}

static double get_memory_overhead(const struct source *source)
{
	struct clv_arbiter_sample sample;

	if (!source->lease->observed.is_known)
		return NAN;
	clv_lease_sample(source->lease, &sample);
	return (double)sample.memory_overhead_bytes;
}

static double get_over_quota(const struct source *source)
{
	const struct clv_lease_observed *observed = &source->lease->observed;

	return observed->is_known ? observed->is_over : NAN;
}

static double get_ungated(const struct source *source)
{
	return source->lease->observed.ungated ? 1 : NAN;
}

static double get_leases(const struct source *source)
{
	return source->usage->n_leases;
}

static double get_queued(const struct source *source)
{
	return source->usage->n_queued;
}

static double get_processes(const struct source *source)
{
	return source->lease->n_processes;
}

static double get_cap(const struct source *source)
{
	uint32_t cap_ppm = source->lease->record.share.cap_ppm;

	return cap_ppm ? (double)cap_ppm / CLV_PPM : 1;
}

static double get_debt(const struct source *source)
{
	return -(double)source->lease->usage.lag_ns * NS;
}

/* A destroyed partition has no metrics; a lost device keeps its metrics. */
static bool is_gone(const struct clv_agent_device *device)
{
	return device->parent && !device->is_present;
}

/* Writers of metrics with labels of their own. */

static void write_build(
	struct clv_exposition *to, const struct clv_family *family, struct source *source)
{
	struct clv_labels labels = {{{"version", CLV_VERSION},
		{"mode", source->agent->config.is_system ? "system" : "user"}}};

	clv_exposition_value(to, family, &labels, 1);
}

static void write_events(
	struct clv_exposition *to, const struct clv_family *family, struct source *source)
{
	for (int i = 0; i < _CLV_EVENT_TYPE_MAX; i++) {
		struct clv_labels labels = {
			{{"type", clv_event_type_to_string((enum clv_event_type)i)}}};

		clv_exposition_value(
			to, family, &labels, (double)source->agent->counters->events[i]);
	}
}

static void write_operations(
	struct clv_exposition *to, const struct clv_family *family, struct source *source)
{
	static const char *const results[_CLV_COUNTED_RESULT_MAX] = {
		"done", "failed", "rolled_back"};

	for (size_t i = 0; i < _CLV_COUNTED_RESULT_MAX; i++) {
		struct clv_labels labels = {{{"result", results[i]}}};

		clv_exposition_value(to, family, &labels,
			(double)source->agent->counters->operations[i]);
	}
}

static void write_limited(
	struct clv_exposition *to, const struct clv_family *family, struct source *source)
{
	static const char *const limits[_CLV_COUNTED_LIMIT_MAX] = {
		"user", "address", "server"};

	for (size_t i = 0; i < _CLV_COUNTED_LIMIT_MAX; i++) {
		struct clv_labels labels = {{{"limit", limits[i]}}};

		clv_exposition_value(
			to, family, &labels, (double)source->agent->counters->limited[i]);
	}
}

static void write_applies(
	struct clv_exposition *to, const struct clv_family *family, struct source *source)
{
	const struct clv_histogram *applies = &source->agent->counters->applies;

	clv_exposition_histogram(
		to, family, NULL, applies->counts, applies->sum_ns, NS * 1000);
}

static struct clv_labels labels_of_route(
	const struct clv_route_table *table, size_t at, const char *status)
{
	const struct clv_route *routes = table->items;

	if (at == table->n)
		return (struct clv_labels){{{"route", "other"}, {"status", status}}};
	return (struct clv_labels){{{"method", routes[at].method},
		{"route", routes[at].path}, {"status", status}}};
}

static void write_requests(
	struct clv_exposition *to, const struct clv_family *family, struct source *source)
{
	const struct clv_counters *counters = source->agent->counters;
	char status[12];

	for (size_t i = 0; i < counters->n_routes; i++) {
		for (size_t j = 0; j < CLV_COUNTED_STATUSES; j++) {
			struct clv_labels labels;

			if (counters->routes[i].statuses[j] == 0)
				continue;
			snprintf(status, sizeof(status), "%u", clv_counted_statuses[j]);
			labels = labels_of_route(source->agent->routes, i,
				clv_counted_statuses[j] ? status : "other");
			clv_exposition_value(to, family, &labels,
				(double)counters->routes[i].statuses[j]);
		}
	}
}

static void write_durations(
	struct clv_exposition *to, const struct clv_family *family, struct source *source)
{
	const struct clv_counters *counters = source->agent->counters;

	for (size_t i = 0; i < counters->n_routes; i++) {
		const struct clv_histogram *busy = &counters->routes[i].busy;
		struct clv_labels labels =
			labels_of_route(source->agent->routes, i, NULL);
		uint64_t n = 0;

		for (size_t j = 0; j <= CLV_HISTOGRAM_BOUNDS; j++)
			n += busy->counts[j];
		if (n > 0)
			clv_exposition_histogram(
				to, family, &labels, busy->counts, busy->sum_ns, NS);
	}
}

static void write_device_info(
	struct clv_exposition *to, const struct clv_family *family, struct source *source)
{
	for (size_t i = 0; i < clv_devices_count(source->agent->devices); i++) {
		const struct clv_agent_device *device =
			clv_devices_at(source->agent->devices, i);
		const struct clv_agent_device *root =
			device->parent ? device->parent : device;
		struct clv_labels labels = {{{"device", root->info.name},
			{"partition", device->parent ? device->info.name : NULL},
			{"uuid", device->info.uuid}, {"model", device->info.model},
			{"type", device->info.type}, {"profile", device->info.profile}}};

		if (!is_gone(device))
			clv_exposition_value(to, family, &labels, 1);
	}
}

/* The table. */

/* clang-format off */
#define COUNTER(name, unit, help) {name, CLV_METRIC_COUNTER, unit, help}
#define GAUGE(name, unit, help) {name, CLV_METRIC_GAUGE, unit, help}
#define HISTOGRAM(name, unit, help) {name, CLV_METRIC_HISTOGRAM, unit, help}
#define INFO(name, help) {name, CLV_METRIC_INFO, "", help}
#define COUNT(which, scaled) .counter = 1 + (which), .scale = (scaled)
#define COLUMN(which) .column = 1 + (which)

static const struct metric metrics[] = {
	{AGENT, INFO("cleave_build", "The agent's version, and whether it serves the system or a user."), .write = write_build},
	{AGENT, GAUGE("cleave_ready", "", "Whether the agent can grant leases, 0 or 1."), get_ready},
	{AGENT, GAUGE("cleave_state_stale", "", "Whether the state file lacks changes, 0 or 1."), get_stale},
	{AGENT, COUNTER("cleave_state_errors", "", "Writes to the state file that failed."), get_state_errors},
	{AGENT, GAUGE("cleave_history_size_bytes", "bytes", "Size of the history file."), get_history_bytes},
	{AGENT, GAUGE("cleave_history_series", "", "Series that are being written to the history."), get_history_series},
	{AGENT, GAUGE("cleave_history_damaged_blocks", "", "Blocks of the history that were damaged when it was opened."), get_history_damaged},
	{AGENT, COUNTER("cleave_history_errors", "", "Writes to the history that failed."), get_history_errors},
	{AGENT, COUNTER("cleave_events", "", "Events, by type."), .write = write_events},
	{AGENT, COUNTER("cleave_operations", "", "Changes of the node's partitions that ended, by result."), .write = write_operations},
	{AGENT, GAUGE("cleave_operation_running", "", "Whether a change of the node's partitions is under way, 0 or 1."), get_busy},
	{AGENT, HISTOGRAM("cleave_operation_duration_seconds", "seconds", "How long changes of the node's partitions took, waiting included."), .write = write_applies},
	{AGENT, GAUGE("cleave_layout_devices_waiting", "", "Devices on which the kept layout is not applied: busy, gone, failed or changed since."), get_layout_waiting},
	{AGENT, COUNTER("cleave_api_requests", "", "Requests answered, by route and status."), .write = write_requests},
	{AGENT, HISTOGRAM("cleave_api_request_busy_seconds", "seconds", "How long requests kept the agent busy, without the time for which they waited."), .write = write_durations},
	{AGENT, GAUGE("cleave_api_waiting_requests", "", "Requests that wait: long polls and streams."), get_waiting},
	{AGENT, COUNTER("cleave_api_connections_limited", "", "Connections closed because a user, an address or the server had too many, by limit."), .write = write_limited},
	{AGENT, COUNTER("cleave_audit_refusals_unwritten", "", "Refused attempts that are not in the audit, because their callers had too many."), get_unwritten},
	{AGENT, COUNTER("cleave_audit_changes_unwritten", "", "Changes by tenants that are not in the audit, because their callers made too many."), get_unwritten_changes},
	{AGENT, GAUGE("cleave_leases_without_metrics", "", "Active leases over the thousand that have metrics of their programs' work."), get_omitted},
	{AGENT, COUNTER("process_cpu_seconds", "seconds", "Processor time of the agent."), get_cpu},
	{AGENT, GAUGE("process_resident_memory_bytes", "bytes", "Resident memory of the agent."), get_resident},
	{AGENT, GAUGE("process_open_fds", "", "Open file descriptors of the agent."), get_fds},
	{AGENT, GAUGE("process_start_time_seconds", "seconds", "When the agent started, since 1970."), get_start},

	{AGENT, INFO("cleave_device", "What a device or partition is."), .write = write_device_info},
	{DEVICE, GAUGE("present", "", "Whether the drivers show it, 0 or 1."), get_present},
	{DEVICE, GAUGE("cordoned", "", "Whether it takes no new lease, 0 or 1."), get_cordoned},
	{DEVICE, GAUGE("health", "", "0: ok, 1: degraded, 2: lost."), get_health},
	{DEVICE, GAUGE("power_watts", "watts", "Power drawn, as the driver reports it."), get_power_watts},
	{DEVICE, GAUGE("temperature_celsius", "celsius", "Temperature of the chip, as the driver reports it."), get_temperature_celsius},
	{DEVICE, COUNTER("energy_joules", "joules", "Energy used since the driver was loaded, as it reports it."), get_energy_joules},
	{DEVICE, GAUGE("utilization_ratio", "ratio", "Part of the driver's last sampling period in which work ran on it."), get_utilization},
	{DEVICE, GAUGE("encoder_utilization_ratio", "ratio", "Utilization of its video encoders, as the driver reports it."), get_encoder},
	{DEVICE, GAUGE("decoder_utilization_ratio", "ratio", "Utilization of its video decoders, as the driver reports it."), get_decoder},
	{DEVICE, GAUGE("driver_memory_used_bytes", "bytes", "Memory in use by all processes, as the driver reports it."), get_driver_memory},
	{DEVICE, GAUGE("processes_without_lease", "", "Processes that the driver reports on it and that have no lease there."), get_without_lease},
	{DEVICE, GAUGE("memory_size_bytes", "bytes", "Memory of the device."), get_size},
	{DEVICE, GAUGE("debt_seconds", "seconds", "Held time that tenants owe from leases that ended."), get_past_debt},
	{DEVICE | TENANT, GAUGE("leases", "", "Active leases."), get_leases},
	{DEVICE | TENANT, GAUGE("queued_leases", "", "Leases that wait to be admitted."), get_queued},

	{LEASE | IDLE, GAUGE("active", "", "1, for each active lease."), get_one},
	{LEASE, GAUGE("processes", "", "Processes that are attached."), get_processes},
	{LEASE | IDLE, GAUGE("share_cap_ratio", "ratio", "Its cap; 1 without one."), get_cap},
	{LEASE, GAUGE("debt_seconds", "seconds", "Held time that it is ahead of its share; below 0: behind."), get_debt},
	{LEASE | OBSERVED, GAUGE("driver_memory_bytes", "bytes", "Memory that its processes hold, as the driver reports it."), get_lease_driver_memory},
	{LEASE | OBSERVED, GAUGE("memory_overhead_bytes", "bytes", "Memory that only the driver shows: contexts, loaded code; it counts in the quota."), get_memory_overhead},
	{LEASE | OBSERVED, GAUGE("over_quota", "", "Whether the memory that the driver reports is over its quota, 0 or 1; only where a driver reports it."), get_over_quota},
	{LEASE | OBSERVED, GAUGE("driver_utilization_ratio", "ratio", "Utilization of the device by its processes, as the driver reports it."), get_lease_driver_utilization},
	{LEASE | OBSERVED, GAUGE("past_gate", "", "Whether that utilization exceeds its turns, 0 or 1; only where a driver reports it."), get_past_gate},
	{LEASE | OBSERVED, GAUGE("ungated", "", "1, for each lease that uses an API without a gate."), get_ungated},
	{ALL | IDLE, GAUGE("share_promised_ratio", "ratio", "Compute promised, in devices."), COLUMN(CLV_HISTORY_SHARE_PROMISED)},
	{ALL, GAUGE("share_used_ratio", "ratio", "Compute held in the last second, in devices."), COLUMN(CLV_HISTORY_SHARE_USED)},
	{ALL, GAUGE("memory_used_bytes", "bytes", "Memory allocated."), COLUMN(CLV_HISTORY_MEMORY_USED)},
	{ALL | IDLE, GAUGE("memory_quota_bytes", "bytes", "Memory promised."), COLUMN(CLV_HISTORY_MEMORY_QUOTA)},
	{ALL, COUNTER("held_seconds", "seconds", "Time for which devices were held."), COUNT(CLV_USAGE_HELD_NS, NS)},
	{ALL, COUNTER("throttled_seconds", "seconds", "Time for which a cap kept leases with work from running."), COUNT(CLV_USAGE_THROTTLED_NS, NS)},
	{ALL, COUNTER("waiting_seconds", "seconds", "Time for which leases with work had no turn."), COUNT(CLV_USAGE_WAITING_NS, NS)},
	{ALL, HISTOGRAM("turn_wait_seconds", "seconds", "How long leases waited for a turn."), .is_waits = true},
	{ALL, COUNTER("turns", "", "Turns begun."), COUNT(CLV_USAGE_TURNS, 1)},
	{ALL, COUNTER("preemptions", "", "Turns that ended early for another lease."), COUNT(CLV_USAGE_REVOCATIONS, 1)},
	{ALL, COUNTER("drains_overdue", "", "Turns after which the device was not given back in time."), COUNT(CLV_USAGE_OVERDUE, 1)},
	{ALL, COUNTER("memory_refusals", "", "Allocations refused for the quota."), COUNT(CLV_USAGE_REFUSED, 1)},
};
/* clang-format on */

/* Writing. */

static void write_sample(struct clv_exposition *to, const struct metric *metric,
	const struct clv_family *family, const struct source *source,
	const struct clv_labels *labels)
{
	const struct clv_usage *usage = source->usage;
	double value;

	if (metric->is_waits) {
		clv_exposition_histogram(to, family, labels,
			&usage->counts[CLV_USAGE_WAITS],
			usage->counts[CLV_USAGE_WAIT_SUM_NS], NS);
		return;
	}
	if (metric->get)
		value = metric->get(source);
	else if (metric->counter)
		value = (double)usage->counts[metric->counter - 1] * metric->scale;
	else
		value = (double)usage->now.values[metric->column - 1] /
			clv_history_columns[metric->column - 1].parts;
	/* NAN: not known, so no sample. */
	if (!isnan(value))
		clv_exposition_value(to, family, labels, value);
}

static void label_device(
	const struct clv_agent_device *device, struct clv_label *device_and_partition)
{
	device_and_partition[0] = (struct clv_label){
		"device", device->parent ? device->parent->info.name : device->info.name};
	device_and_partition[1] = (struct clv_label){
		"partition", device->parent ? device->info.name : NULL};
}

static void write_devices(struct clv_exposition *to, const struct metric *metric,
	const struct clv_family *family, struct source *source)
{
	for (size_t i = 0; i < clv_devices_count(source->agent->devices); i++) {
		struct clv_labels labels = {0};

		if (is_gone(clv_devices_at(source->agent->devices, i)))
			continue;
		source->device = clv_devices_at(source->agent->devices, i);
		source->usage = &source->device->usage;
		label_device(source->device, labels.items);
		write_sample(to, metric, family, source, &labels);
	}
}

static struct clv_labels labels_of(const struct clv_lease *lease)
{
	struct clv_labels labels = {{{0}, {0}, {"lease", lease->record.id},
		{"name", lease->record.name}, {"tenant", lease->record.tenant}}};

	label_device(lease->device, labels.items);
	return labels;
}

static struct clv_lease *next_active(
	const struct clv_agent *agent, struct clv_lease *lease)
{
	lease = lease ? TAILQ_NEXT(lease, entry)
		      : TAILQ_FIRST(clv_ledger_leases(agent->ledger));
	while (lease && lease->record.is_queued)
		lease = TAILQ_NEXT(lease, entry);
	return lease;
}

static bool has_worked(const struct clv_lease *lease)
{
	const struct clv_usage *usage = &lease->usage.usage;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(usage->counts); i++) {
		if (usage->counts[i] > 0)
			return true;
	}
	return lease->n_processes > 0;
}

static bool is_observed(const struct clv_lease *lease)
{
	return lease->observed.is_known || lease->observed.work.is_known ||
	       lease->observed.ungated;
}

/* Leases without memory for them are left out. */
static void find_shown(struct source *source)
{
	struct clv_lease *lease = NULL;
	size_t most = 0;

	while ((lease = next_active(source->agent, lease)))
		most++;
	source->shown = calloc(most + 1, sizeof(*source->shown));
	while (source->shown && (lease = next_active(source->agent, lease))) {
		struct clv_labels labels = labels_of(lease);
		struct shown *shown = &source->shown[source->n_shown++];

		shown->lease = lease;
		shown->labels = clv_exposition_labels(&labels);
		shown->also = IDLE | (is_observed(lease) ? OBSERVED : 0);
		if (has_worked(lease))
			shown->has_worked = source->n_worked++ < CLV_METRICS_WORKED_MAX;
	}
}

static void free_shown(struct source *source)
{
	for (size_t i = 0; i < source->n_shown; i++)
		free(source->shown[i].labels);
	free(source->shown);
}

static void write_leases(struct clv_exposition *to, const struct metric *metric,
	const struct clv_family *family, struct source *source)
{
	for (size_t i = 0; i < source->n_shown; i++) {
		const struct shown *shown = &source->shown[i];
		/* The text has all labels, of which one shows that there are any. */
		struct clv_labels labels = {
			.items = {{"lease", shown->labels}}, .text = shown->labels};

		if (!shown->labels || !(shown->has_worked || metric->of & shown->also))
			continue;
		source->lease = shown->lease;
		source->usage = &shown->lease->usage.usage;
		write_sample(to, metric, family, source, &labels);
	}
}

static void write_tenants(struct clv_exposition *to, const struct metric *metric,
	const struct clv_family *family, struct source *source)
{
	const struct clv_usage_tenant *tenant;

	for (size_t i = 0; (tenant = clv_usage_tenant_at(source->agent->usage, i)); i++) {
		struct clv_labels labels = {{{"tenant", tenant->name}}};

		source->usage = &tenant->usage;
		write_sample(to, metric, family, source, &labels);
	}
}

static const struct {
	unsigned int of;
	const char *prefix;
	void (*write)(struct clv_exposition *to, const struct metric *metric,
		const struct clv_family *family, struct source *source);
} scopes[] = {
	{DEVICE, "cleave_device_", write_devices},
	{LEASE, "cleave_lease_", write_leases},
	{TENANT, "cleave_tenant_", write_tenants},
};

static void write_metric(
	struct clv_exposition *to, const struct metric *metric, struct source *source)
{
	struct clv_family family = metric->family;
	char name[TEXT_MAX];

	if (metric->of == AGENT) {
		clv_exposition_family(to, &family);
		if (metric->write)
			metric->write(to, &family, source);
		else
			write_sample(to, metric, &family, source, NULL);
		return;
	}
	family.name = name;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(scopes); i++) {
		if (!(metric->of & scopes[i].of))
			continue;
		snprintf(name, sizeof(name), "%s%s", scopes[i].prefix,
			metric->family.name);
		clv_exposition_family(to, &family);
		scopes[i].write(to, metric, &family, source);
	}
}

char *clv_metrics_to_text(
	struct clv_agent *agent, bool is_open_metrics, size_t *ret_n_bytes)
{
	struct source source = {.agent = agent};
	struct clv_exposition to = {.is_open_metrics = is_open_metrics};

	clv_self_read(&source.self);
	clv_history_get_state(agent->history, &source.history);
	find_shown(&source);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(metrics); i++)
		write_metric(&to, &metrics[i], &source);
	free_shown(&source);
	return clv_exposition_end(&to, ret_n_bytes);
}
