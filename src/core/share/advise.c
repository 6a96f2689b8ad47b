/* SPDX-License-Identifier: Apache-2.0 */
/* Right-sizing: the slowdown model, and the rules that find what is wrong with a
 * lease. */
#include "core/share/advise.h"

#include "base/cleanup.h"
#include "base/units.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[_CLV_ADVICE_MAX] = {
	[CLV_ADVICE_IDLE] = "idle",
	[CLV_ADVICE_IMBALANCED] = "imbalanced",
	[CLV_ADVICE_TOO_SMALL] = "too_small",
	[CLV_ADVICE_TOO_LARGE] = "too_large",
	[CLV_ADVICE_WRONG_CLASS] = "wrong_class",
	[CLV_ADVICE_USE_PROFILE] = "use_profile",
};

const char *clv_advice_kind_to_string(enum clv_advice_kind kind)
{
	return kind_names[kind];
}

const char *clv_advise_confidence(uint32_t observed_s)
{
	return observed_s >= CLV_ADVISE_HIGH_AFTER_S     ? "high"
	       : observed_s >= CLV_ADVISE_MEDIUM_AFTER_S ? "medium"
							 : "low";
}

static int compare(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return one < other ? -1 : one > other;
}

void clv_advise_sort(struct clv_advise_use *use)
{
	if (use->n > 0)
		qsort(use->wanted_ppm, use->n, sizeof(*use->wanted_ppm), compare);
}

uint32_t clv_advise_percentile(const struct clv_advise_use *use, unsigned percent)
{
	assert(percent <= 100);
	assert(use->n == 0 || use->wanted_ppm[0] <= use->wanted_ppm[use->n - 1]);
	return use->n > 0 ? use->wanted_ppm[(use->n - 1) * percent / 100] : 0;
}

static double fraction(uint64_t ppm)
{
	return (double)ppm / CLV_PPM;
}

/* Part of the work that is in long bursts, 0 to 1. */
static double part_in_long_bursts(const struct clv_advise_use *use)
{
	double burst_us;

	if (!use->knows_pauses)
		return 0.5;
	if (use->pauses <= 0)
		return 1;
	burst_us = 1e6 * fraction(use->used_ppm) / use->pauses;
	if (burst_us <= CLV_ADVISE_SHORT_BURST_US)
		return 0;
	if (burst_us >= CLV_ADVISE_LONG_BURST_US)
		return 1;
	return (burst_us - CLV_ADVISE_SHORT_BURST_US) /
	       (CLV_ADVISE_LONG_BURST_US - CLV_ADVISE_SHORT_BURST_US);
}

/* Slowdown by the share alone, without hand-overs. */
static double stretch(const struct clv_advise_use *use, uint32_t share_ppm)
{
	double in_long = part_in_long_bursts(use), share = fraction(share_ppm), sum = 0;

	if (use->n == 0 || share_ppm == 0)
		return 1;
	for (size_t i = 0; i < use->n; i++) {
		double wanted = fraction(use->wanted_ppm[i]);
		double short_ones = wanted > share ? wanted / share : 1;
		double long_ones = 1 - wanted + wanted / share;

		sum += in_long * long_ones + (1 - in_long) * short_ones;
	}
	return sum / (double)use->n;
}

double clv_advise_slowdown(const struct clv_advise_use *use, uint32_t share_ppm)
{
	double slowdown = stretch(use, share_ppm);

	/* A lease that has the whole device never waits for the turn of another. */
	if (share_ppm < CLV_PPM && use->knows_pauses)
		slowdown += use->pauses * CLV_ADVISE_HAND_OVER_US / 1e6;
	return slowdown;
}

static uint64_t round_up(uint64_t value, uint64_t step)
{
	return (value + step - 1) / step * step;
}

static uint64_t fit_memory(
	const struct clv_advise_use *use, const struct clv_advise_device *device)
{
	uint64_t bytes = use->memory_peak_bytes / 100 * CLV_ADVISE_MEMORY_PERCENT;

	bytes = round_up(bytes ? bytes : 1, CLV_ADVISE_MEMORY_STEP_BYTES);
	return bytes < device->memory_bytes ? bytes : device->memory_bytes;
}

