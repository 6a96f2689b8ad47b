/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the lease.  Variables belong to the program, so they decide only where no lease
 * belongs to the gate.  A lease belongs to it where the socket, or a link to it, is
 *
 *  - in the folder of OpenCL's drivers: cleave run and Slurm's plugin make a folder for
 *    each lease, and mount it over that one;
 *  - where containers have their lease, or several, of which it is one;
 *  - beside this library, as in that folder.  The last, because a program may load a gate
 *    by a link in a folder of its own.
 *
 * A link that leads nowhere counts too: the lease's agent may be gone. */
#include "gate/attach/place.h"

#include "arbiter/attach.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/paths.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VENDORS "/etc/OpenCL/vendors"
#define PRELOAD_LIST "/etc/ld.so.preload"
#define MAX_LINKS 8
#define REASON_BYTES 400

/* Also a link that leads nowhere, or a file that is no link; and one in the folder of a
 * lease that belongs to another user. */
static bool is_there(const char *path)
{
	char target[1];

	return readlink(path, target, sizeof(target)) > 0 || errno == EINVAL ||
	       errno == EACCES;
}

/* Old C libraries have fstat() and no stat(): gate/old-libc.h. */
static bool look(const char *path, struct stat *ret)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);

	return fd >= 0 && fstat(fd, ret) == 0;
}

static bool is_same_file(const char *one, const char *other)
{
	struct stat a, b;

	return look(one, &a) && look(other, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Whether a path is that of the link or of what it leads to, by any number of links. */
static bool is_on_the_way(const char *link, const char *path)
{
	char at[CLV_LEASE_PLACE_MAX], next[CLV_LEASE_PLACE_MAX];

	snprintf(at, sizeof(at), "%s", link);
	for (int i = 0; i < MAX_LINKS; i++) {
		ssize_t n;

		if (strcmp(at, path) == 0)
			return true;
		n = readlink(at, next, sizeof(next) - 1);
		if (n <= 0)
			return false;
		next[n] = '\0';
		strcpy(at, next);
	}
	return false;
}

static const char *named_socket(void)
{
	const char *said = getenv(CLV_ATTACH_ENV);

	return said && said[0] ? said : NULL;
}

static bool asks_for_open(void)
{
	const char *said = getenv(CLV_ATTACH_ENV_IF_NO_AGENT);

	return said && strcmp(said, "open") == 0;
}

/* ret->socket is that of the lease. */
static int check_named(struct clv_lease_place *ret, struct clv_error *err)
{
	const char *said = named_socket();

	ret->is_known = true;
	if (!said)
		return 0;
	/* It may fit into a socket's address where the path of the link does not. */
	if (is_on_the_way(ret->socket, said)) {
		snprintf(ret->socket, sizeof(ret->socket), "%s", said);
		return 0;
	}
	if (is_same_file(said, ret->socket))
		return 0;
	return clv_error_set(err, -EPERM,
		"CLEAVE_LEASE names %.150s, and the program was started in the lease of "
		"%.150s",
		said, ret->socket);
}

/* In the place of the socket of a program that gets no device there is a text. */
static int read_reason(const char *path, struct clv_error *err)
{
	_cleanup_close_ int fd = -1;
	char reason[REASON_BYTES];
	struct stat st;
	ssize_t n;

	if (!look(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, reason, sizeof(reason) - 1);
	reason[n > 0 ? n : 0] = '\0';
	reason[strcspn(reason, "\n")] = '\0';
	for (char *c = reason; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	}
	return clv_error_set(err, -ENODEV, "%s",
		reason[0] ? reason : "it was started without a lease on purpose");
}

int clv_lease_find_in(
	const char *folder, struct clv_lease_place *ret, struct clv_error *err)
{
	char path[CLV_LEASE_PLACE_MAX];
	int r;

	snprintf(ret->socket, sizeof(ret->socket), "%s/" CLV_ATTACH_SOCKET_NAME, folder);
	ret->is_known = true;
	r = read_reason(ret->socket, err);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/" CLV_LEASE_OPEN, folder);
	ret->may_be_ungated = asks_for_open() && is_there(path);
	return check_named(ret, err);
}

static bool has_lease(const char *folder)
{
	char path[CLV_LEASE_PLACE_MAX];

	snprintf(path, sizeof(path), "%s/" CLV_ATTACH_SOCKET_NAME, folder);
	return is_there(path);
}

static bool find_own_folder(char ret[CLV_LEASE_PLACE_MAX])
{
	const char *slash;
	Dl_info self;

	if (!dladdr((void *)(uintptr_t)clv_lease_find, &self) || !self.dli_fname)
		return false;
	slash = strrchr(self.dli_fname, '/');
	snprintf(ret, CLV_LEASE_PLACE_MAX, "%.*s",
		slash ? (int)(slash - self.dli_fname) : 1, slash ? self.dli_fname : ".");
	return true;
}

/* Only in containers of a lease the list of libraries for all programs has gates
 * (bridge/cdi).  The socket is not there any more when the lease has been released. */
static bool is_container(void)
{
	_cleanup_close_ int fd = -1;
	char list[512];
	ssize_t n;

	if (is_there(CLV_ATTACH_DEFAULT_SOCKET))
		return true;
	fd = open(PRELOAD_LIST, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, list, sizeof(list) - 1);
	list[n > 0 ? n : 0] = '\0';
	return strstr(list, "/libcleave-") != NULL;
}

/* The path that all containers have in the environment names none of several leases. */
static int find_in_container(
	uint32_t api, struct clv_lease_place *ret, struct clv_error *err)
{
	const char *said = named_socket();
	const struct clv_lease_choice choice = {.folder = CLV_PATH_LEASES,
		.usual = CLV_PATH_LEASE,
		.named = said,
		.api = api};

	ret->is_known = true;
	if (clv_lease_choose_once(&choice, ret->socket, &ret->n_before) &&
		(!said || strcmp(said, CLV_ATTACH_DEFAULT_SOCKET) == 0))
		return 0;
	return check_named(ret, err);
}

int clv_lease_find(uint32_t api, struct clv_lease_place *ret, struct clv_error *err)
{
	char folder[CLV_LEASE_PLACE_MAX];
	const char *said = named_socket();

	*ret = (struct clv_lease_place){};
	if (has_lease(VENDORS))
		return clv_lease_find_in(VENDORS, ret, err);
	snprintf(ret->socket, sizeof(ret->socket), "%s", CLV_ATTACH_DEFAULT_SOCKET);
	if (is_container())
		return find_in_container(api, ret, err);
	if (find_own_folder(folder) && has_lease(folder))
		return clv_lease_find_in(folder, ret, err);
	if (said)
		snprintf(ret->socket, sizeof(ret->socket), "%s", said);
	ret->may_be_ungated = asks_for_open();
	return 0;
}
