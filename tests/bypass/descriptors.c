/* SPDX-License-Identifier: Apache-2.0 */
/* Ways by the descriptor table: programs that close descriptors that they do not know,
 * before or after the device was opened, and then use the same numbers for something
 * else. */
#include "way.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST = 3, LAST = 4096 };

static int way_closefrom_before(char **arguments)
{
	struct way_device d;

	closefrom(FIRST);
	way_open(&d);
	way_take_buffers(&d, WAY_PIECES_MAX);
	return 0;
}

static int way_closefrom_after(char **arguments)
{
	struct way_device d;

	way_open(&d);
	way_take_buffers(&d, way_number("BYPASS_HALF_PIECES", 4));
	closefrom(FIRST);
	way_take_buffers(&d, WAY_PIECES_MAX);
	return 0;
}

static int way_closefrom_work(char **arguments)
{
	struct way_device d;
	cl_command_queue queue;

	way_open(&d);
	queue = way_queue(&d, 0);
	way_submit(&d, queue, 100, 0, NULL, NULL);
	clFinish(queue);
	closefrom(FIRST);
	way_begin();
	way_flood(&d, queue, 1000, 16);
	way_end();
	return 0;
}

/* Replaces each open descriptor by an event counter or a file of the program's own, to
 * which nothing but the program may write. */
static int reuse(int own)
{
	char open_before[LAST] = {0};
	struct stat st;
	int n = 0;

	for (int fd = FIRST; fd < LAST; fd++)
		open_before[fd] = fd != own && fstat(fd, &st) == 0;
	for (int fd = FIRST; fd < LAST; fd++) {
		if (open_before[fd] && dup2(own, fd) == fd)
			n++;
	}
	return n;
}

static int way_reused_numbers(char **arguments)
{
	struct way_device d;
	cl_command_queue queue;
	eventfd_t count = 0;
	int own, n;

	way_open(&d);
	queue = way_queue(&d, 0);
	way_submit(&d, queue, 100, 0, NULL, NULL);
	clFinish(queue);
	own = eventfd(0, EFD_NONBLOCK);
	n = reuse(own);
	way_begin();
	/* Alternately busy and idle, so that the gate has something to tell at each
	 * change. */
	while (way_goes_on()) {
		way_submit(&d, queue, 1000, 0, NULL, NULL);
		clFinish(queue);
		usleep(3000);
	}
	if (n == 0)
		way_die("no descriptor to take", 0);
	if (eventfd_read(own, &count) < 0)
		way_say("no foreign write\n");
	else
		way_say("yes %llu foreign writes\n", (unsigned long long)count);
	way_end();
	return 0;
}

const struct way way_descriptors[] = {
	{"closefrom-before", way_closefrom_before},
	{"closefrom-after", way_closefrom_after},
	{"closefrom-work", way_closefrom_work},
	{"reused-numbers", way_reused_numbers},
	{NULL, NULL},
};
