/* SPDX-License-Identifier: Apache-2.0 */
#include "../../gpu/link.h"
#include "../../gpu/vendor.h"
#include "abi.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* The kernel driver, preloaded behind all other libraries: a device file is a socket to
 * the machine, so it can be sent, duplicated and closed like any file. The shim asks the
 * socket whether a file is one of these, because it may have come from another
 * process. */

#define EXPORT __attribute__((visibility("default")))

/* --- Opening --- */

static bool is_device(const char *path)
{
	return path && strncmp(path, "/dev/nvidia", 11) == 0 && getenv("CLV_CUDA_DOUBLE");
}

static int open_device(const char *path)
{
	struct dgp_message message = {.request = DGP_RM_OPEN};
	struct dgp_files in;
	int fd = dgp_link_open(getenv("CLV_CUDA_DOUBLE"));
	unsigned minor = 255;

	sscanf(path, "/dev/nvidia%u", &minor);
	message.a = minor;
	if (fd < 0 || !dgp_link_send(fd, &message, NULL) ||
		!dgp_link_receive(fd, &message, &in)) {
		if (fd >= 0)
			close(fd);
		errno = ENOENT;
		return -1;
	}
	return fd;
}

static int open_any(int dirfd, const char *path, int flags, mode_t mode)
{
	if (is_device(path))
		return open_device(path);
	return (int)syscall(SYS_openat, dirfd, path, flags, mode);
}

static bool has_mode(int flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

#define MODE(ret)                                     \
	mode_t ret = 0;                               \
	va_list rest;                                 \
                                                      \
	va_start(rest, flags);                        \
	if (has_mode(flags))                          \
		ret = (mode_t)va_arg(rest, unsigned); \
	va_end(rest)

EXPORT int open(const char *path, int flags, ...)
{
	MODE(mode);

	return open_any(AT_FDCWD, path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...)
{
	MODE(mode);

	return open_any(AT_FDCWD, path, flags, mode);
}

EXPORT int openat(int dirfd, const char *path, int flags, ...)
{
	MODE(mode);

	return open_any(dirfd, path, flags, mode);
}

EXPORT int openat64(int dirfd, const char *path, int flags, ...)
{
	MODE(mode);

	return open_any(dirfd, path, flags, mode);
}

/* Called by programs built with _FORTIFY_SOURCE. */
EXPORT int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags)
{
	return open_any(AT_FDCWD, path, flags, 0);
}

EXPORT int __open64_2(const char *path, int flags);
int __open64_2(const char *path, int flags)
{
	return open_any(AT_FDCWD, path, flags, 0);
}

/* --- Asking --- */

static bool is_ours(int fd)
{
	struct sockaddr_un peer = {0};
	socklen_t bytes = sizeof(peer);

	return getpeername(fd, (struct sockaddr *)&peer, &bytes) == 0 &&
	       peer.sun_family == AF_UNIX && strcmp(peer.sun_path, DGP_SOCKET) == 0;
}

EXPORT int statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *ret)
{
	int r = (int)syscall(SYS_statx, dirfd, path, flags, mask, ret);

	if (r == 0 && !path[0] && S_ISSOCK(ret->stx_mode) && is_ours(dirfd)) {
		ret->stx_mode = S_IFCHR | 0666;
		ret->stx_rdev_major = 195;
		ret->stx_rdev_minor = 255;
	}
	return r;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int exchange(int fd, struct dgp_rm_call *call)
{
	struct dgp_message message = {.request = DGP_RM, .a = now_ns(), .rm = *call};
	struct dgp_files out = {.n = 1}, in;
	int pair[2];
	bool answered;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	out.fds[0] = pair[1];
	answered = dgp_link_send(fd, &message, &out);
	close(pair[1]);
	answered = answered && dgp_link_receive(pair[0], &message, &in);
	close(pair[0]);
	if (!answered) {
		errno = EIO;
		return -1;
	}
	*call = message.rm;
	return 0;
}

static void *at(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

static int with_params(int fd, struct dgp_rm_call *call, uint64_t params)
{
	int r;

	if (call->bytes > DGP_RM_BYTES) {
		errno = EINVAL;
		return -1;
	}
	if (params)
		memcpy(call->params, at(params), call->bytes);
	r = exchange(fd, call);
	if (!r && params)
		memcpy(at(params), call->params, call->bytes);
	return r;
}

static int do_alloc(int fd, void *arg, size_t bytes)
{
	struct dcu_rm_alloc_short *s = arg;
	struct dcu_rm_alloc *a = arg;
	bool is_short = bytes == sizeof(*s);
	struct dgp_rm_call call = {.number = DCU_RM_IOCTL_ALLOC,
		.client = a->client,
		.parent = a->parent,
		.object = a->object,
		.what = a->class,
		.bytes = is_short ? s->bytes : a->bytes};

	/* Older callers do not give the size. */
	if (a->params && !call.bytes && a->class == DCU_RM_GROUP)
		call.bytes = sizeof(struct dcu_rm_group_params);
	if (with_params(fd, &call, a->params) < 0)
		return -1;
	a->client = call.client;
	a->object = call.object;
	*(is_short ? &s->status : &a->status) = call.status;
	return 0;
}

static int do_control(int fd, void *arg, size_t bytes)
{
	struct dcu_rm_control *c = arg;
	struct dgp_rm_call call = {.number = DCU_RM_IOCTL_CONTROL,
		.client = c->client,
		.object = c->object,
		.what = c->command,
		.bytes = c->bytes};

	if (with_params(fd, &call, c->params) < 0)
		return -1;
	c->status = call.status;
	return 0;
}

static int do_free(int fd, void *arg, size_t bytes)
{
	struct dcu_rm_free *f = arg;
	struct dgp_rm_call call = {.number = DCU_RM_IOCTL_FREE,
		.client = f->client,
		.parent = f->parent,
		.object = f->object};

	if (exchange(fd, &call) < 0)
		return -1;
	f->status = call.status;
	return 0;
}

static int dispatch(int fd, unsigned number, void *arg, size_t bytes)
{
	const struct dcu_rm_transfer *transfer = arg;

	switch (number) {
	case DCU_RM_IOCTL_ALLOC:
		return do_alloc(fd, arg, bytes);
	case DCU_RM_IOCTL_CONTROL:
		return do_control(fd, arg, bytes);
	case DCU_RM_IOCTL_FREE:
		return do_free(fd, arg, bytes);
	case DCU_RM_IOCTL_TRANSFER:
		return dispatch(fd, transfer->number, at(transfer->at), transfer->bytes);
	}
	if (number >= DCU_RM_IOCTL_OTHERS)
		return 0;
	errno = EINVAL;
	return -1;
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	va_list rest;
	void *arg;

	va_start(rest, request);
	arg = va_arg(rest, void *);
	va_end(rest);
	if (_IOC_TYPE(request) == DCU_RM_TYPE && is_ours(fd))
		return dispatch(fd, _IOC_NR(request), arg, _IOC_SIZE(request));
	return (int)syscall(SYS_ioctl, fd, request, arg);
}
