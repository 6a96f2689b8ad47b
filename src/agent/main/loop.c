/* SPDX-License-Identifier: Apache-2.0 */
/* The agent from start to end.  Leases do not end with it: their rows stay in the state
 * file, their programs keep running, and the next agent adopts them. */
#include "agent/main/loop.h"

#include "agent/api/audit.h"
#include "agent/api/handler/reload.h"
#include "agent/api/routes.h"
#include "agent/api/show/lease-changes.h"
#include "agent/apply/apply.h"
#include "agent/auth/tokens.h"
#include "agent/config/config.h"
#include "agent/device/condition.h"
#include "agent/device/cordons.h"
#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/event/counters.h"
#include "agent/event/events.h"
#include "agent/history/history.h"
#include "agent/history/usage.h"
#include "agent/http/http.h"
#include "agent/identity/names.h"
#include "agent/layout/ephemeral-partitions.h"
#include "agent/layout/reapply.h"
#include "agent/lease/executor.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/standing.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/main/adopt.h"
#include "agent/main/api-socket.h"
#include "agent/main/idle.h"
#include "agent/main/network.h"
#include "agent/main/resurvey.h"
#include "agent/main/sampler.h"
#include "agent/main/service.h"
#include "agent/main/subscribers.h"
#include "agent/os/maps.h"
#include "agent/publish/published.h"
#include "agent/record/agent.h"
#include "agent/record/notify.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "agent/user/bucket.h"
#include "agent/user/users.h"
#include "agent/watch/watchdog.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define INTERRUPTS_MAX 500

static int on_signal(
	sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	struct clv_agent *agent = userdata;

	clv_log_info(
		"%s: exiting; programs keep running", strsignal((int)info->ssi_signo));
	return sd_event_exit(agent->event, 0);
}

/* The result is an event, and so a line of the log. */
static int on_reload(
	sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	struct clv_agent *agent = userdata;

	clv_reload_begin(agent->reload);
	return 0;
}

static int watch_signals(struct clv_agent *agent, struct clv_error *err)
{
	static const struct {
		int number;
		sd_event_signal_handler_t function;
	} signals[] = {{SIGTERM, on_signal}, {SIGINT, on_signal}, {SIGHUP, on_reload}};
	int r = sd_event_new(&agent->event);

	for (size_t i = 0; i < CLV_ARRAY_SIZE(signals) && r >= 0; i++)
		r = sd_event_add_signal(agent->event, NULL, signals[i].number,
			signals[i].function, agent);
	if (r >= 0)
		r = sd_event_set_watchdog(agent->event, true);
	return r < 0 ? clv_error_errno(err, -r, "cannot create an event loop") : 0;
}

static void wake_for_users(void *userdata)
{
	struct clv_agent *agent = userdata;

	if (agent->lifecycle)
		clv_lifecycle_find_users(agent->lifecycle);
	clv_notify_changed(agent->notify, CLV_TOPIC_USERS);
}

/* From here on no look-up of a user keeps the loop waiting.  The name of the agent's own
 * user is known by then: its requests wait for no other database than a local file. */
static int start_users(struct clv_agent *agent, struct clv_error *err)
{
	struct clv_user user;

	clv_users_by_uid(geteuid(), &user);
	return clv_users_start(agent->event, wake_for_users, agent, err);
}

static int serve(struct clv_agent *agent, struct clv_error *err)
{
	int r = clv_tokens_new(agent, &agent->tokens, err);

	if (r >= 0)
		r = clv_published_new(
			agent->event, agent->notify, &agent->published, err);
	if (r >= 0)
		r = clv_http_new(agent, &clv_api_handler, &agent->http, err);
	if (r >= 0)
		r = clv_api_socket_serve(agent, err);
	return r < 0 ? r : clv_network_serve(agent, err);
}

