/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a replica: lease, container, ready, drained, removed.  Each step is begun
 * here and ends in a callback of the engine's command; nothing waits. */
#include "bridge/services/supervisor/supervisor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "bridge/services/engine/exec.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READY_WITHIN_NS (600 * CLV_NS_PER_S)
#define DRAINED_WITHIN_NS (300 * CLV_NS_PER_S)
#define FIRST_TESTS_EVERY_NS (CLV_NS_PER_S / 2)
#define WORDS_MAX_BYTES 160
#define STRAY_WITHIN_NS (5 * CLV_NS_PER_S)
#define REMOVE_AGAIN_NS (2 * CLV_NS_PER_S)
#define REMOVALS_AT_END 5u

void clv_replica_set_phase(struct clv_replica *replica, enum clv_replica_phase phase)
{
	replica->phase = phase;
	replica->since_ns = clv_clock_ns();
	clv_supervisor_hurry(replica->unit->of);
}

const char *clv_replica_phase_to_string(enum clv_replica_phase phase)
{
	static const char *const names[] = {
		[CLV_PHASE_QUEUED] = "queued",
		[CLV_PHASE_CREATING] = "creating",
		[CLV_PHASE_WARMING] = "starting",
		[CLV_PHASE_SERVING] = "ready",
		[CLV_PHASE_ENDED] = "ended",
		[CLV_PHASE_DRAINING] = "draining",
		[CLV_PHASE_FREEZING] = "freezing",
		[CLV_PHASE_FROZEN] = "frozen",
		[CLV_PHASE_REMOVING] = "removing",
	};

	return names[phase];
}

static const struct clv_service *service_of(const struct clv_replica *replica)
{
	return clv_unit_of_generation(replica->unit, replica->generation);
}

/* --- The end of one --- */

static void forget_process(struct clv_replica *replica)
{
	replica->death = sd_event_source_disable_unref(replica->death);
	if (replica->pidfd >= 0)
		close(replica->pidfd);
	replica->pidfd = -1;
}

/* Of the last one requests wait for the next. */
static void leave_proxy(const struct clv_replica *replica)
{
	struct clv_unit *unit = replica->unit;
	struct clv_error err;

	if (!clv_proxy_is_running(unit->proxy))
		return;
	if (clv_proxy_end_server(unit->proxy, unit->service, replica->slot,
		    clv_unit_n_serving(unit) == 1 && unit->scaler.wanted > 0, &err) < 0)
		clv_log_debug("%s: %s", replica->name, err.msg);
}

