/* SPDX-License-Identifier: Apache-2.0 */
/* Opens connections to libvirt with a bound, and bounds the calls on them.  libvirt's
 * calls have none: they wait for ever for a daemon that hangs, whose socket the kernel
 * still accepts connections for. */
#include "bridge/libvirt/host/host-internal.h"

#include "base/error.h"
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPEN_S 30
/* A daemon that has not answered six times in a row, so after 30 s, ends the connection.
 */
#define KEEPALIVE_S 5
#define KEEPALIVE_COUNT 5
#define LOOP_PAUSE_US 100000

/* Between the caller and the thread that opens; the last of the two frees it. */
struct opening {
	pthread_mutex_t lock;
	pthread_cond_t is_changed;
	char *uri;
	virConnect *connection; /* NULL: see why */
	struct clv_error why;
	bool is_over, is_abandoned;
};

/* What fails may pass, as a lack of memory does. */
static void *run_loop(void *userdata)
{
	clv_thread_block_signals();
	for (;;) {
		if (virEventRunDefaultImpl() < 0)
			usleep(LOOP_PAUSE_US);
	}
	return NULL;
}

static bool has_loop;

static void start_loop(void)
{
	pthread_t thread;

	has_loop = virEventRegisterDefaultImpl() == 0 &&
		   pthread_create(&thread, NULL, run_loop, NULL) == 0;
	if (has_loop)
		pthread_detach(thread);
}

bool clv_vm_loop_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, start_loop);
	return has_loop;
}

void clv_vm_cond_init(pthread_cond_t *ret)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(ret, &attributes);
	pthread_condattr_destroy(&attributes);
}

struct timespec clv_vm_deadline(int timeout_ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += timeout_ms / 1000;
	until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	return until;
}

static struct opening *opening_new(const char *uri)
{
	struct opening *opening = calloc(1, sizeof(*opening));

	if (!opening)
		return NULL;
	opening->uri = strdup(uri);
	pthread_mutex_init(&opening->lock, NULL);
	clv_vm_cond_init(&opening->is_changed);
	return opening;
}

static void opening_free(struct opening *opening)
{
	pthread_cond_destroy(&opening->is_changed);
	pthread_mutex_destroy(&opening->lock);
	free(opening->uri);
	free(opening);
}

static void *open_in_thread(void *userdata)
{
	struct opening *opening = userdata;
	virConnect *connection;
	bool is_abandoned;

	clv_thread_block_signals();
	connection = virConnectOpenAuth(opening->uri, NULL, 0);
	pthread_mutex_lock(&opening->lock);
	opening->connection = connection;
	if (!connection)
		clv_vm_fail(
			&opening->why, "libvirt at %.100s does not answer", opening->uri);
	opening->is_over = true;
	is_abandoned = opening->is_abandoned;
	pthread_cond_signal(&opening->is_changed);
	pthread_mutex_unlock(&opening->lock);
	if (!is_abandoned)
		return NULL;
	if (connection)
		virConnectClose(connection);
	opening_free(opening);
	return NULL;
}

/* Whether the thread is over in time. */
static bool wait_for(struct opening *opening)
{
	struct timespec until = clv_vm_deadline(OPEN_S * 1000);
	int r = 0;

	pthread_mutex_lock(&opening->lock);
	while (!opening->is_over && r == 0)
		r = pthread_cond_timedwait(&opening->is_changed, &opening->lock, &until);
	opening->is_abandoned = !opening->is_over;
	r = opening->is_over;
	pthread_mutex_unlock(&opening->lock);
	return r;
}

virConnect *clv_vm_open(const char *uri, struct clv_error *err)
{
	struct opening *opening = opening_new(uri);
	virConnect *connection;
	pthread_t thread;

	if (!opening || !opening->uri ||
		pthread_create(&thread, NULL, open_in_thread, opening) != 0) {
		clv_error_errno(err, ENOMEM, "cannot connect to libvirt");
		if (opening)
			opening_free(opening);
		return NULL;
	}
	pthread_detach(thread);
	if (!wait_for(opening)) {
		clv_error_set(err, -ECONNREFUSED,
			"libvirt at %.100s does not answer: it accepted the connection "
			"and said nothing for %d s",
			uri, OPEN_S);
		return NULL;
	}
	connection = opening->connection;
	*err = opening->why;
	opening_free(opening);
	/* Drivers that need no daemon have none of it. */
	if (connection)
		virConnectSetKeepAlive(connection, KEEPALIVE_S, KEEPALIVE_COUNT);
	return connection;
}
