/* SPDX-License-Identifier: Apache-2.0 */
/* The state of each device of the kept layout, and the operations that apply it, one
 * device after the other. */
#include "agent/layout/reapply.h"

#include "agent/apply/apply-internal.h"
#include "agent/apply/apply-marks.h"
#include "agent/config/config.h"
#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/event/events.h"
#include "agent/http/problem.h"
#include "agent/identity/names.h"
#include "agent/layout/ephemeral-partitions.h"
#include "agent/lease/machine.h"
#include "agent/ledger/holders.h"
#include "agent/ledger/standing.h"
#include "agent/os/json-fields.h"
#include "agent/record/agent.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/plan/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest interval between two checks of a device, and between two operations that
 * fail. */
#define LONGEST_S 60u
#define LONGEST_FAILED_S 600u
#define LAYOUT_NAME "the layout that was applied before"

enum item_state {
	PENDING, /* not checked yet, or about to be applied */
	APPLYING,
	APPLIED,
	CHANGED, /* it was applied; this agent does not apply it again */
	BUSY,    /* this and the following states are checked again */
	GONE,
	STUCK,
	UNRESOLVED, /* of the layout, not of a device */
	_ITEM_STATE_MAX,
};

const char *const clv_reapply_states[] = {
	[PENDING] = "pending",
	[APPLYING] = "applying",
	[APPLIED] = "applied",
	[CHANGED] = "changed",
	[BUSY] = "busy",
	[GONE] = "gone",
	[STUCK] = "failed",
	[UNRESOLVED] = "unresolved",
	[_ITEM_STATE_MAX] = NULL,
};

/* One device of the layout. */
struct item {
	char uuid[96]; /* or its PCI address */
	enum item_state state;
	enum item_state missing; /* while CHANGED and no driver shows the device: why */
	char why[256];           /* why it waits */
	unsigned int n_tries;
	uint64_t due_ns;
	json_t *steps; /* what is to be done, as of the last check; or NULL */
	struct clv_marks marks;
};

struct clv_reapply {
	struct clv_apply *apply;
	char *text;     /* as its user wrote it; NULL: no layout is kept */
	char *resolved; /* with devices by UUID; NULL: it is not resolved */
	char why[512];  /* why it cannot be resolved, or "" */
	struct item *items;
	size_t n_items;
	const struct clv_operation *op; /* that applies it to a device; NULL: none */
	char at[96];                    /* the UUID of that device */
	bool is_asking, has_looked;
	sd_event_source *timer;
};

static void look(struct clv_reapply *reapply);

/* An operation that waits, possibly for days, changes nothing meanwhile. */
static bool is_changing(const struct clv_apply *apply)
{
	const struct clv_operation *op;

	TAILQ_FOREACH(op, &apply->operations, entry)
	{
		if (!clv_operation_has_ended(op) && op->state != WAITING)
			return true;
	}
	return false;
}

static void free_items(struct item *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		json_decref(items[i].steps);
		clv_marks_clear(&items[i].marks);
	}
	free(items);
}

static void drop_items(struct clv_reapply *reapply)
{
	free_items(reapply->items, reapply->n_items);
	reapply->items = NULL;
	reapply->n_items = 0;
}

static void forget_layout(struct clv_reapply *reapply)
{
	free(reapply->text);
	free(reapply->resolved);
	reapply->text = reapply->resolved = NULL;
	reapply->why[0] = '\0';
}

static struct item *find_item(struct item *items, size_t n, const char *uuid)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(items[i].uuid, uuid) == 0)
			return &items[i];
	}
	return NULL;
}

static int on_timer(sd_event_source *source, uint64_t now_us, void *userdata)
{
	look(userdata);
	return 0;
}

