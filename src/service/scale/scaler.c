/* SPDX-License-Identifier: Apache-2.0 */
/* The decisions are rows of a table: the first row of the present state whose condition
 * holds is carried out. */
#include "service/scale/scaler.h"

#include "base/cleanup.h"
#include "base/duration.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define NEVER UINT64_MAX

/* A service, as the conditions see it. */
struct view {
	const struct clv_scaler *scaler;
	const struct clv_service_scaling *scaling;
	const struct clv_scaler_look *look;
	uint32_t floor; /* replicas of a service that is awake */
};

static uint32_t floor_of(const struct clv_service_scaling *scaling)
{
	return scaling->min_replicas > 0 ? scaling->min_replicas : 1;
}

static bool can_sleep(const struct clv_service_scaling *scaling)
{
	return scaling->stops && scaling->n_kept < floor_of(scaling);
}

static bool is_requested(const struct view *v)
{
	return v->look->has_waiting || v->look->n_in_flight > 0 ||
	       v->look->n_requests != v->scaler->n_requests;
}

static bool has_lasted(const struct view *v, uint64_t since_ns, uint64_t for_ns)
{
	/* NEVER is later than any look. */
	return v->look->now_ns >= since_ns && v->look->now_ns - since_ns >= for_ns;
}

/* --- Conditions --- */

static bool always(const struct view *v)
{
	return true;
}

/* Users are told as long as it is so. */
static bool has_given_way(const struct view *v)
{
	return v->scaler->reason == CLV_SCALER_GAVE_WAY;
}

static bool is_below(const struct view *v)
{
	return v->scaler->wanted < v->floor;
}

static bool is_above(const struct view *v)
{
	return v->scaler->wanted > v->scaling->max_replicas;
}

static bool is_starting(const struct view *v)
{
	return v->look->n_ready < v->scaler->wanted && !v->look->is_failing;
}

static bool is_quiet(const struct view *v)
{
	return can_sleep(v->scaling) && !is_requested(v) &&
	       has_lasted(v, v->scaler->since_quiet_ns, v->scaling->idle_ns);
}

static bool is_over(const struct view *v)
{
	return has_lasted(v, v->scaler->since_over_ns, v->scaling->over_ns);
}

static bool is_over_at_max(const struct view *v)
{
	return is_over(v) && v->scaler->wanted >= v->scaling->max_replicas;
}

static bool is_over_without_room(const struct view *v)
{
	return is_over(v) && !v->look->has_room;
}

static bool is_idle(const struct view *v)
{
	return v->scaler->wanted > v->floor &&
	       has_lasted(v, v->scaler->since_idle_ns, v->scaling->idle_ns);
}

static bool is_idle_but_needed(const struct view *v)
{
	uint64_t n = v->scaler->wanted;

	return is_idle(v) && v->look->has_device &&
	       v->look->use_ppm * n >= v->scaling->over_ppm * (n - 1);
}

/* --- The table --- */

enum act { KEEP, TO_FLOOR, TO_MAX, UP, DOWN, SLEEP, WAKE };

static const struct row {
	enum clv_scaler_state state;
	bool (*holds)(const struct view *v);
	enum act act;
	enum clv_scaler_reason reason;
} rows[] = {
	{CLV_SCALER_OFF, always, KEEP, CLV_SCALER_SET_OFF},
	{CLV_SCALER_ASLEEP, is_requested, WAKE, CLV_SCALER_REQUESTED},
	{CLV_SCALER_ASLEEP, has_given_way, KEEP, CLV_SCALER_GAVE_WAY},
	{CLV_SCALER_ASLEEP, always, KEEP, CLV_SCALER_SLEEPS},
	{CLV_SCALER_AWAKE, is_below, TO_FLOOR, CLV_SCALER_BELOW_MIN},
	{CLV_SCALER_AWAKE, is_above, TO_MAX, CLV_SCALER_ABOVE_MAX},
	{CLV_SCALER_AWAKE, is_starting, KEEP, CLV_SCALER_STARTING},
	{CLV_SCALER_AWAKE, is_quiet, SLEEP, CLV_SCALER_QUIET},
	{CLV_SCALER_AWAKE, is_over_at_max, KEEP, CLV_SCALER_AT_MAX},
	{CLV_SCALER_AWAKE, is_over_without_room, KEEP, CLV_SCALER_NO_ROOM},
	{CLV_SCALER_AWAKE, is_over, UP, CLV_SCALER_OVER},
	{CLV_SCALER_AWAKE, is_idle_but_needed, KEEP, CLV_SCALER_WOULD_BE_OVER},
	{CLV_SCALER_AWAKE, is_idle, DOWN, CLV_SCALER_IDLE},
	{CLV_SCALER_AWAKE, always, KEEP, CLV_SCALER_STEADY},
};

