/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/ungated.h"

#include "agent/agent.h"
#include "agent/events.h"
#include "agent/holder.h"
#include "agent/lease.h"
#include "agent/ledger.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/paths.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a large process maps and who its children are takes the kernel a millisecond to
 * say, and the loop waits for it. */
#define LOOKS_PER_TICK 4u
/* A process is looked at after so many seconds, then after twice as many, and so on. */
#define FIRST_S 1u
#define LAST_S 16u
#define ROOTS_S 2u
#define PROCESSES_MAX 4096u

/* What drivers load when a program uses the API, not the loader that anybody may link. */
static const struct {
	const char *api;
	const char *library; /* the file's name begins so */
	const char *gate; /* what holds it where it is mapped too; NULL: there is none */
} libraries[] = {
	{"level-zero", "libze_intel_gpu.so", NULL},
	{"vulkan", "libvulkan_radeon.so", NULL},
	{"vulkan", "libvulkan_intel", NULL},
	{"vulkan", "libvulkan_nouveau.so", NULL},
	{"vulkan", "libvulkan_lvp.so", NULL},
	{"vulkan", "amdvlk", NULL},
	{"vulkan", "libnvidia-glvkspirv.so", NULL},
	{"opengl", "libEGL_nvidia.so", NULL},
	{"opengl", "libGLX_nvidia.so", NULL},
	{"opengl", "radeonsi_dri.so", NULL},
	{"opengl", "iris_dri.so", NULL},
	{"video", "libnvcuvid.so", NULL},
	{"video", "libnvidia-encode.so", NULL},
	{"video", "libvdpau_nvidia.so", NULL},
	{"video", "radeonsi_drv_video.so", NULL},
	{"video", "iHD_drv_video.so", NULL},
	{"video", "i965_drv_video.so", NULL},
	{"video", "libmfxhw64.so", NULL},
	{"cuda", "libcuda.so", CLV_GATE_CUDA},
	{"hip", "libamdhip64.so", CLV_GATE_HIP},
};

struct entry {
	struct clv_process_id id;
	char lease[CLV_LEASE_ID_MAX];
	uint32_t due_s, interval_s;
};

struct clv_ungated {
	struct clv_agent *agent;
	struct entry *entries; /* owned */
	size_t n_entries, next, last_found;
	uint32_t now_s;
};

/* Whether an earlier row has the API, so that this one has no bit of its own. */
static uint32_t bit_of(size_t row)
{
	uint32_t bit = 0;

	for (size_t i = 0; i <= row; i++) {
		bool is_new =
			i == 0 || strcmp(libraries[i].api, libraries[i - 1].api) != 0;

		bit += is_new;
		if (strcmp(libraries[i].api, libraries[row].api) == 0)
			break;
	}
	return UINT32_C(1) << (bit - 1);
}

static bool begins_with(const char *file, const char *name)
{
	return name && strncmp(file, name, strlen(name)) == 0;
}

static uint32_t find_api(const char *file)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(libraries); i++) {
		if (begins_with(file, libraries[i].library))
			return bit_of(i);
	}
	return 0;
}

static uint32_t find_gated(const char *file)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(libraries); i++) {
		if (begins_with(file, libraries[i].gate))
			return bit_of(i);
	}
	return 0;
}

json_t *clv_ungated_to_json(uint32_t apis)
{
	json_t *array = json_array();

	for (size_t i = 0; i < CLV_ARRAY_SIZE(libraries); i++) {
		if (!(apis & bit_of(i)))
			continue;
		json_array_append_new(array, json_string(libraries[i].api));
		apis &= ~bit_of(i);
	}
	return array;
}

/* Which processes there are. */

/* Most are asked for in the order in which they were found. */
static struct entry *find(struct clv_ungated *ungated, const struct clv_process_id *id)
{
	for (size_t i = 0; i < ungated->n_entries; i++) {
		size_t at = (ungated->last_found + 1 + i) % ungated->n_entries;
		struct entry *entry = &ungated->entries[at];

		if (entry->id.pid == id->pid &&
			entry->id.start_ticks == id->start_ticks) {
			ungated->last_found = at;
			return entry;
		}
	}
	return NULL;
}

static void note(
	struct clv_ungated *ungated, const struct clv_process_id *id, const char *lease)
{
	struct entry *entry;

	if (find(ungated, id) || ungated->n_entries == PROCESSES_MAX)
		return;
	entry = CLV_APPEND(ungated->entries, ungated->n_entries);
	if (!entry)
		return;
	entry->id = *id;
	entry->interval_s = FIRST_S;
	entry->due_s = ungated->now_s + FIRST_S;
	snprintf(entry->lease, sizeof(entry->lease), "%s", lease);
}

