/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of virtual machines, which the thread of libvirt's event loop reports. */
#include "bridge/libvirt/host/watch.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "bridge/libvirt/host/event-names.h"
#include "bridge/libvirt/host/host-internal.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLBACKS 6

/* A link of the host, as its callbacks know it. */
struct source {
	struct clv_vm_watch *watch;
	struct clv_vm_link *link;
	const char *uri;          /* the link's */
	int callbacks[CALLBACKS]; /* -1: none */
};

struct clv_vm_watch {
	/* The caller's, and one for each callback, which may run while it is removed. */
	atomic_int n_references;
	struct source *sources;
	size_t n_sources;
	pthread_mutex_t lock;
	pthread_cond_t is_changed;
	struct clv_vm_event *events; /* those from n_read on are to be read */
	size_t n_events, n_read;
	bool has_lost_some;
};

static void unref(struct clv_vm_watch *watch)
{
	if (atomic_fetch_sub(&watch->n_references, 1) > 1)
		return;
	pthread_cond_destroy(&watch->is_changed);
	pthread_mutex_destroy(&watch->lock);
	free(watch->events);
	free(watch->sources);
	free(watch);
}

static void unref_source(void *userdata)
{
	struct source *source = userdata;

	unref(source->watch);
}

static void add(struct clv_vm_watch *watch, const struct clv_vm_event *event)
{
	struct clv_vm_event *slot;

	pthread_mutex_lock(&watch->lock);
	slot = CLV_APPEND(watch->events, watch->n_events);
	if (slot)
		*slot = *event;
	else
		watch->has_lost_some = true;
	pthread_cond_signal(&watch->is_changed);
	pthread_mutex_unlock(&watch->lock);
}

static void report(struct source *source, virDomain *domain, const char *alias,
	struct clv_vm_event_names names)
{
	struct clv_vm_event event = {.real_ns = clv_clock_real_ns(),
		.type = names.type,
		.reason = names.reason,
		.uri = source->uri};

	if (domain && virDomainGetUUIDString(domain, event.uuid) < 0)
		event.uuid[0] = '\0';
	snprintf(event.name, sizeof(event.name), "%s",
		domain ? virDomainGetName(domain) : "");
	snprintf(event.alias, sizeof(event.alias), "%s", alias ? alias : "");
	clv_text_make_printable(event.name);
	clv_text_make_printable(event.alias);
	add(source->watch, &event);
}

static int on_state(
	virConnect *connection, virDomain *domain, int event, int detail, void *userdata)
{
	report(userdata, domain, NULL, clv_vm_event_names(event, detail));
	return 0;
}

static void on_reboot(virConnect *connection, virDomain *domain, void *userdata)
{
	report(userdata, domain, NULL, (struct clv_vm_event_names){"rebooted", ""});
}

static void on_added(
	virConnect *connection, virDomain *domain, const char *alias, void *userdata)
{
	report(userdata, domain, alias, (struct clv_vm_event_names){"attached", ""});
}

static void on_removed(
	virConnect *connection, virDomain *domain, const char *alias, void *userdata)
{
	report(userdata, domain, alias, (struct clv_vm_event_names){"detached", ""});
}

static void on_refused(
	virConnect *connection, virDomain *domain, const char *alias, void *userdata)
{
	report(userdata, domain, alias,
		(struct clv_vm_event_names){"detach_refused", "by the guest"});
}

static void on_metadata(virConnect *connection, virDomain *domain, int type,
	const char *uri, void *userdata)
{
	if (type == VIR_DOMAIN_METADATA_ELEMENT && uri &&
		strcmp(uri, CLV_VM_METADATA_URI) == 0)
		report(userdata, domain, NULL,
			(struct clv_vm_event_names){CLV_VM_NOTED, ""});
}

static void on_lost(virConnect *connection, int reason, void *userdata)
{
	report(userdata, NULL, NULL,
		(struct clv_vm_event_names){
			CLV_VM_DISCONNECTED, clv_vm_close_reason(reason)});
}

static const struct {
	int event;
	virConnectDomainEventGenericCallback fn;
} followed[CALLBACKS] = {
	{VIR_DOMAIN_EVENT_ID_LIFECYCLE, VIR_DOMAIN_EVENT_CALLBACK(on_state)},
	{VIR_DOMAIN_EVENT_ID_REBOOT, VIR_DOMAIN_EVENT_CALLBACK(on_reboot)},
	{VIR_DOMAIN_EVENT_ID_DEVICE_ADDED, VIR_DOMAIN_EVENT_CALLBACK(on_added)},
	{VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, VIR_DOMAIN_EVENT_CALLBACK(on_removed)},
	{VIR_DOMAIN_EVENT_ID_DEVICE_REMOVAL_FAILED,
		VIR_DOMAIN_EVENT_CALLBACK(on_refused)},
	{VIR_DOMAIN_EVENT_ID_METADATA_CHANGE, VIR_DOMAIN_EVENT_CALLBACK(on_metadata)},
};

