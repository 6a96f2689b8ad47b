/* SPDX-License-Identifier: Apache-2.0 */
/* Detects use of a device without a gate by the drivers' libraries in /proc/PID/maps. */
#include "agent/watch/ungated.h"

#include "agent/config/config.h"
#include "agent/event/events.h"
#include "agent/ledger/ledger.h"
#include "agent/os/maps.h"
#include "agent/os/stat.h"
#include "agent/record/agent.h"
#include "agent/watch/descendants.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/paths.h"
#include "base/units.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel needs a millisecond to list the mappings of a large process, in which the
 * loop waits, and a hundredth of that for its size. */
#define CHECKS_PER_TICK 8u
#define SIZES_PER_TICK 256u
/* Of these for one lease, as long as other leases have processes to check. */
#define CHECKS_OF_LEASE 2u
#define SIZES_OF_LEASE 32u
/* After this time no further check begins in a tick: the loop waits meanwhile. */
#define TICK_NS (50 * CLV_NS_PER_MS)
/* A process is checked when its size has changed, and at intervals that double from
 * FIRST_S to LAST_S. */
#define FIRST_S 1u
#define LAST_S 16u

/* The libraries that are loaded when a program uses an API: the drivers', not the
 * loaders, which programs link without using them. */
static const struct {
	const char *api;
	const char *library; /* the prefix of the file's name */
	/* The gate that enforces the share where it is mapped too; NULL: none exists. */
	const char *gate;
	/* The gate counts only once attached: a loader may map it and not use it. */
	bool must_attach;
} libraries[] = {
	{"level-zero", "libze_intel_gpu.so", NULL, false},
	{"vulkan", "libvulkan_radeon.so", NULL, false},
	{"vulkan", "libvulkan_intel", NULL, false},
	{"vulkan", "libvulkan_nouveau.so", NULL, false},
	{"vulkan", "libvulkan_lvp.so", NULL, false},
	{"vulkan", "amdvlk", NULL, false},
	{"vulkan", "libnvidia-glvkspirv.so", NULL, false},
	{"opengl", "libEGL_nvidia.so", NULL, false},
	{"opengl", "libGLX_nvidia.so", NULL, false},
	{"opengl", "radeonsi_dri.so", NULL, false},
	{"opengl", "iris_dri.so", NULL, false},
	{"video", "libnvcuvid.so", NULL, false},
	{"video", "libnvidia-encode.so", NULL, false},
	{"video", "libvdpau_nvidia.so", NULL, false},
	{"video", "radeonsi_drv_video.so", NULL, false},
	{"video", "iHD_drv_video.so", NULL, false},
	{"video", "i965_drv_video.so", NULL, false},
	{"video", "libmfxhw64.so", NULL, false},
	{"cuda", "libcuda.so", CLV_GATE_CUDA, false},
	{"hip", "libamdhip64.so", CLV_GATE_HIP, false},
	{"opencl", "libnvidia-opencl.so", CLV_GATE_OPENCL, true},
	{"opencl", "libamdocl64.so", CLV_GATE_OPENCL, true},
	{"opencl", "libamdocl-orca64.so", CLV_GATE_OPENCL, true},
	{"opencl", "libigdrcl.so", CLV_GATE_OPENCL, true},
	{"opencl", "libintelocl.so", CLV_GATE_OPENCL, true},
	{"opencl", "libRusticlOpenCL.so", CLV_GATE_OPENCL, true},
	{"opencl", "libMesaOpenCL.so", CLV_GATE_OPENCL, true},
	{"opencl", "libpocl.so", CLV_GATE_OPENCL, true},
	{"opencl", "liboclgrind", CLV_GATE_OPENCL, true},
};

struct clv_ungated {
	struct clv_agent *agent;
	struct clv_descendants descendants;
	size_t next;
	uint32_t now_s;
};

/* The bit of the row's API; rows of one API follow each other and share a bit. */
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

/* Bits of the APIs whose driver is mapped, of those whose gate is mapped, and of those
 * whose gate counts only once the process is attached. */
struct mapped {
	uint32_t drivers, gates, to_attach;
	bool is_slow;
};

json_t *clv_ungated_to_json(uint32_t apis)
{
	json_t *array = json_array();

	/* Runs for each lease of a list, and mostly there is no such API. */
	for (size_t i = 0; i < CLV_ARRAY_SIZE(libraries) && apis != 0; i++) {
		if (!(apis & bit_of(i)))
			continue;
		json_array_append_new(array, json_string(libraries[i].api));
		apis &= ~bit_of(i);
	}
	return array;
}

/* Checking one process. */

static_assert(2 * CLV_ARRAY_SIZE(libraries) <= CLV_MAPS_TEXTS, "one search for all");

