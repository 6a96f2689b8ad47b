/* SPDX-License-Identifier: Apache-2.0 */
/* Environment, dependencies, health check and restarts of a service. */
#include "service/internal.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Environment --- */

/* value NULL: the caller's variable of that name, if it is set. */
static int add_variable(struct clv_service *service, struct clv_yaml_value place,
	const char *name, const char *value, struct clv_error *err)
{
	const struct clv_variables *variables = service->file->variables;
	struct clv_service_variable *added;

	if (!*name || strchr(name, '='))
		return clv_yaml_fail(
			place, err, -EINVAL, "'%.40s' is no name of a variable", name);
	if (!value) {
		value = variables->get(variables->userdata, name);
		if (!value)
			return 0;
		value = clv_service_own(service->file, value, strlen(value));
	}
	added = value ? CLV_APPEND(service->variables, service->n_variables) : NULL;
	if (!added)
		return clv_service_no_memory(place, err);
	*added = (struct clv_service_variable){name, value};
	return 0;
}

/* "NAME=VALUE" or "NAME". */
static int read_assignment(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service *service = into;
	const char *text = clv_yaml_text(value), *equal = strchr(text, '=');
	const char *name;

	if (!equal)
		return add_variable(service, value, text, NULL, err);
	name = clv_service_own(service->file, text, (size_t)(equal - text));
	if (!name)
		return clv_service_no_memory(value, err);
	return add_variable(service, value, name, equal + 1, err);
}

int clv_service_read_environment(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	int r = 0;

	if (clv_yaml_kind(value) == CLV_YAML_LIST)
		return clv_yaml_read_list(value, read_assignment, into, err);
	if (clv_yaml_kind(value) == CLV_YAML_TEXT)
		return clv_yaml_fail(value, err, -EINVAL,
			"variables are expected here: NAME: VALUE, or - NAME=VALUE");
	for (size_t i = 0; i < clv_yaml_count(value) && r >= 0; i++) {
		struct clv_yaml_value at = clv_yaml_at(value, i);
		const char *text = NULL;

		if (clv_yaml_kind(at) != CLV_YAML_NULL)
			r = clv_service_read_text(at, &text, err);
		if (r >= 0)
			r = add_variable(into, clv_yaml_key(value, i),
				clv_yaml_text(clv_yaml_key(value, i)), text, err);
	}
	return r;
}

static int read_env_path(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service_env_file *file = into;
	int r = clv_service_read_text(value, &file->path, err);

	if (r >= 0 && !*file->path)
		return clv_yaml_fail(value, err, -EINVAL, "a path is expected here");
	return r;
}

static int read_env_required(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_bool(
		value, &((struct clv_service_env_file *)into)->is_required, err);
}

static const struct clv_yaml_field env_file_fields[] = {
	{"path", read_env_path, true},
	{"required", read_env_required},
};

static int read_env_file(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service *service = into;
	struct clv_service_env_file file = {.is_required = true}, *added;
	int r = clv_yaml_kind(value) == CLV_YAML_MAP
			? clv_yaml_read_map(value, env_file_fields,
				  CLV_ARRAY_SIZE(env_file_fields), &file, err)
			: read_env_path(value, &file, err);

	if (r < 0)
		return r;
	added = CLV_APPEND(service->env_files, service->n_env_files);
	if (!added)
		return clv_service_no_memory(value, err);
	*added = file;
	return 0;
}

int clv_service_read_env_files(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_env_file, into, err);
}

/* --- Dependencies --- */

static const char *const conditions[_CLV_SERVICE_CONDITION_MAX] = {
	[CLV_SERVICE_STARTED] = "service_started",
	[CLV_SERVICE_HEALTHY] = "service_healthy",
	[CLV_SERVICE_COMPLETED] = "service_completed_successfully",
};

const char *clv_service_condition_to_string(enum clv_service_condition condition)
{
	assert(condition < _CLV_SERVICE_CONDITION_MAX);
	return conditions[condition];
}

static int read_condition(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	int r = clv_yaml_read_choice(value, conditions, CLV_ARRAY_SIZE(conditions), err);

	if (r >= 0)
		((struct clv_service_dependency *)into)->condition =
			(enum clv_service_condition)r;
	return r < 0 ? r : 0;
}

static int read_required(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	bool is_required = true;
	int r = clv_yaml_read_bool(value, &is_required, err);

	((struct clv_service_dependency *)into)->is_optional = !is_required;
	return r;
}

static const struct clv_yaml_field dependency_fields[] = {
	{"condition", read_condition},
	{"required", read_required},
	{"restart", clv_service_skip},
};

static int add_dependency(struct clv_service *service,
	const struct clv_service_dependency *dependency, struct clv_error *err)
{
	struct clv_service_dependency *added =
		CLV_APPEND(service->dependencies, service->n_dependencies);

	if (!added)
		return clv_service_no_memory(dependency->place, err);
	*added = *dependency;
	return 0;
}

static int read_dependency(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service_dependency dependency = {.place = value};
	int r = clv_service_read_text(value, &dependency.name, err);

	return r < 0 ? r : add_dependency(into, &dependency, err);
}