/* Always busy: batch, for long turns.  Short requests that are spread out: latency. */
static enum clv_class fit_class(const struct clv_advise_use *use)
{
	/* 0 (unknown) counts as short. */
	bool is_short = use->command_us <= CLV_ADVISE_REQUEST_US;

	if (clv_advise_percentile(use, 10) >= CLV_ADVISE_BUSY_PPM)
		return CLV_CLASS_BATCH;
	if (clv_advise_percentile(use, 95) <= CLV_ADVISE_REQUESTS_PPM && is_short &&
		clv_advise_percentile(use, 50) > 0)
		return CLV_CLASS_LATENCY;
	return CLV_CLASS_NORMAL;
}

double clv_advise_fit(const struct clv_advise_use *use,
	const struct clv_advise_device *device, struct clv_advise_part *ret)
{
	static const double allowed = CLV_ADVISE_SLOWDOWN_PERCENT / 100.0;
	uint32_t share_ppm = CLV_ADVISE_STEP_PPM;

	while (share_ppm < CLV_PPM && stretch(use, share_ppm) > allowed)
		share_ppm += CLV_ADVISE_STEP_PPM;
	*ret = (struct clv_advise_part){
		.share_ppm = share_ppm,
		.memory_bytes = fit_memory(use, device),
		.class = fit_class(use),
	};
	return clv_advise_slowdown(use, share_ppm);
}

double clv_advise_slowdown_in_part(const struct clv_advise_use *use, uint32_t compute_ppm)
{
	double sum = 0;

	if (use->n == 0 || compute_ppm == 0)
		return 1;
	for (size_t i = 0; i < use->n; i++)
		sum += 1 - fraction(use->wanted_ppm[i]) +
		       fraction(use->wanted_ppm[i]) / fraction(compute_ppm);
	return sum / (double)use->n;
}

static bool is_smaller(
	const struct clv_advise_profile *one, const struct clv_advise_profile *other)
{
	if (one->compute_ppm != other->compute_ppm)
		return one->compute_ppm < other->compute_ppm;
	return one->memory_bytes < other->memory_bytes;
}

const struct clv_advise_profile *clv_advise_profile(
	const struct clv_advise_use *use, const struct clv_advise_device *device)
{
	static const double allowed = CLV_ADVISE_SLOWDOWN_PERCENT / 100.0;
	const struct clv_advise_profile *best = NULL;
	uint64_t memory_bytes = fit_memory(use, device);

	for (size_t i = 0; i < device->n_profiles; i++) {
		const struct clv_advise_profile *profile = &device->profiles[i];

		if (profile->memory_bytes >= memory_bytes &&
			clv_advise_slowdown_in_part(use, profile->compute_ppm) <=
				allowed &&
			(!best || is_smaller(profile, best)))
			best = profile;
	}
	return best;
}

/* The rules: each finds one thing wrong with a lease, or returns false. */

struct analysis {
	const struct clv_advise_lease *lease;
	const struct clv_advise_device *device;
	struct clv_advise_part fit; /* what would suffice */
	double slowdown;            /* with fit */
};

static bool is_idle(const struct clv_advise_lease *lease)
{
	return clv_advise_percentile(&lease->use, 100) < CLV_ADVISE_IDLE_BELOW_PPM &&
	       lease->use.n_refused == 0;
}

static bool find_idle(const struct analysis *analysis, struct clv_advice *ret)
{
	const struct clv_advise_lease *lease = analysis->lease;
	char share[16], memory[32];

	if (!is_idle(lease) || lease->observed_s < CLV_ADVISE_IDLE_AFTER_S)
		return false;
	ret->proposed = analysis->fit;
	ret->proposed.class = lease->has.class;
	clv_units_format_fraction(lease->has.share_ppm, share);
	clv_units_format_bytes(lease->use.memory_peak_bytes, memory);
	snprintf(ret->text, sizeof(ret->text),
		"it has used none of its share of %s for %u minutes, and %s of memory at "
		"most: release it, or shrink it until it is needed",
		share, lease->observed_s / 60, memory);
	return true;
}

