/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the agent's socket.  A path is not trusted because of its name: the listener has
 * to be root's or the caller's own, by the kernel's word (SO_PEERCRED) and not only by
 * the file's owner, or anybody could answer in the agent's place. */
#include "client/locate.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/paths.h"
#include "client/error.h"

#include <cleave.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_NAME "api.sock"

int clv_locate_list(
	const char *socket_path, struct clv_locate *ret, struct clv_client_error *err)
{
	const char *from_env = getenv("CLEAVE_SOCKET");
	char folder[CLV_PATH_MAX];
	struct clv_error why;
	int length;

	if (!socket_path && from_env && from_env[0])
		socket_path = from_env;
	*ret = (struct clv_locate){.is_chosen = socket_path != NULL};
	if (socket_path) {
		length =
			snprintf(ret->paths[0], sizeof(ret->paths[0]), "%s", socket_path);
		ret->n_paths = 1;
	} else {
		snprintf(ret->paths[0], sizeof(ret->paths[0]), "%s/%s",
			CLV_PATH_SYSTEM_RUNTIME, SOCKET_NAME);
		if (clv_path_user_runtime(false, folder, sizeof(folder), &why) < 0)
			return clv_client_fail(
				err, -EPERM, "not_permitted", "%s", why.msg);
		length = snprintf(ret->paths[1], sizeof(ret->paths[1]), "%s/%s", folder,
			SOCKET_NAME);
		ret->n_paths = 2;
	}
	if (length < 0 || (size_t)length >= sizeof(ret->paths[0]))
		return clv_client_fail(err, -ENAMETOOLONG, "bad_request",
			"the socket path is too long: use a shorter one");

	return 0;
}

static int fail_owner(const char *path, uid_t owner, struct clv_client_error *err)
{
	return clv_client_fail(err, -EPERM, "not_permitted",
		"the socket %s belongs to user %u, neither root nor you (user %u): "
		"cleave "
		"does not trust it, so name another with --socket or remove it",
		path, owner, geteuid());
}

static bool is_trusted(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

static int fail_connect(const char *path, int errnum, struct clv_client_error *err)
{
	if (errnum == ECONNREFUSED || errnum == ENOENT)
		return 0;
	if (errnum == EACCES || errnum == EPERM)
		return clv_client_fail(err, -errnum, "not_permitted",
			"you may not use the agent on %s (%s): ask its owner, or name "
			"another with --socket",
			path, strerror(errnum));
	return clv_client_fail(err, -errnum, "unreachable",
		"the agent on %s cannot be reached: %s", path, strerror(errnum));
}

int clv_locate_probe(const char *path, struct clv_client_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
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
	if (!is_trusted(st.st_uid))
		return fail_owner(path, st.st_uid, err);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return clv_client_fail(err, -errno, "internal",
			"cannot make a socket: %s", strerror(errno));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return fail_connect(path, errno, err);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n_bytes) < 0)
		return fail_connect(path, errno, err);
	if (!is_trusted(peer.uid))
		return fail_owner(path, peer.uid, err);

	return 1;
}
