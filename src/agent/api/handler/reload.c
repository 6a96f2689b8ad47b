/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that change while the agent runs.  All of them are read where they are used,
 * so a reload replaces the whole; the table has those that cannot change after the
 * start. */
#include "agent/api/handler/reload.h"

#include "agent/api/handler/api.h"
#include "agent/config/config.h"
#include "agent/config/reread.h"
#include "agent/event/events.h"
#include "agent/http/http.h"
#include "agent/http/problem.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/record/agent.h"
#include "agent/record/notify.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 10000u

static bool differs_address(const struct clv_config *a, const struct clv_config *b)
{
	return strcmp(a->address, b->address) != 0;
}

static bool differs_port(const struct clv_config *a, const struct clv_config *b)
{
	return a->port != b->port;
}

static bool differs_tls(const struct clv_config *a, const struct clv_config *b)
{
	return (a->certificate[0] == '\0') != (b->certificate[0] == '\0');
}

static bool differs_executor(const struct clv_config *a, const struct clv_config *b)
{
	return a->executor != b->executor;
}

static bool differs_debts(const struct clv_config *a, const struct clv_config *b)
{
	return a->debts_of != b->debts_of;
}

static const struct {
	const char *name;
	bool (*differs)(const struct clv_config *a, const struct clv_config *b);
} fixed[] = {
	{"listen.address", differs_address},
	{"listen.port", differs_port},
	{"listen.certificate (with TLS or without)", differs_tls},
	{"executor", differs_executor},
	{"debts", differs_debts},
};

static int check_fixed(const struct clv_config *before, const struct clv_config *after,
	struct clv_error *err)
{
	char names[160] = "";

	for (size_t i = 0; i < CLV_ARRAY_SIZE(fixed); i++) {
		if (fixed[i].differs(before, after))
			clv_text_list(names, sizeof(names), fixed[i].name);
	}
	if (names[0] == '\0')
		return 0;
	return clv_error_set(err, -EINVAL,
		"%s cannot change while the agent runs: restart it, or undo the change",
		names);
}

struct clv_reload {
	struct clv_agent *agent;
	struct clv_reread *reread;          /* NULL: no file is read now */
	uint64_t n_asked, n_begun, n_ended; /* of the requests */
	struct clv_error error;             /* of the last one that ended; code 0: none */
};

/* Takes the members that it uses out of settings. */
static int apply(struct clv_agent *agent, struct clv_read_settings *settings,
	struct clv_error *err)
{
	bool is_viewer_replaced;
	int r = check_fixed(agent->settings, settings->config, err);

	if (r >= 0)
		r = clv_http_set_certificate(settings->certificate, settings->key, err);
	if (r < 0)
		return r;
	is_viewer_replaced = strcmp(agent->settings->viewer_secret,
				     settings->config->viewer_secret) != 0;
	clv_config_free(agent->settings);
	agent->settings = settings->config;
	settings->config = NULL;
	agent->n_reloads++;
	/* The new allowances may permit leases that wait. */
	agent->ranked_ns = 0;
	clv_lifecycle_serve_all(agent->lifecycle);
	/* Streams and waiting requests with the former secret end. */
	if (is_viewer_replaced)
		clv_http_wake(agent->http, ~0u);
	return 0;
}

static void end(struct clv_reload *reload, const struct clv_error *err)
{
	struct clv_agent *agent = reload->agent;

	reload->error = *err;
	reload->n_ended = reload->n_begun;
	/* The message quotes the file, which tenants may not read. */
	if (err->code < 0)
		clv_events_emit_for_owner(agent, CLV_EVENT_SETTINGS_REFUSED, geteuid(),
			NULL, "the settings in force stay: %.200s", err->msg);
	else
		clv_events_emit_for_owner(agent, CLV_EVENT_SETTINGS_RELOADED, geteuid(),
			NULL, "%.200s", agent->settings->path);
	clv_notify_changed(agent->notify, CLV_TOPIC_LEASES);
}

static void begin(struct clv_reload *reload);

static void on_read(void *userdata, struct clv_read_settings *settings)
{
	struct clv_reload *reload = userdata;
	struct clv_error err = {0};

	reload->reread = clv_reread_free(reload->reread);
	if (settings->r < 0)
		err = settings->err;
	else
		apply(reload->agent, settings, &err);
	clv_config_free(settings->config);
	free(settings->certificate);
	free(settings->key);
	end(reload, &err);
	/* The file may have changed after it was read. */
	if (reload->n_asked > reload->n_begun)
		begin(reload);
}

static void begin(struct clv_reload *reload)
{
	struct clv_agent *agent = reload->agent;
	struct clv_error err = {0};

	reload->n_begun = reload->n_asked;
	if (clv_reread_new(agent->event, &agent->config, on_read, reload, &reload->reread,
		    &err) < 0)
		end(reload, &err);
}

int clv_reload_new(
	struct clv_agent *agent, struct clv_reload **ret, struct clv_error *err)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return clv_error_errno(err, ENOMEM, "cannot start the agent");
	(*ret)->agent = agent;
	return 0;
}

struct clv_reload *clv_reload_free(struct clv_reload *reload)
{
	if (reload)
		clv_reread_free(reload->reread);
	free(reload);
	return NULL;
}

uint64_t clv_reload_begin(struct clv_reload *reload)
{
	uint64_t number = ++reload->n_asked;

	if (!reload->reread)
		begin(reload);
	return number;
}

int clv_api_post_reload(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_reload *reload = request->agent->reload;

	if (request->is_first_run)
		request->number = clv_reload_begin(reload);
	if (reload->n_ended < request->number && !request->is_late)
		return clv_request_wait(request, CLV_TOPIC_LEASES, WAIT_MS);
	if (reload->n_ended < request->number)
		return clv_error_set(err, -CLV_E_UNAVAILABLE,
			"the settings in force stay: the disk of the settings, or the "
			"user database, has not answered in time; the new ones are "
			"applied when it does");
	if (reload->error.code < 0) {
		*err = reload->error;
		return clv_error_prefix(err, "the settings in force stay");
	}
	request->status = 204;
	return 0;
}
