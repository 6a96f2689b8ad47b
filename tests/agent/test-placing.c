/* SPDX-License-Identifier: Apache-2.0 */
/* Where a request is placed, or why it is not: nodes and requests as short texts. */
#include "rows.h"

#include "agent/device/condition.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/standing.h"
#include "agent/placing/demand.h"
#include "agent/placing/placing.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/error.h"
#include "core/device/reading.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEVICE_BYTES (8 * GIB)

/* Nodes: devices are divided by ";".  A word that begins with "/" is a partition of the
 * device before it, of an eighth of its memory; "/CPX@3:1" is on I/O die 1.  The others:
 *   used=60   a lease has 60 % of it                  waits  a lease is queued for it
 *   cordoned changing absent divided lost degraded    the state of the device
 *   numbered  its number is read again                locked another agent has it
 *   amd cpu   other than NVIDIA's                     numa=1   near=1  of the partition
 *   big       twice the memory                        set    25 % are set aside: "train"
 *   taken     and are in a lease           machine   a virtual machine has it
 *   unknown   its memory is not known
 */
struct row {
	const char *name;
	const char *node;
	const char *request;  /* "50%", "device=gpu0", "wait", ... */
	const char *expected; /* devices, or a part of the error message */
	int code;
	bool must_wait;
};