static bool is_starved(const struct clv_advise_lease *lease)
{
	const struct clv_advise_use *use = &lease->use;
	bool is_slow = clv_advise_slowdown(use, lease->has.share_ppm) * 100 >=
		       CLV_ADVISE_SMALL_PERCENT;

	return (use->waiting_ppm >= CLV_ADVISE_STARVED_PPM && is_slow) ||
	       use->throttled_ppm >= CLV_ADVISE_STARVED_PPM || use->n_refused > 0;
}

/* Proposes more than it has, never less: low use of a share that is too small proves
 * nothing. */
static struct clv_advise_part enlarge(const struct analysis *analysis)
{
	const struct clv_advise_part *has = &analysis->lease->has;
	struct clv_advise_part part = *has;

	if (analysis->fit.share_ppm > has->share_ppm)
		part.share_ppm = analysis->fit.share_ppm;
	if (has->cap_ppm > 0 && has->cap_ppm < part.share_ppm)
		part.cap_ppm = part.share_ppm;
	if (analysis->lease->use.throttled_ppm >= CLV_ADVISE_STARVED_PPM)
		part.cap_ppm = 0;
	if (analysis->lease->use.n_refused > 0 ||
		analysis->fit.memory_bytes > has->memory_bytes)
		part.memory_bytes = analysis->lease->use.n_refused > 0
					    ? has->memory_bytes * 2
					    : analysis->fit.memory_bytes;
	if (part.memory_bytes > analysis->device->memory_bytes)
		part.memory_bytes = analysis->device->memory_bytes;
	return part;
}

/* Describes why the lease is starved: waiting in line, its cap, or memory. */
static void say_starved(const struct clv_advise_lease *lease, char *ret, size_t ret_bytes)
{
	const struct clv_advise_use *use = &lease->use;
	char share[16], memory[32];

	clv_units_format_fraction(lease->has.share_ppm, share);
	clv_units_format_bytes(lease->has.memory_bytes, memory);
	if (use->throttled_ppm >= CLV_ADVISE_STARVED_PPM)
		snprintf(ret, ret_bytes,
			"its cap kept it from running for %.0f %% of the time",
			100 * fraction(use->throttled_ppm));
	else if (use->n_refused > 0)
		snprintf(ret, ret_bytes,
			"%llu allocations were refused over its quota of %s",
			(unsigned long long)use->n_refused, memory);
	else
		snprintf(ret, ret_bytes,
			"it used %.2f of a share of %s and waited in line for %.0f %% "
			"of the time, which makes it up to %.1f times as slow as alone",
			fraction(use->used_ppm), share, 100 * fraction(use->waiting_ppm),
			clv_advise_slowdown(use, lease->has.share_ppm));
}

static bool find_too_small(const struct analysis *analysis, struct clv_advice *ret)
{
	if (!is_starved(analysis->lease) || analysis->lease->has_range)
		return false;
	ret->proposed = enlarge(analysis);
	ret->slowdown =
		clv_advise_slowdown(&analysis->lease->use, ret->proposed.share_ppm);
	say_starved(analysis->lease, ret->text, sizeof(ret->text));
	return true;
}

static bool is_much_less(uint64_t would_do, uint64_t has, uint64_t by)
{
	return would_do + by <= has && would_do * 100 <= has * CLV_ADVISE_LARGE_PERCENT;
}