/* It ended or failed, for this reason. */
static void end(struct clv_replica *replica, bool has_failed, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void end(struct clv_replica *replica, bool has_failed, const char *format, ...)
{
	struct clv_unit *unit = replica->unit;
	va_list args;

	va_start(args, format);
	vsnprintf(replica->why, sizeof(replica->why), format, args);
	va_end(args);
	clv_text_make_printable(replica->why); /* a character may be cut */
	if (replica->phase == CLV_PHASE_SERVING)
		leave_proxy(replica);
	replica->test = clv_job_free(replica->test);
	replica->has_failed = has_failed;
	clv_replica_set_phase(replica, CLV_PHASE_ENDED);
	if (!has_failed)
		return;
	if (clv_replica_is_moving(replica)) {
		clv_unit_give_up_move(unit, CLV_MOVE_FAILED, replica->why);
		return;
	}
	clv_backoff_fail(&unit->backoff, clv_clock_ns());
	snprintf(unit->why, sizeof(unit->why), "%s: %s", replica->name, replica->why);
	clv_supervisor_say(unit->of, unit, "a replica failed",
		"%s: %s; the next one in %u s", replica->name, replica->why,
		(unsigned)((unit->backoff.until_ns - clv_clock_ns()) / CLV_NS_PER_S + 1));
}

void clv_replica_free(struct clv_replica *replica)
{
	if (!replica)
		return;
	replica->unit->replicas[replica->slot] = NULL;
	clv_job_free(replica->job);
	clv_job_free(replica->test);
	forget_process(replica);
	clv_probe_end(&replica->probe);
	if (replica->ending_fd >= 0)
		close(replica->ending_fd);
	free(replica->hosts);
	free(replica);
}

/* The engine refuses for a moment what it still works on.  At the end of the project it
 * is asked a few times, else until it succeeds: the lease is held by what runs. */
static bool may_try_again(const struct clv_replica *replica)
{
	return !replica->unit->of->is_ending || replica->n_removals < REMOVALS_AT_END;
}

/* Returns whether the replica is gone: as long as it has its lease no other one
 * gets the room. */
static bool end_lease(struct clv_replica *replica)
{
	struct clv_supervisor *supervisor = replica->unit->of;
	struct clv_error err;

	if (!replica->has_lease ||
		clv_leases_end(supervisor->leases, replica->name, &err) >= 0)
		return true;
	if (!may_try_again(replica)) {
		clv_supervisor_leave(
			supervisor, replica->unit, "a lease stays", replica->name, &err);
		return true;
	}
	if (replica->n_removals++ == 0)
		clv_supervisor_say(supervisor, replica->unit, "a lease stays",
			"%s: %.300s; it is tried again", replica->name, err.msg);
	clv_replica_set_phase(replica, CLV_PHASE_REMOVING);
	return false;
}

static void on_removed(void *userdata, int code, const char *output, const char *why)
{
	struct clv_replica *replica = userdata;
	struct clv_supervisor *supervisor = replica->unit->of;
	struct clv_error err;

	replica->job = NULL;
	if (code != 0 && may_try_again(replica)) {
		if (replica->n_removals++ == 0)
			clv_supervisor_say(supervisor, replica->unit, "a container stays",
				"%s: %.300s; it is tried again", replica->name, why);
		clv_replica_set_phase(replica, CLV_PHASE_REMOVING);
		return;
	}
	if (code != 0) {
		clv_error_set(&err, -EIO, "%.400s", why);
		clv_supervisor_leave(supervisor, replica->unit, "a container stays",
			replica->name, &err);
	}
	if (!end_lease(replica))
		return;
	clv_replica_free(replica);
	clv_supervisor_hurry(supervisor);
}

void clv_replica_remove(struct clv_replica *replica)
{
	const struct clv_service *service = service_of(replica);
	clv_argv argv;
	struct clv_error err;

	clv_job_free(replica->job);
	replica->job = NULL;
	replica->test = clv_job_free(replica->test);
	forget_process(replica);
	/* With version 1 of cgroups what is frozen cannot be killed. */
	if (replica->freezer.path[0])
		clv_freezer_thaw(&replica->freezer, NULL);
	argv = clv_engine_stop(
		replica->unit->of->project.name, replica->name, service->stop_grace_ns);
	replica->job = argv ? clv_job_start(replica->unit->of->event, argv, on_removed,
				      replica, &err)
			    : NULL;
	clv_engine_free(argv);
	clv_replica_set_phase(replica, CLV_PHASE_REMOVING);
	if (!replica->job)
		on_removed(replica, 1, "", "the engine cannot be started");
}

void clv_replica_drain(struct clv_replica *replica)
{
	if (replica->phase == CLV_PHASE_SERVING)
		leave_proxy(replica);
	replica->test = clv_job_free(replica->test);
	clv_replica_set_phase(replica, CLV_PHASE_DRAINING);
}

/* --- The start of one --- */

static void on_words(void *userdata, int code, const char *output, const char *why)
{
	struct clv_replica *replica = userdata;
	int n_bytes = (int)strcspn(output, "\n");

	replica->job = NULL;
	if (code != 0)
		n_bytes = 0;
	end(replica, true, "its program ended with exit code %d%s%.*s",
		replica->exit_code, n_bytes ? ": " : "",
		n_bytes < WORDS_MAX_BYTES ? n_bytes : WORDS_MAX_BYTES, output);
}

/* Asks for the last line that its program wrote, for people. */
static void ask_words(struct clv_replica *replica)
{
	clv_argv argv = clv_engine_last_line(replica->name);

	replica->job = argv ? clv_job_start(replica->unit->of->event, argv, on_words,
				      replica, NULL)
			    : NULL;
	clv_engine_free(argv);
	if (!replica->job)
		on_words(replica, 1, "", "");
}

static void on_exit_known(void *userdata, int code, const char *output, const char *why)
{
	struct clv_replica *replica = userdata;
	const struct clv_service *service = service_of(replica);
	struct clv_engine_state state = {.exit_code = -1};

	replica->job = NULL;
	if (code == 0)
		clv_engine_read_state(output, &state, NULL);
	if (state.exit_code == 0 && service->restart != CLV_SERVICE_RESTART_ALWAYS) {
		replica->unit->is_complete = true;
		if (replica->has_lease)
			clv_leases_end(replica->unit->of->leases, replica->name, NULL);
		clv_supervisor_say(replica->unit->of, replica->unit, "complete",
			"%s ended with exit code 0", replica->name);
		end(replica, false, "it ended with exit code 0");
		return;
	}
	replica->exit_code = state.exit_code;
	ask_words(replica);
}

/* Asks for the exit code, unless the container is being removed. */
static void ask_exit(struct clv_replica *replica)
{
	clv_argv argv = clv_engine_inspect(replica->name);

	if (replica->phase == CLV_PHASE_SERVING)
		leave_proxy(replica);
	clv_job_free(replica->job);
	replica->test = clv_job_free(replica->test);
	replica->job = argv ? clv_job_start(replica->unit->of->event, argv, on_exit_known,
				      replica, NULL)
			    : NULL;
	clv_engine_free(argv);
	if (!replica->job)
		end(replica, true, "its program ended");
}

static int on_death(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct clv_replica *replica = userdata;

	forget_process(replica);
	if (replica->phase == CLV_PHASE_WARMING || replica->phase == CLV_PHASE_SERVING ||
		replica->phase == CLV_PHASE_FREEZING ||
		replica->phase == CLV_PHASE_FROZEN)
		ask_exit(replica);
	return 0;
}

/* Watches the container's first process. */
static bool watch_process(struct clv_replica *replica)
{
	replica->pidfd = (int)syscall(SYS_pidfd_open, replica->pid, 0);
	return replica->pidfd >= 0 &&
	       sd_event_add_io(replica->unit->of->event, &replica->death, replica->pidfd,
		       POLLIN, on_death, replica) >= 0;
}

static void take_state(struct clv_replica *replica, const struct clv_engine_state *state)
{
	const struct clv_service *service = service_of(replica);

	replica->pid = state->pid;
	strcpy(replica->id, state->id);
	strcpy(replica->address, state->address);
	free(replica->hosts);
	replica->hosts = state->hosts[0] ? strdup(state->hosts) : NULL;
	if (!state->is_running || !watch_process(replica)) {
		ask_exit(replica);
		return;
	}
	if (service->n_ports && !replica->address[0]) {
		end(replica, true,
			"its container has no address: the network that it is in "
			"has to be a bridge or the host's");
		return;
	}
	clv_replica_set_phase(replica, CLV_PHASE_WARMING);
}

static void on_inspected(void *userdata, int code, const char *output, const char *why)
{
	struct clv_replica *replica = userdata;
	struct clv_engine_state state;
	struct clv_error err;

	replica->job = NULL;
	if (code != 0)
		end(replica, true, "%.200s", why);
	else if (clv_engine_read_state(output, &state, &err) < 0)
		end(replica, true, "%.200s", err.msg);
	else
		take_state(replica, &state);
}

static void inspect(struct clv_replica *replica)
{
	clv_argv argv = clv_engine_inspect(replica->name);

	replica->job = argv ? clv_job_start(replica->unit->of->event, argv, on_inspected,
				      replica, NULL)
			    : NULL;
	clv_engine_free(argv);
	if (!replica->job)
		end(replica, true, "the engine cannot be started");
}

static void path_of_environment(const struct clv_replica *replica, char ret[CLV_PATH_MAX])
{
	char name[CLV_ENGINE_NAME_MAX + 8];

	snprintf(name, sizeof(name), "%s.env", replica->name);
	clv_project_path(&replica->unit->of->project, name, ret);
}

static void create(struct clv_replica *replica);

static void on_network(void *userdata, int code, const char *output, const char *why)
{
	struct clv_replica *replica = userdata;
	char reason[sizeof(replica->why)];

	replica->job = NULL;
	strcpy(reason, replica->why);
	if (code == 0 && replica->phase == CLV_PHASE_CREATING)
		create(replica);
	else
		end(replica, true, "%s", reason);
}

/* A network that no container is in goes with `podman network prune`: if it can be made
 * again, it was missing. */
static void fail_run(struct clv_replica *replica, const char *why)
{
	struct clv_supervisor *supervisor = replica->unit->of;
	clv_argv argv = supervisor->has_network
				? clv_engine_create_network(supervisor->project.name)
				: NULL;

	snprintf(replica->why, sizeof(replica->why), "podman run: %.200s", why);
	replica->job =
		argv ? clv_job_start(supervisor->event, argv, on_network, replica, NULL)
		     : NULL;
	clv_engine_free(argv);
	if (!replica->job)
		on_network(replica, 1, "", "");
}

static void on_created(void *userdata, int code, const char *output, const char *why)
{
	struct clv_replica *replica = userdata;
	char environment[CLV_PATH_MAX];

	replica->job = NULL;
	path_of_environment(replica, environment);
	unlink(environment);
	if (code != 0 && strstr(why, "already in use"))
		end(replica, true,
			"a container %s exists that is not of this project: remove or "
			"rename it",
			replica->name);
	else if (code != 0)
		fail_run(replica, why);
	else
		inspect(replica);
}

static void create(struct clv_replica *replica)
{
	const struct clv_service *service = service_of(replica);
	struct clv_supervisor *supervisor = replica->unit->of;
	_cleanup_free_ char *names = clv_supervisor_names(supervisor);
	char device[CLV_ENGINE_NAME_MAX + 32], environment[CLV_PATH_MAX];
	char network[CLV_ENGINE_NAME_MAX];
	struct clv_engine_container container = {
		.service = service,
		.name = replica->name,
		.slot = replica->slot,
		.folder = supervisor->project.origin,
		.environment = environment,
		.network = supervisor->has_network ? network : NULL,
		.names = names,
	};
	struct clv_error err;
	clv_argv argv;

	if (service->device.is_given) {
		snprintf(device, sizeof(device), CLV_LEASES_KIND "=%s", replica->name);
		container.device = device;
		if (clv_leases_look(supervisor->leases, &err) < 0 ||
			clv_leases_describe(supervisor->leases, &err) < 0) {
			end(replica, true, "%.200s", err.msg);
			return;
		}
	}
	clv_replica_set_phase(replica, CLV_PHASE_CREATING);
	snprintf(network, sizeof(network), CLV_ENGINE_NETWORK "%s",
		supervisor->project.name);
	path_of_environment(replica, environment);
	if (clv_engine_write_environment(&container, &err) < 0) {
		end(replica, true, "%.200s", err.msg);
		return;
	}
	argv = clv_engine_run(&container);
	replica->job =
		argv ? clv_job_start(supervisor->event, argv, on_created, replica, &err)
		     : NULL;
	clv_engine_free(argv);
	if (!replica->job)
		end(replica, true, "%s", argv ? err.msg : "out of memory");
}

static struct clv_replica *new_replica(
	struct clv_unit *unit, unsigned slot, uint64_t generation)
{
	struct clv_replica *replica = calloc(1, sizeof(*replica));

	if (!replica)
		return NULL;
	replica->unit = unit;
	replica->slot = slot;
	replica->generation = generation;
	replica->pidfd = -1;
	replica->probe.fd = -1;
	replica->ending_fd = -1;
	replica->has_lease = service_of(replica)->device.is_given;
	snprintf(replica->name, sizeof(replica->name), "%s-%s-%u", unit->of->project.name,
		unit->service->name, slot + 1);
	unit->replicas[slot] = replica;
	return replica;
}

static void have_no_room(struct clv_replica *replica, const char *why)
{
	struct clv_unit *unit = replica->unit;

	if (clv_replica_is_moving(replica)) {
		clv_unit_give_up_move(unit, CLV_MOVE_NO_ROOM, why);
		clv_replica_free(replica);
		return;
	}
	clv_unit_note_no_room(unit, why);
	clv_replica_free(replica);
}

/* Whether its service wants the replica, not an update, which can do without. */
static bool is_wanted(const struct clv_unit *unit)
{
	uint32_t n = 0;

	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++) {
		const struct clv_replica *replica = unit->replicas[i];

		n += replica && replica->phase != CLV_PHASE_DRAINING &&
		     replica->phase != CLV_PHASE_REMOVING;
	}
	return n <= unit->scaler.wanted;
}

