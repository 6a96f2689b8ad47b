/* SPDX-License-Identifier: Apache-2.0 */
/* Compose files as services.  What is read keeps to the bounds that the scaler and the
 * supervisor rely on; what is refused has a message with a place. */
#include "fuzz.h"

#include "base/error.h"
#include "service/service.h"

#include <errno.h>

static const char *get(void *userdata, const char *name)
{
	return name[0] == 'E' ? "" : name[0] < 'M' ? "value of $A" : NULL;
}

static void check_text(const char *text)
{
	CLV_MUST(text[0] != '\0');
	for (; *text; text++)
		CLV_MUST((unsigned char)*text >= ' ' && *text != 127);
}

static void check_texts(const struct clv_service_texts *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		CLV_MUST(texts->items[i]);
}

static void check_lists(const struct clv_service *service)
{
	for (size_t i = 0; i < service->n_variables; i++)
		CLV_MUST(service->variables[i].name[0] && service->variables[i].value);
	for (size_t i = 0; i < service->n_ports; i++)
		CLV_MUST(service->ports[i].published && service->ports[i].target);
	for (size_t i = 0; i < service->n_volumes; i++)
		CLV_MUST(service->volumes[i].target[0] == '/');
	for (size_t i = 0; i < service->n_env_files; i++)
		CLV_MUST(service->env_files[i].path[0]);
	check_texts(&service->command);
	check_texts(&service->entrypoint);
	check_texts(&service->health.test);
}

static void check_service(
	const struct clv_services *services, const struct clv_service *service)
{
	const struct clv_service_scaling *scaling = &service->scaling;
	const struct clv_service_device *device = &service->device;

	CLV_MUST(service->file == services && service->name[0] && service->image[0]);
	CLV_MUST(scaling->max_replicas >= 1 &&
		 scaling->max_replicas <= CLV_SERVICE_REPLICAS_MAX);
	CLV_MUST(scaling->min_replicas <= scaling->max_replicas);
	CLV_MUST(scaling->n_kept <= scaling->max_replicas);
	CLV_MUST(service->n_replicas >= scaling->min_replicas &&
		 service->n_replicas <= scaling->max_replicas);
	CLV_MUST(scaling->idle_ppm < scaling->over_ppm);
	CLV_MUST(!scaling->stops || service->n_ports > 0);
	CLV_MUST(service->health.interval_ns > 0 && service->health.timeout_ns > 0);
	CLV_MUST(!device->is_given || device->share_ppm || device->memory_bytes ||
		 device->profile[0]);
	check_lists(service);
}

/* Each service is in the order once, after its dependencies. */
static void check_order(const struct clv_services *services)
{
	size_t place[CLV_SERVICES_MAX];

	memset(place, 0xff, sizeof(place));
	for (size_t i = 0; i < services->n; i++) {
		CLV_MUST(services->order[i] < services->n);
		CLV_MUST(place[services->order[i]] == SIZE_MAX);
		place[services->order[i]] = i;
	}
	for (size_t i = 0; i < services->n; i++) {
		const struct clv_service *service = &services->items[i];

		for (size_t j = 0; j < service->n_dependencies; j++)
			CLV_MUST(place[service->dependencies[j].service] < place[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	static const struct clv_variables variables = {.get = get};
	struct clv_services services;
	struct clv_error err = {0};
	struct clv_yaml *document;
	int r;

	if (clv_yaml_parse((const char *)data, n_bytes, "input", &document, NULL) < 0)
		return 0;
	r = clv_services_read(document, "input", &variables, &services, &err);
	if (r < 0) {
		CLV_MUST(err.code == r && !services.items && !services.document);
		check_text(err.msg);
		return 0;
	}
	CLV_MUST(r == 0 && err.code == 0 && services.n > 0 && services.project[0]);
	for (size_t i = 0; i < services.n; i++)
		check_service(&services, &services.items[i]);
	for (size_t i = 0; i < services.n_remarks; i++)
		check_text(services.remarks[i].text);
	check_order(&services);
	clv_services_clear(&services);
	return 0;
}