static bool find_too_large(const struct analysis *analysis, struct clv_advice *ret)
{
	const struct clv_advise_lease *lease = analysis->lease;
	const struct clv_advise_part *has = &lease->has;
	bool is_wide =
		!lease->has_range && is_much_less(analysis->fit.share_ppm, has->share_ppm,
					     CLV_ADVISE_LARGE_BY_PPM);
	bool is_deep = is_much_less(
		analysis->fit.memory_bytes, has->memory_bytes, CLV_ADVISE_LARGE_BY_BYTES);
	char share[16], peak[32], quota[32];

	if ((!is_wide && !is_deep) || is_starved(lease))
		return false;
	ret->proposed = *has;
	if (is_wide)
		ret->proposed.share_ppm = analysis->fit.share_ppm;
	if (is_deep)
		ret->proposed.memory_bytes = analysis->fit.memory_bytes;
	ret->slowdown = clv_advise_slowdown(&lease->use, ret->proposed.share_ppm);
	clv_units_format_fraction(has->share_ppm, share);
	clv_units_format_bytes(lease->use.memory_peak_bytes, peak);
	clv_units_format_bytes(has->memory_bytes, quota);
	snprintf(ret->text, sizeof(ret->text),
		"it used %.2f of a share of %s (%.2f in its busiest seconds) and %s of "
		"%s",
		fraction(lease->use.used_ppm), share,
		fraction(clv_advise_percentile(&lease->use, 95)), peak, quota);
	return true;
}

static bool find_wrong_class(const struct analysis *analysis, struct clv_advice *ret)
{
	static const struct {
		enum clv_class has, fits;
		const char *why;
	} rows[] = {
		{CLV_CLASS_LATENCY, CLV_CLASS_BATCH,
			"it computes without a pause: class latency does not make it "
			"faster, and the short turns slow it and others down"},
		{CLV_CLASS_BATCH, CLV_CLASS_LATENCY,
			"it works in short requests, which wait for long turns in class "
			"batch"},
	};

	if (analysis->lease->observed_s < CLV_ADVISE_MEDIUM_AFTER_S &&
		analysis->lease->use.n < 60)
		return false;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		if (analysis->lease->has.class != rows[i].has ||
			analysis->fit.class != rows[i].fits)
			continue;
		ret->proposed = analysis->lease->has;
		ret->proposed.class = rows[i].fits;
		ret->slowdown = clv_advise_slowdown(
			&analysis->lease->use, analysis->lease->has.share_ppm);
		snprintf(ret->text, sizeof(ret->text), "%s", rows[i].why);
		return true;
	}
	return false;
}

/* Steady work suits a partition, where no other lease interferes. */
static bool find_use_profile(const struct analysis *analysis, struct clv_advice *ret)
{
	const struct clv_advise_use *use = &analysis->lease->use;
	const struct clv_advise_profile *profile =
		clv_advise_profile(use, analysis->device);
	bool is_steady = clv_advise_percentile(use, 95) <=
			 clv_advise_percentile(use, 50) * 3 / 2 + CLV_ADVISE_STEP_PPM;

	if (!profile || profile->compute_ppm >= CLV_PPM || !is_steady ||
		analysis->lease->has.profile[0] != '\0' ||
		analysis->lease->observed_s < CLV_ADVISE_MEDIUM_AFTER_S)
		return false;
	ret->proposed = analysis->fit;
	ret->proposed.share_ppm = profile->compute_ppm;
	ret->proposed.memory_bytes = profile->memory_bytes;
	snprintf(ret->proposed.profile, sizeof(ret->proposed.profile), "%s",
		profile->name);
	ret->slowdown = clv_advise_slowdown_in_part(use, profile->compute_ppm);
	snprintf(ret->text, sizeof(ret->text),
		"its use is steady and fits into %s, where no other lease can delay it",
		profile->name);
	return true;
}

static const struct {
	enum clv_advice_kind kind;
	bool (*find)(const struct analysis *analysis, struct clv_advice *ret);
	bool is_last; /* the rules after it do not apply */
} rules[] = {
	{CLV_ADVICE_IDLE, find_idle, true},
	{CLV_ADVICE_TOO_SMALL, find_too_small, false},
	{CLV_ADVICE_TOO_LARGE, find_too_large, false},
	{CLV_ADVICE_WRONG_CLASS, find_wrong_class, false},
	{CLV_ADVICE_USE_PROFILE, find_use_profile, false},
};