/* A service without any replica waits in the agent's queue; one more replica of others
 * does not, so that an update or the scaler can do without it. */
static void get_lease(struct clv_replica *replica)
{
	struct clv_unit *unit = replica->unit;
	const char *device = clv_replica_is_moving(replica) ? unit->move.device : NULL;
	bool may_wait = clv_unit_n_serving(unit) == 0 && !device;
	struct clv_error err;

	switch (clv_leases_give(unit->of->leases, service_of(replica), replica->name,
		device, may_wait, &err)) {
	case CLV_LEASE_GIVEN:
		clv_unit_note_room(unit);
		create(replica);
		return;
	case CLV_LEASE_QUEUED:
		unit->needs_room = true;
		if (replica->since_ns == 0)
			clv_supervisor_say(unit->of, unit, "queued",
				"%s waits for room on a device", replica->name);
		snprintf(unit->why, sizeof(unit->why), "%s waits for room on a device",
			replica->name);
		clv_replica_set_phase(replica, CLV_PHASE_QUEUED);
		return;
	case CLV_LEASE_NO_ROOM:
		unit->needs_room = !device && is_wanted(unit);
		have_no_room(replica, err.msg);
		return;
	case CLV_LEASE_REFUSED:
	case CLV_LEASE_UNKNOWN:
		end(replica, true, "its lease is refused: %.200s", err.msg);
		return;
	}
}

