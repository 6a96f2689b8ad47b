/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into an agent: while the file that CLEAVE_TEST_USERS names exists, the user
 * database does not answer. */
#include <dlfcn.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_for_database(void)
{
	const char *path = getenv("CLEAVE_TEST_USERS");

	while (path && access(path, F_OK) == 0)
		usleep(10000);
}

/* The linker's names for what every program has. */
__attribute__((visibility("default"))) int getpwuid_r(
	uid_t uid, struct passwd *entry, char *room, size_t n_bytes, struct passwd **ret)
{
	int (*next)(uid_t, struct passwd *, char *, size_t, struct passwd **) =
		dlsym(RTLD_NEXT, "getpwuid_r");

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

	wait_for_database();
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