/* Polls, because an operation that begins to wait does not report it; its end does. */
static void look_later(struct clv_reapply *reapply)
{
	reapply->timer = sd_event_source_disable_unref(reapply->timer);
	sd_event_add_time_relative(reapply->apply->agent->event, &reapply->timer,
		CLOCK_MONOTONIC, CLV_NS_PER_S / CLV_NS_PER_US, 0, on_timer, reapply);
}

/* Checks again when the first of the waiting devices is due, or in a minute. */
static void schedule(struct clv_reapply *reapply, bool is_soon)
{
	uint64_t now_ns = clv_clock_ns(), due_ns = UINT64_MAX;

	for (size_t i = 0; i < reapply->n_items; i++) {
		const struct item *item = &reapply->items[i];

		if (item->state >= BUSY && item->due_ns < due_ns)
			due_ns = item->due_ns;
	}
	/* Only a survey shows what was changed without the agent, or a device for which a
	 * layout could not be resolved. */
	if (due_ns == UINT64_MAX &&
		(!reapply->resolved ||
			(reapply->n_items > 0 &&
				reapply->apply->agent->settings->watch_every_s > 0)))
		due_ns = now_ns + LONGEST_S * CLV_NS_PER_S;
	reapply->timer = sd_event_source_disable_unref(reapply->timer);
	if (is_soon || due_ns < now_ns)
		due_ns = now_ns;
	if (due_ns != UINT64_MAX)
		sd_event_add_time_relative(reapply->apply->agent->event, &reapply->timer,
			CLOCK_MONOTONIC, (due_ns - now_ns) / CLV_NS_PER_US, 0, on_timer,
			reapply);
}

static const char *name_of(const struct clv_reapply *reapply, const struct item *item)
{
	const char *name = clv_names_find(reapply->apply->agent->names, item->uuid);

	return name ? name : "";
}

static void wait_more(struct clv_reapply *reapply, struct item *item,
	enum item_state state, const char *why)
{
	bool is_new = item->state != state && item->state != APPLYING;
	unsigned int wait_s = item->state == APPLYING ? LONGEST_FAILED_S : LONGEST_S;

	if (item->state < BUSY && item->state != APPLYING)
		item->n_tries = 0;
	if (item->n_tries < 6)
		wait_s = 1u << item->n_tries;
	item->n_tries++;
	item->due_ns = clv_clock_ns() + wait_s * CLV_NS_PER_S;
	item->state = state;
	snprintf(item->why, sizeof(item->why), "%s", why);
	if (!is_new)
		return;
	clv_events_emit_for_device(reapply->apply->agent, CLV_EVENT_LAYOUT_WAITS,
		name_of(reapply, item), "the layout waits for %s (%s): %s",
		name_of(reapply, item), item->uuid,
		state == BUSY ? "what it would change is in use" : why);
}

/* --- Plans --- */

struct unit {
	const struct clv_node *node;
	const struct clv_node_device *device;
};

/* Devices of a hive change their memory mode together. */
static bool is_in_unit(void *userdata, const char *identity)
{
	const struct unit *unit = userdata;
	const struct clv_node_device *device = clv_node_find(unit->node, identity);

	return device == unit->device ||
	       (device && device->hive[0] != '\0' &&
		       strcmp(device->hive, unit->device->hive) == 0);
}

#define GONE_WHY                                                                       \
	"it is gone, or its driver does not show it: see the kernel's log; to forget " \
	"it, apply cleave export --wanted without it, with cleave apply --only"

/* Why no driver shows the device. */
static enum item_state explain_missing(
	const struct clv_reapply *reapply, const struct item *item, struct clv_error *err)
{
	const struct clv_agent_device *device =
		clv_devices_find(reapply->apply->agent->devices, item->uuid);

	if (device && clv_machine_check(device, err) < 0)
		return BUSY;
	clv_error_set(err, -ENODEV, GONE_WHY);
	return GONE;
}

/* The layout for one device and those that change with it. */
static int read_unit(const struct clv_reapply *reapply, struct unit *unit, bool destroys,
	struct clv_layout *ret, struct clv_error *err)
{
	int r = clv_layout_parse(
		reapply->resolved, strlen(reapply->resolved), LAYOUT_NAME, ret, err);