void clv_replica_start(struct clv_unit *unit, unsigned slot, uint64_t generation)
{
	struct clv_replica *replica = new_replica(unit, slot, generation);

	if (!replica)
		return;
	/* The first one after the begin is the move's. */
	if (unit->move.state == CLV_MOVE_BEGUN && !unit->move.next[0])
		strcpy(unit->move.next, replica->name);
	if (service_of(replica)->device.is_given)
		get_lease(replica);
	else
		create(replica);
}

/* What a user has paused is that user's. */
static void adopt_frozen(
	struct clv_replica *replica, const struct clv_engine_state *state)
{
	if (replica->phase != CLV_PHASE_WARMING || state->is_paused ||
		clv_freezer_find(replica->pid, replica->id, &replica->freezer, NULL) < 0)
		return;
	/* The supervisor before may have asked for it, and the kernel not be done. */
	if (!clv_freezer_is_frozen(&replica->freezer)) {
		clv_freezer_thaw(&replica->freezer, NULL);
		return;
	}
	replica->has_served = true;
	clv_replica_set_phase(replica, CLV_PHASE_FROZEN);
}

/* At the supervisor's start, which waits for the answer. */
void clv_replica_adopt(struct clv_unit *unit, const struct clv_engine_found *found)
{
	struct clv_replica *replica = new_replica(unit, found->slot, found->generation);
	clv_argv argv = clv_engine_inspect(found->name);
	_cleanup_free_ char *output = NULL;
	struct clv_engine_state state;
	struct clv_error err;

	if (replica && argv && clv_job_call(argv, &output, &err) >= 0 &&
		clv_engine_read_state(output, &state, &err) >= 0) {
		strcpy(replica->name, found->name);
		/* One that has ended stays so until its exit code is known. */
		replica->phase = CLV_PHASE_CREATING;
		take_state(replica, &state);
		adopt_frozen(replica, &state);
		replica->may_rest = replica->phase == CLV_PHASE_WARMING;
	} else if (replica) {
		end(replica, true, "%.200s", argv ? err.msg : "out of memory");
	}
	clv_engine_free(argv);
}

