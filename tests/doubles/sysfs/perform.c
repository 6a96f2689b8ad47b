/* SPDX-License-Identifier: Apache-2.0 */
#include "perform.h"
#include "faults.h"
#include "state.h"
#include "tree.h"
#include "world.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The journal is the file "log": a JSON object per line, in the order of completion. */

static int journal = -1;
static unsigned long n_lines;

static void count_lines(const char *path)
{
	FILE *file = fopen(path, "re");
	int c;

	while (file && (c = getc(file)) != EOF)
		n_lines += c == '\n';
	if (file)
		fclose(file);
}

void sy_perform_init(const char *control)
{
	char path[512];

	sy_print(path, sizeof(path), "%s/log", control);
	count_lines(path);
	journal = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (journal < 0)
		sy_die("%s: %s", path, strerror(errno));
}

static void add_quoted(struct sy_text *line, const char *text)
{
	sy_add(line, "\"");
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			sy_add(line, "\\%c", c);
		else if (c < 0x20 || c > 0x7e)
			sy_add(line, "\\u%04x", c);
		else
			sy_add(line, "%c", c);
	}
	sy_add(line, "\"");
}

static void record(const struct sy_act *act, const struct sy_fault *fault, int result)
{
	struct sy_text line = {0};

	sy_add(&line, "{\"n\": %lu, \"op\": ", ++n_lines);
	add_quoted(&line, act->operation);
	sy_add(&line, ", \"path\": ");
	add_quoted(&line, act->path);
	sy_add(&line, ", \"value\": ");
	add_quoted(&line, act->value);
	sy_add(&line, ", \"pid\": %d, \"result\": ", act->pid);
	add_quoted(&line, result ? sy_error_name(-result) : "ok");
	sy_add(&line, ", \"fault\": ");
	add_quoted(&line, sy_action_name(fault->action));
	sy_add(&line, "}\n");
	if (write(journal, line.data, line.used) < 0)
		sy_die("log: %s", strerror(errno));
	sy_text_free(&line);
}

static int carry_out(struct sy_act *act, const struct sy_fault *fault)
{
	int r = 0;

	if (fault->action == SY_FAIL)
		return -fault->error;
	if (fault->action != SY_IGNORE && fault->action != SY_KILL)
		r = act->effect(act);
	sy_world.has_changed = true;
	sy_state_save();
	return r == 0 && fault->action == SY_FAIL_AFTER ? -fault->error : r;
}

int sy_perform(struct sy_act *act)
{
	struct sy_fault fault;
	int r;

	sy_lock();
	fault = sy_fault_for(act->operation, act->path);
	sy_unlock();
	sy_pause(fault.delay_ms);
	sy_lock();
	r = carry_out(act, &fault);
	record(act, &fault, r);
	sy_unlock();
	if ((fault.action == SY_KILL || fault.action == SY_KILL_AFTER) && act->pid > 0)
		kill(act->pid, SIGKILL);
	return r;
}

/* The file is looked up after the delay: it may be gone by then, as in the kernel, where
 * an open file outlives its device. */
static int store(struct sy_act *act)
{
	struct sy_node *node;

	if (sy_world.has_changed)
		sy_tree_build();
	node = sy_find(act->path);
	if (!node)
		return -ENODEV;
	return node->store ? node->store(node, act->value) : -EACCES;
}

int sy_write(const char *path, const char *value, pid_t pid)
{
	struct sy_act act = {
		.operation = "write",
		.path = path,
		.value = value,
		.pid = pid,
		.effect = store,
	};

	return sy_perform(&act);
}
