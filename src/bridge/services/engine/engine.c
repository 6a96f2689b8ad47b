/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines for podman, and what it answers. */
#include "bridge/services/engine/engine.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "bridge/services/engine/exec.h"
#include "bridge/services/engine/job.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENGINE "podman"
#define ENV_FILE_MAX_BYTES (1u << 20)

/* --- Words --- */

struct words {
	char **items;
	size_t n;
	bool has_failed;
};

static void add(struct words *words, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add(struct words *words, const char *format, ...)
{
	char **place = CLV_APPEND(words->items, words->n);
	va_list args;

	va_start(args, format);
	if (!place || vasprintf(place, format, args) < 0)
		words->has_failed = true;
	va_end(args);
}

clv_argv clv_engine_free(clv_argv argv)
{
	for (size_t i = 0; argv && argv[i]; i++)
		free(argv[i]);
	free(argv);
	return NULL;
}

/* The words with a NULL after the last; NULL: out of memory. */
static clv_argv finish(struct words *words)
{
	char **last = CLV_APPEND(words->items, words->n);

	if (!last)
		words->has_failed = true;
	if (!words->has_failed)
		return words->items;
	for (size_t i = 0; i < words->n; i++)
		free(words->items[i]);
	free(words->items);
	return NULL;
}

/* --- Commands --- */

static void add_limits(struct words *words, const struct clv_service *service)
{
	const struct clv_service_limits *limits = &service->limits;

	if (limits->cpu_millis)
		add(words, "--cpus=%u.%03u", limits->cpu_millis / 1000,
			limits->cpu_millis % 1000);
	if (limits->memory_bytes)
		add(words, "--memory=%" PRIu64, limits->memory_bytes);
	if (limits->n_pids)
		add(words, "--pids-limit=%u", limits->n_pids);
	if (service->reservations.memory_bytes)
		add(words, "--memory-reservation=%" PRIu64,
			service->reservations.memory_bytes);
}

static void add_volumes(struct words *words, const struct clv_engine_container *container)
{
	const struct clv_service *service = container->service;

	for (size_t i = 0; i < service->n_volumes; i++) {
		const struct clv_service_volume *volume = &service->volumes[i];
		const char *mode = volume->is_read_only ? ":ro" : "";

		if (!volume->source)
			add(words, "--volume=%s", volume->target);
		else if (!volume->is_path)
			add(words, "--volume=%s_%s:%s%s", service->file->project,
				volume->source, volume->target, mode);
		else if (volume->source[0] == '/')
			add(words, "--volume=%s:%s%s", volume->source, volume->target,
				mode);
		else
			add(words, "--volume=%s/%s:%s%s", container->folder,
				volume->source, volume->target, mode);
	}
}

/* The engine reads the file by lines of at most 64 KiB. */
static bool fits_line(const struct clv_service_variable *variable)
{
	return !strpbrk(variable->value, "\r\n") &&
	       strlen(variable->name) + strlen(variable->value) < 60000;
}

/* podman before 5.0 reads the option as a line of CSV, later ones as the path: the path
 * is to have no character that CSV knows (CLV_PROJECT_PATH_REFUSED). */
static void add_environment(
	struct words *words, const struct clv_engine_container *container)
{
	const struct clv_service *service = container->service;

	add(words, "--env-file=%s", container->environment);
	for (size_t i = 0; i < service->n_variables; i++) {
		if (!fits_line(&service->variables[i]))
			add(words, "--env=%s=%s", service->variables[i].name,
				service->variables[i].value);
	}
}

static int copy_env_file(FILE *to, const struct clv_engine_container *container,
	const struct clv_service_env_file *file, struct clv_error *err)
{
	bool is_absolute = file->path[0] == '/';
	_cleanup_free_ char *text = NULL;
	char path[CLV_PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "%s%s%s", is_absolute ? "" : container->folder,
		is_absolute ? "" : "/", file->path);
	r = clv_file_read_regular(path, ENV_FILE_MAX_BYTES, &text, NULL, err);
	if (r == -ENOENT && !file->is_required)
		return 0;
	if (r >= 0)
		fprintf(to, "%s\n", text);
	return r;
}

/* Of several lines with a name the last one counts. */
static int write_variables(
	FILE *to, const struct clv_engine_container *container, struct clv_error *err)
{
	const struct clv_service *service = container->service;
	int r = 0;

	for (size_t i = 0; i < service->n_env_files && r >= 0; i++)
		r = copy_env_file(to, container, &service->env_files[i], err);
	for (size_t i = 0; i < service->n_variables && r >= 0; i++) {
		if (fits_line(&service->variables[i]))
			fprintf(to, "%s=%s\n", service->variables[i].name,
				service->variables[i].value);
	}
	return r;
}

int clv_engine_write_environment(
	const struct clv_engine_container *container, struct clv_error *err)
{
	_cleanup_free_ char *text = NULL;
	size_t n_bytes;
	FILE *to = open_memstream(&text, &n_bytes);
	int r = to ? write_variables(to, container, err) : 0;

	if (!to || fclose(to) != 0)
		return clv_error_errno(err, ENOMEM, "cannot write the variables");
	return r < 0 ? r : clv_file_replace_unsynced(container->environment, text, err);
}

static void add_entrypoint(struct words *words, const struct clv_service *service)
{
	json_t *list;
	char *text;

	if (!service->has_entrypoint)
		return;
	list = json_array();
	for (size_t i = 0; i < service->entrypoint.n; i++)
		json_array_append_new(list, json_string(service->entrypoint.items[i]));
	text = json_dumps(list, JSON_COMPACT);
	add(words, "--entrypoint=%s", text ? text : "[]");
	free(text);
	json_decref(list);
}

static void add_labels(struct words *words, const struct clv_engine_container *container)
{
	const struct clv_service *service = container->service;

	add(words, "--label=" CLV_ENGINE_LABEL "project=%s", service->file->project);
	add(words, "--label=" CLV_ENGINE_LABEL "service=%s", service->name);
	add(words, "--label=" CLV_ENGINE_LABEL "slot=%u", container->slot);
	add(words, "--label=" CLV_ENGINE_LABEL "generation=%016" PRIx64,
		service->generation);
}

static void add_options(struct words *words, const struct clv_service *service)
{
	if (service->user)
		add(words, "--user=%s", service->user);
	if (service->working_dir)
		add(words, "--workdir=%s", service->working_dir);
	if (service->platform)
		add(words, "--platform=%s", service->platform);
	if (service->stop_signal)
		add(words, "--stop-signal=%s", service->stop_signal);
	if (service->has_init)
		add(words, "--init");
}

/* The names of services are in the container's file before its program starts. */
static void add_network(struct words *words, const struct clv_engine_container *container)
{
	const char *line = container->names;
	char address[64], name[CLV_SERVICE_NAME_MAX];

	if (container->network)
		add(words, "--network=%s", container->network);
	for (; line && sscanf(line, "%63s %47s", address, name) == 2;
		line = strchr(line, '\n') + 1)
		add(words, "--add-host=%s:%s", name, address);
}

clv_argv clv_engine_create_network(const char *project)
{
	struct words words = {0};

	add(&words, ENGINE);
	add(&words, "network");
	add(&words, "create");
	add(&words, "--disable-dns");
	add(&words, "--label=" CLV_ENGINE_LABEL "project=%s", project);
	add(&words, CLV_ENGINE_NETWORK "%s", project);
	return finish(&words);
}

clv_argv clv_engine_run(const struct clv_engine_container *container)
{
	const struct clv_service *service = container->service;
	struct words words = {0};

	add(&words, ENGINE);
	add(&words, "run");
	add(&words, "--detach");
	add(&words, "--name=%s", container->name);
	add_labels(&words, container);
	add_network(&words, container);
	if (container->device)
		add(&words, "--device=%s", container->device);
	add_environment(&words, container);
	add_volumes(&words, container);
	add_limits(&words, service);
	add_options(&words, service);
	add_entrypoint(&words, service);
	add(&words, "%s", service->image);
	for (size_t i = 0; i < service->command.n; i++)
		add(&words, "%s", service->command.items[i]);
	return finish(&words);
}

clv_argv clv_engine_inspect(const char *name)
{
	struct words words = {0};

	add(&words, ENGINE);
	add(&words, "container");
	add(&words, "inspect");
	add(&words, "%s", name);
	return finish(&words);
}

/* A name in podman's filters is a regular expression. */
static void add_name_filter(struct words *words, const char *name)
{
	_cleanup_free_ char *text = NULL;
	size_t n_bytes;
	FILE *to = open_memstream(&text, &n_bytes);

	for (const char *p = name; to && *p; p++)
		fprintf(to, *p == '.' ? "[%c]" : "%c", *p);
	if (!to || fclose(to) != 0)
		words->has_failed = true;
	else
		add(words, "--filter=name=^%s$", text);
}

clv_argv clv_engine_stop(const char *project, const char *name, uint64_t grace_ns)
{
	struct words words = {0};

	add(&words, ENGINE);
	add(&words, "rm");
	add(&words, "--force");
	add(&words, "--ignore");
	add(&words, "--volumes");
	add(&words, "--time=%" PRIu64, grace_ns / CLV_NS_PER_S);
	add_name_filter(&words, name);
	add(&words, "--filter=label=" CLV_ENGINE_LABEL "project=%s", project);
	return finish(&words);
}

clv_argv clv_engine_exec(const char *name, const struct clv_service_texts *program)
{
	struct words words = {0};

	add(&words, ENGINE);
	add(&words, "exec");
	add(&words, "--env=" CLV_ENGINE_EXEC_MARK "=%s", name);
	add(&words, "%s", name);
	for (size_t i = 0; i < program->n; i++)
		add(&words, "%s", program->items[i]);
	return finish(&words);
}

clv_argv clv_engine_last_line(const char *name)
{
	struct words words = {0};

	add(&words, "sh");
	add(&words, "-c");
	add(&words, "exec timeout 5 " ENGINE " logs --tail=1 \"$1\" 2>&1");
	add(&words, "sh");
	add(&words, "%s", name);
	return finish(&words);
}

/* --- Answers --- */

static const char *text_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* The address in the project's network, else in the first one; that of the machine for a
 * container without a network of its own. */
static void read_address(const json_t *container, char ret[64])
{
	const json_t *settings = json_object_get(container, "NetworkSettings");
	const char *mode =
		text_at(json_object_get(container, "HostConfig"), "NetworkMode");
	const char *address = text_at(settings, "IPAddress"), *key;
	json_t *network;

	if (strcmp(mode, "host") == 0)
		address = "127.0.0.1";
	json_object_foreach (json_object_get(settings, "Networks"), key, network) {
		if (!*address ||
			strncmp(key, CLV_ENGINE_NETWORK, strlen(CLV_ENGINE_NETWORK)) == 0)
			address = text_at(network, "IPAddress");
	}
	snprintf(ret, 64, "%s", address);
}

/* Not the machine's own file, which the engine may be told to use. */
static void read_hosts(const json_t *container, char ret[CLV_PATH_MAX])
{
	const char *path = text_at(container, "HostsPath");
	bool is_own = strcmp(path, "/etc/hosts") != 0 && strlen(path) < CLV_PATH_MAX;

	strcpy(ret, is_own ? path : "");
}

int clv_engine_read_state(
	const char *output, struct clv_engine_state *ret, struct clv_error *err)
{
	json_error_t why;
	json_t *list = json_loads(output, 0, &why);
	const json_t *container = json_array_get(list, 0);
	const json_t *state = json_object_get(container, "State");

	if (!json_is_object(state)) {
		json_decref(list);
		return clv_error_set(err, -EINVAL,
			"podman's description of a container cannot be read: %s",
			list ? "it has no state" : why.text);
	}
	*ret = (struct clv_engine_state){
		.is_paused = strcmp(text_at(state, "Status"), "paused") == 0,
		.is_running = json_is_true(json_object_get(state, "Running")) ||
			      strcmp(text_at(state, "Status"), "paused") == 0,
		.pid = (pid_t)json_integer_value(json_object_get(state, "Pid")),
		.exit_code = (int)json_integer_value(json_object_get(state, "ExitCode")),
	};
	snprintf(ret->id, sizeof(ret->id), "%s", text_at(container, "Id"));
	read_address(container, ret->address);
	read_hosts(container, ret->hosts);
	json_decref(list);
	return 0;
}

static void read_found(const json_t *item, struct clv_engine_found *ret)
{
	const json_t *labels = json_object_get(item, "Labels");
	const char *name =
		json_string_value(json_array_get(json_object_get(item, "Names"), 0));

	snprintf(ret->name, sizeof(ret->name), "%s", name ? name : "");
	snprintf(ret->service, sizeof(ret->service), "%s",
		text_at(labels, CLV_ENGINE_LABEL "service"));
	ret->generation =
		strtoull(text_at(labels, CLV_ENGINE_LABEL "generation"), NULL, 16);
	snprintf(ret->id, sizeof(ret->id), "%s", text_at(item, "Id"));
	ret->pid = (pid_t)json_integer_value(json_object_get(item, "Pid"));
	ret->slot = (unsigned)strtoul(text_at(labels, CLV_ENGINE_LABEL "slot"), NULL, 10);
	ret->is_running = strcmp(text_at(item, "State"), "running") == 0 ||
			  strcmp(text_at(item, "State"), "paused") == 0;
}

int clv_engine_list(const char *project, struct clv_engine_found **ret, size_t *ret_n,
	struct clv_error *err)
{
	char filter[CLV_SERVICE_NAME_MAX + 64];
	char *const argv[] = {(char *)ENGINE, (char *)"ps", (char *)"--all",
		(char *)"--format=json", filter, NULL};
	_cleanup_free_ char *output = NULL;
	struct clv_engine_found *found;
	json_t *list, *item;
	size_t i;
	int r;

	snprintf(filter, sizeof(filter), "--filter=label=" CLV_ENGINE_LABEL "project=%s",
		project);
	r = clv_job_call(argv, &output, err);
	if (r < 0)
		return r;
	list = json_loads(output, 0, NULL);
	found = calloc(json_array_size(list) + 1, sizeof(*found));
	if (!list || !found) {
		json_decref(list);
		free(found);
		return clv_error_set(
			err, -EIO, "podman's list of containers cannot be read");
	}
	json_array_foreach (list, i, item)
		read_found(item, &found[i]);
	*ret = found;
	*ret_n = json_array_size(list);
	json_decref(list);
	return 0;
}

/* With version 1 of cgroups what is frozen cannot be killed. */
int clv_engine_remove(
	const char *project, const struct clv_engine_found *found, struct clv_error *err)
{
	clv_argv argv = clv_engine_stop(project, found->name, 0);
	struct clv_freezer freezer;
	int r;

	if (found->pid > 0 &&
		clv_freezer_find(found->pid, found->id, &freezer, NULL) >= 0)
		clv_freezer_thaw(&freezer, NULL);
	r = argv ? clv_job_call(argv, NULL, err)
		 : clv_error_errno(err, ENOMEM, "cannot remove %s", found->name);
	clv_engine_free(argv);
	return r;
}
