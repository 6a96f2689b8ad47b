/* SPDX-License-Identifier: Apache-2.0 */
/* Actions that users ask for through the agent: carried out as the requests on
 * control.sock, and followed until it is known what became of them. */
#include "bridge/services/main/actions.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "bridge/services/engine/logs.h"
#include "bridge/services/project/control.h"
#include "bridge/services/project/outcome.h"
#include "bridge/services/supervisor/supervisor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define ACTIONS_MAX 16u
/* A service that fails, or has no room, is looked at for so long: the next try may do. */
#define BAD_MAX_NS (4 * CLV_NS_PER_S)
#define FOLLOWED_MAX_NS (600 * CLV_NS_PER_S)
#define LINES 200
/* Of the agent's 64 KiB for a report. */
#define LOGS_MAX_BYTES 32768u

struct action {
	TAILQ_ENTRY(action) all;
	struct clv_actions *of;
	char id[32];
	const char *state; /* of an ActionResult */
	char why[512];
	bool is_told; /* that it runs */
	char service[CLV_SERVICE_NAME_MAX];
	json_int_t n_replicas;           /* that were asked for */
	uint64_t begun_ns, bad_since_ns; /* 0: it is not bad */
	struct clv_logs *logs;
	json_t *output;
	bool is_cut;
};

struct clv_actions {
	struct clv_supervisor *supervisor;
	void (*on_change)(void *userdata);
	void *userdata;
	TAILQ_HEAD(, action) all;
	size_t n;
};

static const char running[] = "running", done[] = "done", refused[] = "refused",
		  failed[] = "failed";

struct clv_actions *clv_actions_new(struct clv_supervisor *supervisor,
	void (*on_change)(void *userdata), void *userdata)
{
	struct clv_actions *actions = calloc(1, sizeof(*actions));

	if (!actions)
		return NULL;
	*actions = (struct clv_actions){
		.supervisor = supervisor, .on_change = on_change, .userdata = userdata};
	TAILQ_INIT(&actions->all);
	return actions;
}

static void forget(struct action *action)
{
	TAILQ_REMOVE(&action->of->all, action, all);
	action->of->n--;
	clv_logs_free(action->logs);
	json_decref(action->output);
	free(action);
}

struct clv_actions *clv_actions_free(struct clv_actions *actions)
{
	while (actions && !TAILQ_EMPTY(&actions->all))
		forget(TAILQ_FIRST(&actions->all));
	free(actions);
	return NULL;
}

static void __attribute__((format(printf, 3, 4)))
end(struct action *action, const char *state, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(action->why, sizeof(action->why), format, args);
	va_end(args);
	clv_text_make_printable(action->why); /* a character may be cut */
	action->state = state;
	action->of->on_change(action->of->userdata);
}

/* --- scale --- */

static void scale(struct action *action, const json_t *item)
{
	struct clv_supervisor *supervisor = action->of->supervisor;
	char by[96];
	json_t *request, *answer;
	const char *error;

	snprintf(action->service, sizeof(action->service), "%s",
		clv_control_text(item, "service"));
	action->n_replicas = json_integer_value(json_object_get(item, "replicas"));
	snprintf(by, sizeof(by), "%s, through the agent", clv_control_text(item, "by"));
	request =
		json_pack("{s:s, s:I, s:s}", "service", clv_control_text(item, "service"),
			"replicas", action->n_replicas, "by", by);
	answer = clv_supervisor_scale(supervisor, request);
	error = json_string_value(json_object_get(answer, "error"));
	if (error)
		end(action, refused, "%s", error);
	json_decref(request);
	json_decref(answer);
}

/* Its state is one in which nothing is in progress. */
static void settle(struct action *action, const json_t *service)
{
	const char *state = clv_control_text(service, "state");
	json_int_t wanted = json_integer_value(json_object_get(service, "wanted"));
	bool is_none = strcmp(state, "asleep") == 0 || strcmp(state, "off") == 0;

	if (action->n_replicas == 0 && is_none)
		end(action, done, "%s is %s", action->service, state);
	else if (strcmp(state, "complete") == 0)
		end(action, failed, "%s: %s does not start again",
			clv_control_text(service, "why"), action->service);
	else if (wanted != action->n_replicas)
		end(action, failed, "%s has another number of replicas now, %d: %s",
			action->service, (int)wanted, clv_control_text(service, "why"));
	else
		end(action, done, "%s has %d ready replica%s", action->service,
			(int)wanted, wanted == 1 ? "" : "s");
}

static void look(struct action *action, const json_t *status)
{
	const json_t *service = clv_control_service(status, action->service);
	enum clv_outcome outcome = clv_outcome_of(service);
	uint64_t now_ns = clv_clock_ns();

	if (!clv_outcome_is_bad(status, outcome))
		action->bad_since_ns = 0;
	else if (!action->bad_since_ns)
		action->bad_since_ns = now_ns;
	if (!service || strcmp(clv_control_text(service, "state"), "removed") == 0)
		end(action, failed, "%s was removed", action->service);
	else if (outcome == CLV_OUTCOME_DONE)
		settle(action, service);
	else if (outcome == CLV_OUTCOME_FAILED)
		end(action, failed, "failed: %s", clv_control_text(service, "failure"));
	else if (action->bad_since_ns && now_ns - action->bad_since_ns > BAD_MAX_NS)
		end(action, failed, "%s: %s; it is tried again",
			clv_control_text(service, "state"),
			clv_control_text(service, "failure"));
	else if (now_ns - action->begun_ns > FOLLOWED_MAX_NS)
		end(action, failed, "%s is still %s after ten minutes, and goes on",
			action->service, clv_control_text(service, "state"));
}

