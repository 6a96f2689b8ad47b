/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/services/engine/proxy-config.h"
#include "service/service.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct clv_project;

/* The front of a service: its listening sockets, and HAProxy, which accepts connections
 * and passes them to replicas.  The supervisor opens the sockets and HAProxy inherits
 * them.  While no replica is ready HAProxy does not run, and connections wait in the
 * kernel; it outlives the supervisor, which takes the sockets from it again.
 *
 * (HAProxy 2.6 could keep connections waiting itself, by `set maxconn frontend`, but that
 * command crashes it when a connection waits.) */

struct clv_proxy;

int clv_proxy_new(const struct clv_project *project, const char *service,
	struct clv_proxy **ret, struct clv_error *err);
/* A running HAProxy goes on; the sockets are closed.  Accepts NULL; returns NULL. */
struct clv_proxy *clv_proxy_free(struct clv_proxy *proxy);

/* Opens the sockets of the service's ports that are not open, and closes others.  Sockets
 * of an HAProxy that runs already are taken from it. */
int clv_proxy_bind(struct clv_proxy *proxy, const struct clv_service *service,
	struct clv_error *err);
bool clv_proxy_is_bound(const struct clv_proxy *proxy);

/* Whether a connection waits to be accepted. */
bool clv_proxy_has_waiting(const struct clv_proxy *proxy);
/* The sockets, which become readable when one does.  Borrowed until the next bind. */
size_t clv_proxy_get_listeners(const struct clv_proxy *proxy, const int **ret_fds);

/* Starts HAProxy, unless it runs with these ports and slots.  address_of gives the
 * address of a slot's ready replica, or NULL; holds as clv_proxy_end_server(). */
int clv_proxy_run(struct clv_proxy *proxy, const struct clv_service *service, bool holds,
	const char *(*address_of)(void *userdata, unsigned slot), void *userdata,
	struct clv_error *err);
bool clv_proxy_is_running(const struct clv_proxy *proxy);
/* A descriptor that becomes readable when HAProxy ends; -1: it does not run. */
int clv_proxy_get_pidfd(const struct clv_proxy *proxy);
/* HAProxy accepts no more connections, and ends when those that it has have ended. */
void clv_proxy_rest(struct clv_proxy *proxy);
/* Whether the last one that rested has connections still. */
bool clv_proxy_is_resting(const struct clv_proxy *proxy);
/* The same, and closes the sockets. */
void clv_proxy_close(struct clv_proxy *proxy);
/* Ends HAProxy with all connections, and closes the sockets. */
void clv_proxy_stop(struct clv_proxy *proxy);

/* Sends new requests to a slot, at this address. */
int clv_proxy_set_server(struct clv_proxy *proxy, const struct clv_service *service,
	unsigned slot, const char *address, struct clv_error *err);
/* No longer; requests that are in it go on.  holds, with no slot left: requests are tried
 * again, for some seconds, until there is one; otherwise they are answered by 503. */
int clv_proxy_end_server(struct clv_proxy *proxy, const struct clv_service *service,
	unsigned slot, bool holds, struct clv_error *err);
/* There is a slot, or requests are not to wait. */
int clv_proxy_end_hold(struct clv_proxy *proxy, const struct clv_service *service,
	struct clv_error *err);

/* Ends the HAProxys of services that are not wanted, as those of a project that has no
 * supervisor any more.  is_wanted: of the service of that name. */
void clv_proxy_sweep(const struct clv_project *project,
	bool (*is_wanted)(void *userdata, const char *service), void *userdata);

struct clv_proxy_figures {
	uint64_t n_requests;  /* of all its ports, since HAProxy started */
	uint32_t n_in_flight; /* requests and connections, queued ones too */
	uint32_t of_slot[CLV_PROXY_SLOTS_MAX]; /* in each */
};

int clv_proxy_read(
	struct clv_proxy *proxy, struct clv_proxy_figures *ret, struct clv_error *err);
