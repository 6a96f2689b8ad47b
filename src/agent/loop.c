/* SPDX-License-Identifier: Apache-2.0 */
/* The agent from start to end.  At the end leases are not ended: their rows stay in the
 * state file, their programs run on, and the next agent adopts them. */
#include "agent/loop.h"

#include "agent/adopt.h"
#include "agent/agent.h"
#include "agent/apply.h"
#include "agent/cordons.h"
#include "agent/counters.h"
#include "agent/devices.h"
#include "agent/events.h"
#include "agent/hardware.h"
#include "agent/history.h"
#include "agent/http.h"
#include "agent/idle.h"
#include "agent/ledger.h"
#include "agent/made.h"
#include "agent/network.h"
#include "agent/sampler.h"
#include "agent/service.h"
#include "agent/standing.h"
#include "agent/state.h"
#include "agent/store.h"
#include "agent/tokens.h"
#include "agent/watchdog.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/socket.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 4096

static int on_signal(
	sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	struct clv_agent *agent = userdata;

	clv_log_info("%s: ending; programs run on", strsignal((int)info->ssi_signo));
	return sd_event_exit(agent->event, 0);
}

static int watch_signals(struct clv_agent *agent, struct clv_error *err)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
	int r = sd_event_new(&agent->event);

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]) && r >= 0; i++)
		r = sd_event_add_signal(agent->event, NULL, signals[i], on_signal, agent);
	if (r >= 0)
		r = sd_event_set_watchdog(agent->event, true);
	return r < 0 ? clv_error_errno(err, -r, "cannot make an event loop") : 0;
}

static void socket_path(const struct clv_agent *agent, char *ret, size_t ret_bytes)
{
	snprintf(ret, ret_bytes, "%s/api.sock", agent->config.runtime);
}

static int serve_unix(struct clv_agent *agent, struct clv_error *err)
{
	struct clv_http_listener listener = {.is_unix = true};
	char path[CLV_FOLDER_MAX + 16];

	socket_path(agent, path, sizeof(path));
	listener.fd = clv_service_take_socket(&agent->config);
	if (listener.fd < 0)
		listener.fd = clv_socket_listen(
			path, SOCK_STREAM, agent->config.is_system ? 0666 : 0600, err);
	if (listener.fd < 0)
		return listener.fd;
	/* A full queue refuses callers on the spot; a burst of them is no error. */
	if (listen(listener.fd, BACKLOG) < 0)
		clv_log_debug("the queue of %s stays short", path);
	return clv_http_listen(agent->http, &listener, err);
}

static int serve(struct clv_agent *agent, struct clv_error *err)
{
	int r = clv_tokens_new(agent, &agent->tokens, err);

	if (r >= 0)
		r = clv_http_new(agent, &agent->http, err);
	if (r >= 0)
		r = serve_unix(agent, err);
	return r < 0 ? r : clv_network_serve(agent, err);
}

/* The worker and its backends read this from the environment. */
static void tell_backends(const struct clv_agent *agent)
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

/* The drivers answer while leases are adopted. */
static void start_hardware(struct clv_agent *agent)
{
	agent->first_survey = clv_hardware_survey(agent->hardware);
	clv_hardware_begin(agent->hardware);
}