	if (r < 0)
		return r;
	clv_layout_keep(ret, is_in_unit, unit);
	for (size_t i = 0; i < ret->n_rules && !destroys; i++)
		ret->rules[i].preserve = true;
	return 0;
}

static json_t *steps_of(const struct clv_plan *plan, const struct clv_node *node)
{
	json_t *array = json_array();
	char text[256];

	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct clv_step *step = &plan->steps[i];
		json_t *item = json_pack("{s:s,s:s}", "kind",
			clv_step_kind_to_string(step->kind), "partition",
			step->partition);

		clv_step_describe(step, node, text, sizeof(text));
		clv_json_set_text(item, "text", text);
		json_array_append_new(array, item);
	}
	return array;
}

/* A device that leases use is not closed: they may run for days. */
static bool is_leased(const struct clv_plan *plan)
{
	for (size_t i = 0; i < plan->n_obstacles; i++) {
		for (size_t j = 0; j < plan->obstacles[i].holders.n; j++) {
			if (plan->obstacles[i].holders.items[j].is_ours)
				return true;
		}
	}
	return false;
}

static void take_plan(struct clv_reapply *reapply, struct item *item,
	const struct clv_plan *plan, const struct clv_node *node)
{
	char why[256];

	json_decref(item->steps);
	item->steps = steps_of(plan, node);
	clv_marks_clear(&item->marks);
	if (!is_leased(plan))
		clv_marks_take(&item->marks, plan, node);
	if (plan->n_obstacles > 0) {
		const struct clv_obstacle *first = &plan->obstacles[0];

		snprintf(why, sizeof(why), "it is in use by %s%s: %s",
			first->holders.n ? first->holders.items[0].text
					 : "a pending change",
			plan->n_obstacles > 1 ? " and others" : "", first->why);
		wait_more(reapply, item, BUSY, why);
		return;
	}
	item->state = plan->n_steps == 0 ? APPLIED : PENDING;
	item->why[0] = '\0';
}

static void look_at(struct clv_reapply *reapply, struct item *item, struct clv_node *node)
{
	struct unit unit = {node, clv_node_find(node, item->uuid)};
	struct clv_layout layout = {0};
	struct clv_plan plan = {0};
	struct clv_error err = {0};
	int r;

	if (!unit.device) {
		enum item_state missing = explain_missing(reapply, item, &err);

		clv_marks_clear(&item->marks);
		wait_more(reapply, item, missing, err.msg);
		return;
	}
	/* Nothing is destroyed, because no user has confirmed what would be. */
	r = read_unit(reapply, &unit, false, &layout, &err);
	if (r >= 0)
		r = clv_plan_make(node, &layout, &plan, &err);
	if (r >= 0)
		r = clv_standing_add_obstacles(reapply->apply->agent, &plan, &err);
	if (r < 0)
		wait_more(reapply, item, STUCK, err.msg);
	else
		take_plan(reapply, item, &plan, node);
	clv_plan_clear(&plan);
	clv_layout_clear(&layout);
}

/* Whether the device is as the layout wants it, without what a lease has for itself. */
static void compare(struct clv_reapply *reapply, struct item *item, struct clv_node *node)
{
	struct unit unit = {node, clv_node_find(node, item->uuid)};
	bool is_exact =
		unit.device && !clv_ephemeral_is_on(reapply->apply->agent->ephemeral,
				       unit.device->info.name);
	struct clv_layout layout = {0};
	struct clv_plan plan = {0};
	struct clv_error err = {0};
	int r = -ENODEV;

	item->missing = unit.device ? PENDING : explain_missing(reapply, item, &err);
	if (unit.device)
		r = read_unit(reapply, &unit, is_exact, &layout, &err);
	if (r >= 0)
		r = clv_plan_make(node, &layout, &plan, &err);
	item->state = r >= 0 && plan.n_steps == 0 ? APPLIED : CHANGED;
	json_decref(item->steps);
	item->steps = steps_of(&plan, node);
	snprintf(item->why, sizeof(item->why), "%s",
		r < 0                    ? err.msg
		: item->state == CHANGED ? "it was changed after the layout was applied: "
					   "apply the layout again, or another one"
					 : "");
	clv_plan_clear(&plan);
	clv_layout_clear(&layout);
}

