/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on what a tenant shares with the agent by a program that has work; pages.c has
 * those of any API. */
#include "cuda.h"
#include "mapped.h"

#include <pthread.h>
#include <string.h>

static struct mapping report;

/* Reports all work as complete at any time. */
static void *nothing_is_out(void *userdata)
{
	for (;;) {
		for (size_t i = 0; i + 64 <= 16 * 64; i += 64)
			memcpy(report.at + i + 8, report.at + i, 8);
	}
	return NULL;
}

static int report_done(char **arguments)
{
	pthread_t thread;
	handle stream;

	gpu_open();
	stream = new_stream();
	train(spin, 1000);
	report = look_for_page("cleave-report");
	if (!report.at)
		way_die("no such page", 0);
	pthread_create(&thread, NULL, nothing_is_out, NULL);
	way_say("go\n");
	flood_with_kernels(stream, 5000000, 400);
	return 0;
}

const struct way way_more_pages[] = {
	{"report-done", report_done},
	{NULL, NULL},
};
