/* SPDX-License-Identifier: Apache-2.0 */
/* Translation of thread ids between PID namespaces, by /proc. */
#include "agent/lease/numbering.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No more threads of a process are read, because the loop waits for the result. */
#define THREADS_MAX 4096

/* The thread's id in its innermost PID namespace, the last one in NSpid; 0: it has ended.
 */
static int32_t innermost_tid(pid_t pid, int32_t tid)
{
	char path[64], line[256];
	const char *last = NULL;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	status = fopen(path, "re");
	while (status && !last && fgets(line, sizeof(line), status)) {
		if (strncmp(line, "NSpid:", 6) == 0)
			last = strrchr(line, '\t');
	}
	if (status)
		fclose(status);
	return last ? atoi(last) : 0;
}

static uint32_t store_matches(
	const int32_t *tids, uint32_t n, int32_t inner, int32_t outer, int32_t *ret)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (inner > 0 && tids[i] == inner) {
			ret[i] = outer;
			found++;
		}
	}
	return found;
}

bool clv_numbering_of_threads(pid_t pid, const int32_t *tids, uint32_t n, int32_t *ret)
{
	uint32_t n_found = 0, n_seen = 0;
	struct dirent *entry;
	char path[32];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = opendir(path);
	while (folder && n_seen < THREADS_MAX && n_found < n &&
		(entry = readdir(folder))) {
		int32_t tid = atoi(entry->d_name);

		if (tid <= 0)
			continue;
		n_seen++;
		n_found += store_matches(tids, n, innermost_tid(pid, tid), tid, ret);
	}
	if (folder)
		closedir(folder);
	return n > 0 && n_found == n;
}