static int build(struct clv_agent *agent, struct clv_error *err)
{
	int r;

	agent->started_real_ns = clv_clock_real_ns();
	tell_backends(agent);
	r = watch_signals(agent, err);
	if (r < 0)
		return r;
	clv_state_open(agent);
	agent->counters = clv_counters_new();
	agent->usage = clv_usage_new(agent);
	agent->history = clv_history_new(agent);
	if (!agent->counters || !agent->usage || !agent->history)
		return clv_error_errno(err, ENOMEM, "cannot begin");
	r = clv_service_new(agent, &agent->service, err);
	if (r >= 0)
		r = clv_events_new(agent, &agent->events, err);
	if (r >= 0)
		r = clv_hardware_new(agent, &agent->hardware, err);
	if (r >= 0)
		r = clv_devices_new(agent, &agent->devices, err);
	if (r >= 0)
		r = clv_ledger_new(agent, &agent->ledger, err);
	if (r >= 0)
		r = clv_standing_new(agent, &agent->standing, err);
	if (r >= 0)
		r = clv_made_new(agent, &agent->made, err);
	if (r >= 0)
		r = clv_apply_new(agent, &agent->apply, err);
	if (r < 0)
		return r;
	clv_events_emit(agent, CLV_EVENT_AGENT_STARTED, NULL, "cleaved %s, process %d",
		CLV_VERSION, (int)getpid());
	start_hardware(agent);
	clv_devices_refresh(agent->devices);
	clv_adopt_all(agent);
	clv_state_close_copy(agent);
	clv_devices_claim_all(agent->devices);
	clv_cordons_restore(agent);
	clv_apply_resume(agent->apply);
	r = serve(agent, err);
	if (r >= 0)
		r = clv_idle_new(agent, &agent->idle, err);
	if (r >= 0)
		r = clv_watchdog_new(agent, &agent->watchdog, err);
	if (r >= 0)
		r = clv_sampler_new(agent, &agent->sampler, err);
	return r;
}

static void tear_down(struct clv_agent *agent)
{
	char path[CLV_FOLDER_MAX + 16];

	if (agent->http && !clv_service_keeps_socket(&agent->config)) {
		socket_path(agent, path, sizeof(path));
		unlink(path);
	}
	agent->http = clv_http_free(agent->http);
	agent->tokens = clv_tokens_free(agent->tokens);
	agent->sampler = clv_sampler_free(agent->sampler);
	agent->watchdog = clv_watchdog_free(agent->watchdog);
	agent->idle = clv_idle_free(agent->idle);
	if (agent->ledger)
		clv_sampler_save(agent);
	agent->history = clv_history_free(agent->history);
	agent->apply = clv_apply_free(agent->apply);
	agent->hardware = clv_hardware_free(agent->hardware);
	agent->made = clv_made_free(agent->made);
	agent->standing = clv_standing_free(agent->standing);
	agent->ledger = clv_ledger_free(agent->ledger);
	agent->devices = clv_devices_free(agent->devices);
	agent->usage = clv_usage_free(agent->usage);
	agent->events = clv_events_free(agent->events);
	agent->store = clv_store_free(agent->store);
	agent->service = clv_service_free(agent->service);
	free(agent->counters);
	agent->event = sd_event_unref(agent->event);
}

int clv_loop_run(struct clv_agent *agent, void (*is_ready)(void *userdata),
	void *userdata, struct clv_error *err)
{
	int r = build(agent, err);

	if (r >= 0) {
		is_ready(userdata);
		r = sd_event_loop(agent->event);
		if (r < 0)
			clv_error_errno(err, -r, "the event loop failed");
		clv_service_stopping();
		clv_events_emit(agent, CLV_EVENT_AGENT_STOPPING, NULL,
			"cleaved %s, process %d", CLV_VERSION, (int)getpid());
	}
	tear_down(agent);
	return r;
}

bool clv_loop_leave_socket(struct clv_agent *agent)
{
	struct pollfd waiting = {.fd = clv_http_listen_fd(agent->http), .events = POLLIN};
	char path[CLV_FOLDER_MAX + 16], hidden[CLV_FOLDER_MAX + 32];

	/* Who calls after us is heard: the service manager starts the next agent. */
	if (clv_service_keeps_socket(&agent->config))
		return poll(&waiting, 1, 0) <= 0;
	socket_path(agent, path, sizeof(path));
	snprintf(hidden, sizeof(hidden), "%s.leaving", path);
	if (rename(path, hidden) < 0)
		return true;
	if (poll(&waiting, 1, 0) > 0) {
		/* Nobody can have bound the name meanwhile: that takes our lock. */
		if (rename(hidden, path) < 0)
			clv_log_warning(-errno, "cannot put %s back", path);
		return false;
	}
	unlink(hidden);
	return true;
}
