/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/os/fd-filter.h"

#include "agent/os/poll.h"
#include "agent/os/stat.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/socket.h"
#include "base/watched.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define NVIDIA_MAJOR 195u /* Documentation/admin-guide/devices.txt */
/* More than a report page has.  The memory of a long file takes time to free. */
#define MEMFD_MAX_BYTES (UINT64_C(1) << 20)
/* The child answers before it closes a file, which may block. */
#define ANSWER_MS 10000
/* Killed children of one tenant that have not ended yet, because a file system keeps them
 * in the kernel. */
#define KILLED_MAX 16u
#define FILES_MAX 253 /* of a message: SCM_MAX_FD of the kernel */

/* The children. */

struct files {
	int fds[FILES_MAX];
	size_t n;
};

/* Receives a message with all its files.  Returns what recvmsg() does. */
static ssize_t take(int socket_fd, struct files *ret)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int) * FILES_MAX)];
	} room;
	char byte;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = room.bytes,
		.msg_controllen = sizeof(room.bytes)};
	ssize_t got = recvmsg(socket_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	ret->n = 0;
	if (got >= 0 && message.msg_controllen >= CMSG_LEN(sizeof(int)) &&
		room.header.cmsg_type == SCM_RIGHTS) {
		ret->n = (room.header.cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(ret->fds, CMSG_DATA(&room.header), ret->n * sizeof(int));
	}
	return got;
}

/* With SO_LINGER off, close() of a TCP socket does not wait for its peer. */
static void close_all(struct files *files)
{
	static const struct linger off;

	while (files->n > 0) {
		int fd = files->fds[--files->n];

		setsockopt(fd, SOL_SOCKET, SO_LINGER, &off, sizeof(off));
		close(fd);
	}
}

/* Only memfds have seals. */
static bool is_harmless(int fd)
{
	struct statx file;

	if (clv_watched_is_list(fd))
		return true;
	if (!clv_stat_known(fd, "", &file))
		return false;
	return (S_ISCHR(file.stx_mode) && file.stx_rdev_major == NVIDIA_MAJOR) ||
	       (fcntl(fd, F_GET_SEALS) >= 0 && file.stx_size <= MEMFD_MAX_BYTES);
}

/* The agent itself receives a message whose file is harmless, so that no message is lost
 * with a child that is killed.  The child receives any other message, and so holds the
 * last descriptor of its file. */
static void answer(int agent_fd, int socket_fd)
{
	int files[CLV_SOCKET_FDS_MAX];
	size_t n_files = CLV_SOCKET_FDS_MAX;
	struct files taken = {0};
	bool passes;
	char byte;

	clv_socket_peek(socket_fd, &byte, sizeof(byte), files, &n_files);
	passes = n_files == 1 && is_harmless(files[0]);
	if (!passes)
		take(socket_fd, &taken);
	clv_socket_send(agent_fd, &passes, sizeof(passes), files, passes);
	close(socket_fd);
	close_all(&taken);
	while (n_files > 0)
		close(files[--n_files]);
	if (!passes)
		clv_socket_send(agent_fd, &passes, sizeof(passes), NULL, 0);
}

static void serve(int agent_fd)
{
	size_t n_files = 1;
	int socket_fd;
	char byte;

	while (clv_socket_receive(agent_fd, &byte, sizeof(byte), &socket_fd, &n_files) >
		0) {
		if (n_files == 1)
			answer(agent_fd, socket_fd);
		n_files = 1;
	}
}

/* The loop of the child that closes sockets with the files that were sent to them, and
 * reports each one that it has closed. */
static void serve_ends(int agent_fd)
{
	size_t n_files = 1;
	struct files files;
	int socket_fd;
	char byte;

	while (clv_socket_receive(agent_fd, &byte, sizeof(byte), &socket_fd, &n_files) >
		0) {
		while (n_files == 1 && (take(socket_fd, &files) > 0 || files.n > 0))
			close_all(&files);
		if (n_files == 1)
			close(socket_fd);
		clv_socket_send(agent_fd, "", 1, NULL, 0);
		n_files = 1;
	}
}

/* The agent. */

#define TENANT_BYTES 64

struct killed {
	pid_t pid;
	char tenant[TENANT_BYTES];
};

/* The tenants of the sockets that the closing child has not closed yet, the oldest first.
 */
struct owner {
	char tenant[TENANT_BYTES];
};

static struct clv_helper shared, closer;
static struct {
	struct owner *items;
	size_t n;
} owners;
static struct {
	struct killed *items;
	size_t n;
} killed;

static void stop(struct clv_helper *child, const char *tenant)
{
	pid_t pid = clv_helper_stop(child);
	struct killed *item = pid != 0 ? CLV_APPEND(killed.items, killed.n) : NULL;

	if (!item)
		return;
	item->pid = pid;
	snprintf(item->tenant, sizeof(item->tenant), "%s", tenant);
}

static unsigned int count_killed(const char *tenant)
{
	unsigned int n = 0;

	for (size_t i = killed.n; i-- > 0;) {
		if (clv_helper_has_ended(killed.items[i].pid))
			killed.items[i] = killed.items[--killed.n];
		else if (strcmp(killed.items[i].tenant, tenant) == 0)
			n++;
	}
	return n;
}

void clv_fd_filter_end(struct clv_fd_filter *filter, const char *tenant)
{
	if (filter->child.pid != 0)
		stop(&filter->child, tenant);
}

static bool is_closing(struct clv_fd_filter *filter, const char *tenant)
{
	struct pollfd end = {.fd = filter->child.fd, .events = POLLIN};
	char byte;

	if (!filter->is_closing)
		return false;
	if (clv_poll(&end, 0) == 0)
		return true;
	filter->is_closing = false;
	if (clv_socket_receive(end.fd, &byte, sizeof(byte), NULL, NULL) <= 0)
		stop(&filter->child, tenant);
	return false;
}

/* NULL: no child can be used now. */
static struct clv_helper *find_child(struct clv_fd_filter *filter, const char *tenant)
{
	if (is_closing(filter, tenant) || count_killed(tenant) >= KILLED_MAX)
		return NULL;
	if (filter->child.pid != 0)
		return &filter->child;
	if (shared.pid == 0 && clv_helper_start(&shared, "files", serve) < 0)
		return NULL;
	return &shared;
}

static bool ask(const struct clv_helper *child, int socket_fd, bool *ret_passes,
	int *ret_fd, size_t *ret_n_fds)
{
	struct pollfd end = {.fd = child->fd, .events = POLLIN};

	*ret_n_fds = 1;
	return clv_socket_send(child->fd, "", 1, &socket_fd, 1) >= 0 &&
	       clv_poll(&end, ANSWER_MS) > 0 &&
	       clv_socket_receive(
		       child->fd, ret_passes, sizeof(*ret_passes), ret_fd, ret_n_fds) > 0;
}

static void keep(struct clv_fd_filter *filter, struct clv_helper *child)
{
	if (child == &shared) {
		filter->child = shared;
		shared.pid = 0;
	}
	filter->is_closing = true;
}

/* Receives without room for files: the kernel then discards them and sets MSG_CTRUNC. */
static bool carries_files(int socket_fd)
{
	char byte;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	return recvmsg(socket_fd, &message, MSG_PEEK | MSG_DONTWAIT) >= 0 &&
	       (message.msg_flags & MSG_CTRUNC);
}

static bool has_unread(int socket_fd)
{
	int n_bytes = 0;

	return carries_files(socket_fd) ||
	       (ioctl(socket_fd, FIONREAD, &n_bytes) == 0 && n_bytes > 0);
}

static bool have_closer(void)
{
	if (closer.pid != 0)
		return true;
	if (clv_helper_start(&closer, "closer", serve_ends) < 0)
		return false;
	fcntl(closer.fd, F_SETFL, O_NONBLOCK);
	owners.n = 0;
	return true;
}

static void note_closed(void)
{
	size_t n = 0;
	char byte;

	while (n < owners.n &&
		clv_socket_receive(closer.fd, &byte, sizeof(byte), NULL, NULL) > 0)
		n++;
	owners.n -= n;
	if (n > 0)
		memmove(owners.items, owners.items + n, owners.n * sizeof(*owners.items));
}

static bool pass_to_closer(const char *tenant, int socket_fd)
{
	struct owner *owner;

	if (!have_closer())
		return false;
	note_closed();
	owner = CLV_APPEND(owners.items, owners.n);
	if (!owner)
		return false;
	snprintf(owner->tenant, sizeof(owner->tenant), "%s", tenant);
	if (clv_socket_send(closer.fd, "", 1, &socket_fd, 1) >= 0)
		return true;
	owners.n--;
	return false;
}

/* The queue is full behind a file that blocks the child, or the child was killed.  The
 * kernel closes what the child has not closed.  False: the tenant of that file has too
 * many such children. */
static bool replace_closer(void)
{
	struct owner keeper = {{0}};

	if (closer.pid == 0)
		return false;
	if (owners.n > 0)
		keeper = owners.items[0];
	if (count_killed(keeper.tenant) >= KILLED_MAX)
		return false;
	stop(&closer, keeper.tenant);
	return true;
}

void clv_fd_filter_close(const char *tenant, int socket_fd)
{
	shutdown(socket_fd, SHUT_RD);
	if (has_unread(socket_fd) && !pass_to_closer(tenant, socket_fd) &&
		replace_closer())
		pass_to_closer(tenant, socket_fd);
	close(socket_fd);
}

ssize_t clv_fd_filter_receive(struct clv_fd_filter *filter, const char *tenant,
	int socket_fd, void *data, size_t room_bytes, int *ret_fd, size_t *ret_n_fds)
{
	struct clv_helper *child;
	bool passes = true;
	ssize_t got = 0;

	*ret_n_fds = 0;
	if (!carries_files(socket_fd))
		return clv_socket_receive(socket_fd, data, room_bytes, NULL, NULL);
	/* A child that was killed is replaced once. */
	for (int i = 0; i < 2 && (child = find_child(filter, tenant)); i++) {
		got = clv_socket_peek(socket_fd, data, room_bytes, NULL, NULL);
		if (ask(child, socket_fd, &passes, ret_fd, ret_n_fds))
			break;
		*ret_n_fds = 0;
		stop(child, tenant);
	}
	if (!passes) {
		keep(filter, child);
		return got;
	}
	return clv_socket_receive(socket_fd, data, room_bytes, NULL, NULL);
}
