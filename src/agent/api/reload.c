/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that change while the agent runs.  All of them are read where they are used,
 * so a reload replaces the whole; the table has those that were used for good at the
 * start. */
#include "agent/api/reload.h"

#include "agent/api/api.h"
#include "agent/config/config.h"
#include "agent/config/daemon.h"
#include "agent/event/events.h"
#include "agent/http/http.h"
#include "agent/record/agent.h"
#include "agent/record/notify.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "base/yaml.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

/* Keeps the first mistake. */
static void keep_first(void *userdata, const struct clv_error *mistake)
{
	struct clv_error *first = userdata;

	if (first->code == 0)
		*first = *mistake;
}

static int read_new(
	struct clv_agent *agent, struct clv_config **ret, struct clv_error *err)
{
	struct clv_error first = {0};
	struct clv_yaml_mistakes mistakes = {keep_first, &first, 0};
	int r = clv_daemon_read_settings(&agent->config, &mistakes, ret, err);

	if (r >= 0 || mistakes.n == 0)
		return r == -EBADMSG ? err->code = -EINVAL : r;
	if (mistakes.n == 1)
		return clv_error_set(err, -EINVAL, "%s", first.msg);
	return clv_error_set(err, -EINVAL,
		"%zu mistakes, which cleaved --check shows; the first: %.180s",
		mistakes.n, first.msg);
}

static int reload(struct clv_agent *agent, struct clv_error *err)
{
	_cleanup_free_ char *certificate = NULL, *key = NULL;
	struct clv_config *config = NULL;
	int r = read_new(agent, &config, err);

	if (r < 0)
		return r;
	r = check_fixed(agent->settings, config, err);
	if (r >= 0)
		r = clv_config_read_tls(config, &certificate, &key, err);
	if (r >= 0)
		r = clv_http_set_certificate(certificate, key, err);
	if (r < 0) {
		clv_config_free(config);
		return r;
	}
	clv_config_free(agent->settings);
	agent->settings = config;
	agent->n_reloads++;
	return 0;
}

int clv_reload(struct clv_agent *agent, struct clv_error *err)
{
	int r = reload(agent, err);

	if (r < 0)
		clv_events_emit(agent, CLV_EVENT_SETTINGS_REFUSED,
			"the settings in force stay: %.200s", err->msg);
	else
		clv_events_emit(agent, CLV_EVENT_SETTINGS_RELOADED, "%.200s",
			agent->settings->path);
	clv_notify_changed(agent->notify, CLV_TOPIC_LEASES);
	return r;
}

int clv_api_post_reload(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	int r = clv_reload(request->agent, err);

	if (r < 0)
		return clv_error_prefix(err, "the settings in force stay");
	request->status = 204;
	return 0;
}