/* --- Ready --- */

bool clv_replica_serve(struct clv_replica *replica)
{
	struct clv_unit *unit = replica->unit;
	struct clv_error err;

	/* A proxy that does not run starts with it. */
	if (clv_proxy_is_running(unit->proxy) &&
		(clv_proxy_set_server(unit->proxy, unit->service, replica->slot,
			 replica->address, &err) < 0 ||
			clv_proxy_end_hold(unit->proxy, unit->service, &err) < 0)) {
		/* It is tried again by the next tick. */
		clv_log_debug("%s: %s", replica->name, err.msg);
		return false;
	}
	replica->has_served = true;
	clv_replica_set_phase(replica, CLV_PHASE_SERVING);
	return true;
}

static void serve(struct clv_replica *replica)
{
	unsigned ms = (unsigned)((clv_clock_ns() - replica->since_ns) / CLV_NS_PER_MS);

	if (clv_replica_serve(replica))
		clv_supervisor_say(replica->unit->of, replica->unit, "a replica is ready",
			"%s, %u ms after its start", replica->name, ms);
}

/* A health check may succeed before the port is open. */
static void serve_if_open(struct clv_replica *replica, uint64_t now_ns)
{
	const struct clv_service *service = service_of(replica);

	if (service->n_ports == 0 || clv_probe_accepts(&replica->probe, replica->address,
					     service->ports[0].target, now_ns))
		serve(replica);
	else if (now_ns - replica->since_ns > READY_WITHIN_NS)
		end(replica, true, "its port %u accepts no connection",
			service->ports[0].target);
}

