/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into an agent: while the file that CLEAVE_TEST_USERS names exists, the user
 * database does not answer, but for root, whom a file on every machine has, and, unless
 * the file is empty, for the names of groups.
 * CLEAVE_TEST_SUBUID is read in place of /etc/subuid. */
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void wait_for_database(void)
{
	const char *path = getenv("CLEAVE_TEST_USERS");

	while (path && access(path, F_OK) == 0)
		usleep(10000);
}

static void wait_for_groups(void)
{
	const char *path = getenv("CLEAVE_TEST_USERS");
	struct stat file;

	if (path && stat(path, &file) == 0 && file.st_size == 0)
		wait_for_database();
}

/* The linker's names for what every program has. */
__attribute__((visibility("default"))) int getpwuid_r(
	uid_t uid, struct passwd *entry, char *room, size_t n_bytes, struct passwd **ret)
{
	int (*next)(uid_t, struct passwd *, char *, size_t, struct passwd **) =
		dlsym(RTLD_NEXT, "getpwuid_r");

	if (uid != 0)
		wait_for_database();
	return next(uid, entry, room, n_bytes, ret);
}

__attribute__((visibility("default"))) int getpwnam_r(const char *name,
	struct passwd *entry, char *room, size_t n_bytes, struct passwd **ret)
{
	int (*next)(const char *, struct passwd *, char *, size_t, struct passwd **) =
		dlsym(RTLD_NEXT, "getpwnam_r");

	wait_for_database();
	return next(name, entry, room, n_bytes, ret);
}

__attribute__((visibility("default"))) int getgrnam_r(const char *name,
	struct group *entry, char *room, size_t n_bytes, struct group **ret)
{
	int (*next)(const char *, struct group *, char *, size_t, struct group **) =
		dlsym(RTLD_NEXT, "getgrnam_r");

	wait_for_groups();
	return next(name, entry, room, n_bytes, ret);
}

__attribute__((visibility("default"))) int getgrouplist(
	const char *user, gid_t group, gid_t *groups, int *n_groups)
{
	int (*next)(const char *, gid_t, gid_t *, int *) =
		dlsym(RTLD_NEXT, "getgrouplist");

	wait_for_database();
	return next(user, group, groups, n_groups);
}

/* The agent's calls are to open64(), by which open() is here too. */
__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
	int (*next)(const char *, int, ...) = dlsym(RTLD_NEXT, "open64");
	const char *other = getenv("CLEAVE_TEST_SUBUID");
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & (O_CREAT | __O_TMPFILE))
		mode = va_arg(args, mode_t);
	va_end(args);
	return next(
		other && strcmp(path, "/etc/subuid") == 0 ? other : path, flags, mode);
}