/* clang-format off */
static const struct row rows_of_one[] = {
	{"the only one", "", "50%", "gpu0"},
	{"the one that has room", "used=60;", "50%", "gpu1"},
	{"beside another, so that a device stays whole", "; used=50", "50%", "gpu1"},
	{"no room now", "used=60", "50%", "does not fit on gpu0 now", -EBUSY},
	{"no room now, and it may wait", "used=60", "50% wait", "gpu0", .must_wait = true},
	{"it waits where fewest wait", "used=60 waits; used=60", "50% wait", "gpu1",
		.must_wait = true},
	{"it goes behind who waits, though it would fit", "used=60 waits", "10%",
		"1 lease waits already for gpu0", -EBUSY},
	{"one that overcommits passes", "used=60 waits", "50% overcommit", "gpu0"},
	{"and goes where least is promised", "used=90; used=60; used=80", "50% overcommit",
		"gpu1"},
	{"larger than any device", "", "memory=9", "is more than the device has", -ERANGE},
	{"larger than one device", "; big", "memory=9", "gpu1"},
	{"no device at all", NULL, "50%", "there is no device to share", -ENODEV},

	{"by name", ";", "50% device=gpu1", "gpu1"},
	{"by UUID", ";", "50% device=GPU-1", "gpu1"},
	{"by UUID in small letters", ";", "50% device=gpu-1", "gpu1"},
	{"by a name that is not there", "", "50% device=gpu7", "there is no device gpu7", -ENODEV},
	{"by name, full, though another has room", "used=60;", "50% device=gpu0",
		"does not fit on gpu0", -EBUSY},
	{"of a list", ";;", "50% devices=,gpu2,", "gpu2"},
	{"of a list by UUID", ";;", "50% devices=,GPU-1,", "gpu1"},
	{"of a list by UUID in small letters", ";;", "50% devices=,gpu-1,", "gpu1"},
	{"of a list that begins alike", ";;", "50% devices=,gpu-12,gpu10,",
		"there is no device", -ENODEV},

	{"not a cordoned one", "cordoned;", "50%", "gpu1"},
	{"a cordoned one by name", "cordoned;", "50% device=gpu0", "takes no new lease", -EBUSY},
	{"all are cordoned", "cordoned", "50%", "takes no new lease", -EBUSY},
	{"a cordoned one by UUID", "cordoned;", "50% device=gpu-0", "takes no new lease", -EBUSY},
	{"not one that is about to be divided", "changing;", "50%", "gpu1"},
	{"all are about to be divided", "changing", "50%", "is being repartitioned", -EBUSY},
	{"not one whose number is being read", "numbered;", "50%", "gpu1"},
	{"by name, its number is being read", "numbered;", "50% device=gpu0",
		"is being repartitioned", -EBUSY},
	{"not one that the drivers do not show", "absent;", "50%", "gpu1"},
	{"not a divided one", "divided;", "50%", "gpu1"},
	{"a divided one by name", "divided;", "50% device=gpu0",
		"gpu0 is divided, and has no partition", -EBUSY},
	{"not a degraded one", "degraded;", "50%", "gpu1"},
	{"a degraded one by name", "degraded;", "50% device=gpu0", "gpu0"},
	{"all are degraded", "degraded", "50%", "request it by name, with --device", -EBUSY},
	{"a lost one not even by name", "lost;", "50% device=gpu0", "gpu0 is lost", -EBUSY},
	{"not another agent's", "locked;", "50%", "gpu1"},
	{"all are another agent's", "locked", "50%", "another agent has it", -EADDRINUSE},

	{"a partition by profile", "/1g.10gb@0 /2g.20gb@1", "profile=2g.20gb 100%",
		"gpu0/2g.20gb@1"},
	{"a partition by its device's name", "/1g.10gb@0; /1g.10gb@0", "device=gpu1 100%",
		"gpu1/1g.10gb@0"},
	{"a partition by its own name", "/1g.10gb@0 /1g.10gb@1", "device=gpu0/1g.10gb@1 100%",
		"gpu0/1g.10gb@1"},
	{"no such partition", "/1g.10gb@0", "profile=7g.80gb 100%",
		"there is no partition 7g.80gb", -ENODEV},
	{"not a partition of a cordoned device", "/1g.10gb@0 cordoned; /1g.10gb@0",
		"profile=1g.10gb 100%", "gpu1/1g.10gb@0"},
	{"not a partition of a lost device", "/1g.10gb@0 lost; /1g.10gb@0",
		"profile=1g.10gb 100%", "gpu1/1g.10gb@0"},
	{"not a partition of a device that is about to change", "/1g.10gb@0 changing; /1g.10gb@0",
		"profile=1g.10gb 100%", "gpu1/1g.10gb@0"},

	{"not where a virtual machine is", "machine;", "50%", "gpu1"},
	{"not there by name either", "machine", "50% device=gpu0", "virtual machine m has gpu0",
		-EBUSY},
	{"not even one that overcommits", "machine", "50% overcommit", "virtual machine m has gpu0",
		-EBUSY},
	{"no machine where a lease is", "used=10;", "100% vm", "gpu1"},
	{"only a machine where the memory is not known", "unknown", "50%", "is not known", -ENODEV},
	{"memory that is not known, by name", "unknown;", "50% device=gpu0", "cleave assign",
		-ENODEV},
	{"a machine there", "unknown", "100% vm", "gpu0"},

	{"a limit in space on AMD", "cpu; amd", "50% sm", "gpu1"},
	{"a limit in space where nothing holds it", "cpu", "50% sm", "enforces sm", -EINVAL},
	{"host memory on NVIDIA", "amd;", "50% spill", "gpu1"},
	{"host memory elsewhere", "amd", "50% spill", "cannot spill to the host", -EINVAL},

	{"what is set aside is not given away", "set used=60", "20%",
		"or take a standing share there, with --in gpu0/train", -EBUSY},
	{"what is set aside by name", "set used=60", "in=train", "gpu0 as gpu0/train"},
	{"by its whole name", "set; set", "in=gpu1/train", "gpu1 as gpu1/train"},
	{"the first of a name that is free", "set taken; set", "in=train", "gpu1 as gpu1/train"},
	{"all of a name are taken", "set taken", "in=train", "is taken by another lease", -EBUSY},
	{"taken, and it may wait", "set taken", "in=train wait", "gpu0 as gpu0/train",
		.must_wait = true},
	{"no share of that name", "set", "in=none", "there is no standing share none", -ENODEV},
	{"set aside on a cordoned device", "set cordoned", "in=train", "takes no new lease",
		-EBUSY},
	{"set aside on what is not there", "set absent", "in=train", "is not present now", -ENODEV},
	{"set aside on what has no number", "set numbered", "in=train", "being repartitioned",
		-EBUSY},
	{"set aside on another agent's", "set locked", "in=train", "another agent has it",
		-EADDRINUSE},
};

