/* SPDX-License-Identifier: Apache-2.0 */
/* Placements that are tried: what is answered is what then happens, and nothing is
 * changed. */
#include "rows.h"

#include "agent/ledger/ledger.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/lifecycle/trial.h"
#include "agent/placing/demand.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE_BYTES (8 * GIB)
#define MOST 8u

/* Bob's leases are "NAME=PERCENT@DEVICE", the requests "PERCENT", "PERCENT/NAME" in the
 * place of that lease, "PERCENT!NAME" after its end. */
struct row {
	const char *name;
	unsigned n_devices;
	const char *leases, *gone, *requests;
	const char *expected; /* devices; "-": no room; "*": after the end */
};

static const struct row rows_of_trials[] = {
	{"one that fits", 1, "", "", "50", "gpu0"},
	{"one that does not", 1, "a=60@0", "", "50", "-"},
	{"each beside those before it", 1, "", "", "50 30 30 20", "gpu0 gpu0 - gpu0"},
	{"on two devices", 2, "", "", "60 60 60", "gpu0 gpu1 -"},
	{"where another one has gone", 1, "a=60@0", "a", "50", "gpu0"},
	{"beside the one in whose place it comes", 1, "a=40@0", "", "50/a", "gpu0"},
	{"which then is gone", 1, "a=40@0", "", "50/a 50", "gpu0 gpu0"},
	{"after its end, as there is no room", 1, "a=60@0", "", "70/a 40", "gpu0* -"},
	{"on another device, as there is room", 2, "a=60@0", "", "70/a 90", "gpu1 gpu0"},
	{"after its end, as it was asked", 2, "a=60@0 b=60@1", "", "70!a", "gpu0*"},
	{"not even then", 1, "a=30@0 b=30@0", "", "80/a 60", "- gpu0"},
	{"one that is not there", 1, "", "b", "50/a", "gpu0"},
};

static struct clv_lease *find(const char *name)
{
	struct clv_caller caller = world_caller(BOB);

	return name ? clv_ledger_find(world.agent.ledger, name, &caller, NULL) : NULL;
}

static void make_leases(const char *text)
{
	char name[16];
	unsigned percent, at;
	int n;

	for (; sscanf(text, " %15[^=]=%u@%u%n", name, &percent, &at, &n) == 3; text += n)
		world_lease(clv_devices_at(world.agent.devices, at),
			&(struct world_lease){.name = name,
				.uid = BOB,
				.percent = percent,
				.memory_bytes = GIB / 10});
}

static size_t read_requests(
	const char *text, struct clv_lease_request *requests, struct clv_trial *ret)
{
	size_t n = 0;

	while (*text) {
		char *end;

		requests[n] = world_request((uint32_t)strtoul(text, &end, 10));
		requests[n].share.memory_bytes = GIB / 10;
		requests[n].has_memory = requests[n].keep = true;
		ret[n] = (struct clv_trial){.request = &requests[n]};
		if (*end == '/' || *end == '!') {
			char name[2] = {end[1], '\0'};

			ret[n].ends_first = *end == '!';
			ret[n].instead_of = find(name);
			end += 2;
		}
		n++;
		text = end + strspn(end, " ");
	}
	return n;
}

static void test_row(void **state)
{
	const struct row *row = *state;
	struct clv_lease_request requests[MOST];
	struct clv_trial trials[MOST];
	struct clv_caller caller = world_caller(BOB);
	struct clv_lease *gone;
	char told[128] = "";
	size_t n;

	world.agent.demand = clv_demand_new();
	for (unsigned i = 0; i < row->n_devices; i++)
		world_device(DEVICE_BYTES);
	make_leases(row->leases);
	gone = find(row->gone);
	n = read_requests(row->requests, requests, trials);
	clv_trial_run(&world.agent, &caller, &gone, gone ? 1 : 0, trials, n);
	for (size_t i = 0; i < n; i++) {
		if (trials[i].r < 0)
			assert_int_equal(trials[i].r, -EBUSY);
		snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s%s%s",
			i ? " " : "", trials[i].r < 0 ? "-" : trials[i].device,
			trials[i].r >= 0 && trials[i].is_after_end ? "*" : "");
	}
	assert_string_equal(told, row->expected);
	world_check();
	world.agent.demand = clv_demand_free(world.agent.demand);
}

/* The same requests, made one after the other, go where the trial says. */
static void try_and_create(void)
{
	struct clv_caller caller = world_caller(BOB);

	for (unsigned seed = 1; seed < 40; seed++) {
		struct clv_lease_request requests[MOST];
		struct clv_trial trials[MOST];

		srand(seed);
		for (size_t i = 0; i < MOST; i++) {
			requests[i] = world_request(10u * (1u + (unsigned)rand() % 7));
			requests[i].share.memory_bytes =
				GIB * (1u + (unsigned)rand() % 3);
			requests[i].has_memory = requests[i].keep = true;
			trials[i] = (struct clv_trial){.request = &requests[i]};
		}
		clv_trial_run(&world.agent, &caller, NULL, 0, trials, MOST);
		for (size_t i = 0; i < MOST; i++) {
			struct clv_lease *lease;
			int r = world_create(&requests[i], BOB, 0, &lease);

			assert_int_equal(r < 0, trials[i].r < 0);
			if (r < 0)
				continue;
			assert_string_equal(lease->device->info.name, trials[i].device);
			assert_int_equal(lease->record.share.memory_bytes,
				trials[i].share.memory_bytes);
		}
		world_check();
		while (!TAILQ_EMPTY(clv_ledger_leases(world.agent.ledger)))
			clv_lifecycle_end(world.agent.lifecycle,
				TAILQ_FIRST(clv_ledger_leases(world.agent.ledger)),
				"test");
	}
}

static void test_random(void **state)
{
	for (unsigned i = 0; i < 3; i++)
		world_device((i + 1) * 4 * GIB);
	world_begin_lifecycle();
	try_and_create();
}

/* Neither events, nor gates, nor rows of the state file. */
static void test_leaves_nothing(void **state)
{
	struct clv_lease_request request = world_request(50);
	struct clv_trial trial = {.request = &request};
	struct clv_caller caller = world_caller(BOB);

	world_device(DEVICE_BYTES);
	world_begin_lifecycle();
	clv_trial_run(&world.agent, &caller, NULL, 0, &trial, 1);
	assert_int_equal(trial.r, 0);
	assert_int_equal(world_n_events(CLV_EVENT_LEASE_CREATED), 0);
	assert_int_equal(world_n_events(CLV_EVENT_LEASE_ENDED), 0);
	assert_int_equal(world_n_stored(), 0);
	assert_true(TAILQ_EMPTY(clv_ledger_leases(world.agent.ledger)));
	world_check();
}

int main(void)
{
	static struct rows rows;

	ROWS_ADD(&rows, rows_of_trials, test_row);
	ROWS_ONE(&rows, test_random);
	ROWS_ONE(&rows, test_leaves_nothing);
	return rows_run(&rows);
}
