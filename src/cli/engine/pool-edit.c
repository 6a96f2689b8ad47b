/* SPDX-License-Identifier: Apache-2.0 */
/* Changes a layout so that devices join or leave a pool.  Only the standing shares of
 * these devices change: the rest of their rules, and all other rules, stay. */
#include "cli/engine/pool.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"
#include "core/layout/layout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "the layout that was last applied"

static void clear(struct clv_layout *layout)
{
	clv_layout_clear(layout);
}

#define _cleanup_layout_ CLV_CLEANUP(clear)

static bool is_of(void *userdata, const char *identity)
{
	return strcmp(userdata, identity) == 0;
}

static bool is_of_another(void *userdata, const char *identity)
{
	return !is_of(userdata, identity);
}

static int parse(const char *text, struct clv_layout *ret, struct clv_error *err)
{
	*ret = (struct clv_layout){.name = NAME};
	return text ? clv_layout_parse(text, strlen(text), NAME, ret, err) : 0;
}

/* The rule of this device alone, without others that it selected. */
static struct clv_layout_rule *cut_out(const char *text, const char *device,
	struct clv_layout *ret, struct clv_error *err)
{
	struct clv_layout_rule *rule;

	if (parse(text, ret, err) < 0)
		return NULL;
	clv_layout_keep(ret, is_of, (void *)device);
	rule = ret->n_rules > 0 ? &ret->rules[0] : clv_layout_add_rule(ret);
	if (rule && rule->select.n_names == 0 &&
		clv_selector_add_name(&rule->select, device) < 0)
		rule = NULL;
	if (!rule)
		clv_error_errno(err, ENOMEM, "cannot change the layout");
	return rule;
}

static int add_share(
	struct clv_layout_rule *rule, const char *pool, struct clv_error *err)
{
	struct clv_layout_share *share;

	if (rule->shares.n_equal > 0 || rule->shares.n > 0)
		return clv_error_set(err, -EEXIST,
			"it has standing shares, and a member of a pool is whole: remove "
			"the shares from the layout, or take it out of its pool first");
	share = clv_layout_add_share(&rule->shares);
	if (!share)
		return clv_error_errno(err, ENOMEM, "cannot change the layout");
	snprintf(share->name, sizeof(share->name), "%s", pool);
	share->request.compute_ppm = CLV_PPM;
	return 0;
}

static void remove_share(struct clv_layout_rule *rule, const char *pool)
{
	struct clv_layout_shares *shares = &rule->shares;

	for (size_t i = shares->n; i-- > 0;) {
		if (strcmp(shares->items[i].name, pool) == 0)
			shares->items[i] = shares->items[--shares->n];
	}
}

/* Moves the rule behind those of the layout. */
static int append_rule(struct clv_layout *layout, struct clv_layout_rule *rule)
{
	struct clv_layout_rule *copy = clv_layout_add_rule(layout);

	if (!copy)
		return -ENOMEM;
	*copy = *rule;
	memset(rule, 0, sizeof(*rule));
	return 0;
}

static int edit_device(const char *text, const struct clv_pool_edit *edit,
	const char *device, struct clv_layout *layout, struct clv_error *err)
{
	_cleanup_layout_ struct clv_layout own = {0};
	struct clv_layout_rule *rule = cut_out(text, device, &own, err);
	int r = 0;

	if (!rule)
		return err->code;
	clv_layout_keep(layout, is_of_another, (void *)device);
	if (edit->is_removal)
		remove_share(rule, edit->pool);
	else
		r = add_share(rule, edit->pool, err);
	if (r == 0 && append_rule(layout, rule) < 0)
		r = clv_error_errno(err, ENOMEM, "cannot change the layout");
	return r;
}

int clv_pool_edit(const char *text, const struct clv_pool_edit *edit, char **ret_text,
	struct clv_error *err)
{
	_cleanup_layout_ struct clv_layout layout = {0};
	int r = parse(text, &layout, err);

	for (size_t i = 0; r == 0 && i < edit->n_devices; i++)
		r = edit_device(text, edit, edit->devices[i], &layout, err);
	return r < 0 ? r : clv_layout_write(&layout, ret_text, err);
}