static const struct row rows_of_several[] = {
	{"two", ";", "count=2", "gpu0 gpu1"},
	{"two that are free", "used=10;;", "count=2", "gpu1 gpu2"},
	{"two that are near each other", "numa=0; numa=1; numa=1", "count=2", "gpu1 gpu2"},
	{"two that are alike", "big;;", "count=2", "gpu1 gpu2"},
	{"more than are free", "used=10;", "count=2", "2 alike are wanted and 1 are free now",
		-EBUSY},
	{"more than are free, and it may wait", "used=10;", "count=2 wait", "gpu0 gpu1",
		.must_wait = true},
	{"more than there are", ";", "count=3", "3 alike are wanted and there are 2", -ERANGE},
	{"more than are alike", "big;", "count=2", "2 alike are wanted and there are 1", -ERANGE},
	{"not a cordoned one", "cordoned;;", "count=2", "gpu1 gpu2"},
	{"of a list", ";;;", "count=2 devices=,gpu1,gpu3,", "gpu1 gpu3"},
	{"MIG instances are of no use together", "/1g.10gb@0 /1g.10gb@1",
		"count=2 profile=1g.10gb", "2 of these in one lease are of no use", -EINVAL},
	{"accelerators of one device", "amd /CPX@0; amd /CPX@0 /CPX@1",
		"count=2 profile=CPX", "gpu1/CPX@0 gpu1/CPX@1"},
	{"accelerators of two devices, where one has too few", "amd /CPX@0; amd /CPX@0",
		"count=2 profile=CPX", "gpu0/CPX@0 gpu1/CPX@0"},
	{"of one device alone", "amd /CPX@0; amd /CPX@0", "count=2 profile=CPX same",
		"2 alike are wanted on one device and there are 1", -ERANGE},
	{"of one I/O die", "amd /CPX@1:0 /CPX@2:1 /CPX@3:1", "count=2 profile=CPX",
		"gpu0/CPX@2 gpu0/CPX@3"},
	{"of one I/O die of another device", "amd /CPX@1:0 /CPX@2:1; amd /CPX@4:2 /CPX@5:2",
		"count=2 profile=CPX", "gpu1/CPX@4 gpu1/CPX@5"},
	{"of two I/O dies and not of four",
		"amd /CPX@0:0 /CPX@2:1 /CPX@4:2 /CPX@5:2 /CPX@6:3 /CPX@7:3",
		"count=4 profile=CPX", "gpu0/CPX@4 gpu0/CPX@5 gpu0/CPX@6 gpu0/CPX@7"},
	{"of several I/O dies, where none has enough", "amd /CPX@1:0 /CPX@2:1",
		"count=2 profile=CPX same", "gpu0/CPX@1 gpu0/CPX@2"},
	{"of one device rather than of one I/O die of each of two",
		"amd /CPX@0:0 /CPX@1:0; amd /CPX@1:0 /CPX@3:1 /CPX@5:2",
		"count=3 profile=CPX", "gpu1/CPX@1 gpu1/CPX@3 gpu1/CPX@5"},
	{"of two devices, and of one I/O die as far as possible",
		"amd /CPX@1:0 /CPX@3:1; amd /CPX@4:2 /CPX@5:2",
		"count=3 profile=CPX", "gpu1/CPX@4 gpu1/CPX@5 gpu0/CPX@1"},
	{"NUMA nodes go before I/O dies", "amd /CPX@1:0 near=0 /CPX@2:1 near=1 /CPX@3:1 near=0",
		"count=2 profile=CPX", "gpu0/CPX@1 gpu0/CPX@3"},
	{"another agent's", "locked;", "count=2", "another agent has it", -EADDRINUSE},
};
/* clang-format on */

/* --- Nodes --- */

static void set_health(struct clv_agent_device *device, enum clv_sign sign)
{
	clv_condition_set_missing(&world.agent, device, sign);
}

static void use(struct clv_agent_device *device, uint32_t percent, bool is_queued)
{
	world_lease(device, &(struct world_lease){"used", BOB, percent,
				    device->info.memory_bytes / 100 * percent,
				    .is_queued = is_queued});
}

static void set_aside(const struct clv_agent_device *device)
{
	struct clv_standing_share share = {
		.share = {.compute_ppm = 25 * PERCENT, .memory_bytes = DEVICE_BYTES / 4}};
	struct clv_error err = {0};

	snprintf(share.name, sizeof(share.name), "%s/train", device->info.name);
	snprintf(share.device_uuid, sizeof(share.device_uuid), "%s", device->info.uuid);
	clv_store_put_standing(world.agent.state->store, &share, NULL);
	clv_standing_free(world.agent.standing);
	assert_int_equal(clv_standing_new(&world.agent, &world.agent.standing, &err), 0);
}

