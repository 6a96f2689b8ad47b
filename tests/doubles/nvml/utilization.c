/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"
#include "call.h"
#include "handles.h"
#include "text.h"
#include <stdlib.h>
#include <time.h>

/* The utilization of processes: the file `utilization` has lines PID GPU PERCENT. A
 * driver has no sample of an idle process, and none of GPUs in MIG mode. */

#define SAMPLES_MAX 64

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static uint32_t read_samples(unsigned which, struct dnv_process_utilization *ret)
{
	char *text = dnv_text_read(dnv_dirfd(), "utilization"), *rest = text;
	struct dnv_line line = {0};
	uint32_t n = 0;

	while (dnv_text_next(&rest, &line)) {
		uint64_t pid, gpu, percent;

		if (line.n_words != 3 || n == SAMPLES_MAX ||
			!dnv_text_number(line.words[0], 0, UINT32_MAX, &pid) ||
			!dnv_text_number(line.words[1], 0, DNV_GPUS_MAX - 1, &gpu) ||
			!dnv_text_number(line.words[2], 0, 100, &percent))
			dnv_text_die("utilization", &line);
		if (gpu == which && percent > 0)
			ret[n++] = (struct dnv_process_utilization){
				.pid = (uint32_t)pid,
				.time_us = now_us(),
				.sm = (uint32_t)percent,
			};
	}
	free(text);
	return n;
}

int dnv_nvmlDeviceGetProcessUtilization(struct dnv_handle *device,
	struct dnv_process_utilization *ret, uint32_t *count, uint64_t after_us)
{
	struct dnv_process_utilization samples[SAMPLES_MAX] = {0};
	struct dnv_target target;
	uint32_t n;
	int r = dnv_resolve_for(device, DNV_KIND_GPU | DNV_KIND_MIG, count, &target);

	if (r)
		return r;
	if (target.kind != DNV_KIND_GPU || target.state->mig)
		return DNV_NOT_SUPPORTED;
	n = now_us() > after_us ? read_samples(target.gpu, samples) : 0;
	if (!n)
		return DNV_NOT_FOUND;
	return dnv_answer_array(ret, count, samples, n, sizeof(samples[0]));
}
