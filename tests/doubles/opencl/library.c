/* SPDX-License-Identifier: Apache-2.0 */
#include "alive.h"
#include "cleave-double.h"
#include "cmd.h"
#include "device.h"
#include "engine.h"
#include "entries.h"
#include "knobs.h"
#include "ledger.h"
#include "object.h"
#include "schedule.h"
#include "tables.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The library as the loader sees it: the dispatch table, functions by name, the three
 * exported symbols, and the code that runs at load and at exit. */

const bool *dcl_alive_word;

#define DCL_SLOT(name) .name = dcl_##name,
const cl_icd_dispatch dcl_dispatch = {DCL_ENTRIES(DCL_SLOT)};
#undef DCL_SLOT

static const struct {
	const char *name;
	void *function;
} by_name[] = {
#define DCL_NAMED(name) {#name, (void *)dcl_##name},
	DCL_BY_NAME(DCL_NAMED) DCL_ENTRIES(DCL_NAMED)
#undef DCL_NAMED
};

void *CL_API_CALL dcl_clGetExtensionFunctionAddress(const char *name)
{
	for (size_t i = 0; name && i < sizeof(by_name) / sizeof(by_name[0]); i++)
		if (strcmp(by_name[i].name, name) == 0)
			return by_name[i].function;
	return NULL;
}

void *CL_API_CALL dcl_clGetExtensionFunctionAddressForPlatform(
	cl_platform_id platform, const char *name)
{
	return platform == &dcl_platform ? dcl_clGetExtensionFunctionAddress(name) : NULL;
}

#define EXPORT __attribute__((visibility("default")))

EXPORT void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
	return dcl_clGetExtensionFunctionAddress(name);
}

EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(
	cl_uint n, cl_platform_id *ret, cl_uint *ret_n)
{
	return dcl_clGetPlatformIDs(n, ret, ret_n);
}

EXPORT cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform,
	cl_platform_info param, size_t bytes, void *ret, size_t *ret_bytes)
{
	return dcl_clGetPlatformInfo(platform, param, bytes, ret, ret_bytes);
}

cl_int CL_API_CALL dcl_clGetDoubleStatsCLEAVE(struct cleave_double_stats *ret)
{
	struct cleave_double_stats s = {0};

	if (!ret)
		return CL_INVALID_VALUE;
	/* Completed first: never_run must not be negative while commands run. */
	dcl_queues_count(&s.enqueues, &s.kernels, &s.flushes, &s.completed);
	s.never_run = s.enqueues > s.completed ? s.enqueues - s.completed : 0;
	for (unsigned i = 0; i < dcl_knobs.devices; i++) {
		s.busy_ns += dcl_load(&dcl_engines[i].busy_ns);
		dcl_ledger_read(dcl_engines[i].ledger, &s.live_bytes, &s.peak_bytes,
			&s.allocations);
	}
	s.live_mem_objects = dcl_object_count(DCL_MEM);
	s.live_events = dcl_object_count(DCL_EVENT);
	s.live_queues = dcl_object_count(DCL_QUEUE);
	s.live_contexts = dcl_object_count(DCL_CONTEXT);
	s.live_kernels = dcl_object_count(DCL_KERNEL);
	s.live_programs = dcl_object_count(DCL_PROGRAM);
	*ret = s;
	return CL_SUCCESS;
}

/* clang-format off */
static const struct { const char *name; size_t offset; } stats_rows[] = {
#define ROW(member) { #member, offsetof(struct cleave_double_stats, member) }
	ROW(enqueues), ROW(kernels), ROW(flushes), ROW(completed), ROW(never_run), ROW(busy_ns),
	ROW(allocations), ROW(live_bytes), ROW(peak_bytes), ROW(live_mem_objects),
	ROW(live_events), ROW(live_queues), ROW(live_contexts), ROW(live_kernels),
	ROW(live_programs),
#undef ROW
};
/* clang-format on */

/* One JSON object on one line, appended with one write, so that processes may share the
 * file. */
static void write_stats(void)
{
	struct cleave_double_stats stats;
	char line[2048];
	int n, fd;

	dcl_clGetDoubleStatsCLEAVE(&stats);
	n = snprintf(line, sizeof(line), "{\"pid\": %d", (int)getpid());
	for (size_t i = 0; i < sizeof(stats_rows) / sizeof(stats_rows[0]); i++) {
		uint64_t value;

		memcpy(&value, (const char *)&stats + stats_rows[i].offset,
			sizeof(value));
		n += snprintf(line + n, sizeof(line) - (size_t)n, ", \"%s\": %llu",
			stats_rows[i].name, (unsigned long long)value);
	}
	n += snprintf(line + n, sizeof(line) - (size_t)n, "}\n");
	fd = open(dcl_knobs.stats_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, line, (size_t)n) != n)
		perror("cleave-double-opencl: cannot write the statistics");
	if (fd >= 0)
		close(fd);
}

__attribute__((destructor)) static void at_exit(void)
{
	if (dcl_alive_word && dcl_alive() && dcl_knobs.stats_file)
		write_stats();
}

__attribute__((constructor)) static void at_load(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	bool *word = mmap(
		NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (word == MAP_FAILED || madvise(word, page, MADV_WIPEONFORK) < 0) {
		perror("cleave-double-opencl: mmap");
		abort();
	}
	*word = true;
	dcl_alive_word = word;
	dcl_knobs_init();
	dcl_tables_init();
	dcl_engines_init();
	dcl_devices_init();
}
