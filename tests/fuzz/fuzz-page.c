/* SPDX-License-Identifier: Apache-2.0 */
/* Report pages as the arbiter reads them, on a virtual clock: two leases write any values
 * into their slots and ring at any time; a third behaves. Whatever the two write, the
 * third gets the device after at most a drain timeout and a slice of each of them, no
 * value overflows, and the arbiter does not ask again and again for a call in the past.
 * The arbiter's thread does not run here. */
#include "fuzz.h"

#include "arbiter/arbiter.h"
#include "arbiter/internal.h"
#include "base/clock.h"

#define N_LIARS 2
#define N_LEASES (N_LIARS + 1)
#define HONEST N_LIARS
#define N_SLOTS 3 /* of each misbehaving lease */
#define MAX_STEPS 400
#define DRAIN_TIMEOUT_NS (100 * CLV_NS_PER_MS)
#define MOST_SLICE_NS (8 * CLV_NS_PER_MS)

/* Two rounds of both misbehaving leases: one may hold the device when the honest lease
 * asks, and the honest lease's debt from its last turn may put them first once more. */
#define MOST_WAIT_NS (2 * N_LIARS * (DRAIN_TIMEOUT_NS + 2 * MOST_SLICE_NS))

struct world {
	struct clv_arbiter arbiter;
	struct clv_arbiter_lease *leases[N_LEASES];
	uint64_t now_ns;
	uint64_t asked_ns;  /* when the honest lease began to wait; 0: it does not wait */
	uint64_t enough_ns; /* when the honest lease ends its turn */
};

static const struct clv_share shares[N_LEASES] = {
	{.compute_ppm = 300000, .memory_bytes = 1, .class = CLV_CLASS_LATENCY},
	{.compute_ppm = 200000, .memory_bytes = 1, .class = CLV_CLASS_BATCH},
	{.compute_ppm = 500000, .memory_bytes = 1, .class = CLV_CLASS_NORMAL},
};

static void add_lease(struct world *world, size_t i)
{
	struct clv_policy_params params = {
		.weight_ppm = shares[i].compute_ppm, .class = shares[i].class};
	struct clv_arbiter_lease *lease = calloc(1, sizeof(*lease));
	uint32_t slot;

	CLV_MUST(lease);
	lease->share = shares[i];
	lease->drain_timeout_ns = DRAIN_TIMEOUT_NS;
	CLV_MUST(clv_pages_init(&lease->pages, 1, -1, NULL) >= 0);
	CLV_MUST(clv_policy_add(world->arbiter.policy, &params, world->now_ns,
			 &lease->policy_lease) == 0);
	lease->next = world->arbiter.leases;
	world->arbiter.leases = world->leases[i] = lease;
	for (uint32_t n = 0; n < (i == HONEST ? 1 : N_SLOTS); n++)
		CLV_MUST(clv_arbiter_open_slot(
				 &world->arbiter, lease, UINT32_MAX, &slot, NULL) == 0);
}

static void make(struct world *world)
{
	*world = (struct world){.now_ns = CLV_NS_PER_S};
	world->arbiter.config.drain_timeout_ns = DRAIN_TIMEOUT_NS;
	world->arbiter.epoll_fd = world->arbiter.kick_fd = -1;
	pthread_mutex_init(&world->arbiter.lock, NULL);
	world->arbiter.policy = clv_policy_new();
	CLV_MUST(world->arbiter.policy);
	for (size_t i = 0; i < N_LEASES; i++)
		add_lease(world, i);
}

static void drop(struct world *world)
{
	for (size_t i = 0; i < N_LEASES; i++) {
		clv_pages_done(&world->leases[i]->pages);
		free(world->leases[i]);
	}
	clv_policy_free(world->arbiter.policy);
	pthread_mutex_destroy(&world->arbiter.lock);
}

static struct clv_slot *slot_of(struct world *world, size_t lease, size_t slot)
{
	return &world->leases[lease]->pages.report->slots[slot];
}

static enum clv_phase phase_of(struct world *world, size_t lease)
{
	return CLV_PHASE_OF(atomic_load(&world->leases[lease]->pages.control->phase));
}

/* The honest lease: enters when its gate is open, leaves at its deadline or after a
 * millisecond, and asks again. */
