/* SPDX-License-Identifier: Apache-2.0 */
/* Searches /proc for the memory of processes of an earlier agent. */
#include "agent/os/page-search.h"

#include "agent/os/maps.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PAGE_NAME "/memfd:cleave-report"
/* A process can make its tables in /proc as long as it likes, so this much of them is
 * read. */
#define FDS_MAX 4096
#define SEARCH_NS (1 * CLV_NS_PER_S)

/* The least address of code or stack.  The kernel shows smaller values to a process that
 * may not read them. */
#define ADDRESS_MIN 4096

struct seen {
	pid_t pid;
	struct clv_process_layout layout;
};

/* All processes of the machine, during one adoption. */
static struct {
	struct seen *items; /* owned */
	size_t n;
	pid_t *excluded; /* owned */
	size_t n_excluded;
	bool is_filled, is_over;
	uint64_t spent_ns;
} all;

static uint64_t waited_ns; /* time that failed searches have taken in this agent */

static void list_all(void)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;

	all.is_filled = true;
	while (proc && (entry = readdir(proc))) {
		struct seen seen = {.pid = atoi(entry->d_name)};
		struct seen *item;

		if (seen.pid <= 0 || seen.pid == getpid() ||
			clv_process_read_layout(seen.pid, &seen.layout) < 0)
			continue;
		item = CLV_APPEND(all.items, all.n);
		if (!item)
			break;
		*item = seen;
	}
	if (proc)
		closedir(proc);
}

void clv_page_forget_all(void)
{
	free(all.items);
	free(all.excluded);
	memset(&all, 0, sizeof(all));
}

void clv_page_exclude(pid_t pid)
{
	pid_t *slot = CLV_APPEND(all.excluded, all.n_excluded);

	if (slot)
		*slot = pid;
}

static bool is_excluded(pid_t pid)
{
	for (size_t i = 0; i < all.n_excluded; i++) {
		if (all.excluded[i] == pid)
			return true;
	}
	return false;
}

/* The device number of all files that memfd_create() makes. */
static bool find_device(dev_t *ret)
{
	_cleanup_close_ int fd = memfd_create("cleave-probe", MFD_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	*ret = st.st_dev;
	return true;
}

/* As clv_maps_search(), until the failed searches have taken SEARCH_NS together: any
 * number of processes may prevent that their mappings are read. */
static int search_maps(
	pid_t pid, uint64_t page, bool wants_file, struct clv_maps_found *ret)
{
	struct clv_maps_search search = {.pid = pid, .wants_file = wants_file};
	uint64_t began_ns = clv_clock_ns();
	dev_t device;
	int r;

	*ret = (struct clv_maps_found){.file_fd = -1};
	if (waited_ns >= SEARCH_NS || !find_device(&device))
		return -EAGAIN;
	clv_maps_text(&search, device, page);
	r = clv_maps_search(&search, ret);
	if (r < 0)
		waited_ns += clv_clock_ns() - began_ns;
	return r;
}

/* Whether the process maps the page.  1, 0 or a negative errno. */
static int maps_page(pid_t pid, uint64_t page)
{
	struct clv_maps_found found;
	int r = search_maps(pid, page, false, &found);

	return r < 0 ? r : found.texts != 0;
}

/* Whether the process has called neither exit nor exec. */
static bool is_as_before(const struct clv_page_user *user)
{
	uint64_t start_ticks;

	return clv_process_read(user->id.pid, NULL, &start_ticks) >= 0 &&
	       start_ticks == user->id.start_ticks &&
	       maps_page(user->id.pid, user->page) != 0;
}

/* False once the time for all searches together is used up. */
static bool may_search(uint64_t *counted_ns)
{
	uint64_t now_ns = clv_clock_ns();

	all.spent_ns += now_ns - *counted_ns;
	*counted_ns = now_ns;
	if (all.spent_ns < SEARCH_NS)
		return true;
	if (!all.is_over)
		clv_log_warning(0,
			"not all processes could be searched for the memory of "
			"those that ended without an agent");
	all.is_over = true;
	return false;
}

/* 1, 0, or -EAGAIN: it is not known whether the process maps the page. */
static int has_memory_of(const struct seen *seen, const struct clv_page_user *user)
{
	int r;

	if (seen->layout.code != user->layout.code ||
		seen->layout.stack != user->layout.stack || is_excluded(seen->pid))
		return 0;
	r = maps_page(seen->pid, user->page);
	return r > 0 || r == -EAGAIN ? r : 0;
}

bool clv_page_find_sharer(const struct clv_page_user *user, struct clv_process_id *ret)
{
	uint64_t counted_ns = clv_clock_ns();
	bool is_found = false;

	if (user->page == 0 || user->layout.code < ADDRESS_MIN ||
		user->layout.stack < ADDRESS_MIN || is_as_before(user))
		return false;
	if (!all.is_filled)
		list_all();
	for (size_t i = 0; i < all.n && may_search(&counted_ns); i++) {
		struct clv_process_id id = {.pid = all.items[i].pid};
		int r = has_memory_of(&all.items[i], user);

		if (r == 0 || (r < 0 && is_found) ||
			clv_process_read(id.pid, NULL, &id.start_ticks) < 0)
			continue;
		*ret = id;
		is_found = true;
		if (r > 0)
			break;
	}
	return is_found;
}

/* Reads only the metadata of the file itself: another file with the name of a report page
 * may be on a file system that never answers. */
static bool is_page(const char *path, uint64_t page)
{
	char target[64];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	struct statx found;
	dev_t device;

	target[n > 0 ? n : 0] = '\0';
	return strncmp(target, PAGE_NAME, sizeof(PAGE_NAME) - 1) == 0 &&
	       find_device(&device) &&
	       statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &found) == 0 &&
	       found.stx_ino == page && found.stx_dev_major == major(device) &&
	       found.stx_dev_minor == minor(device);
}

/* The process may replace the file at any moment (TOCTOU), so the file that was checked
 * is the one that is opened: O_PATH does not call the file system. */
static int open_known_if_page(int known, uint64_t page)
{
	char own[40];

	snprintf(own, sizeof(own), "/proc/self/fd/%d", known);
	return known >= 0 && is_page(own, page) ? open(own, O_RDWR | O_CLOEXEC) : -1;
}

static int open_if_page(const char *path, uint64_t page)
{
	_cleanup_close_ int known = open(path, O_PATH | O_CLOEXEC);

	return open_known_if_page(known, page);
}

static int open_mapped(pid_t pid, uint64_t page)
{
	struct clv_maps_found found;
	int fd;

	if (search_maps(pid, page, true, &found) < 0)
		return -1;
	fd = open_known_if_page(found.file_fd, page);
	clv_close_fd(&found.file_fd);
	return fd;
}

/* Opens the page by a descriptor of the process or, if the process has closed it, by its
 * mapping, which the kernel opens only for a privileged agent. */
int clv_page_open(pid_t pid, uint64_t page)
{
	char path[128];
	const struct dirent *entry;
	int fd = -1, n = 0;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	fds = opendir(path);
	while (fds && fd < 0 && n++ < FDS_MAX && (entry = readdir(fds))) {
		snprintf(
			path, sizeof(path), "/proc/%d/fd/%.20s", (int)pid, entry->d_name);
		fd = open_if_page(path, page);
	}
	if (fds)
		closedir(fds);
	return fd >= 0 ? fd : open_mapped(pid, page);
}

bool clv_page_is_mapped(pid_t pid, uint64_t page)
{
	return maps_page(pid, page) != 0;
}
