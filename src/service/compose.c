/* SPDX-License-Identifier: Apache-2.0 */
/* A compose file: its top level, the keys of a service, and the order in which services
 * start. */
#include "service/service.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/duration.h"
#include "base/error.h"
#include "service/internal.h"
#include "service/interpolate.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Keys of a service --- */

static int read_image(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service *service = into;
	int r = clv_service_read_text(value, &service->image, err);

	if (r >= 0 && (!*service->image || *service->image == '-'))
		return clv_yaml_fail(
			value, err, -EINVAL, "'%.60s' is no image", service->image);
	return r;
}

static int read_command(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service *service = into;

	service->has_command = clv_yaml_kind(value) != CLV_YAML_NULL;
	return clv_service_read_words(service->file, value, &service->command, err);
}

static int read_entrypoint(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service *service = into;

	service->has_entrypoint = clv_yaml_kind(value) != CLV_YAML_NULL;
	return clv_service_read_words(service->file, value, &service->entrypoint, err);
}

static int read_user(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_service_read_text(value, &((struct clv_service *)into)->user, err);
}

static int read_folder(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_service_read_text(
		value, &((struct clv_service *)into)->working_dir, err);
}

static int read_platform(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_service_read_text(value, &((struct clv_service *)into)->platform, err);
}

static int read_signal(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_service_read_text(
		value, &((struct clv_service *)into)->stop_signal, err);
}

static int read_grace(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_service_read_duration(
		value, &((struct clv_service *)into)->stop_grace_ns, err);
}

static int read_init(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_bool(value, &((struct clv_service *)into)->has_init, err);
}

/* Names of containers are the project's, so that there can be several of a service. */
static int read_name(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service *service = into;

	return clv_service_remark(service->file, value, err,
		"container_name has no effect: replicas are named after project and "
		"service");
}

static int read_networks(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_yaml_value only = value;
	bool is_list = clv_yaml_kind(value) == CLV_YAML_LIST;

	if (clv_yaml_kind(value) == CLV_YAML_NULL)
		return 0;
	if (clv_yaml_count(value) == 1)
		only = is_list ? clv_yaml_item(value, 0) : clv_yaml_key(value, 0);
	if (strcmp(clv_yaml_text(only), "default") == 0)
		return 0;
	return clv_yaml_fail(value, err, -EINVAL,
		"networks of their own are not supported: all services of a file are in "
		"its default network");
}

static const struct clv_yaml_field service_fields[] = {
	{"image", read_image, true},
	{"command", read_command},
	{"entrypoint", read_entrypoint},
	{"environment", clv_service_read_environment},
	{"env_file", clv_service_read_env_files},
	{"ports", clv_service_read_ports},
	{"expose", clv_service_skip},
	{"volumes", clv_service_read_volumes},
	{"depends_on", clv_service_read_dependencies},
	{"healthcheck", clv_service_read_health},
	{"restart", clv_service_read_restart},
	{"deploy", clv_service_read_deploy},
	{"user", read_user},
	{"working_dir", read_folder},
	{"platform", read_platform},
	{"stop_signal", read_signal},
	{"stop_grace_period", read_grace},
	{"init", read_init},
	{"container_name", read_name},
	{"networks", read_networks},
	{"labels", clv_service_skip},
	{"annotations", clv_service_skip},
	{"tty", clv_service_skip},
	{"stdin_open", clv_service_skip},
	{"pull_policy", clv_service_skip},
	{"logging", clv_service_skip},
	{"x-cleave", clv_service_read_cleave},
	{"x-internal-integrations", clv_service_read_integrations},
	{"x-omnistrate-capabilities", clv_service_read_capabilities},
	{"x-*", clv_service_skip},
};

#define BY_IMAGE "make an image that has it"
static const struct clv_service_refusal service_refusals[] = {
	{"build", "build the image with podman build, and name it in `image`"},
	{"extends", "write the keys into this service, or share them by a YAML anchor"},
	{"<<", "YAML's merge keys are no part of YAML 1.2: repeat the keys"},
	{"profiles", "keep such services in a file of their own"},
	{"scale", "set deploy.replicas"},
	{"gpus", "set x-cleave with share, memory or profile"},
	{"devices", "set x-cleave with share, memory or profile"},
	{"runtime", "the lease brings the driver with it; set x-cleave"},
	{"network_mode", "all services of a file are in its default network"},
	{"secrets", "mount the file: volumes: [./secret:/run/secrets/NAME:ro]"},
	{"configs", "mount the file: volumes: [./config:/path:ro]"},
	{"privileged", "a privileged container is outside of its lease's limits"},
	{"cap_add", "a container with more rights is outside of its lease's limits"},
	{"pid", "replicas have process numbers of their own"},
	{"ipc", "replicas have shared memory of their own"},
	{"mem_limit", "set deploy.resources.limits.memory"},
	{"mem_reservation", "set deploy.resources.reservations.memory"},
	{"cpus", "set deploy.resources.limits.cpus"},
	{"pids_limit", "set deploy.resources.limits.pids"},
	{"links", "services reach each other by their names"},
	{"tmpfs", BY_IMAGE},
	{"sysctls", BY_IMAGE},
	{"ulimits", "set the limits of containers in containers.conf"},
	{"extra_hosts", BY_IMAGE},
	{"dns", "set the servers in containers.conf"},
};