static void note_children(
	struct clv_ungated *ungated, const char *path, const char lease[CLV_LEASE_ID_MAX])
{
	FILE *children = fopen(path, "re");
	struct clv_process_id id;
	int pid;

	while (children && fscanf(children, "%d", &pid) == 1) {
		id.pid = pid;
		if (clv_process_read(pid, NULL, &id.start_ticks) >= 0)
			note(ungated, &id, lease);
	}
	if (children)
		fclose(children);
}

/* Children belong to the thread that made them. */
static void note_all_children(struct clv_ungated *ungated, const struct entry *entry)
{
	char path[64], lease[CLV_LEASE_ID_MAX];
	const struct dirent *thread;
	pid_t pid = entry->id.pid;
	DIR *threads;

	memcpy(lease, entry->lease, sizeof(lease)); /* entries move */
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = opendir(path);
	while (threads && (thread = readdir(threads))) {
		if (thread->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", (int)pid,
			thread->d_name);
		note_children(ungated, path, lease);
	}
	if (threads)
		closedir(threads);
}

static void on_holder(
	void *userdata, const struct clv_process_id *id, struct clv_lease *lease)
{
	if (lease && !lease->record.is_queued)
		note(userdata, id, lease->record.id);
}

/* Those that began a tree, and those that were attached when its root died. */
static void note_roots(struct clv_ungated *ungated)
{
	const struct clv_lease *lease;

	clv_holder_each(ungated->agent, on_holder, ungated);
	LIST_FOREACH(lease, &ungated->agent->in_use, of_use)
	{
		const struct clv_attached *process;

		TAILQ_FOREACH(process, &lease->processes, entry)
		note(ungated, &process->record.id, lease->record.id);
	}
}

/* Looking at one process. */

static uint32_t read_apis(pid_t pid)
{
	_cleanup_free_ char *line = NULL;
	uint32_t apis = 0, gated = 0;
	size_t room = 0;
	char path[40];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (maps && getline(&line, &room, maps) > 0) {
		const char *slash = strrchr(line, '/');

		if (!slash)
			continue;
		apis |= find_api(slash + 1);
		gated |= find_gated(slash + 1);
	}
	if (maps)
		fclose(maps);
	return apis & ~gated;
}

static void report(struct clv_lease *lease, pid_t pid, uint32_t apis)
{
	json_t *names = clv_ungated_to_json(apis), *name;
	size_t i;

	json_array_foreach (names, i, name)
		clv_events_emit(lease->agent, CLV_EVENT_UNGATED_API, lease,
			"process %d uses %s, for which there is no gate: it is not held "
			"to its share there",
			(int)pid, json_string_value(name));
	json_decref(names);
}

/* False: it is gone, or its lease is. */
static bool look(struct clv_ungated *ungated, size_t at)
{
	struct entry *entry = &ungated->entries[at];
	struct clv_lease *lease =
		clv_ledger_find_id(ungated->agent->ledger, entry->lease);
	uint64_t start_ticks = 0;
	uint32_t apis;

	if (!lease || clv_process_read(entry->id.pid, NULL, &start_ticks) < 0 ||
		start_ticks != entry->id.start_ticks)
		return false;
	apis = read_apis(entry->id.pid) & ~lease->truth.ungated;
	lease->truth.ungated |= apis;
	report(lease, entry->id.pid, apis);
	entry->due_s = ungated->now_s + entry->interval_s;
	entry->interval_s = entry->interval_s < LAST_S ? 2 * entry->interval_s : LAST_S;
	note_all_children(ungated, entry);
	return true;
}

void clv_ungated_tick(struct clv_ungated *ungated)
{
	size_t n = ungated->n_entries;
	unsigned int n_looks = 0;

	if (++ungated->now_s % ROOTS_S == 0)
		note_roots(ungated);
	for (size_t i = 0; i < n && n_looks < LOOKS_PER_TICK; i++) {
		size_t at = ungated->next++ % n;

		if (ungated->entries[at].due_s > ungated->now_s)
			continue;
		n_looks++;
		if (look(ungated, at))
			continue;
		n--;
		ungated->entries[at] = ungated->entries[--ungated->n_entries];
	}
}

struct clv_ungated *clv_ungated_new(struct clv_agent *agent)
{
	struct clv_ungated *ungated = calloc(1, sizeof(*ungated));

	if (ungated)
		ungated->agent = agent;
	return ungated;
}

struct clv_ungated *clv_ungated_free(struct clv_ungated *ungated)
{
	if (ungated)
		free(ungated->entries);
	free(ungated);
	return NULL;
}