static struct analysis analyse(
	const struct clv_advise_lease *lease, const struct clv_advise_device *device)
{
	struct analysis analysis = {.lease = lease, .device = device};

	analysis.slowdown = clv_advise_fit(&lease->use, device, &analysis.fit);
	return analysis;
}

size_t clv_advise_lease(const struct clv_advise_lease *lease,
	const struct clv_advise_device *device, struct clv_advice ret[CLV_ADVICES_MAX])
{
	struct analysis analysis = analyse(lease, device);
	size_t n = 0;

	if (lease->observed_s < CLV_ADVISE_OBSERVED_S || lease->use.n == 0)
		return 0;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rules) && n < CLV_ADVICES_MAX; i++) {
		ret[n] = (struct clv_advice){
			.kind = rules[i].kind, .slowdown = analysis.slowdown};
		if (!rules[i].find(&analysis, &ret[n]))
			continue;
		n++;
		if (rules[i].is_last)
			break;
	}
	return n;
}

static uint32_t left_over(const struct clv_advise_lease *lease)
{
	static const struct clv_advise_device any = {.memory_bytes = UINT64_MAX};
	struct clv_advise_part fit;

	clv_advise_fit(&lease->use, &any, &fit);
	return fit.share_ppm < lease->has.share_ppm ? lease->has.share_ppm - fit.share_ppm
						    : 0;
}

static uint64_t left_over_bytes(const struct clv_advise_lease *lease)
{
	uint64_t used = lease->use.memory_peak_bytes;

	return used < lease->has.memory_bytes ? lease->has.memory_bytes - used : 0;
}

/* How much the other lease leaves unused of what the starved one lacks: bytes or ppm. */
static double score(
	const struct clv_advise_lease *starved, const struct clv_advise_lease *other)
{
	bool is_for_memory = starved->use.n_refused > 0;
	uint32_t share_ppm = left_over(other);

	if (is_for_memory)
		return left_over_bytes(other) >= starved->has.memory_bytes / 4
			       ? (double)left_over_bytes(other)
			       : 0;
	return share_ppm >= CLV_ADVISE_LARGE_BY_PPM ? share_ppm : 0;
}

size_t clv_advise_find_idle(const struct clv_advise_lease *starved,
	const struct clv_advise_lease *const *others, size_t n)
{
	double best = 0;
	size_t at = n;

	for (size_t i = 0; i < n; i++) {
		double here;

		if (!others[i] || others[i] == starved ||
			others[i]->observed_s < CLV_ADVISE_OBSERVED_S ||
			is_starved(others[i]))
			continue;
		here = score(starved, others[i]);
		if (here > best) {
			best = here;
			at = i;
		}
	}
	return at;
}

void clv_advise_split(const struct clv_advise_lease *starved,
	const struct clv_advise_lease *idle, const char *name,
	const struct clv_advise_device *device, struct clv_advice *ret)
{
	struct analysis analysis = analyse(starved, device);
	char why[160], has[16], memory[32], used[32];

	*ret = (struct clv_advice){
		.kind = CLV_ADVICE_IMBALANCED, .proposed = enlarge(&analysis)};
	ret->slowdown = clv_advise_slowdown(&starved->use, ret->proposed.share_ppm);
	say_starved(starved, why, sizeof(why));
	clv_units_format_fraction(idle->has.share_ppm, has);
	clv_units_format_bytes(idle->has.memory_bytes, memory);
	clv_units_format_bytes(idle->use.memory_peak_bytes, used);
	if (starved->use.n_refused > 0)
		snprintf(ret->text, sizeof(ret->text),
			"%s is split wrongly: %s, while %s uses %s of %s", device->name,
			why, name, used, memory);
	else
		snprintf(ret->text, sizeof(ret->text),
			"%s is split wrongly: %s, while %s uses %.2f of %s", device->name,
			why, name, fraction(idle->use.used_ppm), has);
}
