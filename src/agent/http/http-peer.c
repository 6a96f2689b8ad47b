/* SPDX-License-Identifier: Apache-2.0 */
/* The peers of connections: their credentials, a limit of connections per user, and a
 * limit for the time until a request is complete.  libmicrohttpd's own timeout is for
 * idle connections only: a client that sends a byte now and then would keep one open. */
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

struct clv_http_peers {
	const struct clv_agent *agent;
	struct clv_quota *quota;
	TAILQ_HEAD(, clv_http_peer) all;
	sd_event_source *timer;
	unsigned int limit;
};

static int on_sweep(sd_event_source *source, uint64_t now_us, void *userdata)
{
	struct clv_http_peers *peers = userdata;
	uint64_t now_ns = clv_clock_ns();
	struct clv_http_peer *peer;

	TAILQ_FOREACH(peer, &peers->all, entry)
	{
		if (peer->since_ns > 0 && now_ns - peer->since_ns > REQUEST_MAX_NS)
			shutdown(peer->fd, SHUT_RDWR);
	}
	if (TAILQ_EMPTY(&peers->all))
		return 0;
	sd_event_source_set_time_relative(peers->timer, SWEEP_US);
	return sd_event_source_set_enabled(peers->timer, SD_EVENT_ONESHOT);
}

/* At most a quarter of the file descriptors: leases need the others. */
static unsigned int find_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur / 4 > MAX_CONNECTIONS)
		return MAX_CONNECTIONS;
	return (unsigned int)(files.rlim_cur / 4);
}

struct clv_http_peers *clv_http_peers_new(struct clv_agent *agent)
{
	struct clv_http_peers *peers = calloc(1, sizeof(*peers));

	if (!peers)
		return NULL;
	peers->agent = agent;
	TAILQ_INIT(&peers->all);
	peers->limit = find_limit();
	peers->quota = clv_quota_new(MAX_CONNECTIONS_PER_USER);
	if (!peers->quota || sd_event_add_time_relative(agent->event, &peers->timer,
				     CLOCK_MONOTONIC, SWEEP_US, 0, on_sweep, peers) < 0)
		return clv_http_peers_free(peers);
	return peers;
}

struct clv_http_peers *clv_http_peers_free(struct clv_http_peers *peers)
{
	if (!peers)
		return NULL;
	sd_event_source_disable_unref(peers->timer);
	clv_quota_free(peers->quota);
	free(peers);
	return NULL;
}

unsigned int clv_http_peers_limit(const struct clv_http_peers *peers)
{
	return peers->limit;
}

/* Connections over the network are counted by address, as if each were a user. */
static void identify_address(struct clv_http_peer *peer, int fd)
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
	snprintf(peer->from, sizeof(peer->from), "%s:%u", text, port);
	peer->counted_as = 1u << 31;
	for (const char *p = text; *p; p++)
		peer->counted_as = (peer->counted_as * 31 + (unsigned char)*p) | 1u << 31;
}

/* False: the process has ended, and its cgroup can no longer be read. */
static bool find_cgroup_tenant(struct clv_http_peer *peer, int fd)
{
	const struct clv_agent *agent = peer->peers->agent;
	struct clv_peer process;

	if (!clv_config_has_cgroups(agent->settings))
		return true;
	if (clv_process_of_socket(fd, &process, NULL, NULL) < 0)
		return false;
	peer->cgroup_tenant = clv_caller_cgroup_tenant(agent, &process.id);
	if (peer->cgroup_tenant)
		peer->counted_as = clv_owner_of(peer->cgroup_tenant, peer->process.uid);
	return true;
}

static bool identify_process(struct clv_http_peer *peer, int fd)
{
	struct ucred credentials;
	socklen_t length = sizeof(credentials);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0)
		return false;
	peer->process = (struct clv_peer){.id.pid = credentials.pid,
		.uid = credentials.uid,
		.gid = credentials.gid};
	peer->counted_as = credentials.uid;
	return find_cgroup_tenant(peer, fd);
}

/* Some connections are reserved for root and the agent's own user, who must be able to
 * end the leases of users that use up all others. */
static bool is_admitted(struct clv_http_peer *peer)
{
	const struct clv_http_peers *peers = peer->peers;
	bool is_own = peer->server->is_unix &&
		      (peer->counted_as == 0 || peer->counted_as == geteuid());

	if (!is_own && peer->server->n_peers + RESERVED > peers->limit)
		return false;
	return clv_quota_take(peers->quota, peer->counted_as);
}

struct clv_http_peer *clv_http_peer_new(
	struct clv_http_peers *peers, struct clv_server *server, int fd)
{
	struct clv_http_peer *peer = calloc(1, sizeof(*peer));
	bool is_known = true;

	if (!peer) {
		shutdown(fd, SHUT_RDWR);
		return NULL;
	}
	peer->peers = peers;
	peer->server = server;
	peer->fd = fd;
	peer->since_ns = clv_clock_ns();
	if (server->is_unix)
		is_known = identify_process(peer, fd);
	else
		identify_address(peer, fd);
	peer->is_counted = is_known && is_admitted(peer);
	if (!peer->is_counted)
		shutdown(fd, SHUT_RDWR);
	server->n_peers++;
	if (TAILQ_EMPTY(&peers->all)) {
		sd_event_source_set_time_relative(peers->timer, SWEEP_US);
		sd_event_source_set_enabled(peers->timer, SD_EVENT_ONESHOT);
	}
	TAILQ_INSERT_TAIL(&peers->all, peer, entry);
	return peer;
}

struct clv_http_peer *clv_http_peer_free(struct clv_http_peer *peer)
{
	if (!peer)
		return NULL;
	if (peer->is_counted)
		clv_quota_give_back(peer->peers->quota, peer->counted_as);
	peer->server->n_peers--;
	TAILQ_REMOVE(&peer->peers->all, peer, entry);
	free(peer);
	return NULL;
}

void clv_http_peer_set_busy(struct clv_http_peer *peer, bool is_busy)
{
	if (peer)
		peer->since_ns = is_busy ? 0 : clv_clock_ns();
}
