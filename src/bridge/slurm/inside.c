/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a task's mounts and sets its variables and affinity, by the recipe. */
#include "bridge/slurm/inside.h"

#include "base/cleanup.h"
#include "base/cpus.h"
#include "base/error.h"
#include "base/mounts.h"
#include "bridge/slurm/recipe.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define LIST_MAX_BYTES (64u << 10)

static int mount_all(struct clv_bind *binds, size_t n, struct clv_error *err)
{
	int r = 0;

	if (unshare(CLONE_NEWNS) < 0)
		return clv_error_errno(err, errno, "cannot make a mount namespace");
	if (clv_mounts_make_slaves(err) < 0)
		return clv_error_prefix(err, "cannot leave the node's mounts");
	for (size_t i = 0; i < n && r >= 0; i++)
		r = clv_bind_mount(&binds[i], err);
	return r;
}

int clv_slurm_inside_mount(const struct clv_slurm_recipe *recipe, struct clv_error *err)
{
	_cleanup_free_ struct clv_bind *binds =
		calloc(recipe->n_steps + 1, sizeof(*binds));
	size_t n = 0;
	int r;

	if (!binds)
		return clv_error_errno(err, ENOMEM, "cannot mount");

	for (size_t i = 0; i < recipe->n_steps; i++) {
		const struct clv_slurm_step *step = &recipe->steps[i];

		if (step->kind == CLV_SLURM_BIND)
			binds[n++] = clv_bind_open(step->value, step->what);
	}
	r = n > 0 ? mount_all(binds, n, err) : 0;
	while (n > 0)
		clv_bind_close(&binds[--n]);
	return r;
}

static bool is_of_name(const char *entry, size_t n, const char *value)
{
	const char *slash = strrchr(value, '/'), *name = slash ? slash + 1 : value;
	size_t n_name = strlen(name);

	return n >= n_name && memcmp(entry + n - n_name, name, n_name) == 0;
}

int clv_slurm_list_first(const char *list, const char *value, char *ret, size_t ret_bytes)
{
	size_t used = (size_t)snprintf(ret, ret_bytes, "%s", value);

	while (*list && used < ret_bytes) {
		size_t n = strcspn(list, ": ");

		if (n > 0 && !is_of_name(list, n, value))
			used += (size_t)snprintf(
				ret + used, ret_bytes - used, ":%.*s", (int)n, list);
		list += n + (list[n] != '\0');
	}
	return used < ret_bytes ? 0 : -ENOSPC;
}

static int prepend(const struct clv_slurm_environment *environment,
	const struct clv_slurm_step *step)
{
	_cleanup_free_ char *old = calloc(2, LIST_MAX_BYTES);
	char *list = old ? old + LIST_MAX_BYTES : NULL;
	int r;

	if (!old)
		return -ENOMEM;
	if (environment->get(environment->userdata, step->what, old, LIST_MAX_BYTES) < 0)
		old[0] = '\0';
	r = clv_slurm_list_first(old, step->value, list, LIST_MAX_BYTES);
	return r < 0 ? r : environment->set(environment->userdata, step->what, list);
}

/* As in `cleave run`, the variable that pins PoCL's workers is only set for a task that
 * may use all processors, and never overrides the user's value. */
static int set_default(const struct clv_slurm_environment *environment,
	const struct clv_slurm_step *step)
{
	cpu_set_t allowed;
	char old[8];

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0 ||
		CPU_COUNT(&allowed) != sysconf(_SC_NPROCESSORS_CONF) ||
		environment->get(environment->userdata, step->what, old, sizeof(old)) >=
			0)
		return 0;
	return environment->set(environment->userdata, step->what, step->value);
}

static int set_affinity(const char *list)
{
	cpu_set_t cpus;
	int r = clv_cpus_parse(list, &cpus);

	if (r < 0)
		return r;
	return sched_setaffinity(0, sizeof(cpus), &cpus) < 0 ? -errno : 0;
}

static int carry_out(const struct clv_slurm_environment *environment,
	const struct clv_slurm_step *step)
{
	switch (step->kind) {
	case CLV_SLURM_SET:
		return environment->set(environment->userdata, step->what, step->value);
	case CLV_SLURM_DEFAULT:
		return set_default(environment, step);
	case CLV_SLURM_FIRST:
		return prepend(environment, step);
	case CLV_SLURM_CPUS:
		return set_affinity(step->what);
	default:
		return 0;
	}
}

int clv_slurm_inside_set(const struct clv_slurm_recipe *recipe,
	const struct clv_slurm_environment *environment, struct clv_error *err)
{
	for (size_t i = 0; i < recipe->n_steps; i++) {
		const struct clv_slurm_step *step = &recipe->steps[i];
		int r = carry_out(environment, step);

		if (r < 0)
			return clv_error_errno(err, -r, "cannot set %s", step->what);
	}
	return 0;
}
