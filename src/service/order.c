/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the services together: the order in which they start, and the hash by
 * which a changed service is recognized. */
#include "service/internal.h"

#include "base/error.h"
#include "base/hash.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- Order --- */

const struct clv_service *clv_services_find(
	const struct clv_services *services, const char *name)
{
	for (size_t i = 0; i < services->n; i++) {
		if (strcmp(services->items[i].name, name) == 0)
			return &services->items[i];
	}
	return NULL;
}

/* Finds the index of a dependency's service; a missing optional one is removed. */
static int find_dependencies(struct clv_service *service, struct clv_error *err)
{
	size_t n = 0;

	for (size_t i = 0; i < service->n_dependencies; i++) {
		struct clv_service_dependency *dependency = &service->dependencies[i];
		const struct clv_service *found =
			clv_services_find(service->file, dependency->name);

		if (!found && !dependency->is_optional)
			return clv_yaml_fail(dependency->place, err, -EINVAL,
				"there is no service '%.48s'", dependency->name);
		if (found == service)
			return clv_yaml_fail(dependency->place, err, -EINVAL,
				"%s depends on itself", service->name);
		if (!found)
			continue;
		dependency->service = (size_t)(found - service->file->items);
		service->dependencies[n++] = *dependency;
	}
	service->n_dependencies = n;
	return 0;
}

static bool is_ready(const struct clv_service *service, const bool *is_placed)
{
	for (size_t i = 0; i < service->n_dependencies; i++) {
		assert(service->dependencies[i].service < service->file->n);
		if (!is_placed[service->dependencies[i].service])
			return false;
	}
	return true;
}

static int fail_cycle(
	const struct clv_services *services, const bool *is_placed, struct clv_error *err)
{
	size_t at = 0;

	while (is_placed[at])
		at++;
	assert(at < services->n);
	return clv_yaml_fail(services->items[at].place, err, -EINVAL,
		"%s depends on services that depend on it: remove one of the depends_on",
		services->items[at].name);
}

int clv_services_put_in_order(struct clv_services *services, struct clv_error *err)
{
	bool is_placed[CLV_SERVICES_MAX] = {false};
	size_t n = 0, before;
	int r = 0;

	assert(services->n <= CLV_SERVICES_MAX);
	for (size_t i = 0; i < services->n && r >= 0; i++)
		r = find_dependencies(&services->items[i], err);
	if (r < 0)
		return r;
	services->order = calloc(services->n, sizeof(*services->order));
	if (!services->order)
		return clv_error_errno(err, ENOMEM, "cannot read the services");
	do {
		before = n;
		for (size_t i = 0; i < services->n; i++) {
			if (is_placed[i] || !is_ready(&services->items[i], is_placed))
				continue;
			is_placed[i] = true;
			services->order[n++] = i;
		}
	} while (n > before);
	return n == services->n ? 0 : fail_cycle(services, is_placed, err);
}

/* --- Hash --- */

static uint64_t add(uint64_t hash, const char *text)
{
	return text ? clv_fnv1a(hash, text, strlen(text) + 1) : clv_fnv1a(hash, "\1", 1);
}

static uint64_t add_number(uint64_t hash, uint64_t number)
{
	return clv_fnv1a(hash, &number, sizeof(number));
}

static uint64_t add_texts(uint64_t hash, const struct clv_service_texts *texts)
{
	hash = add_number(hash, texts->n);
	for (size_t i = 0; i < texts->n; i++)
		hash = add(hash, texts->items[i]);
	return hash;
}

static uint64_t add_limits(uint64_t hash, const struct clv_service_limits *limits)
{
	hash = add_number(hash, limits->cpu_millis);
	hash = add_number(hash, limits->memory_bytes);
	return add_number(hash, limits->n_pids);
}

static uint64_t add_device(uint64_t hash, const struct clv_service_device *device)
{
	hash = add_number(hash, device->is_given);
	hash = add_number(hash, device->share_ppm);
	hash = add_number(hash, device->share_most_ppm);
	hash = add_number(hash, device->memory_bytes);
	hash = add(hash, device->class_name);
	hash = add(hash, device->profile);
	hash = add(hash, device->isolation);
	return add(hash, device->device);
}

static uint64_t add_mounts(uint64_t hash, const struct clv_service *service)
{
	for (size_t i = 0; i < service->n_volumes; i++) {
		hash = add(hash, service->volumes[i].source);
		hash = add(hash, service->volumes[i].target);
		hash = add_number(hash, service->volumes[i].is_read_only);
	}
	return add_number(hash, service->n_volumes);
}

static uint64_t add_environment(uint64_t hash, const struct clv_service *service)
{
	for (size_t i = 0; i < service->n_variables; i++) {
		hash = add(hash, service->variables[i].name);
		hash = add(hash, service->variables[i].value);
	}
	for (size_t i = 0; i < service->n_env_files; i++)
		hash = add(hash, service->env_files[i].path);
	return add_number(hash, service->n_variables);
}

/* Ports count with their targets alone: the proxy is changed for the rest. */
static uint64_t hash_service(const struct clv_service *service)
{
	uint64_t hash = add(CLV_FNV1A_START, service->image);

	hash = add_texts(hash, &service->command);
	hash = add_number(hash, service->has_command);
	hash = add_texts(hash, &service->entrypoint);
	hash = add_number(hash, service->has_entrypoint);
	hash = add_environment(hash, service);
	hash = add_mounts(hash, service);
	hash = add_texts(hash, &service->health.test);
	hash = add_limits(hash, &service->limits);
	hash = add_limits(hash, &service->reservations);
	hash = add(hash, service->user);
	hash = add(hash, service->working_dir);
	hash = add(hash, service->platform);
	hash = add(hash, service->stop_signal);
	hash = add_number(hash, service->has_init);
	for (size_t i = 0; i < service->n_ports; i++)
		hash = add_number(hash, service->ports[i].target);
	return add_device(hash, &service->device);
}

void clv_service_hash_all(struct clv_services *services)
{
	for (size_t i = 0; i < services->n; i++)
		services->items[i].generation = hash_service(&services->items[i]);
}