static void set_wanted(struct clv_scaler *scaler, uint32_t n, uint64_t now_ns)
{
	scaler->wanted = n;
	scaler->since_idle_ns = NEVER;
	scaler->since_over_ns = NEVER;
	scaler->since_quiet_ns = now_ns;
}

static void carry_out(struct clv_scaler *scaler, const struct view *v, enum act act)
{
	uint64_t now_ns = v->look->now_ns;

	switch (act) {
	case KEEP:
		return;
	case TO_FLOOR:
		set_wanted(scaler, v->floor, now_ns);
		return;
	case TO_MAX:
		set_wanted(scaler, v->scaling->max_replicas, now_ns);
		return;
	case UP:
		assert(scaler->wanted < v->scaling->max_replicas);
		set_wanted(scaler, scaler->wanted + 1, now_ns);
		return;
	case DOWN:
		assert(scaler->wanted > v->floor);
		set_wanted(scaler, scaler->wanted - 1, now_ns);
		return;
	case SLEEP:
		assert(v->scaling->n_kept < v->floor);
		set_wanted(scaler, v->scaling->n_kept, now_ns);
		scaler->state = CLV_SCALER_ASLEEP;
		return;
	case WAKE:
		set_wanted(scaler, v->floor, now_ns);
		scaler->state = CLV_SCALER_AWAKE;
		return;
	}
}

/* Keeps since when something lasts. */
static void measure(uint64_t *since_ns, bool lasts, uint64_t now_ns)
{
	if (!lasts)
		*since_ns = NEVER;
	else if (*since_ns == NEVER)
		*since_ns = now_ns;
}

/* Times count only while all replicas are ready: the use of fewer says nothing of all. */
static void measure_all(struct clv_scaler *scaler, const struct view *v)
{
	const struct clv_scaler_look *look = v->look;
	bool counts = look->n_ready > 0 && look->n_ready >= scaler->wanted;
	bool is_idle_now = look->has_device ? look->use_ppm < v->scaling->idle_ppm
					    : !is_requested(v);

	measure(&scaler->since_idle_ns, counts && is_idle_now, look->now_ns);
	measure(&scaler->since_over_ns,
		counts && look->has_device && look->use_ppm >= v->scaling->over_ppm,
		look->now_ns);
	if (is_requested(v))
		scaler->since_quiet_ns = look->now_ns;
}

bool clv_scaler_step(struct clv_scaler *scaler, const struct clv_service_scaling *scaling,
	const struct clv_scaler_look *look)
{
	const struct view v = {scaler, scaling, look, floor_of(scaling)};
	uint32_t before = scaler->wanted;

	measure_all(scaler, &v);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		if (rows[i].state != scaler->state || !rows[i].holds(&v))
			continue;
		scaler->reason = rows[i].reason;
		carry_out(scaler, &v, rows[i].act);
		break;
	}
	scaler->n_requests = look->n_requests;
	return scaler->wanted != before;
}

void clv_scaler_start(struct clv_scaler *scaler,
	const struct clv_service_scaling *scaling, uint32_t n, uint64_t now_ns)
{
	*scaler = (struct clv_scaler){0};
	clv_scaler_set(scaler, scaling, n, now_ns);
	scaler->reason = CLV_SCALER_STEADY;
}

void clv_scaler_set(struct clv_scaler *scaler, const struct clv_service_scaling *scaling,
	uint32_t n, uint64_t now_ns)
{
	if (n > scaling->max_replicas)
		n = scaling->max_replicas;
	set_wanted(scaler, n, now_ns);
	scaler->reason = CLV_SCALER_SET;
	if (n > 0)
		scaler->state = CLV_SCALER_AWAKE;
	else
		scaler->state = scaling->stops ? CLV_SCALER_ASLEEP : CLV_SCALER_OFF;
}

/* --- Giving way --- */

/* The fewest replicas, above the floor, that would not be overutilized by the present
 * use. */
