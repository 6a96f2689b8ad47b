/* SPDX-License-Identifier: Apache-2.0 */
#include "apply-world.h"

#include "../unit/plan-apply.h"
#include "../unit/plan-world.h"
#include "rows.h"

#include "agent/apply/apply-internal.h"
#include "agent/apply/apply.h"
#include "agent/http/problem.h"
#include "agent/layout/reapply.h"
#include "agent/store/state.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>

struct clv_node *node(void)
{
	return clv_hardware_node(world.agent.hardware);
}

struct clv_agent_device *part;

/* What the drivers do not show at present: each survey that fails, or is answered while
 * the device is gone, leaves an empty node. */
static struct clv_node hidden;
static bool is_gone;

static void hide(void)
{
	if (node()->n_devices == 0)
		return;
	clv_node_clear(&hidden);
	hidden = *node();
	*node() = (struct clv_node){0};
}

static void show_again(void)
{
	if (is_gone || hidden.n_devices == 0)
		return;
	clv_node_clear(node());
	*node() = hidden;
	hidden = (struct clv_node){0};
}

int apply_begin(void **state)
{
	struct clv_error err = {0};
	int r = world_begin(state);

	if (r < 0)
		return r;
	is_gone = false;
	world_begin_ephemeral();
	part = world_part(world_device(40 * GIB), "1g.5gb", 0, 5 * GIB);
	r = clv_apply_new(&world.agent, &world.agent.apply, &err);
	return r < 0 ? r : clv_reapply_new(&world.agent, &world.agent.reapply, &err);
}

int apply_end(void **state)
{
	clv_node_clear(&hidden);
	world.agent.reapply = clv_reapply_free(world.agent.reapply);
	world.agent.apply = clv_apply_free(world.agent.apply);
	return world_end(state);
}

static struct world_question take_question(int kind)
{
	struct world_question question = world.questions[0];

	assert_int_equal(world.n_questions, 1);
	assert_int_equal(question.kind, kind);
	world.n_questions = 0;
	return question;
}

static void answer(int kind, int code)
{
	struct world_question question = take_question(kind);
	struct clv_error err = {0};

	if (kind == WORLD_ASK && code == 0)
		show_again();
	if (kind == WORLD_ASK && code != 0)
		hide();
	if (code == 0 && kind == WORLD_STEP)
		assert_null(plan_apply(node(), &question.step));
	if (code != 0)
		clv_error_set(&err, code, "the driver says no");
	if (question.done)
		question.done(question.userdata, &err);
}

/* An operation that waits and the kept layout ask at the same moment. */
static void answer_both(void)
{
	struct world_question first = world.questions[0], second = world.questions[1];
	struct clv_error err = {0};

	assert_int_equal(world.n_questions, 2);
	assert_int_equal(first.kind, WORLD_ASK);
	assert_int_equal(second.kind, WORLD_ASK);
	world.n_questions = 0;
	show_again();
	first.done(first.userdata, &err);
	second.done(second.userdata, &err);
}

void next_agent(void)
{
	struct clv_error err = {0};

	world.agent.reapply = clv_reapply_free(world.agent.reapply);
	world.agent.apply = clv_apply_free(world.agent.apply);
	world.n_questions = 0;
	assert_int_equal(clv_apply_new(&world.agent, &world.agent.apply, &err), 0);
	assert_int_equal(clv_reapply_new(&world.agent, &world.agent.reapply, &err), 0);
	clv_apply_resume(world.agent.apply);
	clv_reapply_begin(world.agent.reapply);
}

struct clv_operation *last(void)
{
	struct clv_operation *op = NULL, *next;

	for (size_t i = 0; (next = clv_apply_at(world.agent.apply, i)); i++)
		op = next;
	return op;
}

static void cancel(void)
{
	bool is_at_work = last()->state == RUNNING || last()->state == ROLLING_BACK;

	assert_int_equal(clv_apply_cancel(world.agent.apply, last(), NULL),
		is_at_work ? -CLV_E_IN_USE : 0);
}

static void set_disk(bool is_full)
{
	world.agent.state->is_copy = is_full;
	world.agent.state->code = -ENOSPC;
}

static void add_lease(struct clv_node_device *device)
{
	struct clv_partition *last = &device->partitions[device->n_partitions - 1];
	struct clv_holder *holder = clv_holders_add(&last->holders);

	assert_non_null(holder);
	snprintf(holder->lease, sizeof(holder->lease), "a");
	snprintf(holder->text, sizeof(holder->text), "lease a");
}

void happens(char letter)
{
	switch (letter) {
	case 's':
	case 'S':
		answer(WORLD_ASK, letter == 's' ? 0 : -EIO);
		break;
	case 'b':
		answer_both();
		break;
	case '+':
	case '-':
		answer(WORLD_STEP, letter == '+' ? 0 : -EIO);
		break;
	case 'n':
		answer(WORLD_STEP, -ENOSPC);
		break;
	case 'w':
	case 'W':
		world_pass_s(letter == 'w' ? 1 : 120);
		break;
	case 'h':
		add_lease(&node()->devices[0]);
		break;
	case 'r':
		plan_end_lease(node(), "a");
		break;
	case 'c':
		cancel();
		break;
	case 'g':
	case 'G':
		is_gone = letter == 'g';
		hide();
		break;
	case 'A':
		next_agent();
		break;
	default:
		set_disk(letter == 'd');
	}
}