/* --- Services --- */

static bool is_name(const char *name)
{
	if (!isalnum((unsigned char)name[0]))
		return false;
	for (const char *p = name; *p; p++) {
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			return false;
	}
	return true;
}

static struct clv_service *add_service(struct clv_services *services)
{
	struct clv_service *service = CLV_APPEND(services->items, services->n);

	if (!service)
		return NULL;
	service->file = services;
	service->n_replicas = 1;
	service->stop_grace_ns = 10 * CLV_NS_PER_S;
	service->health = (struct clv_service_health){
		.interval_ns = 30 * CLV_NS_PER_S,
		.timeout_ns = 30 * CLV_NS_PER_S,
		.n_retries = 3,
	};
	service->restart = CLV_SERVICE_RESTART_ALWAYS;
	service->scaling = (struct clv_service_scaling){
		.min_replicas = 1,
		.max_replicas = 1,
		.idle_ppm = 200000,
		.over_ppm = 800000,
		.idle_ns = 10 * 60 * CLV_NS_PER_S,
		.over_ns = 60 * CLV_NS_PER_S,
		.wake_timeout_ns = 60 * CLV_NS_PER_S,
	};
	return service;
}

static int read_service(struct clv_services *services, struct clv_yaml_value key,
	struct clv_yaml_value value, struct clv_error *err)
{
	const char *name = clv_yaml_text(key);
	struct clv_service *service;
	int r;

	if (!is_name(name) || strlen(name) >= CLV_SERVICE_NAME_MAX)
		return clv_yaml_fail(key, err, -EINVAL,
			"'%.60s' is no name of a service: letters, digits, '.', '_' and "
			"'-', at most %d of them",
			name, CLV_SERVICE_NAME_MAX - 1);
	if (services->n >= CLV_SERVICES_MAX)
		return clv_yaml_fail(
			key, err, -E2BIG, "more than %u services", CLV_SERVICES_MAX);
	service = add_service(services);
	if (!service)
		return clv_service_no_memory(key, err);
	strcpy(service->name, name);
	service->place = key;
	r = clv_service_refuse(
		value, service_refusals, CLV_ARRAY_SIZE(service_refusals), err);
	if (r >= 0)
		r = clv_yaml_read_map(value, service_fields,
			CLV_ARRAY_SIZE(service_fields), service, err);
	return r < 0 ? r : clv_service_check_scaling(service, err);
}

static int read_services(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	int r = 0;

	if (clv_yaml_kind(value) != CLV_YAML_MAP || clv_yaml_count(value) == 0)
		return clv_yaml_fail(
			value, err, -EINVAL, "names of services are expected here");
	for (size_t i = 0; i < clv_yaml_count(value) && r >= 0; i++)
		r = read_service(
			into, clv_yaml_key(value, i), clv_yaml_at(value, i), err);
	return r;
}

/* --- The top level --- */

static int read_project(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_services *services = into;
	char made[CLV_SERVICE_NAME_MAX];

	if (!clv_service_project_name(clv_yaml_text(value), made) ||
		strcmp(made, clv_yaml_text(value)) != 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.60s' is no name of a project: lower-case letters, digits, "
			"'_' "
			"and '-', at most %d of them",
			clv_yaml_text(value), CLV_SERVICE_NAME_MAX - 1);
	strcpy(services->project, made);
	return 0;
}

static int read_volumes(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_services *services = into;
	int r = 0;

	if (clv_yaml_kind(value) == CLV_YAML_LIST ||
		clv_yaml_kind(value) == CLV_YAML_TEXT)
		return clv_yaml_fail(
			value, err, -EINVAL, "names of volumes are expected here");
	for (size_t i = 0; i < clv_yaml_count(value) && r >= 0; i++) {
		struct clv_yaml_value key = clv_yaml_key(value, i);

		if (clv_yaml_count(clv_yaml_at(value, i)) > 0)
			return clv_yaml_fail(key, err, -EINVAL,
				"settings of volumes are not supported: leave them out, "
				"or create the volume and write its name alone");
		if (!is_name(clv_yaml_text(key)))
			return clv_yaml_fail(key, err, -EINVAL,
				"'%.40s' is no name of a volume", clv_yaml_text(key));
		r = clv_service_add_text(
			key, &services->volumes, clv_yaml_text(key), err);
	}
	return r;
}

