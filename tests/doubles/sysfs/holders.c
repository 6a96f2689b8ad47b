/* SPDX-License-Identifier: Apache-2.0 */
#include "holders.h"
#include "text.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_HOLDERS 512

static const struct {
	const char *name, *file;
} kinds[SY_HOLDING_MAX] = {
	[SY_HOLDS_KFD] = {"kfd", "holders"},
	[SY_HOLDS_DRM] = {"drm", "holders"},
	[SY_HOLDS_VFIO] = {"vfio", "holders"},
	[SY_HOLDS_MDEV] = {"mdev", "holders"},
	[SY_HOLDS_NVIDIA] = {"nvidia", "holders"},
	[SY_HOLDS_MODULE] = {"module", "holders"},
	[SY_KFD_INIT_FAILS] = {"kfd-init-fails", "conditions"},
	[SY_IN_RESET] = {"in-reset", "conditions"},
	[SY_PROBE_FAILS] = {"probe-fails", "conditions"},
};

static struct list {
	const char *name;
	char path[512];
	struct stat was;
	struct sy_holder rows[MOST_HOLDERS];
	size_t n;
} lists[] = {{.name = "holders"}, {.name = "conditions"}};

void sy_holders_init(const char *control)
{
	for (size_t i = 0; i < SY_COUNT(lists); i++)
		sy_print(lists[i].path, sizeof(lists[i].path), "%s/%s", control,
			lists[i].name);
}

static enum sy_holding kind_of(const char *name, const char *file)
{
	for (int i = 0; i < SY_HOLDING_MAX; i++) {
		if (strcmp(kinds[i].name, name) == 0 && strcmp(kinds[i].file, file) == 0)
			return (enum sy_holding)i;
	}
	sy_die("%s: no such kind: %s", file, name);
}

static void read_line(struct list *list, const char *line)
{
	struct sy_holder *row = &list->rows[list->n];
	char kind[32], subject[64];
	int pid = 0, fields;

	*row = (struct sy_holder){0};
	fields = sscanf(line, "%31s %63s %d %" SCNu64 " %u", kind, subject, &pid,
		&row->bytes, &row->units);
	if (fields < 1 || kind[0] == '#')
		return;
	if (fields < 2 || list->n + 1 == MOST_HOLDERS)
		sy_die("%s: cannot read: %s", list->name, line);
	row->kind = kind_of(kind, list->name);
	row->pid = pid;
	sy_print(row->subject, sizeof(row->subject), "%s", subject);
	list->n++;
}

static void read_list(struct list *list)
{
	FILE *file = fopen(list->path, "re");
	char line[256];

	list->n = 0;
	while (file && fgets(line, sizeof(line), file))
		read_line(list, line);
	if (file)
		fclose(file);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool is_gone(const struct sy_holder *row)
{
	return row->pid > 0 && kill(row->pid, 0) < 0 && errno == ESRCH;
}

static bool forget_the_dead(struct list *list)
{
	size_t kept = 0, before = list->n;

	for (size_t i = 0; i < before; i++) {
		if (!is_gone(&list->rows[i]))
			list->rows[kept++] = list->rows[i];
	}
	list->n = kept;
	return kept != before;
}

bool sy_holders_refresh(void)
{
	bool has_changed = false;

	for (size_t i = 0; i < SY_COUNT(lists); i++) {
		struct stat now = {0};

		if (stat(lists[i].path, &now) < 0)
			now = (struct stat){0};
		if (!is_same(&now, &lists[i].was)) {
			lists[i].was = now;
			read_list(&lists[i]);
			has_changed = true;
		}
		has_changed = forget_the_dead(&lists[i]) || has_changed;
	}
	return has_changed;
}

static bool is_of(const struct sy_holder *row, enum sy_holding kind, const char *subject)
{
	return row->kind == kind &&
	       (strcmp(row->subject, "*") == 0 || strcmp(subject, "*") == 0 ||
		       strcmp(row->subject, subject) == 0);
}

const struct sy_holder *sy_holder_next(
	enum sy_holding kind, const char *subject, const struct sy_holder *after)
{
	struct list *list =
		strcmp(kinds[kind].file, "holders") == 0 ? &lists[0] : &lists[1];
	const struct sy_holder *end = list->rows + list->n;

	for (const struct sy_holder *row = after ? after + 1 : list->rows; row < end;
		row++) {
		if (is_of(row, kind, subject))
			return row;
	}
	return NULL;
}

bool sy_held(enum sy_holding kind, const char *subject)
{
	return sy_holder_next(kind, subject, NULL) != NULL;
}
