/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the agent's socket.  The path is not trusted: the file and, by SO_PEERCRED, the
 * listener must belong to root or to the caller, since otherwise any user could answer
 * instead of the agent. */
#include "client/locate.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/paths.h"
#include "client/error.h"

#include <cleave.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_NAME "/api.sock"
#define OVERFLOW_UID 65534 /* how the kernel shows a user who is not mapped */

static int fail_sim(const char *path, const char *why, struct clv_client_error *err)
{
	return clv_client_fail(err, -ENOENT, "no_input",
		"cannot read the simulated node %s: %s: name the file that describes it",
		path, why);
}

/* Gives each simulated node its own folders, so that several of them and the real node
 * can be used at once. */
static int fill_sim(
	const char *path, struct clv_locate *ret, struct clv_client_error *err)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	char name[32], state[CLV_PATH_MAX];
	size_t used = strlen(ret->folder);
	struct clv_error why;
	struct stat st;

	if (!real || stat(real, &st) < 0 || access(real, R_OK) < 0)
		return fail_sim(path, strerror(errno), err);
	if (!S_ISREG(st.st_mode))
		return fail_sim(path, "it is not a file", err);
	if (clv_path_user_state(false, state, sizeof(state), &why) < 0)
		return clv_client_fail(err, why.code, "internal", "%s", why.msg);
	snprintf(name, sizeof(name), "/sim-%016" PRIx64, clv_fnv1a_text(real));
	snprintf(ret->folder + used, sizeof(ret->folder) - used, "%s", name);
	snprintf(ret->state, sizeof(ret->state), "%s%s", state, name);
	snprintf(ret->sim, sizeof(ret->sim), "%s", real);
	return 0;
}

static int set_path(struct clv_locate *where, const char *folder, const char *name,
	struct clv_client_error *err)
{
	char *path = where->paths[where->n_paths++];
	int length = snprintf(path, sizeof(where->paths[0]), "%s%s", folder, name);

	if (length >= 0 && (size_t)length < sizeof(where->paths[0]))
		return 0;
	return clv_client_fail(err, -ENAMETOOLONG, "bad_request",
		"the socket path is too long: use a shorter one");
}

int clv_locate_list(const struct clv_client_options *options, struct clv_locate *ret,
	struct clv_client_error *err)
{
	const char *chosen = options->socket_path, *from_env = getenv("CLEAVE_SOCKET");
	const char *sim = options->sim_path;
	struct clv_error why;
	int r = 0;

	if (!chosen && !sim && from_env && from_env[0])
		chosen = from_env;
	if (chosen && sim)
		return clv_client_fail(err, -EINVAL, "bad_request",
			"a socket and a simulated node are two agents: name one of them");
	*ret = (struct clv_locate){.is_chosen = chosen != NULL};
	if (chosen)
		return set_path(ret, chosen, "", err);

	if (clv_path_user_runtime(false, ret->folder, sizeof(ret->folder), &why) < 0)
		return clv_client_fail(err, -EPERM, "not_permitted", "%s", why.msg);
	r = sim ? fill_sim(sim, ret, err)
		: set_path(ret, CLV_PATH_SYSTEM_RUNTIME, SOCKET_NAME, err);
	return r < 0 ? r : set_path(ret, ret->folder, SOCKET_NAME, err);
}

static int fail_owner(const char *path, uid_t owner, struct clv_client_error *err)
{
	return clv_client_fail(err, -EPERM, "not_permitted",
		"the socket %s belongs to user %u, neither root nor you (user %u): "
		"cleave does not trust it, so name another with --socket",
		path, owner, geteuid());
}

/* In the user namespace of a program that `cleave run` has started, root is not mapped.
 */
static bool is_root_unmapped(void)
{
	FILE *map = fopen("/proc/self/uid_map", "re");
	bool is_unmapped = map != NULL;
	unsigned int first, n;

	while (is_unmapped && fscanf(map, "%u %*u %u", &first, &n) == 2)
		is_unmapped = first > 0 || n == 0;
	if (map)
		fclose(map);
	return is_unmapped;
}

/* Only root can make the folder of the system's agent: there an owner that is not mapped
 * is taken for root. */
static bool is_trusted(const char *path, uid_t uid)
{
	if (uid == 0 || uid == geteuid())
		return true;
	return uid == OVERFLOW_UID && is_root_unmapped() &&
	       strcmp(path, CLV_PATH_SYSTEM_RUNTIME SOCKET_NAME) == 0;
}

static int fail_connect(const char *path, int errnum, struct clv_client_error *err)
{
	if (errnum == ECONNREFUSED || errnum == ENOENT)
		return 0;
	if (errnum == EAGAIN)
		return clv_client_fail(err, -ETIMEDOUT, "unreachable",
			"the agent on %s takes no more calls: it is stopped or hangs, so "
			"continue it (kill -CONT), or end it and start it again",
			path);
	if (errnum == EACCES || errnum == EPERM)
		return clv_client_fail(err, -errnum, "not_permitted",
			"you may not use the agent on %s (%s): ask its owner, or name "
			"another with --socket",
			path, strerror(errnum));
	return clv_client_fail(err, -errnum, "unreachable",
		"the agent on %s cannot be reached: %s", path, strerror(errnum));
}

int clv_locate_probe(const char *path, uint32_t wait_ms, struct clv_client_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct timeval timeout = {wait_ms / 1000, wait_ms % 1000 * 1000};
	struct ucred peer;
	socklen_t n_bytes = sizeof(peer);
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (strlen(path) >= sizeof(address.sun_path))
		return clv_client_fail(err, -ENAMETOOLONG, "bad_request",
			"the socket path %.60s... is over %zu bytes: use a shorter "
			"folder",
			path, sizeof(address.sun_path) - 1);
	strcpy(address.sun_path, path);
	if (stat(path, &st) < 0)
		return errno == ENOTDIR ? 0 : fail_connect(path, errno, err);
	if (!S_ISSOCK(st.st_mode))
		return clv_client_fail(err, -ENOTSOCK, "unreachable",
			"%s is not a socket: name the agent's with --socket", path);
	if (!is_trusted(path, st.st_uid))
		return fail_owner(path, st.st_uid, err);
	fd = socket(AF_UNIX,
		SOCK_STREAM | SOCK_CLOEXEC | (wait_ms > 0 ? 0 : SOCK_NONBLOCK), 0);
	if (fd < 0)
		return clv_client_fail(err, -errno, "internal",
			"cannot make a socket: %s", strerror(errno));
	/* With a full backlog connect() would block without a limit. */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return fail_connect(path, errno, err);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n_bytes) < 0)
		return fail_connect(path, errno, err);
	if (!is_trusted(path, peer.uid))
		return fail_owner(path, peer.uid, err);

	return 1;
}
