/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for events, which the thread of libvirt's event loop reports. */
#include "bridge/libvirt/host/wait.h"

#include "base/error.h"
#include "bridge/libvirt/host/host-internal.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CALLBACKS 3
/* How late an interrupt is noticed. */
#define SLICE_MS 100

struct clv_vm_wait {
	/* The caller's, and one for each callback, which may run while it is removed. */
	atomic_int n_references;
	virConnect *connection;
	char *alias;              /* NULL: until the domain is off */
	int callbacks[CALLBACKS]; /* -1: none */
	pthread_mutex_t lock;
	pthread_cond_t is_changed;
	bool is_over, is_refused, is_lost;
};

static void unref(void *userdata)
{
	struct clv_vm_wait *wait = userdata;

	if (atomic_fetch_sub(&wait->n_references, 1) > 1)
		return;
	virConnectClose(wait->connection);
	pthread_cond_destroy(&wait->is_changed);
	pthread_mutex_destroy(&wait->lock);
	free(wait->alias);
	free(wait);
}

static void set(struct clv_vm_wait *wait, bool *flag)
{
	pthread_mutex_lock(&wait->lock);
	*flag = true;
	pthread_cond_signal(&wait->is_changed);
	pthread_mutex_unlock(&wait->lock);
}

static void on_removed(
	virConnect *connection, virDomain *domain, const char *alias, void *userdata)
{
	struct clv_vm_wait *wait = userdata;

	if (strcmp(alias, wait->alias) == 0)
		set(wait, &wait->is_over);
}

static void on_refused(
	virConnect *connection, virDomain *domain, const char *alias, void *userdata)
{
	struct clv_vm_wait *wait = userdata;

	if (strcmp(alias, wait->alias) == 0)
		set(wait, &wait->is_refused);
}

/* Also a wait for a device is over when the domain is off. */
static int on_state(
	virConnect *connection, virDomain *domain, int event, int detail, void *userdata)
{
	struct clv_vm_wait *wait = userdata;

	if (event == VIR_DOMAIN_EVENT_STOPPED || event == VIR_DOMAIN_EVENT_CRASHED)
		set(wait, &wait->is_over);
	return 0;
}

static void on_lost(virConnect *connection, int reason, void *userdata)
{
	struct clv_vm_wait *wait = userdata;

	set(wait, &wait->is_lost);
}

static void add(struct clv_vm_wait *wait, virDomain *domain, size_t at, int event,
	virConnectDomainEventGenericCallback fn)
{
	atomic_fetch_add(&wait->n_references, 1);
	wait->callbacks[at] = virConnectDomainEventRegisterAny(
		wait->connection, domain, event, fn, wait, unref);
	if (wait->callbacks[at] < 0)
		unref(wait);
}

static struct clv_vm_wait *wait_new(virDomain *domain, const char *alias)
{
	struct clv_vm_wait *wait = calloc(1, sizeof(*wait));

	if (!wait)
		return NULL;
	wait->alias = alias ? strdup(alias) : NULL;
	if (alias && !wait->alias) {
		free(wait);
		return NULL;
	}
	atomic_init(&wait->n_references, 1);
	wait->connection = virDomainGetConnect(domain);
	virConnectRef(wait->connection);
	for (size_t i = 0; i < CALLBACKS; i++)
		wait->callbacks[i] = -1;
	pthread_mutex_init(&wait->lock, NULL);
	clv_vm_cond_init(&wait->is_changed);
	return wait;
}

/* A connection without a close callback, as one without a daemon, is not lost. */
static void follow_connection(struct clv_vm_wait *wait)
{
	atomic_fetch_add(&wait->n_references, 1);
	if (virConnectRegisterCloseCallback(wait->connection, on_lost, wait, unref) < 0)
		unref(wait);
	/* It may have been lost before. */
	if (virConnectIsAlive(wait->connection) == 0)
		set(wait, &wait->is_lost);
}

struct clv_vm_wait *clv_vm_wait_begin(
	virDomain *domain, const char *alias, struct clv_error *err)
{
	_cleanup_wait_ struct clv_vm_wait *wait = wait_new(domain, alias);

	if (!wait) {
		clv_error_errno(err, ENOMEM, "cannot wait for a virtual machine");
		return NULL;
	}
	add(wait, domain, 0, VIR_DOMAIN_EVENT_ID_LIFECYCLE,
		VIR_DOMAIN_EVENT_CALLBACK(on_state));
	if (alias) {
		add(wait, domain, 1, VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED,
			VIR_DOMAIN_EVENT_CALLBACK(on_removed));
		add(wait, domain, 2, VIR_DOMAIN_EVENT_ID_DEVICE_REMOVAL_FAILED,
			VIR_DOMAIN_EVENT_CALLBACK(on_refused));
	}
	if (wait->callbacks[0] < 0 || (alias && wait->callbacks[1] < 0)) {
		clv_vm_fail(err, "libvirt sends no events");
		return NULL;
	}
	follow_connection(wait);
	return CLV_TAKE(wait);
}

/* -EAGAIN: nothing came in that time. */
static int wait_once(struct clv_vm_wait *wait, int timeout_ms)
{
	struct timespec until = clv_vm_deadline(timeout_ms);
	int r = 0;

	pthread_mutex_lock(&wait->lock);
	while (!wait->is_over && !wait->is_refused && !wait->is_lost && r == 0)
		r = pthread_cond_timedwait(&wait->is_changed, &wait->lock, &until);
	r = wait->is_over      ? 0
	    : wait->is_lost    ? -ECONNREFUSED
	    : wait->is_refused ? -ETIMEDOUT
			       : -EAGAIN;
	pthread_mutex_unlock(&wait->lock);
	return r;
}

/* A condition and a descriptor cannot be waited for together. */
int clv_vm_wait_for(struct clv_vm_wait *wait, int timeout_ms, int interrupt_fd)
{
	struct pollfd interrupt = {.fd = interrupt_fd, .events = POLLIN};
	int slice_ms = interrupt_fd < 0 ? timeout_ms : SLICE_MS, r = -EAGAIN;

	for (int left_ms = timeout_ms; r == -EAGAIN && left_ms > 0; left_ms -= slice_ms) {
		r = wait_once(wait, left_ms < slice_ms ? left_ms : slice_ms);
		if (r == -EAGAIN && interrupt_fd >= 0 && poll(&interrupt, 1, 0) > 0)
			r = -EINTR;
	}
	return r == -EAGAIN ? -ETIMEDOUT : r;
}

struct clv_vm_wait *clv_vm_wait_end(struct clv_vm_wait *wait)
{
	if (!wait)
		return NULL;
	for (size_t i = 0; i < CALLBACKS; i++) {
		if (wait->callbacks[i] >= 0)
			virConnectDomainEventDeregisterAny(
				wait->connection, wait->callbacks[i]);
	}
	virConnectUnregisterCloseCallback(wait->connection, on_lost);
	unref(wait);
	return NULL;
}