int clv_service_read_dependencies(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	int r = 0;

	if (clv_yaml_kind(value) != CLV_YAML_MAP)
		return clv_yaml_read_list(value, read_dependency, into, err);
	for (size_t i = 0; i < clv_yaml_count(value) && r >= 0; i++) {
		struct clv_service_dependency dependency = {
			.name = clv_yaml_text(clv_yaml_key(value, i)),
			.place = clv_yaml_key(value, i),
		};

		r = clv_yaml_read_map(clv_yaml_at(value, i), dependency_fields,
			CLV_ARRAY_SIZE(dependency_fields), &dependency, err);
		if (r >= 0)
			r = add_dependency(into, &dependency, err);
	}
	return r;
}

/* --- Health --- */

static struct clv_service_health *health_of(void *into)
{
	return &((struct clv_service *)into)->health;
}

/* A text is for a shell, as the list that begins with CMD-SHELL. */
static int read_test(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const shell[] = {"/bin/sh", "-c"};
	struct clv_service_texts *test = &health_of(into)->test;
	bool is_list = clv_yaml_kind(value) == CLV_YAML_LIST && clv_yaml_count(value) > 0;
	const char *kind = is_list ? clv_yaml_text(clv_yaml_item(value, 0)) : "CMD-SHELL";
	bool is_shell = strcmp(kind, "CMD-SHELL") == 0;
	int r = 0;

	test->n = 0;
	if (is_list && strcmp(kind, "NONE") == 0)
		return 0;
	if ((!is_list && clv_yaml_kind(value) != CLV_YAML_TEXT) ||
		(!is_shell && strcmp(kind, "CMD") != 0) ||
		(is_list && clv_yaml_count(value) < 2))
		return clv_yaml_fail(value, err, -EINVAL,
			"a test is a text, or a list that begins with CMD or CMD-SHELL, "
			"or [NONE]");
	for (size_t i = 0; i < CLV_ARRAY_SIZE(shell) && is_shell && r >= 0; i++)
		r = clv_service_add_text(value, test, shell[i], err);
	if (!is_list && r >= 0)
		return clv_service_add_text(value, test, clv_yaml_text(value), err);
	for (size_t i = 1; i < clv_yaml_count(value) && r >= 0; i++) {
		const char *text = NULL;

		r = clv_service_read_text(clv_yaml_item(value, i), &text, err);
		if (r >= 0)
			r = clv_service_add_text(value, test, text, err);
	}
	return r;
}

static int read_interval(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_service_read_duration(value, &health_of(into)->interval_ns, err);
}

static int read_timeout(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_service_read_duration(value, &health_of(into)->timeout_ns, err);
}

static int read_start(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_service_read_duration(value, &health_of(into)->start_period_ns, err);
}

static int read_retries(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t n;
	int r = clv_yaml_read_number(value, 1, 1000, &n, err);

	if (r >= 0)
		health_of(into)->n_retries = (uint32_t)n;
	return r;
}

static int read_disable(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	bool is_disabled = false;
	int r = clv_yaml_read_bool(value, &is_disabled, err);

	if (is_disabled)
		health_of(into)->test.n = 0;
	return r;
}

/* `disable` after `test`: it wins wherever it is. */
static const struct clv_yaml_field health_fields[] = {
	{"test", read_test},
	{"interval", read_interval},
	{"timeout", read_timeout},
	{"start_period", read_start},
	{"start_interval", clv_service_skip},
	{"retries", read_retries},
	{"disable", clv_service_skip},
	{"x-*", clv_service_skip},
};

int clv_service_read_health(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_yaml_value disable;
	int r = clv_yaml_read_map(
		value, health_fields, CLV_ARRAY_SIZE(health_fields), into, err);

	if (r < 0)
		return r;
	if (health_of(into)->interval_ns == 0 || health_of(into)->timeout_ns == 0)
		return clv_yaml_fail(value, err, -ERANGE,
			"interval and timeout have to be longer than 0");
	return clv_yaml_find(value, "disable", &disable)
		       ? read_disable(disable, into, err)
		       : 0;
}

/* --- Restarts --- */

int clv_service_read_restart(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const struct {
		const char *name;
		enum clv_service_restart restart;
	} names[] = {
		{"no", CLV_SERVICE_RESTART_NEVER},
		{"false", CLV_SERVICE_RESTART_NEVER},
		{"none", CLV_SERVICE_RESTART_NEVER},
		{"always", CLV_SERVICE_RESTART_ALWAYS},
		{"any", CLV_SERVICE_RESTART_ALWAYS},
		{"unless-stopped", CLV_SERVICE_RESTART_ALWAYS},
		{"on-failure", CLV_SERVICE_RESTART_ON_FAILURE},
	};
	struct clv_service *service = into;
	const char *text = clv_yaml_text(value);
	size_t n = strcspn(text, ":");
	char *end = NULL;

	if (text[n] && strncmp(text, "on-failure:", n + 1) == 0) {
		unsigned long bound = strtoul(text + n + 1, &end, 10);

		if (text[n + 1] && !*end && bound <= 1000)
			service->n_restarts = (uint32_t)bound;
		else
			n = 0;
	} else if (text[n]) {
		n = 0;
	}
	for (size_t i = 0; i < CLV_ARRAY_SIZE(names); i++) {
		if (strlen(names[i].name) == n && strncmp(names[i].name, text, n) == 0) {
			service->restart = names[i].restart;
			return 0;
		}
	}
	return clv_yaml_fail(value, err, -EINVAL,
		"'%.40s' is none of no, always, on-failure, on-failure:NUMBER, "
		"unless-stopped",
		text);
}