/* The worker and its backends read these variables. */
static void set_environment(const struct clv_agent *agent)
{
	char path[CLV_FOLDER_MAX + 16];

	if (agent->config.sim[0] != '\0')
		setenv("CLEAVE_SIM", agent->config.sim, 1);
	else
		unsetenv("CLEAVE_SIM");
	snprintf(path, sizeof(path), "%s/sim-node", agent->config.state);
	setenv("CLEAVE_SIM_STATE", path, 1);
	snprintf(path, sizeof(path), "%s/cores", agent->config.state);
	setenv("CLEAVE_CORES", path, 1);
	snprintf(path, sizeof(path), "%s/amdgpu-reload", agent->config.state);
	setenv("CLEAVE_AMD_RELOAD", path, 1);
}

/* Sends the survey now, so that the drivers answer while leases are adopted. */
static void start_hardware(struct clv_agent *agent)
{
	agent->first_survey = clv_hardware_survey(agent->hardware);
	clv_hardware_flush(agent->hardware);
}

/* What the rooms use: notices, the state file, counters. */
static int build_base(struct clv_agent *agent, struct clv_error *err)
{
	int r = clv_notify_new(&agent->notify, err);

	if (r >= 0)
		r = watch_signals(agent, err);
	if (r >= 0)
		r = start_users(agent, err);
	clv_maps_start();
	if (r >= 0)
		r = clv_state_open(agent, err);
	if (r < 0)
		return r;
	clv_subscribers_add(agent);
	agent->routes = &clv_api_routes;
	agent->counters = clv_counters_new(agent->routes->n);
	agent->refusals = clv_audit_new_refusals();
	agent->tenant_changes = clv_audit_new_tenant_changes();
	agent->usage = clv_usage_new(agent);
	agent->history = clv_history_new(agent);
	agent->changes = clv_lease_changes_new();
	if (!agent->counters || !agent->refusals || !agent->tenant_changes ||
		!agent->usage || !agent->history || !agent->changes)
		return clv_error_errno(err, ENOMEM, "cannot start the agent");
	return 0;
}

static int build_rooms(struct clv_agent *agent, struct clv_error *err)
{
	int r = clv_service_new(agent, &agent->service, err);

	if (r >= 0)
		r = clv_events_new(agent, &agent->events, err);
	if (r >= 0)
		r = clv_hardware_new(agent, &agent->hardware, err);
	if (r >= 0)
		r = clv_resurvey_new(agent, &agent->resurvey, err);
	if (r >= 0)
		r = clv_names_new(agent, &agent->names, err);
	if (r >= 0)
		r = clv_devices_new(agent, &agent->devices, err);
	if (r >= 0)
		r = clv_ledger_new(agent, &agent->ledger, err);
	if (r >= 0)
		r = clv_lifecycle_new(agent, &agent->lifecycle, err);
	if (r >= 0)
		r = clv_standing_new(agent, &agent->standing, err);
	if (r >= 0)
		r = clv_ephemeral_new(agent, &agent->ephemeral, err);
	if (r >= 0)
		r = clv_apply_new(agent, &agent->apply, err);
	return r < 0 ? r : clv_reapply_new(agent, &agent->reapply, err);
}

/* Takes over what an earlier agent has left: leases, cordons, operations, the layout. */
static void take_over(struct clv_agent *agent)
{
	start_hardware(agent);
	clv_devices_refresh(agent->devices);
	clv_adopt_all(agent);
	clv_cordons_restore(agent);
	clv_devices_claim_all(agent->devices);
	clv_apply_resume(agent->apply);
	clv_reapply_begin(agent->reapply);
}

static int build(struct clv_agent *agent, struct clv_error *err)
{
	int r;

	agent->started_real_ns = clv_clock_real_ns();
	set_environment(agent);
	r = build_base(agent, err);
	if (r >= 0)
		r = build_rooms(agent, err);
	if (r < 0)
		return r;
	clv_events_emit(agent, CLV_EVENT_AGENT_STARTED, "cleaved %s, process %d",
		CLV_VERSION, (int)getpid());
	take_over(agent);
	r = clv_reload_new(agent, &agent->reload, err);
	if (r >= 0)
		r = serve(agent, err);
	if (r >= 0)
		r = clv_idle_new(agent, &agent->idle, err);
	if (r >= 0)
		r = clv_watchdog_new(agent, &agent->watchdog, err);
	return r < 0 ? r : clv_sampler_new(agent, &agent->sampler, err);
}