void clv_reapply_compare(struct clv_reapply *reapply)
{
	struct clv_node *node;

	/* An operation's steps change the node one after the other. */
	if (is_changing(reapply->apply))
		return;
	node = clv_holders_node(reapply->apply->agent);
	for (size_t i = 0; i < reapply->n_items; i++) {
		struct item *item = &reapply->items[i];

		if (item->state == APPLIED || item->state == CHANGED)
			compare(reapply, item, node);
	}
}

/* --- Layouts of earlier versions, which are not resolved --- */

/* Whether the devices already are as the rule wants them, so that the order or the names
 * by which it selects them have not changed. */
static bool is_fulfilled(
	const struct clv_reapply *reapply, size_t at, const struct clv_node *node)
{
	struct clv_layout layout = {0};
	struct clv_plan plan = {0};
	bool is_so = clv_layout_parse(reapply->text, strlen(reapply->text), LAYOUT_NAME,
			     &layout, NULL) >= 0;

	for (size_t i = layout.n_rules; i-- > 0 && is_so;) {
		if (i != at)
			clv_layout_remove_rule(&layout, i);
		else
			layout.rules[i].preserve = true;
	}
	is_so = is_so && clv_plan_make(node, &layout, &plan, NULL) >= 0 &&
		plan.n_steps == 0 && plan.n_obstacles == 0;
	clv_plan_clear(&plan);
	clv_layout_clear(&layout);
	return is_so;
}

static int resolve_layout(const struct clv_reapply *reapply, const struct clv_node *node,
	struct clv_layout *layout, struct clv_error *err)
{
	for (size_t i = 0; i < layout->n_rules; i++) {
		if (clv_selector_needs_order(&layout->rules[i].select) &&
			!is_fulfilled(reapply, i, node))
			return clv_error_set(err, -ENODEV,
				"an earlier version has kept the layout, which selects "
				"devices by name or index in line %u, and has not "
				"recorded which these were: apply it again, cleave "
				"export --wanted | cleave apply -",
				layout->rules[i].line);
	}
	return clv_layout_resolve(layout, node, err);
}