static void on_tested(void *userdata, int code, const char *output, const char *why)
{
	struct clv_replica *replica = userdata;
	const struct clv_service_health *health = &service_of(replica)->health;
	bool is_early = clv_clock_ns() - replica->since_ns < health->start_period_ns &&
			replica->phase == CLV_PHASE_WARMING;

	replica->test = NULL;
	if (code == 0) {
		replica->n_test_failures = 0;
		replica->is_healthy = true;
		clv_supervisor_hurry(replica->unit->of);
		return;
	}
	if (is_early || ++replica->n_test_failures < health->n_retries)
		return;
	end(replica, true, "its health check failed %u times: %.150s",
		replica->n_test_failures, *why ? why : "without a word");
}

/* What a test that was late has started in the container is ended. */
static void end_stray(struct clv_replica *replica)
{
	if (replica->ending_fd >= 0)
		close(replica->ending_fd);
	replica->ending_fd = clv_engine_end_exec(replica->name, replica->pid);
	replica->ending_ns = clv_clock_ns();
}

/* The next test would be taken for what is being ended. */
static bool is_ending_stray(struct clv_replica *replica, uint64_t now_ns)
{
	struct pollfd wait = {.fd = replica->ending_fd, .events = POLLIN};

	if (replica->ending_fd < 0)
		return false;
	if (poll(&wait, 1, 0) == 0 && now_ns - replica->ending_ns < STRAY_WITHIN_NS)
		return true;
	close(replica->ending_fd);
	replica->ending_fd = -1;
	return false;
}

