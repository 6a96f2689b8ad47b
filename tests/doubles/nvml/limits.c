/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"
#include "call.h"
#include "handles.h"
#include "processes.h"
#include "readings.h"
#include "text.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The limits of GPU memory of a cgroup's processes: the file `limits` has a line GPU SOFT
 * HARD CGROUP for each setting; the last one counts. Without a line the reading `limit`
 * applies to every cgroup. */

static bool find(unsigned gpu, const char *cgroup, struct dnv_limits *ret)
{
	char *text = dnv_text_read(dnv_dirfd(), "limits"), *rest = text;
	struct dnv_line line = {0};
	bool found = false;

	while (dnv_text_next(&rest, &line)) {
		uint64_t which, soft, hard;

		if (line.n_words != 4 ||
			!dnv_text_number(line.words[0], 0, DNV_GPUS_MAX - 1, &which) ||
			!dnv_text_number(line.words[1], 0, UINT64_MAX, &soft) ||
			!dnv_text_number(line.words[2], 0, UINT64_MAX, &hard))
			dnv_text_die("limits", &line);
		if (which != gpu || strcmp(line.words[3], cgroup) != 0)
			continue;
		ret->soft = soft;
		ret->hard = hard;
		found = true;
	}
	free(text);
	return found;
}

int dnv_nvmlDeviceGetMemoryLimits_v1(struct dnv_handle *device, struct dnv_limits *limits)
{
	struct dnv_target target;
	uint64_t limit;
	int r = dnv_resolve(device, DNV_KIND_GPU, &target);

	if (r)
		return r;
	if (!limits || !limits->cgroup)
		return DNV_INVALID_ARGUMENT;
	limits->used = dnv_processes_bytes(&target);
	if (find(target.gpu, limits->cgroup, limits))
		return DNV_SUCCESS;
	limit = dnv_reading(target.gpu, "limit", DNV_UNREADABLE);
	if (limit == DNV_UNREADABLE)
		return DNV_NOT_FOUND;
	limits->soft = 0;
	limits->hard = limit;
	return DNV_SUCCESS;
}

static int note(unsigned gpu, const struct dnv_limits *limits)
{
	int fd = openat(
		dnv_dirfd(), "limits", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	if (fd < 0)
		return DNV_INSUFFICIENT_RESOURCES;
	dprintf(fd, "%u %llu %llu %s\n", gpu, (unsigned long long)limits->soft,
		(unsigned long long)limits->hard, limits->cgroup);
	close(fd);
	return DNV_SUCCESS;
}

int dnv_nvmlDeviceSetMemoryLimits_v1(struct dnv_handle *device, struct dnv_limits *limits)
{
	struct dnv_target target;
	int r = dnv_resolve(device, DNV_KIND_GPU, &target);

	if (r)
		return r;
	if (!limits || !limits->cgroup || limits->soft > limits->hard)
		return DNV_INVALID_ARGUMENT;
	if (target.state->mig)
		return DNV_NOT_SUPPORTED;
	return dnv_node()->unprivileged ? DNV_NO_PERMISSION : note(target.gpu, limits);
}
