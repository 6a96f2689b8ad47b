/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of each device, simulated together as cleave fit --predict does. */
#include "cli/services/slowdown.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/paths.h"
#include "base/units.h"
#include "cli/fleet/predict.h"
#include "cli/frame/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A program on a device. */
struct program {
	json_t *into; /* the replica; NULL: of another lease.  Borrowed, as the texts */
	const char *device, *name;
	bool is_known; /* it was measured */
	struct clv_predict_program its;
};

struct programs {
	struct program *items;
	size_t n;
};

static int add(struct programs *programs, struct program program)
{
	struct program *place = CLV_APPEND(programs->items, programs->n);

	if (!place)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	*place = program;
	return 0;
}

/* --- What was measured --- */

static int read_report(
	const char *reports, const struct clv_planned *planned, struct program *ret)
{
	_cleanup_json_ json_t *report = NULL;
	char path[CLV_PATH_MAX];
	int r;

	if (!reports)
		return 0;
	if (snprintf(path, sizeof(path), "%s/%s.json", reports, planned->name) >=
		(int)sizeof(path))
		return clv_cli_fail(CLV_EXIT_USAGE, "the path of --reports is too long");
	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	r = clv_predict_read_report(path, &ret->its, &report);
	ret->is_known = r == 0;
	return r;
}

static int class_of(const struct clv_service *service)
{
	int class = clv_class_from_string(service->device.class_name);

	return class < 0 ? CLV_CLASS_NORMAL : class;
}

static int add_replicas(
	struct programs *programs, const struct clv_planned *planned, const char *reports)
{
	struct program measured = {.name = planned->name};
	json_t *replica;
	size_t i;
	int r;

	if (json_array_size(planned->placement) == 0)
		return 0;
	r = read_report(reports, planned, &measured);
	measured.its.class = (enum clv_class)class_of(planned->service);
	json_array_foreach (planned->placement, i, replica) {
		measured.into = replica;
		measured.device = clv_json_text(replica, "device");
		measured.its.share_ppm =
			(uint32_t)(clv_json_number(replica, "share") * CLV_PPM);
		if (!r && measured.device[0])
			r = add(programs, measured);
	}
	return r;
}

static int add_others(struct programs *programs, const json_t *others)
{
	json_t *lease, *device;
	size_t i, k;
	int r = 0;

	json_array_foreach (others, i, lease) {
		json_array_foreach (json_object_get(lease, "devices"), k, device) {
			struct program made = {
				.device = clv_json_text(device, "name"),
				.name = clv_json_text(lease, "name"),
			};

			if (!r && strcmp(clv_json_text(lease, "state"), "active") == 0)
				r = add(programs, made);
		}
	}
	return r;
}

/* --- Together --- */

static bool is_on(const struct program *program, const char *device)
{
	return strcmp(program->device, device) == 0;
}

static void explain(const struct programs *programs, const char *device, const char *name)
{
	char why[160];

	snprintf(why, sizeof(why), "%.100s was not measured", name);
	for (size_t i = 0; i < programs->n; i++) {
		if (is_on(&programs->items[i], device) && programs->items[i].into)
			json_object_set_new(programs->items[i].into, "slowdown_why",
				json_string(why));
	}
}

static int predict(const struct programs *programs, const char *device)
{
	struct clv_predict_program together[CLV_PREDICT_MAX];
	json_t *into[CLV_PREDICT_MAX];
	size_t n = 0;

	for (size_t i = 0; i < programs->n; i++) {
		const struct program *program = &programs->items[i];

		if (!is_on(program, device))
			continue;
		if (!program->is_known || n == CLV_PREDICT_MAX) {
			explain(programs, device, program->name);
			return 0;
		}
		together[n] = program->its;
		into[n++] = program->into;
	}
	if (clv_predict(together, n) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	for (size_t i = 0; i < n; i++)
		json_object_set_new(into[i], "slowdown", json_real(together[i].slowdown));
	return 0;
}

static bool is_first_on_device(const struct programs *programs, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (is_on(&programs->items[i], programs->items[at].device))
			return false;
	}
	return true;
}

int clv_slowdown_predict(
	struct clv_planned *items, size_t n, const json_t *others, const char *reports)
{
	struct programs programs = {};
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		if (items[i].service)
			r = add_replicas(&programs, &items[i], reports);
	}
	if (!r)
		r = add_others(&programs, others);
	for (size_t i = 0; i < programs.n && !r && programs.items[i].into; i++) {
		if (is_first_on_device(&programs, i))
			r = predict(&programs, programs.items[i].device);
	}
	free(programs.items);
	return r;
}