/* A connection without a close callback, as one without a daemon, is not lost.  libvirt
 * then answers success all the same, also to a second callback, and keeps none. */
static void follow_connection(struct source *source)
{
	virConnect *connection = source->link->connection;

	atomic_fetch_add(&source->watch->n_references, 1);
	if (virConnectRegisterCloseCallback(connection, on_lost, source, unref_source) <
			0 ||
		virConnectRegisterCloseCallback(connection, on_lost, source, NULL) == 0)
		unref_source(source);
	/* It may have been lost before. */
	else if (virConnectIsAlive(connection) == 0)
		on_lost(connection, VIR_CONNECT_CLOSE_REASON_ERROR, source);
}

/* Drivers have none of devices that have no such calls. */
static int follow(struct source *source, struct clv_error *err)
{
	for (size_t i = 0; i < CALLBACKS; i++) {
		atomic_fetch_add(&source->watch->n_references, 1);
		source->callbacks[i] =
			virConnectDomainEventRegisterAny(source->link->connection, NULL,
				followed[i].event, followed[i].fn, source, unref_source);
		if (source->callbacks[i] < 0)
			unref_source(source);
	}
	if (source->callbacks[0] < 0)
		return clv_vm_fail(err, "libvirt at %.100s sends no events", source->uri);
	follow_connection(source);
	return 0;
}

static void unfollow(struct source *source)
{
	virConnect *connection = source->link->connection;

	for (size_t i = 0; i < CALLBACKS; i++) {
		if (source->callbacks[i] >= 0)
			virConnectDomainEventDeregisterAny(
				connection, source->callbacks[i]);
		source->callbacks[i] = -1;
	}
	virConnectUnregisterCloseCallback(connection, on_lost);
}

static struct clv_vm_watch *watch_new(struct clv_vm_host *host)
{
	struct clv_vm_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	watch->sources = calloc(host->n_links, sizeof(*watch->sources));
	if (!watch->sources) {
		free(watch);
		return NULL;
	}
	watch->n_sources = host->n_links;
	atomic_init(&watch->n_references, 1);
	pthread_mutex_init(&watch->lock, NULL);
	clv_vm_cond_init(&watch->is_changed);
	for (size_t i = 0; i < host->n_links; i++) {
		struct clv_vm_link *link = &host->links[i];

		watch->sources[i] =
			(struct source){watch, link, link->uri, {-1, -1, -1, -1, -1, -1}};
	}
	return watch;
}

struct clv_vm_watch *clv_vm_watch_begin(struct clv_vm_host *host, struct clv_error *err)
{
	_cleanup_watch_ struct clv_vm_watch *watch = watch_new(host);

	if (!watch) {
		clv_error_errno(err, ENOMEM, "cannot follow virtual machines");
		return NULL;
	}
	for (size_t i = 0; i < watch->n_sources; i++) {
		if (follow(&watch->sources[i], err) < 0)
			return NULL;
	}
	return CLV_TAKE(watch);
}

/* The lock is held. */
static int take(struct clv_vm_watch *watch, struct clv_vm_event *ret)
{
	if (watch->n_read == watch->n_events)
		return watch->has_lost_some ? -ENOMEM : 0;
	*ret = watch->events[watch->n_read++];
	if (watch->n_read == watch->n_events)
		watch->n_read = watch->n_events = 0;
	return 1;
}

int clv_vm_watch_next(
	struct clv_vm_watch *watch, int timeout_ms, struct clv_vm_event *ret)
{
	struct timespec until = clv_vm_deadline(timeout_ms < 0 ? 0 : timeout_ms);
	int r = 0;

	pthread_mutex_lock(&watch->lock);
	while (watch->n_read == watch->n_events && !watch->has_lost_some && r == 0)
		r = timeout_ms < 0 ? pthread_cond_wait(&watch->is_changed, &watch->lock)
				   : pthread_cond_timedwait(
					     &watch->is_changed, &watch->lock, &until);
	r = take(watch, ret);
	pthread_mutex_unlock(&watch->lock);
	return r;
}

int clv_vm_watch_reconnect(
	struct clv_vm_watch *watch, const char *uri, struct clv_error *err)
{
	virConnect *connection = clv_vm_open(uri, err);

	if (!connection)
		return err->code;
	for (size_t i = 0; i < watch->n_sources; i++) {
		struct source *source = &watch->sources[i];

		if (strcmp(source->uri, uri) != 0)
			continue;
		unfollow(source);
		virConnectClose(source->link->connection);
		source->link->connection = connection;
		return follow(source, err);
	}
	virConnectClose(connection);
	return clv_error_set(err, -ECONNREFUSED, "%.100s is not followed", uri);
}

struct clv_vm_watch *clv_vm_watch_end(struct clv_vm_watch *watch)
{
	if (!watch)
		return NULL;
	for (size_t i = 0; i < watch->n_sources; i++)
		unfollow(&watch->sources[i]);
	unref(watch);
	return NULL;
}