static void test(struct clv_replica *replica, uint64_t now_ns)
{
	const struct clv_service_health *health = &service_of(replica)->health;
	uint64_t every_ns = health->interval_ns;
	clv_argv argv;

	if (replica->phase == CLV_PHASE_WARMING && every_ns > FIRST_TESTS_EVERY_NS)
		every_ns = FIRST_TESTS_EVERY_NS;
	if (replica->test && now_ns - replica->tested_ns > health->timeout_ns) {
		clv_job_free(replica->test);
		end_stray(replica);
		replica->has_stray = true;
		on_tested(replica, 1, "", "it did not end in time");
		return;
	}
	if (replica->test || now_ns - replica->tested_ns < every_ns ||
		is_ending_stray(replica, now_ns))
		return;
	/* The engine was ended before it had started the program. */
	if (replica->has_stray) {
		replica->has_stray = false;
		end_stray(replica);
		return;
	}
	replica->tested_ns = now_ns;
	argv = clv_engine_exec(replica->name, &health->test);
	replica->test = argv ? clv_job_start(replica->unit->of->event, argv, on_tested,
				       replica, NULL)
			     : NULL;
	clv_engine_free(argv);
}

static void warm(struct clv_replica *replica, uint64_t now_ns)
{
	if (service_of(replica)->health.test.n && !replica->is_healthy)
		test(replica, now_ns);
	else
		serve_if_open(replica, now_ns);
}

void clv_replica_tick(struct clv_replica *replica, uint64_t now_ns)
{
	switch (replica->phase) {
	case CLV_PHASE_QUEUED:
		get_lease(replica);
		return;
	case CLV_PHASE_WARMING:
		if (!replica->job)
			warm(replica, now_ns);
		return;
	case CLV_PHASE_REMOVING:
		if (!replica->job && now_ns - replica->since_ns >= REMOVE_AGAIN_NS)
			clv_replica_remove(replica);
		return;
	case CLV_PHASE_SERVING:
		clv_backoff_succeed(&replica->unit->backoff, replica->since_ns, now_ns);
		if (service_of(replica)->health.test.n && !replica->job)
			test(replica, now_ns);
		return;
	default:
		return;
	}
}

struct clv_rollout_replica clv_replica_view(
	const struct clv_replica *replica, uint64_t now_ns)
{
	static const enum clv_replica_state states[] = {
		[CLV_PHASE_QUEUED] = CLV_REPLICA_STARTING,
		[CLV_PHASE_CREATING] = CLV_REPLICA_STARTING,
		[CLV_PHASE_WARMING] = CLV_REPLICA_STARTING,
		[CLV_PHASE_SERVING] = CLV_REPLICA_READY,
		[CLV_PHASE_ENDED] = CLV_REPLICA_FAILED,
		[CLV_PHASE_DRAINING] = CLV_REPLICA_DRAINING,
		[CLV_PHASE_FREEZING] = CLV_REPLICA_FROZEN,
		[CLV_PHASE_FROZEN] = CLV_REPLICA_FROZEN,
		[CLV_PHASE_REMOVING] = CLV_REPLICA_DRAINING,
	};
	uint64_t lasts_ns = now_ns - replica->since_ns;
	bool is_empty = replica->unit->figures.of_slot[replica->slot] == 0 &&
			replica->unit->looked_ns > replica->since_ns &&
			!clv_proxy_is_resting(replica->unit->proxy);

	return (struct clv_rollout_replica){
		.state = states[replica->phase],
		/* No generation is 0. */
		.generation = replica->is_leaving ? 0 : replica->generation,
		.is_drained = replica->phase == CLV_PHASE_DRAINING &&
			      (is_empty || lasts_ns > DRAINED_WITHIN_NS ||
				      service_of(replica)->n_ports == 0),
	};
}