static const struct clv_yaml_field top_fields[] = {
	{"version", clv_service_skip},
	{"name", read_project},
	{"volumes", clv_service_skip}, /* read before the services */
	{"services", read_services, true},
	{"networks", read_networks},
	{"x-*", clv_service_skip},
};

static const struct clv_service_refusal top_refusals[] = {
	{"include", "write the services into this file"},
	{"secrets", "mount the file in the services"},
	{"configs", "mount the file in the services"},
};

static int share_devices(
	struct clv_services *services, struct clv_yaml_value root, struct clv_error *err)
{
	struct clv_yaml_value integrations;
	int r = 0;

	if (!clv_yaml_find(root, "x-internal-integrations", &integrations))
		return 0;
	for (size_t i = 0; i < services->n && r >= 0; i++)
		r = clv_service_share_device(&services->items[i], integrations, err);
	return r;
}

static int check_ports(const struct clv_services *services, struct clv_error *err)
{
	bool is_taken[UINT16_MAX + 1] = {false};

	for (size_t i = 0; i < services->n; i++) {
		const struct clv_service *service = &services->items[i];

		for (size_t j = 0; j < service->n_ports; j++) {
			uint16_t port = service->ports[j].published;

			if (is_taken[port])
				return clv_yaml_fail(service->place, err, -EINVAL,
					"port %u is published by two services", port);
			is_taken[port] = true;
		}
	}
	return 0;
}

static int read_top(struct clv_services *services, struct clv_error *err)
{
	struct clv_yaml_value root = clv_yaml_root(services->document), volumes;
	int r = clv_service_refuse(root, top_refusals, CLV_ARRAY_SIZE(top_refusals), err);

	if (r >= 0 && clv_yaml_find(root, "volumes", &volumes))
		r = read_volumes(volumes, services, err);
	if (r >= 0)
		r = clv_yaml_read_map(
			root, top_fields, CLV_ARRAY_SIZE(top_fields), services, err);
	if (r >= 0)
		r = share_devices(services, root, err);
	if (r >= 0)
		r = check_ports(services, err);
	if (r >= 0)
		r = clv_services_put_in_order(services, err);
	if (r >= 0 && !services->project[0])
		r = clv_yaml_fail(root, err, -EINVAL,
			"the project has no name: add `name`, or give --project");
	return r;
}

/* --- Variables --- */

struct unset {
	struct clv_services *services;
	struct clv_yaml_value place;
	int r;
	struct clv_error *err;
};

static void remark_unset(void *userdata, const char *name)
{
	struct unset *unset = userdata;

	unset->r = clv_service_remark(unset->services, unset->place, unset->err,
		"the variable %.60s is not set: it is an empty text here", name);
}

static int interpolate(
	struct clv_yaml_value value, void *userdata, char **ret, struct clv_error *err)
{
	struct clv_services *services = userdata;
	struct unset unset = {services, value, 0, err};
	int r = clv_interpolate(clv_yaml_text(value), services->variables, remark_unset,
		&unset, ret, err);

	if (r < 0)
		clv_yaml_prefix_position(value, err);
	return r < 0 ? r : unset.r;
}

int clv_services_read(struct clv_yaml *document, const char *project,
	const struct clv_variables *variables, struct clv_services *ret,
	struct clv_error *err)
{
	int r;

	*ret = (struct clv_services){.document = document, .variables = variables};
	if (project)
		snprintf(ret->project, sizeof(ret->project), "%s", project);
	r = clv_yaml_replace_texts(document, interpolate, ret, err);
	if (r >= 0)
		r = read_top(ret, err);
	if (r < 0) {
		clv_services_clear(ret);
		return r;
	}
	clv_service_hash_all(ret);
	return 0;
}

static void clear_service(struct clv_service *service)
{
	free(service->command.items);
	free(service->entrypoint.items);
	free(service->health.test.items);
	free(service->variables);
	free(service->env_files);
	free(service->ports);
	free(service->volumes);
	free(service->dependencies);
}

void clv_services_clear(struct clv_services *services)
{
	for (size_t i = 0; i < services->n; i++)
		clear_service(&services->items[i]);
	for (size_t i = 0; i < services->n_owned; i++)
		free(services->owned[i]);
	free(services->owned);
	free(services->items);
	free(services->order);
	free(services->volumes.items);
	free(services->remarks);
	clv_yaml_free(services->document);
	*services = (struct clv_services){0};
}

bool clv_service_project_name(const char *text, char ret[CLV_SERVICE_NAME_MAX])
{
	size_t n = 0;

	for (; *text && n + 1 < CLV_SERVICE_NAME_MAX; text++) {
		char c = (char)tolower((unsigned char)*text);
		bool is_letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

		if (is_letter || (n > 0 && (c == '-' || c == '_')))
			ret[n++] = c;
	}
	ret[n] = '\0';
	return n > 0;
}
