/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses partitions for virtual machines.  The agent has the last word: a partition that
 * was taken meanwhile makes the request for its lease fail. */
#include "bridge/libvirt/domain/choose.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct choice {
	const struct clv_vm_inventory *inventory;
	const struct clv_vm_wish *wish;
	bool *is_taken; /* of the inventory's partitions, by this choice */
};

static bool is_of_size(
	const struct clv_vm_partition *partition, const struct clv_vm_wish *wish)
{
	if (!wish->profile && partition->is_whole && !wish->partition)
		return false;
	if (wish->profile && strcmp(partition->profile, wish->profile) != 0)
		return false;
	return wish->memory_bytes == 0 || partition->memory_bytes == wish->memory_bytes;
}

/* A guest's driver knows its GPU: another model, or another way to give it, is none. */
static bool is_of_model(
	const struct clv_vm_partition *partition, const struct clv_vm_wish *wish)
{
	return !wish->model || (strcmp(partition->model, wish->model) == 0 &&
				       partition->means == wish->means);
}

static bool is_free(const struct choice *choice, size_t at)
{
	const struct clv_vm_partition *partition = &choice->inventory->partitions[at];

	return !partition->is_held && partition->why_not[0] == '\0' &&
	       !choice->is_taken[at] && is_of_size(partition, choice->wish) &&
	       is_of_model(partition, choice->wish);
}

/* "vf:4 (3 GiB), vf:16 (1 GiB)": the sizes that there are, each once. */
static void list_sizes(
	const struct clv_vm_inventory *inventory, char *ret, size_t ret_bytes)
{
	ret[0] = '\0';
	for (size_t i = 0; i < inventory->n_partitions; i++) {
		const struct clv_vm_partition *partition = &inventory->partitions[i];
		char size[96], memory[32];

		clv_units_format_bytes(partition->memory_bytes, memory);
		snprintf(size, sizeof(size), "%s (%s)", partition->profile, memory);
		if (!strstr(ret, size))
			clv_text_list(ret, ret_bytes, size);
	}
}

static int check_targets(const struct clv_vm_wish *wish,
	const struct clv_vm_target *targets, size_t n, struct clv_error *err)
{
	for (size_t i = 0; i < n; i++) {
		if (targets[i].n_has > 0 && !wish->more)
			return clv_error_set(err, -EEXIST,
				"the virtual machine %.100s has a partition already: "
				"take it back with cleave unassign, or add --more",
				targets[i].name);
		for (size_t k = 0; k < i; k++) {
			if (strcmp(targets[i].uuid, targets[k].uuid) == 0)
				return clv_error_set(err, -EINVAL,
					"the virtual machine %.100s is named twice: name "
					"it once",
					targets[i].name);
		}
	}
	return 0;
}

/* Whether a machine would notice which of both it gets.  Whole GPUs of one size may be of
 * several models. */
static bool differs(
	const struct clv_vm_partition *one, const struct clv_vm_partition *other)
{
	if (one->is_whole)
		return one->memory_bytes != other->memory_bytes ||
		       strcmp(one->model, other->model) != 0;
	return strcmp(one->profile, other->profile) != 0 &&
	       one->memory_bytes != other->memory_bytes;
}

static int fail_several(const struct choice *choice, const struct clv_vm_partition *one,
	const struct clv_vm_partition *other, struct clv_error *err)
{
	char sizes[256];

	if (one->is_whole)
		return clv_error_set(err, -EINVAL,
			"GPUs are of several models, %.60s as %.60s and %.60s as %.60s: "
			"name one, as cleave assign %.60s VM, or give --size",
			one->model, one->name, other->model, other->name, one->name);
	list_sizes(choice->inventory, sizes, sizeof(sizes));
	return clv_error_set(err, -EINVAL,
		"partitions have several sizes, %s: choose one with --profile or --size",
		sizes);
}

static bool has_partitions(const struct clv_vm_inventory *inventory)
{
	for (size_t i = 0; i < inventory->n_partitions; i++) {
		if (!inventory->partitions[i].is_whole)
			return true;
	}
	return false;
}

/* Where neither a profile nor a size was given, all partitions must be of one size. */
static int check_sizes(const struct choice *choice, struct clv_error *err)
{
	bool wants_whole =
		choice->wish->profile && strcmp(choice->wish->profile, CLV_VM_WHOLE) == 0;

	const struct clv_vm_inventory *inventory = choice->inventory;
	const struct clv_vm_partition *first = NULL;
	char sizes[256];

	list_sizes(inventory, sizes, sizeof(sizes));
	if (!has_partitions(inventory) && !wants_whole)
		return clv_error_set(err, -ENOENT,
			"no GPU is partitioned for virtual machines: make functions with "
			"cleave partition create DEVICE vf:N, or cleave apply, or assign "
			"a whole GPU with --profile whole");
	for (size_t i = 0; i < inventory->n_partitions; i++) {
		const struct clv_vm_partition *partition = &inventory->partitions[i];

		if (!is_of_size(partition, choice->wish))
			continue;
		if (first && !choice->wish->model && differs(first, partition))
			return fail_several(choice, first, partition, err);
		first = first ? first : partition;
	}
	if (!first)
		return clv_error_set(
			err, -ENOENT, "no partition has that size: there are %s", sizes);
	return 0;
}