static uint32_t needed(const struct view *v)
{
	uint64_t use = (uint64_t)v->look->use_ppm * v->scaler->wanted;
	uint32_t n = v->floor;

	while (n < v->scaler->wanted && v->look->has_device &&
		use >= (uint64_t)v->scaling->over_ppm * n)
		n++;
	return n;
}

uint32_t clv_scaler_spare(const struct clv_scaler *scaler,
	const struct clv_service_scaling *scaling, const struct clv_scaler_look *look,
	uint64_t after_ns, uint64_t *ret_idle_ns)
{
	const struct view v = {scaler, scaling, look, floor_of(scaling)};

	if (scaler->state != CLV_SCALER_AWAKE || look->n_ready < scaler->wanted)
		return 0;
	if (can_sleep(scaling) && !is_requested(&v) &&
		has_lasted(&v, scaler->since_quiet_ns, after_ns)) {
		*ret_idle_ns = look->now_ns - scaler->since_quiet_ns;
		return scaler->wanted - scaling->n_kept;
	}
	if (scaler->wanted <= v.floor || !has_lasted(&v, scaler->since_idle_ns, after_ns))
		return 0;
	*ret_idle_ns = look->now_ns - scaler->since_idle_ns;
	return scaler->wanted - needed(&v);
}

void clv_scaler_give_way(struct clv_scaler *scaler,
	const struct clv_service_scaling *scaling, uint64_t now_ns)
{
	if (scaler->wanted > floor_of(scaling)) {
		set_wanted(scaler, scaler->wanted - 1, now_ns);
	} else {
		set_wanted(scaler, scaling->n_kept, now_ns);
		scaler->state = CLV_SCALER_ASLEEP;
	}
	scaler->reason = CLV_SCALER_GAVE_WAY;
}

/* --- For users --- */

static unsigned seconds(uint64_t ns)
{
	return (unsigned)(ns / CLV_NS_PER_S);
}

static const char *const texts[_CLV_SCALER_REASON_MAX] = {
	[CLV_SCALER_STEADY] = "its use needs no other number of replicas",
	[CLV_SCALER_SET_OFF] = "it was set to 0 replicas: cleave scale starts it",
	[CLV_SCALER_SLEEPS] = "it is asleep until a request comes",
	[CLV_SCALER_REQUESTED] = "a request came while it was asleep",
	[CLV_SCALER_BELOW_MIN] = "it had fewer replicas than minReplicas",
	[CLV_SCALER_ABOVE_MAX] = "it had more replicas than maxReplicas",
	[CLV_SCALER_STARTING] = "replicas of it are starting",
	[CLV_SCALER_AT_MAX] = "it is overutilized, and has maxReplicas",
	[CLV_SCALER_NO_ROOM] = "it is overutilized, and no device has room for a replica",
	[CLV_SCALER_WOULD_BE_OVER] =
		"it is idle, but with a replica fewer it would be overutilized",
	[CLV_SCALER_SET] = "cleave scale set the number of replicas",
	[CLV_SCALER_GAVE_WAY] = "it was idle, and gave way to another service",
};

void clv_scaler_explain(const struct clv_scaler *scaler,
	const struct clv_service_scaling *scaling, char ret[160])
{
	switch (scaler->reason) {
	case CLV_SCALER_QUIET:
		snprintf(ret, 160, "no request came for %u s", seconds(scaling->idle_ns));
		return;
	case CLV_SCALER_OVER:
		snprintf(ret, 160, "its use was %u %% or more for %u s",
			scaling->over_ppm / 10000, seconds(scaling->over_ns));
		return;
	case CLV_SCALER_IDLE:
		snprintf(ret, 160, "its use was below %u %% for %u s",
			scaling->idle_ppm / 10000, seconds(scaling->idle_ns));
		return;
	default:
		assert(scaler->reason < _CLV_SCALER_REASON_MAX && texts[scaler->reason]);
		snprintf(ret, 160, "%s", texts[scaler->reason]);
		return;
	}
}

const char *clv_scaler_state_to_string(enum clv_scaler_state state)
{
	static const char *const names[_CLV_SCALER_STATE_MAX] = {
		[CLV_SCALER_AWAKE] = "awake",
		[CLV_SCALER_ASLEEP] = "asleep",
		[CLV_SCALER_OFF] = "off",
	};

	assert(state < _CLV_SCALER_STATE_MAX);
	return names[state];
}