/* Text 2i is the driver of row i, text 2i + 1 its gate. */
static const struct clv_maps_search *search_of(pid_t pid)
{
	static struct clv_maps_search search = {.are_names = true};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(libraries) && search.n == 0; i++) {
		const char *gate = libraries[i].gate;

		snprintf(search.texts[2 * i], CLV_MAPS_TEXT_BYTES, "%s",
			libraries[i].library);
		snprintf(search.texts[2 * i + 1], CLV_MAPS_TEXT_BYTES, "%s",
			gate ? gate : "");
	}
	search.n = 2 * CLV_ARRAY_SIZE(libraries);
	search.pid = pid;
	return &search;
}

static int read_mapped(pid_t pid, struct mapped *ret)
{
	struct clv_maps_found found;
	int r = clv_maps_search(search_of(pid), &found);

	*ret = (struct mapped){.is_slow = clv_maps_was_slow()};
	for (size_t i = 0; i < CLV_ARRAY_SIZE(libraries); i++) {
		uint64_t pair = found.texts >> (2 * i);

		ret->drivers |= pair & 1 ? bit_of(i) : 0;
		ret->gates |= pair & 2 ? bit_of(i) : 0;
		ret->to_attach |= libraries[i].must_attach ? bit_of(i) : 0;
	}
	return r;
}

/* sure: APIs that the process uses without a gate.  unsure: APIs whose gate is mapped and
 * not attached, which is so too if the gate shows the program no device. */
struct found {
	uint32_t sure, unsure;
};

/* A program that lists platforms maps the driver before it attaches, so for such APIs two
 * checks in a row must agree. */
static struct found find_ungated(const struct clv_ungated *ungated,
	struct clv_descendant *process, const struct mapped *mapped)
{
	uint32_t without_gate = mapped->drivers & ~mapped->gates;
	uint32_t doubts = mapped->drivers & mapped->to_attach, again;

	if (process->attached_s == ungated->now_s)
		doubts &= without_gate;
	again = doubts & process->doubts;
	process->doubts = doubts;
	return (struct found){.sure = without_gate & (again | ~mapped->to_attach),
		.unsure = again & ~without_gate};
}

/* A process in another root (container, sandbox, chroot) does not see the gates that are
 * mounted over the machine's drivers. */
static const char *root_text(pid_t pid)
{
	struct statx own, other;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	if (!clv_stat_known(AT_FDCWD, "/", &own) ||
		!clv_stat_known(AT_FDCWD, path, &other) || clv_stat_is_same(&own, &other))
		return "";
	return ", in another root file system";
}

/* A lease with a whole device takes nothing from other leases. */
static bool is_to_end(const struct clv_lease *lease)
{
	return lease->agent->settings->ungated == CLV_WATCH_END &&
	       (lease->record.share.compute_ppm < CLV_PPM || lease->record.overcommit);
}

static const char *outcome_text(const struct clv_lease *lease, bool is_sure)
{
	if (!is_sure)
		return ", unless its gate shows it no device";
	return is_to_end(lease) ? ", and is ended" : "";
}

static void report(struct clv_lease *lease, pid_t pid, const struct found *found)
{
	uint32_t apis = (found->sure | found->unsure) & ~lease->observed.ungated;

	lease->observed.ungated |= apis;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(libraries); i++) {
		uint32_t bit = bit_of(i);

		if (!(apis & bit))
			continue;
		apis &= ~bit;
		clv_lease_emit(lease, CLV_EVENT_UNGATED_API,
			"process %d uses %s%s, %s: its share is not enforced there%s",
			(int)pid, libraries[i].api, root_text(pid),
			!libraries[i].gate      ? "for which there is no gate"
			: (found->unsure & bit) ? "not attached"
						: "without its gate",
			outcome_text(lease, found->sure & bit));
	}
}

/* The loop has waited for the process's mappings for CLV_MAPS_MS. */
static void leave_unread(
	const struct clv_ungated *ungated, struct clv_lease *lease, pid_t pid)
{
	if (lease->observed.unread_until_s == 0)
		clv_lease_emit(lease, CLV_EVENT_PROCESSES_UNCHECKED,
			"the mappings of process %d cannot be read in time: it is not "
			"checked for APIs without a gate while that lasts",
			(int)pid);
	lease->observed.unread_until_s = ungated->now_s + LAST_S;
}

static void note_slow(struct clv_ungated *ungated, struct clv_lease *lease, pid_t pid,
	uint64_t began_ns)
{
	uint64_t now_ns = clv_clock_ns();

	clv_scan_budget_note(&ungated->agent->scan_budget, lease->record.id,
		lease->record.tenant, now_ns - began_ns, now_ns);
	if (lease->observed.unread_until_s > 0)
		return; /* the event was emitted before */
	clv_lease_emit(lease, CLV_EVENT_PROCESSES_UNCHECKED,
		"the mappings of process %d take long to read: the processes of the "
		"lease are checked less often for APIs without a gate",
		(int)pid);
	lease->observed.unread_until_s = ungated->now_s;
}

