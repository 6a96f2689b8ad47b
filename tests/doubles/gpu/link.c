/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"
#include "vendor.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un address_of(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	return address;
}

int dgp_link_open(const char *folder)
{
	/* The path of a test's folder may be too long for a socket address. */
	int dirfd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;
	struct sockaddr_un address;
	char path[64];

	if (dirfd < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dirfd, DGP_SOCKET);
	address = address_of(path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		fd = -1;
	}
	close(dirfd);
	return fd;
}

int dgp_link_listen(void)
{
	struct sockaddr_un address = address_of(DGP_SOCKET);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	unlink(DGP_SOCKET);
	if (fd >= 0 && (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
			       listen(fd, 128) < 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int) * DGP_FILES_MAX)];
};

bool dgp_link_send(
	int fd, const struct dgp_message *message, const struct dgp_files *files)
{
	struct iovec part = {(void *)(uintptr_t)message, sizeof(*message)};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	union control control;
	ssize_t n;

	if (files && files->n) {
		memset(&control, 0, sizeof(control));
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)files->n);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int) * (size_t)files->n);
		memcpy(CMSG_DATA(&control.header), files->fds,
			sizeof(int) * (size_t)files->n);
	}
	do
		n = sendmsg(fd, &header, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*message);
}

bool dgp_link_receive(int fd, struct dgp_message *ret, struct dgp_files *ret_files)
{
	struct iovec part = {ret, sizeof(*ret)};
	union control control;
	struct msghdr header = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *rights;
	ssize_t n;

	ret_files->n = 0;
	do
		n = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(*ret))
		return false;
	rights = CMSG_FIRSTHDR(&header);
	if (rights && rights->cmsg_type == SCM_RIGHTS) {
		ret_files->n = (int)((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(ret_files->fds, CMSG_DATA(rights),
			sizeof(int) * (size_t)ret_files->n);
	}
	return true;
}