void clv_actions_look(struct clv_actions *actions, const json_t *status)
{
	struct action *action;

	TAILQ_FOREACH(action, &actions->all, all)
	{
		if (action->state == running && action->service[0])
			look(action, status);
	}
}

/* --- logs --- */

static void on_logs(void *userdata, json_t *lines, bool is_cut, const char *why)
{
	struct action *action = userdata;

	action->logs = clv_logs_free(action->logs);
	action->is_cut = is_cut;
	if (!lines) {
		end(action, refused, "%s", why);
		return;
	}
	action->output = json_incref(lines);
	end(action, done, "%s", "");
}

static void read_logs(struct action *action, const json_t *item)
{
	struct clv_supervisor *supervisor = action->of->supervisor;
	json_int_t n = json_integer_value(json_object_get(item, "lines"));
	const char *name = clv_control_text(item, "replica");
	const struct clv_replica *replica = clv_supervisor_find_replica(supervisor, name);
	struct clv_error err;

	if (!replica) {
		end(action, refused, "%.120s is no replica of %s now", name,
			supervisor->project.name);
		return;
	}
	action->logs = clv_logs_read(supervisor->event, replica->name,
		n > 0 ? (unsigned)n : LINES, LOGS_MAX_BYTES, on_logs, action, &err);
	if (!action->logs)
		end(action, refused, "%s", err.msg);
}

/* --- The agent --- */

static struct action *find(const struct clv_actions *actions, const char *id)
{
	struct action *action;

	TAILQ_FOREACH(action, &actions->all, all)
	{
		if (strcmp(action->id, id) == 0)
			return action;
	}
	return NULL;
}

/* A supervisor that was stopped has an answer of before.  The agent is on this machine,
 * and has its clock. */
static bool is_late(const json_t *item)
{
	int64_t expires_s;

	return clv_clock_parse_rfc3339(
		       clv_control_text(item, "expires_at"), &expires_s) >= 0 &&
	       (int64_t)(clv_clock_real_ns() / CLV_NS_PER_S) > expires_s;
}

static void begin(struct action *action, const json_t *item)
{
	static const struct {
		const char *name;
		void (*act)(struct action *action, const json_t *item);
	} acts[] = {
		{"scale", scale},
		{"logs", read_logs},
	};
	const char *what = clv_control_text(item, "do");

	if (is_late(item)) {
		end(action, refused, "it was taken too late: nothing was changed");
		return;
	}
	for (size_t i = 0; i < CLV_ARRAY_SIZE(acts); i++) {
		if (strcmp(acts[i].name, what) == 0) {
			acts[i].act(action, item);
			return;
		}
	}
	end(action, refused,
		"this supervisor does not know the action: cleave up after "
		"an update of cleave starts another one");
}

void clv_actions_take(struct clv_actions *actions, const json_t *items)
{
	json_t *item;
	size_t i;

	json_array_foreach (items, i, item) {
		const char *id = clv_control_text(item, "id");
		struct action *action;

		if (!*id || find(actions, id) || actions->n >= ACTIONS_MAX ||
			!(action = calloc(1, sizeof(*action))))
			continue;
		action->of = actions;
		action->state = running;
		action->begun_ns = clv_clock_ns();
		snprintf(action->id, sizeof(action->id), "%s", id);
		TAILQ_INSERT_TAIL(&actions->all, action, all);
		actions->n++;
		begin(action, item);
	}
}

static json_t *show(const struct action *action)
{
	json_t *made = json_pack("{s:s, s:s, s:s, s:b}", "id", action->id, "state",
		action->state, "why", action->why, "cut", action->is_cut);

	if (action->output)
		json_object_set(made, "output", action->output);
	return made;
}

static size_t bytes_of(const json_t *value)
{
	return json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY) + 1;
}

/* Leaves the first lines out, so that it has room. */
static void shorten(json_t *shown, size_t room)
{
	size_t n = bytes_of(shown);
	json_t *lines;

	if (n <= room || !json_object_get(shown, "output"))
		return;
	lines = json_copy(json_object_get(shown, "output"));
	while (n > room && json_array_size(lines) > 0) {
		n -= bytes_of(json_array_get(lines, 0));
		json_array_remove(lines, 0);
	}
	json_object_set_new(shown, "output", lines);
	json_object_set_new(shown, "cut", json_true());
}

json_t *clv_actions_results(const struct clv_actions *actions, size_t room)
{
	json_t *list = json_array();
	const struct action *action;

	TAILQ_FOREACH(action, &actions->all, all)
	{
		json_t *made;
		size_t n;

		if (action->state == running && action->is_told)
			continue;
		made = show(action);
		/* One behind others has the room of the next report. */
		if (json_array_size(list) == 0)
			shorten(made, room);
		n = bytes_of(made);
		if (n > room) {
			json_decref(made);
			continue;
		}
		room -= n;
		json_array_append_new(list, made);
	}
	return list;
}

void clv_actions_tell(struct clv_actions *actions, const json_t *results)
{
	json_t *result;
	size_t i;

	json_array_foreach (results, i, result) {
		struct action *action = find(actions, clv_control_text(result, "id"));
		const char *state = clv_control_text(result, "state");

		if (action && strcmp(state, running) == 0)
			action->is_told = true;
		else if (action)
			forget(action);
	}
}