static void behave(struct world *world)
{
	struct clv_slot *slot = slot_of(world, HONEST, 0);
	bool is_open = phase_of(world, HONEST) != CLV_PHASE_CLOSED;

	if (world->enough_ns > 0 && (world->now_ns >= world->enough_ns || !is_open)) {
		atomic_store(&slot->done, atomic_load(&slot->entered));
		world->enough_ns = 0;
		world->leases[HONEST]->rung = true;
	} else if (world->enough_ns == 0 && is_open) {
		atomic_store(&slot->waiting, 0);
		atomic_fetch_add(&slot->entered, 1);
		world->enough_ns = world->now_ns + CLV_NS_PER_MS;
		world->asked_ns = 0;
	} else if (world->enough_ns == 0 && world->asked_ns == 0) {
		atomic_store(&slot->waiting, 1);
		world->leases[HONEST]->rung = true;
		world->asked_ns = world->now_ns;
	}
}

static void scribble(struct world *world, struct clv_fuzz_input *input)
{
	uint64_t where = clv_fuzz_take(input, 1), what = clv_fuzz_take(input, 8);
	struct clv_slot *slot =
		slot_of(world, where % N_LIARS, where / N_LIARS % N_SLOTS);
	struct clv_slot_turn *turn =
		&world->leases[where % N_LIARS]
			 ->pages.report->turns[where / N_LIARS % N_SLOTS];

	switch (where / (N_LIARS * N_SLOTS) % 8) {
	case 0:
		atomic_store(&slot->entered, what);
		break;
	case 1:
		atomic_store(&slot->done, what);
		break;
	case 2:
		atomic_store(&slot->waiting, (uint32_t)what);
		break;
	case 3:
		atomic_store(&slot->busy_ns, what);
		break;
	case 4:
		atomic_store(&slot->entered, atomic_load(&slot->done) + what % 3);
		break;
	case 5:
		atomic_store(&turn->began_ns, what);
		atomic_store(&turn->ends_ns, what >> 32);
		break;
	case 6:
		atomic_store(&turn->ends_ns, world->now_ns + what % (8 * CLV_NS_PER_MS));
		break;
	default:
		memset(slot, (int)(what & 0xff), sizeof(*slot));
		break;
	}
}

static void reopen(struct world *world, uint64_t where)
{
	struct clv_arbiter_lease *lease = world->leases[where % N_LIARS];
	uint32_t slot = where / N_LIARS % N_SLOTS, got;

	clv_arbiter_close_slot_at(&world->arbiter, lease, slot, world->now_ns);
	if (where & 0x80)
		return;
	CLV_MUST(clv_arbiter_open_slot(&world->arbiter, lease, slot, &got, NULL) == 0);
	CLV_MUST(got < CLV_SLOTS);
}

static void step(struct world *world, uint64_t at_most_ns)
{
	uint64_t next_ns = clv_turns_step(&world->arbiter, world->now_ns);
	struct clv_arbiter_lease *holder = world->arbiter.holder;
	size_t n_open = 0;

	for (size_t i = 0; i < N_LEASES; i++)
		n_open += phase_of(world, i) != CLV_PHASE_CLOSED;
	CLV_MUST(n_open <= 1);
	CLV_MUST(!holder || world->arbiter.closing || n_open == 1);
	behave(world);
	if (world->leases[HONEST]->rung)
		return; /* immediately */
	if (world->enough_ns > 0 && next_ns > world->enough_ns)
		next_ns = world->enough_ns;
	if (next_ns > world->now_ns + at_most_ns)
		next_ns = world->now_ns + at_most_ns;
	if (next_ns > world->now_ns)
		world->now_ns = next_ns;
	else
		world->now_ns++;
	CLV_MUST(world->asked_ns == 0 || world->now_ns - world->asked_ns <= MOST_WAIT_NS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	struct clv_fuzz_input input = {data, n_bytes};
	struct world world;

	make(&world);
	behave(&world);
	for (int i = 0; i < MAX_STEPS && input.n_left > 0; i++) {
		uint64_t what = clv_fuzz_take(&input, 1);

		switch (what % 4) {
		case 0:
			scribble(&world, &input);
			break;
		case 1:
			world.leases[what / 4 % N_LIARS]->rung = true;
			break;
		case 2:
			if (what & 0x40) {
				reopen(&world, clv_fuzz_take(&input, 1));
				break;
			}
			step(&world, (what >> 2) * 50 * CLV_NS_PER_US + 1);
			break;
		default:
			step(&world, UINT64_MAX / 4 - world.now_ns);
			break;
		}
	}
	/* From here on no slot is written any more. */
	for (int i = 0; i < 100; i++)
		step(&world, 20 * CLV_NS_PER_MS);
	drop(&world);
	return 0;
}
