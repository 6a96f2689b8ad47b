/* SPDX-License-Identifier: Apache-2.0 */
/* Enumerates devices in a child, which is this program executed again, so that drivers
 * can reach neither the agent's threads nor its descriptors.  The child answers with JSON
 * on a pipe and is killed when it takes too long. */
#include "agent/driver/probe.h"

#include "agent/driver/device-json.h"
#include "agent/os/child.h"
#include "backend/backend.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#define TIMEOUT_NS (10 * CLV_NS_PER_S)

struct clv_probe {
	struct clv_child *child;
	clv_probe_fn done;
	void *userdata;
};

static const struct clv_backend_ops *const backends[] = {&clv_backend_opencl};

static void probe_backend(
	const struct clv_backend_ops *ops, json_t *items, json_t *problems)
{
	struct clv_device_list list = {0};
	struct clv_backend *backend = NULL;
	struct clv_error err = {0};
	int r = ops->probe(&backend, &err);

	if (r >= 0) {
		r = ops->enumerate(backend, &list, &err);
		for (size_t i = 0; i < list.n_items; i++)
			json_array_append_new(items, clv_device_to_json(&list.items[i]));
	}
	/* The backend is not freed: unloading drivers may crash, and the process ends
	 * anyway. */
	if (r < 0)
		json_array_append_new(problems, json_string(err.msg));
	free(list.items);
}

int clv_probe_main(void)
{
	json_t *items = json_array(), *problems = json_array(), *answer;
	int answer_fd = dup(STDOUT_FILENO), r;

	/* Gates and layers must not be loaded here.  Drivers may print to stdout, so it
	 * becomes stderr and the answer goes to a duplicate. */
	unsetenv("OPENCL_LAYERS");
	unsetenv("OCL_ICD_LAYERS");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(backends); i++)
		probe_backend(backends[i], items, problems);
	answer = json_pack("{s:o,s:o}", "items", items, "problems", problems);
	r = json_dumpfd(answer, answer_fd, JSON_COMPACT);
	/* Without exit handlers of drivers, which may hang. */
	_exit(r < 0 ? 1 : 0);
}

static void fail(const struct clv_probe *probe, const char *what)
{
	json_t *answer = json_pack("{s:[],s:[s]}", "items", "problems", what);

	probe->done(probe->userdata, answer);
	json_decref(answer);
}

static void take_answer(const struct clv_probe *probe, const struct clv_child_end *end)
{
	json_t *answer =
		end->n_bytes > 0 ? json_loadb(end->output, end->n_bytes, 0, NULL) : NULL;

	if (json_is_array(json_object_get(answer, "items")))
		probe->done(probe->userdata, answer);
	else
		fail(probe, "an OpenCL driver ended the process that lists the devices: "
			    "check whether clinfo works");
	json_decref(answer);
}

static void on_end(void *userdata, const struct clv_child_end *end)
{
	const struct clv_probe *probe = userdata;
	char what[256];

	if (end->is_timed_out) {
		fail(probe, "the OpenCL drivers did not answer within 10 s: check "
			    "whether clinfo works");
	} else if (end->signal != 0) {
		snprintf(what, sizeof(what),
			"an OpenCL driver crashed (%s) while it listed its devices: find "
			"out which one with clinfo and remove it",
			strsignal(end->signal));
		fail(probe, what);
	} else {
		take_answer(probe, end);
	}
}

int clv_probe_start(sd_event *event, clv_probe_fn done, void *userdata,
	struct clv_probe **ret, struct clv_error *err)
{
	char *arguments[] = {(char[]){"cleaved"}, (char[]){"--probe"}, NULL};
	struct clv_probe *probe = calloc(1, sizeof(*probe));
	int r;

	if (!probe)
		return clv_error_errno(err, ENOMEM, "cannot start the probe of devices");
	*probe = (struct clv_probe){.done = done, .userdata = userdata};
	r = clv_child_start(event, "/proc/self/exe", arguments, TIMEOUT_NS, on_end, probe,
		&probe->child, err);
	if (r < 0) {
		clv_probe_free(probe);
		return r;
	}
	*ret = probe;
	return 0;
}

struct clv_probe *clv_probe_free(struct clv_probe *probe)
{
	if (!probe)
		return NULL;
	clv_child_free(probe->child);
	free(probe);
	return NULL;
}
