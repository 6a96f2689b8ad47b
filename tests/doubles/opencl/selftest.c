/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The runner: one process a case, TAP on standard output.  "selftest NAME" runs one case
 * in this process; a case that hangs is ended by its alarm. */

extern char **environ;

static const struct selftest_case *const parts[] = {selftest_order, selftest_event,
	selftest_memory, selftest_object, selftest_process, selftest_thread,
	selftest_cost, selftest_helpers};
#define N_PARTS (sizeof(parts) / sizeof(parts[0]))
#define N_RUN (N_PARTS - 1) /* not the helpers */

#define CASE_TIMEOUT_S 60

void rig_init(struct rig *rig)
{
	const char *text = "__kernel void nop(void) {}\n__kernel void spin(uint us) {}\n";
	cl_uint us = 0, n = 0;
	char name[64];
	cl_int rc;

	rig->n_events = rig->n_queues = 0;
	OK(clGetPlatformIDs(1, &rig->platform, &n));
	OK(clGetPlatformInfo(rig->platform, CL_PLATFORM_NAME, sizeof(name), name, NULL));
	/* Another implementation here means that OCL_ICD_VENDORS is not set. */
	CHECK(n == 1 && strcmp(name, "cleave double") == 0);
	OK(clGetDeviceIDs(rig->platform, CL_DEVICE_TYPE_ALL, 1, &rig->device, NULL));
	rig->context = clCreateContext(NULL, 1, &rig->device, NULL, NULL, &rc);
	OK(rc);
	rig->program = clCreateProgramWithSource(rig->context, 1, &text, NULL, &rc);
	OK(rc);
	OK(clBuildProgram(rig->program, 0, NULL, "", NULL, NULL));
	rig->nop = clCreateKernel(rig->program, "nop", &rc);
	OK(rc);
	rig->spin = clCreateKernel(rig->program, "spin", &rc);
	OK(rc);
	OK(clSetKernelArg(rig->spin, 0, sizeof(us), &us));
}

void rig_done(struct rig *rig)
{
	while (rig->n_events > 0)
		OK(clReleaseEvent(rig->events[--rig->n_events]));
	while (rig->n_queues > 0)
		OK(clReleaseCommandQueue(rig->queues[--rig->n_queues]));
	OK(clReleaseKernel(rig->nop));
	OK(clReleaseKernel(rig->spin));
	OK(clReleaseProgram(rig->program));
	OK(clReleaseContext(rig->context));
}

cl_command_queue rig_queue(const struct rig *rig, cl_command_queue_properties props)
{
	cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, props, 0};
	cl_command_queue q;
	cl_int rc;

	q = clCreateCommandQueueWithProperties(rig->context, rig->device, list, &rc);
	OK(rc);
	return q;
}

cl_event rig_run(const struct rig *rig, cl_command_queue q, cl_uint us, cl_event wait)
{
	size_t one = 1;
	cl_event event;

	OK(clSetKernelArg(rig->spin, 0, sizeof(us), &us));
	OK(clEnqueueNDRangeKernel(q, rig->spin, 1, NULL, &one, NULL, wait ? 1 : 0,
		wait ? &wait : NULL, &event));
	return event;
}

cl_command_queue rig_keep_queue(struct rig *rig, cl_command_queue_properties props)
{
	CHECK(rig->n_queues < sizeof(rig->queues) / sizeof(rig->queues[0]));
	return rig->queues[rig->n_queues++] = rig_queue(rig, props);
}

cl_event rig_keep(struct rig *rig, cl_event event)
{
	CHECK(rig->n_events < sizeof(rig->events) / sizeof(rig->events[0]));
	return rig->events[rig->n_events++] = event;
}

cl_event rig_keep_run(struct rig *rig, cl_command_queue q, cl_uint us, cl_event wait)
{
	return rig_keep(rig, rig_run(rig, q, us, wait));
}

cl_event rig_keep_user_event(struct rig *rig)
{
	cl_int rc;
	cl_event event = clCreateUserEvent(rig->context, &rc);

	OK(rc);
	return rig_keep(rig, event);
}

cl_int status_of(cl_event event)
{
	cl_int status;

	OK(clGetEventInfo(
		event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
	return status;
}

void nap_ms(unsigned ms)
{
	struct timespec ts = {
		.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	nanosleep(&ts, NULL);
}

cl_ulong profiled(cl_event event, cl_profiling_info param)
{
	cl_ulong ns;

	OK(clGetEventProfilingInfo(event, param, sizeof(ns), &ns, NULL));
	return ns;
}

void *by_name(const struct rig *rig, const char *name)
{
	void *function = clGetExtensionFunctionAddressForPlatform(rig->platform, name);

	CHECK(function != NULL);
	return function;
}

void stats_now(const struct rig *rig, struct cleave_double_stats *ret)
{
	clGetDoubleStatsCLEAVE_fn stats =
		(clGetDoubleStatsCLEAVE_fn)by_name(rig, CLEAVE_DOUBLE_STATS_FN);

	OK(stats(ret));
}

static const struct selftest_case *find_case(const char *name)
{
	for (size_t p = 0; p < N_PARTS; p++)
		for (const struct selftest_case *c = parts[p]; c->name; c++)
			if (strcmp(c->name, name) == 0)
				return c;
	return NULL;
}

static bool file_contains(int fd, const char *text)
{
	char buffer[65536];
	ssize_t n = pread(fd, buffer, sizeof(buffer) - 1, 0);

	buffer[n < 0 ? 0 : n] = '\0';
	return strstr(buffer, text) != NULL;
}

static void show(int fd)
{
	char buffer[4096];
	ssize_t n;

	lseek(fd, 0, SEEK_SET);
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		if (write(STDERR_FILENO, buffer, (size_t)n) < 0)
			return;
}

/* True if the case ended as expected. */
static bool run_case(const char *self, const struct selftest_case *c)
{
	char *argv[] = {(char *)self, (char *)c->name, NULL}, *env[256];
	int status, n = 0, fd = memfd_create("stderr", 0);
	posix_spawn_file_actions_t actions;
	bool ok;
	pid_t pid;

	for (char **e = environ; *e && n < 250; e++)
		if (strncmp(*e, "CLEAVE_DOUBLE_", 14) != 0)
			env[n++] = *e;
	for (int i = 0; i < 4 && c->env[i]; i++)
		env[n++] = (char *)c->env[i];
	env[n] = NULL;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, STDERR_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
	if (posix_spawn(&pid, self, &actions, NULL, argv, env) != 0 ||
		waitpid(pid, &status, 0) != pid)
		return false;
	posix_spawn_file_actions_destroy(&actions);
	if (c->dies_with)
		ok = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT &&
		     file_contains(fd, c->dies_with);
	else
		ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (!ok)
		show(fd);
	close(fd);
	return ok;
}

int main(int argc, char **argv)
{
	int n = 0, failed = 0;

	if (argc > 1) {
		const struct selftest_case *c = find_case(argv[1]);

		if (!c)
			return 64;
		alarm(CASE_TIMEOUT_S);
		c->run();
		return 0;
	}
	for (size_t p = 0; p < N_RUN; p++)
		for (const struct selftest_case *c = parts[p]; c->name; c++) {
			bool ok = run_case("/proc/self/exe", c);

			printf("%sok %d %s\n", ok ? "" : "not ", ++n, c->name);
			fflush(stdout);
			failed += !ok;
		}
	printf("1..%d\n", n);
	return failed ? 1 : 0;
}
