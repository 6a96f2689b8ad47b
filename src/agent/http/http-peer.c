/* SPDX-License-Identifier: Apache-2.0 */
/* The peers of connections: their credentials, limits of connections, and a limit for the
 * time until a request is complete.  libmicrohttpd's own timeout is for idle connections
 * only: a client that sends a byte now and then would keep one open.
 *
 * Over the network a connection counts for its address until it has presented a valid
 * token, and then for the token.  Without a token there are few, and a new one takes the
 * place of the oldest of an address that has too many: so a flood closes its own
 * connections, and a client with a token, which it sends at once, is served from the same
 * address too. */
#include "agent/http/http-internal.h"

#include "agent/auth/caller.h"
#include "agent/config/config.h"
#include "agent/event/counters.h"
#include "agent/event/events.h"
#include "agent/os/quota.h"
#include "agent/record/agent.h"
#include "agent/user/bucket.h"
#include "agent/user/owner.h"
#include "base/clock.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_CONNECTIONS 4096u
#define MAX_CONNECTIONS_PER_USER 1024u
#define MAX_UNTRUSTED_PER_ADDRESS 256u
#define UNTRUSTED_PART                                                              \
	4u            /* all without a token: this part of the server's connections \
		       */
#define RESERVED 128u /* for root and the agent's own user */
#define EVENT_NS (60 * CLV_NS_PER_S)
#define REQUEST_MAX_NS (60 * CLV_NS_PER_S)
#define SWEEP_US (5 * UINT64_C(1000000))

struct clv_http_peers {
	struct clv_agent *agent;
	struct clv_quota *quota;     /* of users and tokens */
	struct clv_quota *addresses; /* of those without a token */
	TAILQ_HEAD(, clv_http_peer) all;
	sd_event_source *timer;
	unsigned int limit;
	uint64_t event_ns; /* when an event was last published; 0: never */
	uint64_t n_since;  /* connections closed since then */
};

static bool recount(struct clv_http_peer *peer);

/* Whether the client has sent the last of what it sends, at two sweeps in turn: at the
 * first a complete request may not be handled yet.  libmicrohttpd 0.9.75 does not see an
 * end that comes together with data, and would keep half a request. */
