/* SPDX-License-Identifier: Apache-2.0 */
/* The other ends of connections: who they are, how many each may have open, and that none
 * takes for ever to say what it wants.  libmicrohttpd's own time-out is one of silence: a
 * byte now and then would keep a connection open for good. */
#include "agent/http/http-internal.h"

#include "agent/auth/caller.h"
#include "agent/config/config.h"
#include "agent/os/owner.h"
#include "agent/os/quota.h"
#include "agent/record/agent.h"
#include "base/clock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_CONNECTIONS 4096u
#define MAX_CONNECTIONS_PER_USER 1024u
#define RESERVED 128u /* for root and the agent's own user */
#define REQUEST_MAX_NS (60 * CLV_NS_PER_S)
#define SWEEP_US (5 * UINT64_C(1000000))

struct clv_ends {
	const struct clv_agent *agent;
	struct clv_quota *quota;
	TAILQ_HEAD(, clv_end) all;
	sd_event_source *timer;
	unsigned int limit;
};

static int on_sweep(sd_event_source *source, uint64_t now_us, void *userdata)
{
	struct clv_ends *ends = userdata;
	uint64_t now_ns = clv_clock_ns();
	struct clv_end *end;

	TAILQ_FOREACH(end, &ends->all, entry)
	{
		if (end->since_ns > 0 && now_ns - end->since_ns > REQUEST_MAX_NS)
			shutdown(end->fd, SHUT_RDWR);
	}
	if (TAILQ_EMPTY(&ends->all))
		return 0;
	sd_event_source_set_time_relative(ends->timer, SWEEP_US);
	return sd_event_source_set_enabled(ends->timer, SD_EVENT_ONESHOT);
}

/* Descriptors are for leases too. */
static unsigned int find_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur / 4 > MAX_CONNECTIONS)
		return MAX_CONNECTIONS;
	return (unsigned int)(files.rlim_cur / 4);
}

struct clv_ends *clv_ends_new(struct clv_agent *agent)
{
	struct clv_ends *ends = calloc(1, sizeof(*ends));

	if (!ends)
		return NULL;
	ends->agent = agent;
	TAILQ_INIT(&ends->all);
	ends->limit = find_limit();
	ends->quota = clv_quota_new(MAX_CONNECTIONS_PER_USER);
	if (!ends->quota || sd_event_add_time_relative(agent->event, &ends->timer,
				    CLOCK_MONOTONIC, SWEEP_US, 0, on_sweep, ends) < 0)
		return clv_ends_free(ends);
	return ends;
}

struct clv_ends *clv_ends_free(struct clv_ends *ends)
{
	if (!ends)
		return NULL;
	sd_event_source_disable_unref(ends->timer);
	clv_quota_free(ends->quota);
	free(ends);
	return NULL;
}

unsigned int clv_ends_limit(const struct clv_ends *ends)
{
	return ends->limit;
}

/* Connections over the network are counted by address, as if each were a user. */
static void look_at_network(struct clv_end *end, int fd)
{
	struct sockaddr_storage address = {0};
	socklen_t length = sizeof(address);
	char text[48] = "";
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address;
	uint16_t port;

	if (getpeername(fd, (struct sockaddr *)&address, &length) < 0)
		return;
	if (address.ss_family == AF_INET)
		inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
	else
		inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
	port = ntohs(address.ss_family == AF_INET ? v4->sin_port : v6->sin6_port);
	snprintf(end->from, sizeof(end->from), "%s:%u", text, port);
	end->counted_as = 1u << 31;
	for (const char *p = text; *p; p++)
		end->counted_as = (end->counted_as * 31 + (unsigned char)*p) | 1u << 31;
}

/* False: he is gone already, and it cannot be told whose he was. */
static bool look_at_cgroup(struct clv_end *end, int fd)
{
	const struct clv_agent *agent = end->ends->agent;
	struct clv_peer peer;

	if (!clv_config_has_cgroups(agent->settings))
		return true;
	if (clv_process_of_socket(fd, &peer, NULL, NULL) < 0)
		return false;
	end->cgroup_tenant = clv_caller_cgroup_tenant(agent, &peer.id);
	if (end->cgroup_tenant)
		end->counted_as = clv_owner_of(end->cgroup_tenant, end->peer.uid);
	return true;
}

static bool look_at_peer(struct clv_end *end, int fd)
{
	struct ucred credentials;
	socklen_t length = sizeof(credentials);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0)
		return false;
	end->peer = (struct clv_peer){.id.pid = credentials.pid,
		.uid = credentials.uid,
		.gid = credentials.gid};
	end->counted_as = credentials.uid;
	return look_at_cgroup(end, fd);
}

/* Users in any number cannot keep out whoever would put an end to it. */
static bool is_admitted(struct clv_end *end)
{
	const struct clv_ends *ends = end->ends;
	bool is_own = end->server->is_unix &&
		      (end->counted_as == 0 || end->counted_as == geteuid());

	if (!is_own && end->server->n_ends + RESERVED > ends->limit)
		return false;
	return clv_quota_take(ends->quota, end->counted_as);
}

struct clv_end *clv_end_new(struct clv_ends *ends, struct clv_server *server, int fd)
{
	struct clv_end *end = calloc(1, sizeof(*end));
	bool is_known = true;

	if (!end) {
		shutdown(fd, SHUT_RDWR);
		return NULL;
	}
	end->ends = ends;
	end->server = server;
	end->fd = fd;
	end->since_ns = clv_clock_ns();
	if (server->is_unix)
		is_known = look_at_peer(end, fd);
	else
		look_at_network(end, fd);
	end->is_counted = is_known && is_admitted(end);
	if (!end->is_counted)
		shutdown(fd, SHUT_RDWR);
	server->n_ends++;
	if (TAILQ_EMPTY(&ends->all)) {
		sd_event_source_set_time_relative(ends->timer, SWEEP_US);
		sd_event_source_set_enabled(ends->timer, SD_EVENT_ONESHOT);
	}
	TAILQ_INSERT_TAIL(&ends->all, end, entry);
	return end;
}

struct clv_end *clv_end_free(struct clv_end *end)
{
	if (!end)
		return NULL;
	if (end->is_counted)
		clv_quota_give_back(end->ends->quota, end->counted_as);
	end->server->n_ends--;
	TAILQ_REMOVE(&end->ends->all, end, entry);
	free(end);
	return NULL;
}

void clv_end_set_busy(struct clv_end *end, bool is_busy)
{
	if (end)
		end->since_ns = is_busy ? 0 : clv_clock_ns();
}