static void take_aside(struct clv_agent_device *device)
{
	char name[40];

	snprintf(name, sizeof(name), "%.20s/train", device->info.name);
	world_lease(device, &(struct world_lease){"taken", BOB, 25, .standing = name});
}

static void take_by_machine(struct clv_agent_device *device)
{
	struct clv_lease *lease = world_lease(
		device, &(struct world_lease){"m", BOB, 100, .is_kept = true});

	snprintf(lease->record.vm, sizeof(lease->record.vm), "vm:1");
	snprintf(lease->record.command, sizeof(lease->record.command), "m");
}

static void add_part(struct clv_agent_device *device, const char *word)
{
	struct clv_agent_device *part;
	char profile[32];
	unsigned int start, die;
	int n = sscanf(word, "/%31[^@]@%u:%u", profile, &start, &die);

	assert_in_range(n, 2, 3);
	part = world_part(device, profile, start, device->info.memory_bytes / 8);
	part->io_die = n == 3 ? (int32_t)die : -1;
	if (strcmp(device->info.backend, "amd") == 0)
		snprintf(part->info.scheme, sizeof(part->info.scheme), "xcp");
}

static struct clv_agent_device *last_part(void)
{
	return clv_devices_at(
		world.agent.devices, clv_devices_count(world.agent.devices) - 1);
}

static void set_flag(struct clv_agent_device *device, const char *word)
{
	const struct {
		const char *word;
		bool *flag;
	} flags[] = {{"cordoned", &device->is_cordoned},
		{"changing", &device->is_changing}, {"divided", &device->is_divided}};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(flags); i++) {
		if (strcmp(word, flags[i].word) == 0)
			*flags[i].flag = true;
	}
	if (strcmp(word, "absent") == 0)
		device->is_present = false;
	if (strcmp(word, "lost") == 0)
		set_health(device, CLV_SIGN_LOST);
	if (strcmp(word, "degraded") == 0)
		set_health(device, CLV_SIGN_ROWS_FAILED);
	if (strcmp(word, "numbered") == 0)
		snprintf(device->info.visible, sizeof(device->info.visible), "0");
	if (strcmp(word, "locked") == 0)
		world.locked_uuid = device->info.uuid;
}

static void set_word(struct clv_agent_device *device, const char *word)
{
	unsigned int number;

	if (word[0] == '/')
		add_part(device, word);
	else if (sscanf(word, "used=%u", &number) == 1)
		use(device, number, false);
	else if (strcmp(word, "waits") == 0)
		use(device, 50, true);
	else if (sscanf(word, "numa=%u", &number) == 1)
		device->numa_node = (int32_t)number;
	else if (sscanf(word, "near=%u", &number) == 1)
		last_part()->numa_node = (int32_t)number;
	else if (strcmp(word, "amd") == 0)
		device->info.backend = "amd";
	else if (strcmp(word, "cpu") == 0)
		device->info.backend = "opencl";
	else if (strcmp(word, "big") == 0)
		device->info.memory_bytes *= 2;
	else if (strcmp(word, "set") == 0)
		set_aside(device);
	else if (strcmp(word, "taken") == 0)
		take_aside(device);
	else if (strcmp(word, "machine") == 0)
		take_by_machine(device);
	else if (strcmp(word, "unknown") == 0)
		device->info.memory_bytes = 0;
	else
		set_flag(device, word);
}

static void make_node(const char *text)
{
	char copy[256], *rest = copy, *part;

	if (!text)
		return;
	snprintf(copy, sizeof(copy), "%s", text);
	while ((part = strsep(&rest, ";"))) {
		struct clv_agent_device *device = world_device(DEVICE_BYTES);
		char *word;

		while ((word = strsep(&part, " "))) {
			if (word[0] != '\0')
				set_word(device, word);
		}
	}
}

/* --- Requests --- */