static void resolve_old(struct clv_reapply *reapply, const struct clv_node *node)
{
	struct clv_store *store = clv_state_get(reapply->apply->agent, NULL);
	struct clv_layout layout = {0};
	struct clv_error err = {0};
	int r = clv_layout_parse(
		reapply->text, strlen(reapply->text), LAYOUT_NAME, &layout, &err);

	if (r >= 0)
		r = resolve_layout(reapply, node, &layout, &err);
	if (r >= 0)
		r = clv_layout_write(&layout, &reapply->resolved, &err);
	if (r >= 0 && store &&
		clv_store_put_layout(store, reapply->text, reapply->resolved, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
	clv_layout_clear(&layout);
	if (r >= 0)
		reapply->why[0] = '\0';
	if (r >= 0 || strcmp(reapply->why, err.msg) == 0)
		return;
	snprintf(reapply->why, sizeof(reapply->why), "%s", err.msg);
	clv_events_emit(reapply->apply->agent, CLV_EVENT_LAYOUT_WAITS, "%s", err.msg);
}

/* --- One device after the other --- */

static int add_item(struct clv_reapply *reapply, const char *uuid, struct item *known)
{
	struct item *item = CLV_APPEND(reapply->items, reapply->n_items);

	if (!item)
		return -ENOMEM;
	if (known) {
		*item = *known;
		known->steps = NULL;
		known->marks = (struct clv_marks){0};
	}
	snprintf(item->uuid, sizeof(item->uuid), "%s", uuid);
	return 0;
}

/* Devices that were listed before keep their state. */
static int list_devices(struct clv_reapply *reapply, struct clv_error *err)
{
	struct item *known = reapply->items;
	size_t n_known = reapply->n_items;
	struct clv_layout layout = {0};
	int r = clv_layout_parse(
		reapply->resolved, strlen(reapply->resolved), LAYOUT_NAME, &layout, err);

	reapply->items = NULL;
	reapply->n_items = 0;
	for (size_t i = 0; i < layout.n_rules && r >= 0; i++) {
		const struct clv_selector *select = &layout.rules[i].select;

		for (size_t j = 0; j < select->n_names && r >= 0; j++)
			r = add_item(reapply, select->names[j],
				find_item(known, n_known, select->names[j]));
		if (r < 0)
			clv_error_errno(err, -r, "cannot apply the layout again");
	}
	free_items(known, n_known);
	clv_layout_clear(&layout);
	return r;
}

static int start_operation(struct clv_reapply *reapply, struct item *item,
	struct clv_node *node, struct clv_error *err)
{
	struct clv_apply_request request = {.layout_name = LAYOUT_NAME, .is_again = true};
	struct unit unit = {node, clv_node_find(node, item->uuid)};
	struct clv_layout layout = {0};
	_cleanup_free_ char *text = NULL;
	struct clv_operation *op;
	int r = unit.device ? read_unit(reapply, &unit, false, &layout, err)
			    : clv_error_set(err, -ENODEV, "it is gone");

	if (r >= 0)
		r = clv_layout_write(&layout, &text, err);
	clv_layout_clear(&layout);
	if (r < 0)
		return r;
	request.layout = text;
	snprintf(request.what, sizeof(request.what), "apply the layout again on %.70s",
		unit.device->info.name);
	r = clv_apply_start(reapply->apply, &request, &op, err);
	if (r >= 0)
		reapply->op = op;
	return r;
}

/* Begins with the next device that can be changed now. */
static void apply_next(struct clv_reapply *reapply)
{
	struct clv_node *node = clv_holders_node(reapply->apply->agent);
	struct clv_error err = {0};

	for (size_t i = 0; i < reapply->n_items && !reapply->op; i++) {
		struct item *item = &reapply->items[i];

		if (item->state != PENDING)
			continue;
		snprintf(reapply->at, sizeof(reapply->at), "%s", item->uuid);
		if (start_operation(reapply, item, node, &err) < 0)
			wait_more(reapply, item, err.code == -EBUSY ? BUSY : STUCK,
				err.msg);
		else
			item->state = APPLYING;
	}
	clv_marks_update(reapply->apply);
	if (!reapply->op)
		schedule(reapply, false);
}

static void look_at_all(struct clv_reapply *reapply, const struct clv_error *err)
{
	struct clv_node *node = clv_holders_node(reapply->apply->agent);
	uint64_t now_ns = clv_clock_ns();

	for (size_t i = 0; i < reapply->n_items; i++) {
		struct item *item = &reapply->items[i];

		if (item->state == APPLIED || item->state == CHANGED ||
			(item->state >= BUSY && item->due_ns > now_ns))
			continue;
		if (err->code != 0)
			wait_more(reapply, item, STUCK, err->msg);
		else
			look_at(reapply, item, node);
	}
}

static void on_surveyed(void *userdata, const struct clv_error *err)
{
	struct clv_reapply *reapply = userdata;
	struct clv_error why = *err;

	reapply->is_asking = false;
	if (is_changing(reapply->apply)) {
		look_later(reapply);
		return;
	}
	if (!reapply->resolved && err->code == 0)
		resolve_old(reapply, clv_holders_node(reapply->apply->agent));
	reapply->has_looked = true;
	if (!reapply->resolved) {
		schedule(reapply, false);
		return;
	}
	if (reapply->n_items == 0 && list_devices(reapply, &why) < 0)
		clv_log_warning(0, "%s", why.msg);
	look_at_all(reapply, &why);
	clv_reapply_compare(reapply);
	apply_next(reapply);
}

static void look(struct clv_reapply *reapply)
{
	reapply->timer = sd_event_source_disable_unref(reapply->timer);
	if (!reapply->text || reapply->is_asking)
		return;
	if (is_changing(reapply->apply)) {
		look_later(reapply);
		return;
	}
	reapply->is_asking = true;
	clv_hardware_survey_for(reapply->apply->agent->hardware, on_surveyed, reapply);
}

static void set_applied(struct item *item)
{
	item->state = APPLIED;
	item->why[0] = '\0';
	json_decref(item->steps);
	item->steps = NULL;
	clv_marks_clear(&item->marks);
}

/* A layout that was just applied is in effect on all of its devices; devices that only
 * earlier layouts select keep their state. */
static void take_applied(struct clv_reapply *reapply, const struct clv_operation *op)
{
	struct clv_error err = {0};

	reapply->has_looked = reapply->has_looked || !reapply->text;
	forget_layout(reapply);
	reapply->text = op->kept_text ? strdup(op->kept_text) : NULL;
	reapply->resolved = op->kept ? strdup(op->kept) : NULL;
	if (!reapply->text || !reapply->resolved || list_devices(reapply, &err) < 0) {
		clv_log_warning(0, "out of memory: the state of the layout is not shown");
		drop_items(reapply);
	}
	for (size_t i = 0; i < reapply->n_items; i++) {
		if (clv_operation_selects(op, reapply->items[i].uuid))
			set_applied(&reapply->items[i]);
	}
}

/* The device may not be in the layout any more. */
static void take_end(struct clv_reapply *reapply, const struct clv_operation *op)
{
	struct item *item = find_item(reapply->items, reapply->n_items, reapply->at);

	reapply->op = NULL;
	if (!item)
		return;
	clv_marks_clear(&item->marks);
	if (op->state == DONE)
		set_applied(item);
	else
		wait_more(reapply, item,
			op->error.code == -CLV_E_IN_USE || op->error.code == -EBUSY
				? BUSY
				: STUCK,
			op->error.msg);
}

bool clv_reapply_is_active(const struct clv_reapply *reapply)
{
	if (!reapply->text)
		return false;
	for (size_t i = 0; i < reapply->n_items; i++) {
		if (reapply->items[i].state <= APPLYING)
			return true;
	}
	return !reapply->has_looked;
}

static void on_ended(void *userdata, const struct clv_operation *op)
{
	struct clv_reapply *reapply = userdata;

	if (reapply->op == op)
		take_end(reapply, op);
	else if (op->state == DONE && op->request.keeps_layout)
		take_applied(reapply, op);
	/* A partition for a lease is recorded after this. */
	if (!op->request.is_for_lease)
		clv_reapply_compare(reapply);
	if (reapply->text)
		schedule(reapply, clv_reapply_is_active(reapply));
}

/* If memory is lacking, or the devices of the layout are not known, any request waits, as
 * does one that makes the agent forget the layout of all other devices. */
bool clv_reapply_delays(
	const struct clv_reapply *reapply, const struct clv_apply_request *request)
{
	const struct clv_node *node = clv_holders_node(reapply->apply->agent);
	_cleanup_free_ bool *is_touched = calloc(node->n_devices + 1, sizeof(bool));

	if (request->forgets_others || !reapply->resolved || !is_touched)
		return clv_reapply_is_active(reapply);
	clv_apply_touch(request, node, is_touched);
	for (size_t i = 0; i < reapply->n_items; i++) {
		const struct clv_node_device *device =
			clv_node_find(node, reapply->items[i].uuid);

		if (device && is_touched[device - node->devices] &&
			reapply->items[i].state <= APPLYING)
			return true;
	}
	return false;
}

size_t clv_reapply_n_waiting(const struct clv_reapply *reapply)
{
	size_t n = reapply->text && !reapply->resolved;

	for (size_t i = 0; i < reapply->n_items; i++)
		n += reapply->items[i].state != APPLIED;
	return n;
}

static json_t *item_to_json(const struct clv_reapply *reapply, const struct item *item)
{
	bool is_missing = item->state == CHANGED && item->missing != PENDING;
	json_t *json = json_pack("{s:s,s:s,s:s,s:o}", "name", name_of(reapply, item),
		"uuid", item->uuid, "state",
		clv_reapply_states[is_missing ? item->missing : item->state], "steps",
		item->steps && item->state != APPLIED ? json_incref(item->steps)
						      : json_array());

	clv_json_set_text(json, "why", item->why);
	return json;
}

json_t *clv_reapply_to_json(const struct clv_reapply *reapply)
{
	json_t *array = json_array();

	for (size_t i = 0; i < reapply->n_items; i++)
		json_array_append_new(array, item_to_json(reapply, &reapply->items[i]));
	if (reapply->text && !reapply->resolved &&
		(reapply->why[0] != '\0' || !reapply->has_looked)) {
		json_t *json = json_pack("{s:s,s:s,s:s,s:[]}", "name", "", "uuid", "",
			"state",
			clv_reapply_states[reapply->has_looked ? UNRESOLVED : PENDING],
			"steps");

		clv_json_set_text(json, "why",
			reapply->has_looked
				? reapply->why
				: "an earlier version has kept the layout, and its "
				  "devices are not known yet: they are looked at "
				  "after the operation that is under way");
		json_array_append_new(array, json);
	}
	return array;
}

/* What is about to change on the i-th device, which takes no lease meanwhile. */
static const struct clv_marks *marks_at(const void *userdata, size_t i)
{
	const struct clv_reapply *reapply = userdata;

	return i < reapply->n_items ? &reapply->items[i].marks : NULL;
}

/* Begins again when the state file could be opened after the start.  While there is only
 * a copy of it, the devices are compared with the layout, and no operation starts. */
void clv_reapply_begin(struct clv_reapply *reapply)
{
	struct clv_store *store = clv_state_get_readable(reapply->apply->agent, NULL);
	struct clv_error err = {0};

	forget_layout(reapply);
	drop_items(reapply);
	if (!store ||
		clv_store_get_layout(store, &reapply->text, &reapply->resolved, NULL) < 0)
		return;
	if (reapply->resolved[0] == '\0') {
		free(reapply->resolved);
		reapply->resolved = NULL;
	}
	/* The devices are shown before the first check, which may have to wait. */
	if (reapply->resolved && list_devices(reapply, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
	look(reapply);
}

int clv_reapply_new(
	struct clv_agent *agent, struct clv_reapply **ret, struct clv_error *err)
{
	struct clv_apply *apply = agent->apply;
	struct clv_reapply *reapply = calloc(1, sizeof(*reapply));

	if (!reapply)
		return clv_error_errno(err, ENOMEM, "cannot manage partitions");
	reapply->apply = apply;
	apply->ended = on_ended;
	apply->marks = marks_at;
	apply->userdata = reapply;
	*ret = reapply;
	return 0;
}

struct clv_reapply *clv_reapply_free(struct clv_reapply *reapply)
{
	if (!reapply)
		return NULL;
	reapply->apply->ended = NULL;
	reapply->apply->marks = NULL;
	clv_hardware_cancel(reapply->apply->agent->hardware, reapply);
	sd_event_source_disable_unref(reapply->timer);
	drop_items(reapply);
	forget_layout(reapply);
	free(reapply);
	return NULL;
}
