/* SPDX-License-Identifier: Apache-2.0 */
/* A discrete event simulation: one program holds the device at a time, and time jumps
 * from event to event, which are the end of a burst, the end of a turn and the return of
 * a program.  It does what arbiter/turns.c does then, without pages and threads. */
#include "simulate/predict/predict.h"

#include "arbiter/policy/policy.h"
#include "base/clock.h"
#include "base/units.h"

#include <errno.h>
#include <stdbool.h>

#define PLAYED_NS (30 * CLV_NS_PER_S)
#define MIN_TURN_NS (500 * CLV_NS_PER_US)
/* From the last command of one program to the first of the next, measured on PoCL. */
#define HAND_OVER_NS (150 * CLV_NS_PER_US)
/* The work in flight that the arbiter allows (arbiter/publish.c). */
#define GRANTED_WINDOW_NS (8 * CLV_NS_PER_MS)
#define SHARED_WINDOW_NS (4 * CLV_NS_PER_MS)
#define PROMPT_WINDOW_NS (300 * CLV_NS_PER_US)
#define FREQUENT_NS (50 * CLV_NS_PER_MS)
#define NEVER UINT64_MAX

struct player {
	struct clv_predict_program *program;
	uint32_t lease;
	uint64_t burst_ns, pause_ns; /* means; a burst of NEVER has no end */
	uint64_t left_ns;            /* rest of the current burst */
	uint64_t wakes_ns;           /* NEVER: it is awake */
	uint64_t held_ns;
};

struct game {
	struct player players[CLV_PREDICT_MAX];
	size_t n;
	struct clv_policy *policy;
	struct player *last; /* the last holder of the device */
	uint64_t now_ns;
	uint64_t random_state;
};

/* Draws from half to one and a half of the mean, so that no two programs run in
 * lockstep. */
static uint64_t jitter(struct game *game, uint64_t mean_ns)
{
	uint64_t x = game->random_state += UINT64_C(0x9e3779b97f4a7c15);

	if (mean_ns == NEVER)
		return NEVER;
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return mean_ns / 2 + (mean_ns ? (x ^ x >> 31) % mean_ns : 0);
}

static struct player *player_of(struct game *game, uint32_t lease)
{
	struct player *player = game->players;

	while (player->lease != lease)
		player++;
	return player;
}

static bool is_awake(const struct player *player)
{
	return player->wakes_ns == NEVER;
}

static bool others_awake(const struct game *game, const struct player *player)
{
	for (size_t i = 0; i < game->n; i++) {
		if (&game->players[i] != player && is_awake(&game->players[i]))
			return true;
	}
	return false;
}

static struct player *next_to_wake(struct game *game)
{
	struct player *next = NULL;

	for (size_t i = 0; i < game->n; i++) {
		struct player *player = &game->players[i];

		if (!is_awake(player) && (!next || player->wakes_ns < next->wakes_ns))
			next = player;
	}
	return next;
}

static void wake(struct game *game, struct player *player)
{
	clv_policy_wake(game->policy, player->lease, game->now_ns);
	player->wakes_ns = NEVER;
	player->left_ns = jitter(game, player->burst_ns);
}

static void wake_due(struct game *game)
{
	struct player *player;

	while ((player = next_to_wake(game)) && player->wakes_ns <= game->now_ns)
		wake(game, player);
}

static void work_until(struct game *game, struct player *player, uint64_t until_ns)
{
	uint64_t took_ns = until_ns - game->now_ns;

	game->now_ns = until_ns;
	player->held_ns += took_ns;
	if (player->left_ns != NEVER)
		player->left_ns -= took_ns < player->left_ns ? took_ns : player->left_ns;
	clv_policy_charge(game->policy, player->lease, took_ns, until_ns);
	if (player->left_ns > 0)
		return;
	clv_policy_sleep(game->policy, player->lease, until_ns);
	player->wakes_ns = until_ns + jitter(game, player->pause_ns);
}