static void set_request(struct clv_lease_request *request, const char *word)
{
	unsigned int number;

	if (sscanf(word, "device=%95s", request->device) == 1 ||
		sscanf(word, "devices=%4095s", request->devices) == 1 ||
		sscanf(word, "profile=%39s", request->profile) == 1 ||
		sscanf(word, "in=%135s", request->in) == 1)
		return;
	if (sscanf(word, "memory=%u", &number) == 1)
		request->share.memory_bytes = number * GIB;
	else if (sscanf(word, "count=%u", &request->count) == 1)
		request->share.compute_ppm = 100 * PERCENT;
	else if (strcmp(word, "wait") == 0)
		request->wait = true;
	else if (strcmp(word, "overcommit") == 0)
		request->overcommit = true;
	else if (strcmp(word, "same") == 0)
		request->is_same_device = true;
	else if (strcmp(word, "vm") == 0)
		snprintf(request->vm, sizeof(request->vm), "vm:2");
	else if (strcmp(word, "sm") == 0)
		request->sm_ppm = 50 * PERCENT;
	else if (strcmp(word, "spill") == 0)
		request->share.spill_bytes = GIB;
	else if (sscanf(word, "%u%%", &number) == 1)
		request->share.compute_ppm = number * PERCENT;
	else
		fail_msg("no such word: %s", word);
}

static struct clv_lease_request read_request(const char *text)
{
	struct clv_lease_request request = {.share.class = CLV_CLASS_NORMAL};
	char copy[128], *rest = copy, *word;

	snprintf(copy, sizeof(copy), "%s", text);
	while ((word = strsep(&rest, " ")))
		set_request(&request, word);
	return request;
}

static void to_text(const struct clv_placing *placing, char *ret, size_t ret_bytes)
{
	int used = snprintf(ret, ret_bytes, "%s", placing->device->info.name);

	for (size_t i = 0; i < placing->n_others; i++)
		used += snprintf(ret + used, ret_bytes - (size_t)used, " %s",
			placing->others[i]->info.name);
	if (placing->standing[0] != '\0')
		snprintf(ret + used, ret_bytes - (size_t)used, " as %s",
			placing->standing);
}

static void check_claims(const struct clv_placing *placing)
{
	assert_true(clv_devices_root(placing->device)->lock_fd >= 0);
	for (size_t i = 0; i < placing->n_others; i++)
		assert_true(clv_devices_root(placing->others[i])->lock_fd >= 0);
}

/* A request for memory only gets the same part of the compute time. */
static uint32_t share_of_memory(
	const struct clv_lease_request *request, const struct clv_placing *placing)
{
	return (uint32_t)(request->share.memory_bytes * 100 * PERCENT /
			  placing->device->info.memory_bytes);
}

static void test_place(void **state)
{
	const struct row *row = *state;
	struct clv_lease_request request = read_request(row->request);
	struct clv_placing placing;
	struct clv_error err = {0};
	char text[256];

	make_node(row->node);
	world.agent.demand = clv_demand_new();
	assert_int_equal(
		clv_placing_choose(&world.agent, &request, &placing, &err), row->code);
	world.agent.demand = clv_demand_free(world.agent.demand);
	if (row->code < 0) {
		assert_int_equal(err.code, row->code);
		if (!strstr(err.msg, row->expected))
			fail_msg("'%s' does not say '%s'", err.msg, row->expected);
		return;
	}
	to_text(&placing, text, sizeof(text));
	assert_string_equal(text, row->expected);
	assert_int_equal(placing.must_wait, row->must_wait);
	check_claims(&placing);
	assert_int_equal(placing.share.compute_ppm,
		request.in[0] != '\0'            ? 25 * PERCENT
		: request.share.memory_bytes > 0 ? share_of_memory(&request, &placing)
						 : request.share.compute_ppm);
}

/* --- Whether to wait for numbers --- */

static const struct row awaited[] = {
	{"a device whose number is being read", "numbered", "50%", "yes"},
	{"another one is asked for", "numbered;", "50% device=gpu1", "no"},
	{"no numbers are read", "", "50%", "no"},
	{"one that it could not have anyway", "numbered cordoned", "50%", "no"},
};

static void test_awaits_numbers(void **state)
{
	const struct row *row = *state;
	struct clv_lease_request request = read_request(row->request);

	make_node(row->node);
	assert_int_equal(clv_placing_awaits_numbers(&world.agent, &request),
		strcmp(row->expected, "yes") == 0);
}

int main(void)
{
	static struct rows rows;

	ROWS_ADD(&rows, rows_of_one, test_place);
	ROWS_ADD(&rows, rows_of_several, test_place);
	ROWS_ADD(&rows, awaited, test_awaits_numbers);
	return rows_run(&rows);
}
