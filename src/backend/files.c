/* SPDX-License-Identifier: Apache-2.0 */
/* Reads, writes and lists files of sysfs, without knowledge of any driver.  Files are
 * never created: a missing attribute means that the driver lacks the feature. */
#include "backend/files.h"

#include "backend/backend.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 512

static int __attribute__((format(printf, 2, 0)))
make_path(char ret[PATH_BYTES], const char *format, va_list args)
{
	int used = snprintf(ret, PATH_BYTES, "%s/", clv_backend_sysfs());
	int more;

	if (used >= PATH_BYTES)
		return -ENAMETOOLONG;
	more = vsnprintf(ret + used, (size_t)(PATH_BYTES - used), format, args);
	return more >= PATH_BYTES - used ? -ENAMETOOLONG : 0;
}

/* Declares the variable path and fills it from the caller's format and arguments. */
#define MAKE_PATH(path, format)                             \
	char path[PATH_BYTES];                              \
	{                                                   \
		va_list args_;                              \
		va_start(args_, format);                    \
		int made_ = make_path(path, format, args_); \
		va_end(args_);                              \
		if (made_ < 0)                              \
			return made_;                       \
	}

static bool is_blank(char c)
{
	return c == '\n' || c == ' ' || c == '\t' || c == '\r' || c == '\0';
}

static int read_path(const char *path, char *ret, size_t ret_bytes)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n = -1;

	if (fd < 0)
		return -errno;
	while (used < ret_bytes) {
		n = read(fd, ret + used, ret_bytes - used);
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	if (n != 0)
		return -EFBIG;
	while (used > 0 && is_blank(ret[used - 1]))
		used--;
	ret[used] = '\0';
	return (int)used;
}

int clv_file_read(char *ret, size_t ret_bytes, const char *format, ...)
{
	MAKE_PATH(path, format);
	return read_path(path, ret, ret_bytes);
}

int clv_file_read_number(uint64_t *ret, const char *format, ...)
{
	char text[32] = "", *end;
	uint64_t value;
	int r;

	MAKE_PATH(path, format);
	r = read_path(path, text, sizeof(text));
	if (r < 0)
		return r;
	errno = 0;
	value = strtoull(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
	if (end == text || *end != '\0' || errno != 0 || text[0] == '-')
		return -EINVAL;
	*ret = value;
	return 0;
}

int clv_file_write(const char *text, const char *format, ...)
{
	_cleanup_close_ int fd = -1;
	size_t length = strlen(text);
	ssize_t written;

	MAKE_PATH(path, format);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	written = write(fd, text, length);
	if (written < 0)
		return -errno;
	return (size_t)written == length ? 0 : -EIO;
}

static int read_link(const char *path, char *ret, size_t ret_bytes)
{
	ssize_t n = readlink(path, ret, ret_bytes);

	if (n < 0)
		return -errno;
	if ((size_t)n == ret_bytes)
		return -EFBIG;
	ret[n] = '\0';
	return 0;
}

int clv_file_target(char *ret, size_t ret_bytes, const char *format, ...)
{
	MAKE_PATH(path, format);
	return read_link(path, ret, ret_bytes);
}

int clv_file_link(char *ret, size_t ret_bytes, const char *format, ...)
{
	char target[PATH_BYTES];
	const char *last;
	int r;

	MAKE_PATH(path, format);
	r = read_link(path, target, sizeof(target));
	if (r < 0)
		return r;
	last = strrchr(target, '/');
	last = last ? last + 1 : target;
	if (strlen(last) >= ret_bytes)
		return -EFBIG;
	snprintf(ret, ret_bytes, "%s", last);
	return 0;
}

bool clv_file_exists(const char *format, ...)
{
	struct stat st;

	MAKE_PATH(path, format);
	return stat(path, &st) == 0;
}

bool clv_file_is_writable(const char *format, ...)
{
	struct stat st;

	/* The mode is checked, because access() permits root to write any file. */
	MAKE_PATH(path, format);
	return stat(path, &st) == 0 && (st.st_mode & 0222) != 0;
}

/* Shorter names first: gt2 before gt10.  PCI addresses have one length and so are in bus
 * order. */
static int compare_names(const void *a, const void *b)
{
	size_t a_length = strlen(a), b_length = strlen(b);

	if (a_length != b_length)
		return a_length < b_length ? -1 : 1;
	return strcmp(a, b);
}

int clv_names_add(struct clv_names *names, const char *name)
{
	char(*item)[CLV_FILE_NAME_MAX];

	if (strlen(name) >= CLV_FILE_NAME_MAX)
		return 0; /* no name that callers need is as long */
	item = CLV_APPEND(names->items, names->n);
	if (!item)
		return -ENOMEM;
	snprintf(*item, sizeof(*item), "%s", name);
	return 0;
}

int clv_file_list(struct clv_names *ret, const char *format, ...)
{
	struct clv_names names = {0};
	struct dirent *entry;
	DIR *folder;
	int r = 0;

	MAKE_PATH(path, format);
	folder = opendir(path);
	if (!folder)
		return -errno;
	while (r == 0 && (entry = readdir(folder))) {
		if (entry->d_name[0] != '.')
			r = clv_names_add(&names, entry->d_name);
	}
	closedir(folder);
	if (r < 0) {
		clv_names_clear(&names);
		return r;
	}
	if (names.n > 0)
		qsort(names.items, names.n, sizeof(*names.items), compare_names);
	*ret = names;
	return 0;
}

void clv_names_clear(struct clv_names *names)
{
	free(names->items);
	*names = (struct clv_names){0};
}

/* clang-format off */
static const struct {
	int errnum;
	int code;
	const char *why;
} meanings[] = {
	{ EACCES,       EPERM,     "not permitted: run as root" },
	{ EPERM,        EPERM,     "not permitted: run as root, and with a driver that allows it" },
	{ EROFS,        EPERM,     "sysfs is mounted read-only: run on the host itself" },
	{ ENOENT,       ENOTSUP,   "this driver has no such file: install a newer driver" },
	{ EOPNOTSUPP,   ENOTSUP,   "this driver does not support it" },
	{ ENOTTY,       ENOTSUP,   "this driver does not support it" },
	{ ENODEV,       ENODEV,    "the device is gone" },
	{ ENXIO,        ENODEV,    "the device is gone" },
	{ EBUSY,        EBUSY,     "it is in use" },
	{ ENOSPC,       ENOSPC,    "there is no room for it" },
	{ ENOMEM,       ENOSPC,    "there is no room for it" },
	{ EUSERS,       ENOSPC,    "there is no room for it" },
	{ ERANGE,       ENOSPC,    "it is more than the device has" },
	{ EDQUOT,       ENOSPC,    "there is no room for it" },
	{ ETIMEDOUT,    ETIMEDOUT, "the driver did not answer in time" },
	{ EINVAL,       EINVAL,    "the driver rejects the value in its current state" },
	{ EUCLEAN,      EIO,       "the parts of the device are in different states" },
};
/* clang-format on */

int clv_file_error(struct clv_error *err, int errnum, const char *format, ...)
{
	char what[256];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(meanings); i++) {
		if (meanings[i].errnum == errnum)
			return clv_error_set(
				err, -meanings[i].code, "%s: %s", what, meanings[i].why);
	}
	return clv_error_set(
		err, -EIO, "%s: the driver failed: %s", what, strerror(errnum));
}
