/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the processes on a GPU.  Depending on its version a driver writes entries of 16,
 * 24 or 32 bytes through the same symbol (R535 before 535.98 writes 32, which overflows
 * the buffer of a caller built for 24), and the call does not tell which.  So the buffer
 * has room for the longest entries, and the size is derived from how far the driver
 * wrote. */
#include "backend/nvidia/processes.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_MAX 32u
#define UNTOUCHED 0xa5
#define TRIES 4

static const size_t entry_bytes[] = {16, 24, ENTRY_MAX};

/* The last byte of an entry is never UNTOUCHED, because it is the highest byte of an
 * instance's id or of a number of bytes.  Returns 0 if nothing was written. */
static size_t find_entry_bytes(const unsigned char *data, size_t n)
{
	size_t written = n * ENTRY_MAX;

	while (written > 0 && data[written - 1] == UNTOUCHED)
		written--;
	if (written == 0)
		return 0;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(entry_bytes); i++) {
		if (entry_bytes[i] * n >= written)
			return entry_bytes[i];
	}
	return ENTRY_MAX;
}

static int append_entries(
	struct clv_nvidia_processes *list, const unsigned char *data, size_t n)
{
	size_t bytes = find_entry_bytes(data, n);

	for (size_t i = 0; bytes > 0 && i < n; i++) {
		struct clv_nvml_process *process = CLV_APPEND(list->items, list->n);

		if (!process)
			return -ENOMEM;
		process->gpu_instance = CLV_NVML_NO_INSTANCE;
		process->compute_instance = CLV_NVML_NO_INSTANCE;
		memcpy(process, data + i * bytes,
			bytes < sizeof(*process) ? bytes : sizeof(*process));
	}
	return 0;
}

/* Retries with more room while the list does not fit: processes may start between two
 * calls. */
static int append_kind(clv_nvml_list_processes *ask, struct clv_nvml_device *device,
	struct clv_nvidia_processes *list)
{
	uint32_t room = 32;

	for (int i = 0; i < TRIES; i++) {
		_cleanup_free_ unsigned char *data = malloc((size_t)room * ENTRY_MAX);
		uint32_t n = room;
		int code;

		if (!data)
			return -ENOMEM;
		memset(data, UNTOUCHED, (size_t)room * ENTRY_MAX);
		code = ask(device, &n, (struct clv_nvml_process *)data);
		if (code == CLV_NVML_SUCCESS)
			return append_entries(list, data, n < room ? n : room);
		if (code != CLV_NVML_INSUFFICIENT_SIZE || n > UINT16_MAX)
			return 0;
		room = 2 * (n > room ? n : room);
	}
	return 0;
}

int clv_nvidia_processes_list(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *device, struct clv_nvidia_processes *list)
{
	clv_nvml_list_processes *const kinds[] = {nvml->list_compute_processes,
		nvml->list_graphics_processes, nvml->list_mps_processes};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(kinds); i++) {
		int r = kinds[i] ? append_kind(kinds[i], device, list) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

void clv_nvidia_processes_clear(struct clv_nvidia_processes *list)
{
	free(list->items);
	*list = (struct clv_nvidia_processes){0};
}