static void check_process(struct clv_ungated *ungated, size_t at, struct clv_lease *lease)
{
	struct clv_descendant *process = &ungated->descendants.items[at];
	struct mapped mapped;
	struct found found;
	uint64_t began_ns = clv_clock_ns();
	bool is_watched;
	int r;

	if (lease->observed.unread_until_s > ungated->now_s)
		return;
	r = read_mapped(process->id.pid, &mapped);
	if (r == -EAGAIN)
		leave_unread(ungated, lease, process->id.pid);
	if (mapped.is_slow)
		note_slow(ungated, lease, process->id.pid, began_ns);
	if (r == -EAGAIN)
		return;
	found = find_ungated(ungated, process, &mapped);
	report(lease, process->id.pid, &found);
	if (found.sure && is_to_end(lease))
		clv_process_end(&process->id, clv_clock_ns(), &process->ended_ns);
	is_watched = process->interval_s == 0 || process->doubts || process->ended_ns;
	if (process->due_s > ungated->now_s && !is_watched)
		return;
	process->interval_s = is_watched                     ? FIRST_S
			      : process->interval_s < LAST_S ? 2 * process->interval_s
							     : LAST_S;
	process->due_s = ungated->now_s + process->interval_s;
	clv_descendants_add_children(&ungated->descendants, at);
}

/* Attached processes are checked at intervals only; others also when their size
 * changes. */
static bool is_due(const struct clv_ungated *ungated, struct clv_descendant *process,
	uint64_t vm_bytes)
{
	bool has_changed =
		vm_bytes != process->vm_bytes && process->attached_s != ungated->now_s;

	return has_changed || process->due_s <= ungated->now_s;
}

/* What a tick has used of its time. */
struct tick {
	unsigned int n_sizes, n_checks;
	uint64_t began_ns;
	bool is_shared;    /* each lease gets its part only */
	size_t first_late; /* the first process that its lease's part did not cover */
	bool has_late;
};

static bool is_spent(const struct tick *tick)
{
	return tick->n_checks >= CHECKS_PER_TICK || tick->n_sizes >= SIZES_PER_TICK ||
	       clv_clock_ns() - tick->began_ns >= TICK_NS;
}

/* Whether the lease's part of the tick is used up. */
static bool is_used_up(const struct clv_ungated *ungated, struct clv_lease *lease)
{
	struct clv_lease_observed *observed = &lease->observed;

	if (observed->looked_s != ungated->now_s) {
		observed->looked_s = ungated->now_s;
		observed->n_sizes = observed->n_checks = 0;
	}
	return observed->n_sizes == SIZES_OF_LEASE ||
	       observed->n_checks == CHECKS_OF_LEASE;
}

/* False: the process is gone, and another one has its index. */
static bool look_at(struct clv_ungated *ungated, struct tick *tick, size_t at)
{
	struct clv_descendants *descendants = &ungated->descendants;
	struct clv_descendant *process = &descendants->items[at];
	struct clv_lease *lease =
		clv_ledger_find_id(ungated->agent->ledger, process->lease);
	uint64_t vm_bytes;

	if (process->looked_s == ungated->now_s)
		return true;
	if (lease && tick->is_shared && is_used_up(ungated, lease)) {
		if (!tick->has_late)
			tick->first_late = at;
		tick->has_late = true;
		return true;
	}
	if (!lease || clv_process_size(&process->id, &vm_bytes) < 0) {
		clv_descendants_remove(descendants, at);
		return false;
	}
	process->looked_s = ungated->now_s;
	tick->n_sizes++;
	lease->observed.n_sizes++;
	if (!is_due(ungated, process, vm_bytes) ||
		!clv_scan_budget_allow(&ungated->agent->scan_budget, lease->record.id,
			lease->record.tenant, clv_clock_ns()))
		return true;
	process->vm_bytes = vm_bytes;
	check_process(ungated, at, lease);
	tick->n_checks++;
	lease->observed.n_checks++;
	return true;
}

/* Checks each process at most once, starting at `next`. */
static void go_round(struct clv_ungated *ungated, struct tick *tick)
{
	struct clv_descendants *descendants = &ungated->descendants;

	for (size_t left = descendants->n; left > 0 && !is_spent(tick); left--) {
		if (ungated->next >= descendants->n)
			ungated->next = 0;
		if (look_at(ungated, tick, ungated->next))
			ungated->next++;
	}
}

void clv_ungated_tick(struct clv_ungated *ungated)
{
	struct tick tick = {.is_shared = true};

	clv_descendants_tick(&ungated->descendants, ++ungated->now_s);
	tick.began_ns = clv_clock_ns();
	go_round(ungated, &tick);
	if (!tick.has_late || is_spent(&tick))
		return;
	tick.is_shared = false;
	ungated->next = tick.first_late;
	go_round(ungated, &tick);
}

struct clv_ungated *clv_ungated_new(struct clv_agent *agent)
{
	struct clv_ungated *ungated = calloc(1, sizeof(*ungated));

	if (ungated) {
		ungated->agent = agent;
		ungated->descendants.agent = agent;
	}
	return ungated;
}

struct clv_ungated *clv_ungated_free(struct clv_ungated *ungated)
{
	if (ungated)
		clv_descendants_done(&ungated->descendants);
	free(ungated);
	return NULL;
}
