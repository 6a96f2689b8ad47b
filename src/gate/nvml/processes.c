/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that use the device: those of the lease, each with the memory that it has
 * charged. */
#include "gate/nvml-hooks.h"
#include "gate/nvml/lease.h"
#include "gate/process/view.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 16u
#define TRIES 8 /* a list may grow between two calls */

/* The layout of a list's entries. */
struct entry {
	size_t n_bytes;
	size_t pid_at;
	size_t memory_at; /* 0: it has no memory field */
};

static const struct entry plain_pid = {sizeof(uint32_t), 0, 0};
static const struct entry process_v1 = {sizeof(struct clv_nvml_process_v1),
	offsetof(struct clv_nvml_process_v1, pid),
	offsetof(struct clv_nvml_process_v1, memory_bytes)};
static const struct entry process = {sizeof(struct clv_nvml_process),
	offsetof(struct clv_nvml_process, pid),
	offsetof(struct clv_nvml_process, memory_bytes)};
static const struct entry process_detail = {sizeof(struct clv_nvml_process_detail),
	offsetof(struct clv_nvml_process_detail, process.pid),
	offsetof(struct clv_nvml_process_detail, process.memory_bytes)};
static const struct entry encoder_session = {sizeof(struct clv_nvml_encoder_session),
	offsetof(struct clv_nvml_encoder_session, pid), 0};
static const struct entry capture_session = {sizeof(struct clv_nvml_capture_session),
	offsetof(struct clv_nvml_capture_session, pid), 0};

/* Keeps the entries of the lease's processes and returns their number. */
static uint32_t keep_entries(const struct clv_view *view, const struct entry *entry,
	char *items, uint32_t n_items)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_items; i++) {
		char *from = items + i * entry->n_bytes, *to = items + n * entry->n_bytes;
		uint64_t memory_bytes;
		uint32_t pid;

		memcpy(&pid, from + entry->pid_at, sizeof(pid));
		if (!clv_nvml_find_process(view, pid, &memory_bytes))
			continue;
		memmove(to, from, entry->n_bytes);
		if (entry->memory_at)
			memcpy(to + entry->memory_at, &memory_bytes,
				sizeof(memory_bytes));
		n++;
	}
	return n;
}

/* Fills in the caller's list by NVML's rules: only the count if the list is too short. */
static int copy_list(const struct entry *entry, const char *items, uint32_t n,
	uint32_t *count, void *ret)
{
	uint32_t room = *count;

	if (room > 0 && !ret)
		return CLV_NVML_INVALID_ARGUMENT;
	*count = n;
	if (room < n)
		return CLV_NVML_INSUFFICIENT_SIZE;
	if (n > 0)
		memcpy(ret, items, n * entry->n_bytes);
	return CLV_NVML_SUCCESS;
}

/* Reads the driver's list into *n items and sets *n as NVML does. */
typedef int (*ask_function)(void *userdata, uint32_t *n, void *items);

static int filter(const struct clv_view *view, const struct entry *entry,
	ask_function ask, void *userdata, uint32_t *count, void *ret)
{
	uint32_t room = ROOM_FIRST, n = 0;
	char *items = NULL;
	int r = CLV_NVML_INSUFFICIENT_SIZE;

	for (int i = 0; i < TRIES && r == CLV_NVML_INSUFFICIENT_SIZE; i++) {
		free(items);
		items = calloc(room, entry->n_bytes);
		if (!items)
			return CLV_NVML_MEMORY;
		n = room;
		r = ask(userdata, &n, items);
		room = 2 * (n > room ? n : room);
	}
	if (r == CLV_NVML_SUCCESS)
		r = copy_list(
			entry, items, keep_entries(view, entry, items, n), count, ret);
	free(items);
	return r;
}

/* Lists of (device, &count, items). */

typedef int list_function(void *device, void *count, void *items);

struct question {
	list_function *real;
	void *device;
};

static int ask(void *userdata, uint32_t *n, void *items)
{
	const struct question *question = userdata;

	return question->real(question->device, n, items);
}

static int list(list_function *real, const struct entry *entry, void *device, void *count,
	void *items)
{
	struct question question = {real, device};
	const struct clv_view *view;

	if (!count || clv_nvml_get_sight(&view) == CLV_NVML_ALL)
		return real(device, count, items);
	return filter(view, entry, ask, &question, count, items);
}

#define LIST(symbol, entry)                                                         \
	int clv_own_##symbol(                                                       \
		clv_fn_##symbol *real, void *device, void *count_of_n, void *items) \
	{                                                                           \
		return list(real, &entry, device, count_of_n, items);               \
	}

LIST(nvmlDeviceGetComputeRunningProcesses, process_v1)
LIST(nvmlDeviceGetComputeRunningProcesses_v2, process)
LIST(nvmlDeviceGetComputeRunningProcesses_v3, process)
LIST(nvmlDeviceGetGraphicsRunningProcesses, process_v1)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, process)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, process)
LIST(nvmlDeviceGetMPSComputeRunningProcesses, process_v1)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, process)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, process)
LIST(nvmlDeviceGetAccountingPids, plain_pid)
LIST(nvmlDeviceGetEncoderSessions, encoder_session)
LIST(nvmlDeviceGetFBCSessions, capture_session)

/* The list whose structure has a version. */

struct detail_question {
	clv_fn_nvmlDeviceGetRunningProcessDetailList *real;
	void *device;
	const struct clv_nvml_detail_list *asked;
};

static int ask_detail(void *userdata, uint32_t *n, void *items)
{
	const struct detail_question *question = userdata;
	struct clv_nvml_detail_list list = *question->asked;
	int r;

	list.n = *n;
	list.items = items;
	r = question->real(question->device, &list);
	*n = list.n;
	return r;
}

int clv_own_nvmlDeviceGetRunningProcessDetailList(
	clv_fn_nvmlDeviceGetRunningProcessDetailList *real, void *device, void *plist)
{
	struct detail_question question = {real, device, plist};
	struct clv_nvml_detail_list *asked = plist;
	const struct clv_view *view;

	if (!asked || clv_nvml_get_sight(&view) == CLV_NVML_ALL)
		return real(device, plist);
	return filter(
		view, &process_detail, ask_detail, &question, &asked->n, asked->items);
}

/* Accounting data of a process.  The driver keeps those of ended processes too, which the
 * lease does not know: not found. */

static bool may_ask(uint32_t pid)
{
	const struct clv_view *view;
	uint64_t memory_bytes;

	return clv_nvml_get_sight(&view) == CLV_NVML_ALL ||
	       clv_nvml_find_process(view, pid, &memory_bytes);
}

int clv_own_nvmlDeviceGetAccountingStats(clv_fn_nvmlDeviceGetAccountingStats *real,
	void *device, uint32_t pid, void *stats)
{
	return may_ask(pid) ? real(device, pid, stats) : CLV_NVML_NOT_FOUND;
}

int clv_own_nvmlDeviceGetAccountingStats_v2(
	clv_fn_nvmlDeviceGetAccountingStats_v2 *real, void *device, void *stats)
{
	const struct clv_nvml_accounting *accounting = stats;

	return !stats || may_ask(accounting->pid) ? real(device, stats)
						  : CLV_NVML_NOT_FOUND;
}
