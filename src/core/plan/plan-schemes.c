/* SPDX-License-Identifier: Apache-2.0 */
/* Which partitioning schemes a rule mentions, which of them it wants, and whether the
 * device supports that.  A device is divided by one scheme at a time. */
#include "core/plan/plan-internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BIT(scheme) (1u << (scheme))

static const struct {
	const char *name; /* "it has no ..." */
	const char *key;  /* "it can be divided by ..." */
	const char *now;  /* "it is divided by ... now" */
	const char *none; /* what a rule says to turn it off */
} texts[_CLV_SCHEME_MAX] = {
	[CLV_SCHEME_MIG] = {"MIG instances", "MIG", "MIG", "mig: off"},
	[CLV_SCHEME_XCP] = {"compute and memory modes", "compute-mode", "a compute mode",
		"compute-mode: SPX"},
	[CLV_SCHEME_VF] = {"virtual functions", "vf", "virtual functions",
		"vf: {count: 0}"},
	[CLV_SCHEME_CORES] = {"sets of processors", "partitions of cores:N",
		"sets of processors", "partitions: []"},
};

static bool is_mode(const char *profile)
{
	char mode[4] = {0};

	memcpy(mode, profile, strnlen(profile, 3));
	return clv_compute_mode_from_string(mode) != _CLV_COMPUTE_MODE_INVALID &&
	       (profile[3] == '\0' || profile[3] == '/');
}

enum clv_scheme clv_planner_scheme_of(const char *profile)
{
	if (strncmp(profile, "vf:", 3) == 0)
		return CLV_SCHEME_VF;
	if (strncmp(profile, "cores:", 6) == 0)
		return CLV_SCHEME_CORES;
	if (strlen(profile) >= 3 && is_mode(profile))
		return CLV_SCHEME_XCP;
	return CLV_SCHEME_MIG;
}

static bool is_whole_profile(const char *profile)
{
	return strncmp(profile, "SPX", 3) == 0;
}

static struct clv_planned_schemes read_schemes(const struct clv_planned *at)
{
	const struct clv_layout_rule *rule = at->rule;
	struct clv_planned_schemes ret = {0};

	/* On a device without MIG it is off already. */
	if (rule->has_mig && (rule->mig || !at->device->mig.is_absent))
		ret.spoken |= BIT(CLV_SCHEME_MIG);
	if (rule->has_mig && rule->mig)
		ret.wanted |= BIT(CLV_SCHEME_MIG);
	if (rule->has_compute_mode || rule->memory_mode != 0)
		ret.spoken |= BIT(CLV_SCHEME_XCP);
	if (rule->has_compute_mode && rule->compute_mode != CLV_SPX)
		ret.wanted |= BIT(CLV_SCHEME_XCP);
	if (rule->has_vf)
		ret.spoken |= BIT(CLV_SCHEME_VF);
	if (rule->has_vf && rule->vf_count > 0)
		ret.wanted |= BIT(CLV_SCHEME_VF);
	for (size_t i = 0; i < rule->n_partitions; i++) {
		const char *profile = rule->partitions[i].profile;

		ret.spoken |= BIT(clv_planner_scheme_of(profile));
		if (!is_whole_profile(profile))
			ret.wanted |= BIT(clv_planner_scheme_of(profile));
	}
	/* An empty list removes the partitions of the current scheme. */
	if (rule->has_partitions && rule->n_partitions == 0)
		ret.spoken |= BIT(at->device->scheme);
	ret.spoken &= ~BIT(CLV_SCHEME_NONE);
	return ret;
}

static bool supports(const struct clv_node_device *device, enum clv_scheme scheme)
{
	switch (scheme) {
	case CLV_SCHEME_MIG:
		return device->mig.is_capable;
	case CLV_SCHEME_XCP:
		return device->xcp.is_capable;
	case CLV_SCHEME_VF:
		return device->vf.is_capable;
	case CLV_SCHEME_CORES:
		return device->cores.is_capable;
	default:
		return false;
	}
}

static int fail_with_scheme(
	struct clv_planner *planner, struct clv_planned at, enum clv_scheme scheme)
{
	const struct clv_node_device *device = at.device;
	const char *why = device->cannot_divide;

	if (scheme == CLV_SCHEME_VF && device->vf.why_not[0] != '\0')
		why = device->vf.why_not;
	for (int i = CLV_SCHEME_MIG; i < _CLV_SCHEME_MAX && why[0] == '\0'; i++) {
		if (supports(device, (enum clv_scheme)i))
			return clv_planner_fail(planner, at, at.rule->line, -EINVAL,
				"it has no %s: it can be divided by %s",
				texts[scheme].name, texts[i].key);
	}
	/* A reason that advises shares is complete by itself. */
	if (strstr(why, "shares"))
		return clv_planner_fail(planner, at, at.rule->line, -EINVAL,
			"it cannot have %s: %s", texts[scheme].name, why);
	return clv_planner_fail(planner, at, at.rule->line, -EINVAL,
		"it has no %s%s%s: use shares", texts[scheme].name, why[0] ? ": " : "",
		why);
}

static int fail_with_two(
	struct clv_planner *planner, struct clv_planned at, uint32_t wanted)
{
	int first = __builtin_ctz(wanted), second = __builtin_ctz(wanted & (wanted - 1));

	return clv_planner_fail(planner, at, at.rule->line, -EINVAL,
		"a device is divided in one way at a time, and the rule wants %s and %s",
		texts[first].name, texts[second].name);
}

int clv_planner_read_schemes(struct clv_planner *planner, struct clv_planned at,
	struct clv_planned_schemes *ret)
{
	enum clv_scheme now = at.device->scheme;

	*ret = read_schemes(&at);
	for (int i = CLV_SCHEME_MIG; i < _CLV_SCHEME_MAX; i++) {
		if (ret->spoken & BIT(i) && !supports(at.device, (enum clv_scheme)i))
			return fail_with_scheme(planner, at, (enum clv_scheme)i);
	}
	if (ret->wanted & (ret->wanted - 1))
		return fail_with_two(planner, at, ret->wanted);
	if (ret->wanted & ~BIT(now) &&
		clv_planner_preserves(planner, at, "the way that it is divided"))
		return 0;
	if (ret->wanted != 0 && now != CLV_SCHEME_NONE && !(ret->spoken & BIT(now)))
		return clv_planner_fail(planner, at, at.rule->line, -EINVAL,
			"it is divided by %s now: add %s", texts[now].now,
			texts[now].none);
	return 0;
}

/* Judged by the rule alone: partitions that it preserves may contradict it.  A GPU in MIG
 * mode cannot be used as a whole even without instances. */
bool clv_planner_will_be_whole(
	const struct clv_planned *at, const struct clv_planned_schemes *schemes)
{
	const struct clv_layout_rule *rule = at->rule;
	const struct clv_node_device *device = at->device;

	if (schemes->wanted != 0 || rule->n_partitions > 0)
		return false;
	switch (device->scheme) {
	case CLV_SCHEME_NONE:
		return true;
	case CLV_SCHEME_MIG:
		return rule->has_mig;
	case CLV_SCHEME_XCP:
		return rule->has_compute_mode || rule->has_partitions;
	case CLV_SCHEME_CORES:
		return rule->has_partitions;
	default:
		return (schemes->spoken & BIT(device->scheme)) != 0;
	}
}