static bool is_frequent(const struct game *game, const struct player *player)
{
	return player->burst_ns != NEVER &&
	       player->burst_ns + player->pause_ns < FREQUENT_NS &&
	       clv_policy_lag_ns(game->policy, player->lease) >= 0;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The part of the burst of the holder that is in flight. */
static uint64_t window_of(
	const struct game *game, const struct player *holder, bool is_granted)
{
	uint64_t command_ns = holder->program->command_ns;
	uint64_t window_ns = is_granted ? GRANTED_WINDOW_NS : SHARED_WINDOW_NS;

	for (size_t i = 0; i < game->n; i++) {
		const struct player *other = &game->players[i];

		if (other == holder)
			continue;
		if (other->program->class == CLV_CLASS_LATENCY)
			return most(command_ns, PROMPT_WINDOW_NS);
		if (is_frequent(game, other))
			window_ns =
				least(window_ns, most(2 * command_ns, PROMPT_WINDOW_NS));
	}
	return most(command_ns, window_ns);
}

/* Closes the gate of the holder: work in flight completes, and until then the holder
 * keeps the device.  under_way_ns: the most that is in flight; on average one command of
 * it is half done. */
static void drain(struct game *game, struct player *holder, uint64_t under_way_ns)
{
	uint64_t command_ns = holder->program->command_ns;

	under_way_ns -= least(under_way_ns, command_ns) / 2;
	if (holder->left_ns != NEVER)
		under_way_ns = least(under_way_ns, holder->left_ns);
	if (is_awake(holder))
		work_until(game, holder, game->now_ns + under_way_ns);
}

struct turn {
	struct player *holder;
	uint64_t began_ns, ends_ns; /* NEVER: no other program wants the device */
	bool is_over;
};

/* Asks the policy which program continues. */
static void decide(struct game *game, struct turn *turn, uint64_t under_way_ns)
{
	struct clv_policy_decision next = clv_policy_pick(game->policy, game->now_ns);

	if (next.lease == turn->holder->lease) {
		turn->ends_ns =
			others_awake(game, turn->holder) || turn->holder->program->cap_ppm
				? game->now_ns + next.slice_ns
				: NEVER;
		return;
	}
	drain(game, turn->holder, under_way_ns);
	turn->is_over = true;
}

static void handle_wakeup(struct game *game, struct turn *turn, struct player *waker)
{
	uint64_t window_ns = window_of(game, turn->holder, turn->ends_ns != NEVER);
	uint64_t soonest_ns = turn->began_ns + MIN_TURN_NS;

	wake(game, waker);
	if (turn->ends_ns == NEVER) {
		decide(game, turn, window_ns);
		return;
	}
	if (!clv_policy_preempts(
		    game->policy, waker->lease, turn->holder->lease, game->now_ns))
		return;
	if (waker->program->class != CLV_CLASS_LATENCY && game->now_ns < soonest_ns) {
		turn->ends_ns = least(turn->ends_ns, soonest_ns);
		return;
	}
	drain(game, turn->holder, least(window_ns, turn->ends_ns - game->now_ns));
	turn->is_over = true;
}

static void play_turn(struct game *game, struct player *holder, uint64_t slice_ns)
{
	struct turn turn = {.holder = holder};

	if (game->last && game->last != holder)
		game->now_ns += HAND_OVER_NS;
	wake_due(game);
	game->last = holder;
	turn.began_ns = game->now_ns;
	turn.ends_ns = others_awake(game, holder) || holder->program->cap_ppm
			       ? game->now_ns + slice_ns
			       : NEVER;
	while (!turn.is_over && is_awake(holder) && game->now_ns < PLAYED_NS) {
		struct player *waker = next_to_wake(game);
		uint64_t until_ns = least(turn.ends_ns, PLAYED_NS);

		if (holder->left_ns != NEVER)
			until_ns = least(until_ns, game->now_ns + holder->left_ns);
		if (waker)
			until_ns = least(until_ns, most(waker->wakes_ns, game->now_ns));
		work_until(game, holder, until_ns);
		if (!is_awake(holder))
			return;
		if (waker && waker->wakes_ns <= until_ns)
			handle_wakeup(game, &turn, waker);
		else if (until_ns == turn.ends_ns)
			decide(game, &turn, holder->program->command_ns);
	}
}

static void play(struct game *game)
{
	while (game->now_ns < PLAYED_NS) {
		struct clv_policy_decision next;
		struct player *waker;

		wake_due(game);
		next = clv_policy_pick(game->policy, game->now_ns);
		if (next.lease != CLV_POLICY_NONE) {
			play_turn(game, player_of(game, next.lease), next.slice_ns);
			continue;
		}
		waker = next_to_wake(game);
		game->now_ns = least(next.retry_at_ns, waker ? waker->wakes_ns : NEVER);
	}
}

static int add(struct game *game, struct clv_predict_program *program)
{
	struct player *player = &game->players[game->n++];
	struct clv_policy_params params = {
		.weight_ppm = program->share_ppm,
		.cap_ppm = program->cap_ppm,
		.class = program->class,
	};

	*player = (struct player){.program = program, .burst_ns = NEVER};
	if (program->pauses > 0 && program->busy < 1) {
		player->burst_ns = (uint64_t)(program->busy / program->pauses *
					      (double)CLV_NS_PER_S);
		player->pause_ns = (uint64_t)((1 - program->busy) / program->pauses *
					      (double)CLV_NS_PER_S);
	}
	return clv_policy_add(game->policy, &params, 0, &player->lease);
}

int clv_predict(struct clv_predict_program *programs, size_t n)
{
	struct game game = {.policy = clv_policy_new()};
	int r = game.policy ? 0 : -ENOMEM;

	if (n > CLV_PREDICT_MAX)
		r = -EINVAL;
	for (size_t i = 0; r == 0 && i < n; i++) {
		bool is_good = programs[i].busy > 0 && programs[i].busy <= 1 &&
			       programs[i].pauses >= 0 && programs[i].command_ns > 0 &&
			       programs[i].share_ppm > 0 &&
			       programs[i].share_ppm <= CLV_PPM;

		r = is_good ? add(&game, &programs[i]) : -EINVAL;
	}
	if (r == 0)
		play(&game);
	for (size_t i = 0; r == 0 && i < n; i++) {
		programs[i].held = (double)game.players[i].held_ns / (double)game.now_ns;
		programs[i].slowdown = programs[i].busy / programs[i].held;
	}
	clv_policy_free(game.policy);
	return r;
}