static bool has_ended(struct clv_http_peer *peer)
{
	bool had_ended = peer->has_ended;
	char byte;

	peer->has_ended = recv(peer->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
	return had_ended && peer->has_ended;
}

static int on_sweep(sd_event_source *source, uint64_t now_us, void *userdata)
{
	struct clv_http_peers *peers = userdata;
	uint64_t now_ns = clv_clock_ns();
	struct clv_http_peer *peer;

	TAILQ_FOREACH(peer, &peers->all, entry)
	{
		if (peer->since_ns > 0 &&
			(now_ns - peer->since_ns > REQUEST_MAX_NS || has_ended(peer)))
			shutdown(peer->fd, SHUT_RDWR);
		else
			recount(peer);
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
	peers->addresses = clv_quota_new(MAX_UNTRUSTED_PER_ADDRESS);
	if (!peers->quota || !peers->addresses ||
		sd_event_add_time_relative(agent->event, &peers->timer, CLOCK_MONOTONIC,
			SWEEP_US, 0, on_sweep, peers) < 0)
		return clv_http_peers_free(peers);
	return peers;
}

struct clv_http_peers *clv_http_peers_free(struct clv_http_peers *peers)
{
	if (!peers)
		return NULL;
	sd_event_source_disable_unref(peers->timer);
	clv_quota_free(peers->quota);
	clv_quota_free(peers->addresses);
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
	const char *tenant;
	struct clv_peer process;

	peer->n_reloads = agent->n_reloads;
	peer->cgroup_tenant[0] = '\0';
	if (!clv_config_has_cgroups(agent->settings))
		return true;
	if (clv_process_of_socket(fd, &process, NULL, NULL) < 0)
		return false;
	tenant = clv_caller_cgroup_tenant(agent, &process.id);
	if (tenant)
		snprintf(peer->cgroup_tenant, sizeof(peer->cgroup_tenant), "%s", tenant);
	return true;
}

static uid_t account_of(const struct clv_http_peer *peer)
{
	uid_t uid = peer->process.uid;

	return peer->cgroup_tenant[0] ? clv_owner_of(peer->cgroup_tenant, uid)
				      : clv_owner_account(NULL, uid);
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
	if (!find_cgroup_tenant(peer, fd))
		return false;
	peer->counted_as = account_of(peer);
	return true;
}

static bool is_untrusted(const struct clv_http_peer *peer)
{
	return !peer->server->is_unix && !peer->is_trusted;
}

static struct clv_quota *quota_of(const struct clv_http_peer *peer)
{
	return is_untrusted(peer) ? peer->peers->addresses : peer->peers->quota;
}

/* Ends the count of a connection that has been closed, or is shut down now. */
static void uncount(struct clv_http_peer *peer)
{
	if (!peer->is_counted)
		return;
	clv_quota_give_back(quota_of(peer), peer->counted_as);
	peer->server->n_untrusted -= is_untrusted(peer);
	peer->is_counted = false;
}

/* Counts a connection that is closed for a limit; an event reports it once a minute.  It
 * names a user or an address, so tenants do not see it. */
static void report(
	struct clv_http_peer *peer, enum clv_counted_limit limit, const char *why)
{
	struct clv_http_peers *peers = peer->peers;
	uint64_t now_ns = clv_clock_ns();
	char user[32];

	peers->agent->counters->limited[limit]++;
	peers->n_since++;
	if (peers->event_ns > 0 && now_ns - peers->event_ns < EVENT_NS)
		return;
	snprintf(user, sizeof(user), "user %u", peer->process.uid);
	clv_events_emit_for_owner(peers->agent, CLV_EVENT_CONNECTIONS_LIMITED, geteuid(),
		NULL, "%" PRIu64 " closed, last one of %s: %s", peers->n_since,
		peer->server->is_unix ? user : peer->from, why);
	peers->event_ns = now_ns;
	peers->n_since = 0;
}

/* Whether one of the two could take the other's place. */
static bool are_alike(const struct clv_http_peer *a, const struct clv_http_peer *b)
{
	return a->server == b->server && is_untrusted(a) == is_untrusted(b);
}

/* The oldest connection like this one; key: only of this user or address. */
static struct clv_http_peer *find_oldest(
	const struct clv_http_peer *newest, const uid_t *key, bool is_in_work)
{
	struct clv_http_peer *peer;

	TAILQ_FOREACH(peer, &newest->peers->all, entry)
	{
		if (peer->is_counted && (peer->since_ns == 0) == is_in_work &&
			are_alike(peer, newest) && (!key || peer->counted_as == *key))
			return peer;
	}
	return NULL;
}

/* Shuts down the oldest connection that has no request in work, and if all have, the
 * oldest: a client that sends without a pause, has the agent wait or does not read would
 * keep it for ever.  False: there is none. */
static bool evict(const struct clv_http_peer *newest, const uid_t *key,
	enum clv_counted_limit limit, const char *why)
{
	struct clv_http_peer *peer = find_oldest(newest, key, false);

	if (!peer)
		peer = find_oldest(newest, key, true);
	if (!peer)
		return false;
	report(peer, limit, why);
	uncount(peer);
	shutdown(peer->fd, SHUT_RDWR);
	return true;
}

/* Takes a connection from the user or address that has the most, if that is more than the
 * newest has; if no address has, from any address. */
static bool make_room(const struct clv_http_peer *newest)
{
	struct clv_quota *quota = quota_of(newest);
	unsigned int n;
	uid_t largest = clv_quota_largest(quota, &n);

	if (n > clv_quota_count(quota, newest->counted_as) + 1)
		return evict(newest, &largest, CLV_COUNTED_OF_ALL,
			"the server has too many, and most are from there");
	return is_untrusted(newest) &&
	       evict(newest, NULL, CLV_COUNTED_OF_ALL,
		       "the server has too many, and it is the oldest without a token");
}

/* Some connections are reserved for root and the agent's own user, who must be able to
 * end the leases of users that use up all others. */
static bool is_admitted(struct clv_http_peer *peer)
{
	const struct clv_http_peers *peers = peer->peers;
	const struct clv_server *server = peer->server;
	bool is_own = server->is_unix &&
		      (peer->counted_as == 0 || peer->counted_as == geteuid());

	if (!is_own && server->n_peers + RESERVED > peers->limit && !make_room(peer)) {
		report(peer, CLV_COUNTED_OF_ALL, "the server has too many");
		return false;
	}
	if (is_untrusted(peer) && server->n_untrusted >= peers->limit / UNTRUSTED_PART &&
		!make_room(peer)) {
		report(peer, CLV_COUNTED_OF_ALL, "too many are without a token");
		return false;
	}
	if (clv_quota_take(quota_of(peer), peer->counted_as))
		return true;
	if (server->is_unix && peer->counted_as != CLV_OWNER_UNKNOWN) {
		report(peer, CLV_COUNTED_OF_USER, "the user has too many");
		return false;
	}
	/* A connection whose user is not known yet must not displace another such
	 * connection. */
	return evict(peer, &peer->counted_as,
		       server->is_unix ? CLV_COUNTED_OF_USER : CLV_COUNTED_OF_ADDRESS,
		       server->is_unix ? "users who are not known yet have too many"
				       : "the address has too many without a token") &&
	       clv_quota_take(quota_of(peer), peer->counted_as);
}

/* Counts the connection for another account. */
static bool move(struct clv_http_peer *peer, uid_t account, const char *why)
{
	peer->counted_as = account;
	peer->is_counted = clv_quota_take(peer->peers->quota, account);
	if (!peer->is_counted) {
		report(peer, CLV_COUNTED_OF_USER, why);
		shutdown(peer->fd, SHUT_RD);
	}
	return peer->is_counted;
}

bool clv_http_peer_trust(struct clv_http_peer *peer, const char *token)
{
	if (peer->is_trusted)
		return true;
	uncount(peer);
	peer->is_trusted = true;
	return move(
		peer, (uid_t)clv_bucket_key(token) | 1u << 31, "the token has too many");
}

/* A connection whose user was not known yet is counted for that user once he is. */
static bool recount(struct clv_http_peer *peer)
{
	uid_t account = peer->counted_as == CLV_OWNER_UNKNOWN ? account_of(peer)
							      : CLV_OWNER_UNKNOWN;

	if (account == CLV_OWNER_UNKNOWN || !peer->is_counted)
		return true;
	uncount(peer);
	return move(peer, account, "the user has too many");
}

bool clv_http_peer_refresh(struct clv_http_peer *peer)
{
	if (peer->n_reloads != peer->peers->agent->n_reloads &&
		!find_cgroup_tenant(peer, peer->fd))
		shutdown(peer->fd, SHUT_RDWR);
	return recount(peer);
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
	server->n_untrusted += peer->is_counted && is_untrusted(peer);
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
	uncount(peer);
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