static size_t count_free_on(const struct choice *choice, const char *device)
{
	size_t n = 0;

	for (size_t i = 0; i < choice->inventory->n_partitions; i++) {
		if (is_free(choice, i) &&
			strcmp(choice->inventory->partitions[i].device, device) == 0)
			n++;
	}
	return n;
}

/* The free partition whose GPU has the most free ones, or is the preferred one; NULL:
 * there is none. */
static const struct clv_vm_partition *take_next(
	struct choice *choice, const char *preferred)
{
	const struct clv_vm_inventory *inventory = choice->inventory;
	size_t most = 0, at = 0;

	for (size_t i = 0; i < inventory->n_partitions; i++) {
		const char *device = inventory->partitions[i].device;
		size_t n;

		if (!is_free(choice, i))
			continue;
		n = count_free_on(choice, device);
		if (strcmp(device, preferred) == 0)
			n = SIZE_MAX;
		if (n > most) {
			most = n;
			at = i;
		}
	}
	if (most == 0)
		return NULL;
	choice->is_taken[at] = true;
	return &inventory->partitions[at];
}

/* Why a partition that is not free is not chosen; false: it says nothing new. */
static bool explain(const struct choice *choice, const struct clv_vm_partition *partition,
	char ret[160])
{
	bool is_fitting = is_of_size(partition, choice->wish);

	if (partition->is_whole && !is_fitting)
		return false;
	if (partition->is_held && !partition->is_whole)
		return false;
	if (partition->is_held)
		snprintf(ret, 160, "%.40s is held by %.80s", partition->name,
			partition->holder);
	else if (partition->why_not[0])
		snprintf(ret, 160, "%s", partition->why_not);
	else if (is_fitting && !is_of_model(partition, choice->wish))
		snprintf(ret, 160, "%.40s is another GPU than %.40s", partition->model,
			choice->wish->model);
	else
		return false;
	return true;
}

static int fail_few(const struct choice *choice, size_t n_wanted, size_t n_found,
	struct clv_error *err)
{
	const struct clv_vm_inventory *inventory = choice->inventory;
	bool is_explained = false;
	char why[160] = "";

	for (size_t i = 0; i < inventory->n_partitions && !is_explained; i++)
		is_explained = explain(choice, &inventory->partitions[i], why);
	return clv_error_set(err, -EBUSY,
		"%zu partition%s needed and %zu free%s%s: assign fewer, take others back "
		"with cleave unassign, or make more with cleave apply",
		n_wanted, n_wanted == 1 ? " is" : "s are", n_found,
		is_explained ? "; others: " : "", why);
}

static bool is_device(const struct clv_vm_inventory *inventory, const char *name)
{
	for (size_t i = 0; i < inventory->n_partitions; i++) {
		if (strcmp(inventory->partitions[i].device, name) == 0)
			return true;
	}
	return false;
}

static int choose_named(const struct clv_vm_inventory *inventory,
	const struct clv_vm_wish *wish, size_t n_targets,
	const struct clv_vm_partition **ret, struct clv_error *err)
{
	const struct clv_vm_partition *partition =
		clv_vm_find_partition(inventory, wish->partition);

	if (n_targets != 1 || wish->count > 1)
		return clv_error_set(err, -EINVAL,
			"%.72s is one partition and goes to one virtual machine: use "
			"--profile or --size for several",
			wish->partition);
	if (!partition && is_device(inventory, wish->partition))
		return clv_error_set(err, -ENOTSUP,
			"%.72s is partitioned: assign one of its partitions, or make it "
			"whole with a layout",
			wish->partition);
	if (!partition)
		return clv_error_set(err, -ENOENT,
			"there is no partition %.72s that a virtual machine can have: "
			"see "
			"cleave partition list",
			wish->partition);
	if (!is_of_size(partition, wish))
		return clv_error_set(err, -EINVAL,
			"%.72s is a %.40s and has another size than the one given: leave "
			"out --profile and --size",
			partition->name, partition->profile);
	if (partition->is_held)
		return clv_error_set(err, -EBUSY, "%.72s is held by %.100s: use another",
			partition->name, partition->holder);
	if (partition->why_not[0])
		return clv_error_set(err, -ENOTSUP, "%.72s cannot be assigned: %s",
			partition->name, partition->why_not);
	ret[0] = partition;
	return 0;
}

static int choose_all(struct choice *choice, size_t n_targets,
	const struct clv_vm_partition **ret, struct clv_error *err)
{
	size_t count = choice->wish->count ? choice->wish->count : 1;
	size_t n_wanted = n_targets * count;
	int r = check_sizes(choice, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n_wanted; i++) {
		/* The partitions of one machine are together. */
		const char *preferred = i % count ? ret[i - 1]->device : "";

		ret[i] = take_next(choice, preferred);
		if (!ret[i])
			return fail_few(choice, n_wanted, i, err);
	}
	return 0;
}

int clv_vm_choose(const struct clv_vm_inventory *inventory,
	const struct clv_vm_wish *wish, const struct clv_vm_target *targets,
	size_t n_targets, const struct clv_vm_partition **ret, struct clv_error *err)
{
	_cleanup_free_ bool *is_taken = calloc(inventory->n_partitions + 1, 1);
	struct choice choice = {inventory, wish, is_taken};
	int r = check_targets(wish, targets, n_targets, err);

	if (!is_taken)
		return clv_error_errno(err, ENOMEM, "cannot choose partitions");
	if (r < 0)
		return r;
	if (wish->partition)
		return choose_named(inventory, wish, n_targets, ret, err);
	return choose_all(&choice, n_targets, ret, err);
}
