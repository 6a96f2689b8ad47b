/* SPDX-License-Identifier: Apache-2.0 */
/* State, threads and arguments of a process from /proc. */
#include "base/proc.h"

#include "base/cleanup.h"
#include "base/duration.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 8192

/* Reads up to TEXT_MAX - 1 bytes of /proc/PID/NAME and appends a NUL.
 * NULs in the file stay: they end the arguments of cmdline.  Returns the number of bytes,
 * 0 on error. */
static size_t read_text(pid_t pid, const char *name, char ret[TEXT_MAX])
{
	char path[64];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, ret, TEXT_MAX - 1);
	if (n < 0)
		n = 0;
	ret[n] = '\0';
	return (size_t)n;
}

bool clv_proc_read(pid_t pid, struct clv_proc *ret)
{
	static const char *const switches[] = {
		"\nvoluntary_ctxt_switches:", "\nnonvoluntary_ctxt_switches:"};
	char text[TEXT_MAX];
	const char *at;

	*ret = (struct clv_proc){};
	read_text(pid, "status", text);
	at = strstr(text, "\nState:");
	if (!at || sscanf(at, "\nState: %c", &ret->state) != 1)
		return false;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(switches); i++) {
		uint64_t n = 0;

		at = strstr(text, switches[i]);
		if (at && sscanf(at + strlen(switches[i]), "%" SCNu64, &n) == 1)
			ret->n_switches += n;
		if (i == 0)
			ret->n_waits = n;
	}
	return true;
}

uint64_t clv_proc_ran_ns(pid_t pid)
{
	uint64_t user_ticks = 0, system_ticks = 0;
	uint64_t tick_ns = CLV_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	char text[TEXT_MAX], name[48];
	const char *end;

	snprintf(name, sizeof(name), "task/%d/stat", (int)pid);
	read_text(pid, name, text);
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1,
			    " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64
			    " %" SCNu64,
			    &user_ticks, &system_ticks) != 2)
		return 0;
	return (user_ticks + system_ticks) * tick_ns;
}

static char state_of_thread(pid_t pid, const char *thread)
{
	char text[TEXT_MAX], name[32];
	const char *end;

	snprintf(name, sizeof(name), "task/%.16s/stat", thread);
	read_text(pid, name, text);
	/* The name of the thread is in parentheses and may contain some, so the last one
	 * counts. */
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : '\0';
}

bool clv_proc_waits_for_disk(pid_t pid)
{
	const struct dirent *entry;
	bool waits = false;
	char path[32];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = opendir(path);
	while (threads && !waits && (entry = readdir(threads)))
		waits = state_of_thread(pid, entry->d_name) == 'D';
	if (threads)
		closedir(threads);
	return waits;
}

bool clv_proc_has_argument(pid_t pid, const char *prefix)
{
	char text[TEXT_MAX];
	size_t n = read_text(pid, "cmdline", text);

	for (size_t i = 0; i < n; i += strlen(text + i) + 1) {
		if (strncmp(text + i, prefix, strlen(prefix)) == 0)
			return true;
	}
	return false;
}
