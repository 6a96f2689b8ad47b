/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses one of the leases of a container. */
#include "gate/attach/choose-lease.h"

#include "arbiter/attach.h"
#include "base/cleanup.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* APIs, by the variable that chooses their devices and the backend of these devices.
 * OpenCL has devices of any backend. */
static const struct {
	uint32_t api;
	const char *variable, *backend;
} choices[] = {
	{CLV_ATTACH_API_CUDA, "CUDA_VISIBLE_DEVICES", "nvidia"},
	{CLV_ATTACH_API_HIP, "ROCR_VISIBLE_DEVICES", "amd"},
};

/* What is looked for among the devices of the leases, one after the other. */
struct search {
	const char *backend; /* of the devices that count; NULL: all */
	const char *entry;   /* a device's UUID, or its beginning; NULL: any device */
	size_t n_entry;
	uint32_t n_seen;
};

#define PATH_BYTES 512

struct leases {
	const struct clv_lease_choice *choice;
	struct dirent **items; /* sorted by name */
	int n;
};

/* Returns the file system, or 0 if there is no such folder, or a link in its place. */
static dev_t file_system_of(const char *path)
{
	_cleanup_close_ int fd =
		open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_dev : 0;
}

/* Other folders are left of the mounts of an earlier container, or the program's own. */
static bool is_lease(const struct clv_lease_choice *choice, dev_t file_system,
	const struct dirent *entry)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "%s/%s", choice->folder, entry->d_name);
	return entry->d_name[0] != '.' && file_system != 0 &&
	       file_system_of(path) == file_system;
}

static void write_path(const struct leases *leases, int at, char ret[CLV_LEASE_PLACE_MAX])
{
	snprintf(ret, CLV_LEASE_PLACE_MAX, "%s/%s/" CLV_ATTACH_SOCKET_NAME,
		leases->choice->folder, leases->items[at]->d_name);
}

/* As visible.c compares names. */
static bool is_named(const char *uuid, const struct search *search)
{
	size_t n = search->n_entry, length = strlen(uuid);

	return !search->entry || ((n == length || (n > 4 && n < length)) &&
					 strncasecmp(search->entry, uuid, n) == 0);
}

/* Looks at the devices of one lease: whether one of them is meant. */
static bool has_device(const char *folder, const char *lease, struct search *search)
{
	char path[PATH_BYTES], line[256], backend[16], uuid[128];
	bool has = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/" CLV_ATTACH_DEVICES_NAME, folder, lease);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%15s %127s", backend, uuid) != 2 ||
			(search->backend && strcmp(backend, search->backend) != 0))
			continue;
		has = has || is_named(uuid, search);
		search->n_seen++;
	}
	fclose(file);
	return has;
}

/* Returns the first lease with the device, or -1, and how many devices are before it. */
static int find_device(
	const struct leases *leases, struct search *search, uint32_t *ret_n_before)
{
	for (int i = 0; i < leases->n; i++) {
		*ret_n_before = search->n_seen;
		if (has_device(leases->choice->folder, leases->items[i]->d_name, search))
			return i;
	}
	return -1;
}

/* Returns the lease whose devices include that number, or -1. */
static int find_number(const struct leases *leases, const char *backend, uint32_t number,
	uint32_t *ret_n_before)
{
	struct search search = {.backend = backend};

	for (int i = 0; i < leases->n; i++) {
		*ret_n_before = search.n_seen;
		has_device(leases->choice->folder, leases->items[i]->d_name, &search);
		if (number < search.n_seen)
			return i;
	}
	return -1;
}

/* Reads a number as drivers write it, so "01" is none. */
static bool read_number(const char *text, size_t n, uint32_t *ret)
{
	char digits[16];

	*ret = (uint32_t)strtoul(text, NULL, 10);
	return (size_t)snprintf(digits, sizeof(digits), "%u", *ret) == n &&
	       strncmp(digits, text, n) == 0;
}

/* Returns the lease that the variable names, or -1. */
static int find_named(const struct leases *leases, const char *said, const char *backend,
	uint32_t *ret_n_before)
{
	struct search search = {.backend = backend, .entry = said};
	uint32_t number;
	int at;

	search.n_entry = said ? strcspn(said, ",") : 0;
	if (search.n_entry == 0)
		return -1;
	at = find_device(leases, &search, ret_n_before);
	if (at >= 0 || !read_number(said, search.n_entry, &number))
		return at;
	return find_number(leases, backend, number, ret_n_before);
}

/* Returns the lease with this path of a socket, or -1. */
static int find_path(
	const struct leases *leases, const char *path, uint32_t *ret_n_before)
{
	char its[CLV_LEASE_PLACE_MAX];

	*ret_n_before = 0;
	for (int i = 0; path && i < leases->n; i++) {
		write_path(leases, i, its);
		if (strcmp(path, its) == 0)
			return i;
	}
	return -1;
}

static int choose(const struct leases *leases, uint32_t *ret_n_before)
{
	uint32_t api = leases->choice->api;
	struct search any = {.backend = NULL};
	int at = find_path(leases, leases->choice->named, ret_n_before);

	for (size_t i = 0; at < 0 && i < CLV_ARRAY_SIZE(choices); i++) {
		if (api == choices[i].api)
			any.backend = choices[i].backend;
		if (api == choices[i].api || api == CLV_ATTACH_API_OPENCL)
			at = find_named(leases, getenv(choices[i].variable),
				choices[i].backend, ret_n_before);
	}
	if (at < 0)
		at = find_device(leases, &any, ret_n_before);
	if (at >= 0)
		return at;
	*ret_n_before = 0;
	return 0;
}

/* alphasort() would order them by the program's locale. */
static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static struct leases read_leases(const struct clv_lease_choice *choice)
{
	dev_t file_system = file_system_of(choice->usual);
	struct leases leases = {.choice = choice};
	int n = scandir(choice->folder, &leases.items, NULL, compare_names);

	for (int i = 0; i < n; i++) {
		if (is_lease(choice, file_system, leases.items[i]))
			leases.items[leases.n++] = leases.items[i];
		else
			free(leases.items[i]);
	}
	return leases;
}

bool clv_lease_choose(const struct clv_lease_choice *choice,
	char ret_path[CLV_LEASE_PLACE_MAX], uint32_t *ret_n_before)
{
	struct leases leases = read_leases(choice);

	if (leases.n > 1)
		write_path(&leases, choose(&leases, ret_n_before), ret_path);
	for (int i = 0; i < leases.n; i++)
		free(leases.items[i]);
	free(leases.items);
	return leases.n > 1;
}

bool clv_lease_choose_once(const struct clv_lease_choice *choice,
	char ret_path[CLV_LEASE_PLACE_MAX], uint32_t *ret_n_before)
{
	static char chosen[CLV_LEASE_PLACE_MAX];
	static uint32_t n_before;

	if (!chosen[0] && !clv_lease_choose(choice, chosen, &n_before))
		return false;
	memcpy(ret_path, chosen, sizeof(chosen));
	*ret_n_before = n_before;
	return true;
}