static void tear_down(struct clv_agent *agent)
{
	clv_api_socket_remove(agent);
	agent->http = clv_http_free(agent->http);
	agent->reload = clv_reload_free(agent->reload);
	clv_users_stop();
	agent->tokens = clv_tokens_free(agent->tokens);
	agent->published = clv_published_free(agent->published);
	agent->sampler = clv_sampler_free(agent->sampler);
	agent->watchdog = clv_watchdog_free(agent->watchdog);
	agent->idle = clv_idle_free(agent->idle);
	if (agent->ledger)
		clv_sampler_save(agent);
	agent->history = clv_history_free(agent->history);
	agent->reapply = clv_reapply_free(agent->reapply);
	agent->apply = clv_apply_free(agent->apply);
	agent->resurvey = clv_resurvey_free(agent->resurvey);
	agent->hardware = clv_hardware_free(agent->hardware);
	agent->ephemeral = clv_ephemeral_free(agent->ephemeral);
	agent->standing = clv_standing_free(agent->standing);
	agent->lifecycle = clv_lifecycle_free(agent->lifecycle);
	agent->ledger = clv_ledger_free(agent->ledger);
	agent->changes = clv_lease_changes_free(agent->changes);
	clv_executor_end_all(agent);
	clv_conditions_free(agent);
	agent->devices = clv_devices_free(agent->devices);
	agent->names = clv_names_free(agent->names);
	agent->usage = clv_usage_free(agent->usage);
	agent->events = clv_events_free(agent->events);
	clv_state_close(agent);
	agent->service = clv_service_free(agent->service);
	clv_buckets_free(agent->refusals);
	clv_buckets_free(agent->tenant_changes);
	free(agent->counters);
	agent->notify = clv_notify_free(agent->notify);
	agent->event = sd_event_unref(agent->event);
}

static const struct itimerval no_timer;
static volatile sig_atomic_t n_interrupts_left;

static void on_interrupt(int number)
{
	if (--n_interrupts_left <= 0)
		setitimer(ITIMER_REAL, &no_timer, NULL);
}

/* A tenant sends the agent a TCP socket with SO_LINGER, over a Unix socket, and closes
 * its own descriptor.  Where the agent drops the message, the kernel closes the socket
 * and waits as long as the tenant has set, which a signal ends.  So a timer sends some to
 * a loop that has been busy for long: one for each message that a socket's buffer can
 * hold.  Then it stops, because an agent that hangs is known by its sleep
 * (client/unresponsive.c). */
static int serve_events(sd_event *event)
{
	static const struct itimerval busy = {{0, 2000}, {0, 2000}};
	const struct sigaction interrupt = {
		.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
	int r;

	sigaction(SIGALRM, &interrupt, NULL);
	do {
		r = sd_event_prepare(event);
		if (r == 0) {
			setitimer(ITIMER_REAL, &no_timer, NULL);
			r = sd_event_wait(event, UINT64_MAX);
		}
		n_interrupts_left = INTERRUPTS_MAX;
		setitimer(ITIMER_REAL, &busy, NULL);
		if (r > 0)
			r = sd_event_dispatch(event);
	} while (r >= 0 && sd_event_get_state(event) != SD_EVENT_FINISHED);
	setitimer(ITIMER_REAL, &no_timer, NULL);
	return r;
}

int clv_loop_run(struct clv_agent *agent, void (*is_ready)(void *userdata),
	void *userdata, struct clv_error *err)
{
	int r = build(agent, err);

	if (r >= 0) {
		is_ready(userdata);
		r = serve_events(agent->event);
		if (r < 0)
			clv_error_errno(err, -r, "the event loop failed");
		clv_service_stopping();
		clv_events_emit(agent, CLV_EVENT_AGENT_STOPPING, "cleaved %s, process %d",
			CLV_VERSION, (int)getpid());
	}
	tear_down(agent);
	return r;
}
