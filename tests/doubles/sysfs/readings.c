/* SPDX-License-Identifier: Apache-2.0 */
#include "readings.h"
#include "text.h"
#include "tree.h"
#include "world.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_MAX_BYTES 512

static char path[512];
static struct stat was;

void sy_readings_init(const char *control)
{
	sy_print(path, sizeof(path), "%s/readings", control);
}

bool sy_readings_refresh(void)
{
	struct stat now = {0};
	bool is_same;

	if (stat(path, &now) < 0)
		now = (struct stat){0};
	is_same = now.st_ino == was.st_ino && now.st_size == was.st_size &&
		  now.st_mtim.tv_sec == was.st_mtim.tv_sec &&
		  now.st_mtim.tv_nsec == was.st_mtim.tv_nsec;
	was = now;
	return !is_same;
}

/* Creates the folders of a path; returns the last one, and in *ret_last the last name. */
static struct sy_node *make_way(struct sy_node *dir, char *name, char **ret_last)
{
	char *slash;

	while ((slash = strchr(name, '/'))) {
		*slash = '\0';
		dir = sy_dir(dir, name);
		name = slash + 1;
	}
	*ret_last = name;
	return dir;
}

static void put_line_ends(char *text)
{
	char *at;

	while ((at = strstr(text, "\\n"))) {
		*at = '\n';
		memmove(at + 1, at + 2, strlen(at + 2) + 1);
	}
}

static void build_line(const struct sy_function *f, struct sy_node *dir, char *line)
{
	char bdf[SY_BDF], file[128], text[LINE_MAX_BYTES];
	char *last;

	if (line[0] == '#' || line[0] == '\n')
		return;
	if (sscanf(line, "%15s %127s %511[^\n]", bdf, file, text) != 3)
		sy_die("readings: cannot read: %s", line);
	if (strcmp(bdf, f->bdf) != 0)
		return;
	put_line_ends(text);
	dir = make_way(dir, file, &last);
	sy_remove(dir, last);
	sy_fixed(dir, last, "%s\n", text);
}

void sy_readings_build(const struct sy_function *f, struct sy_node *dir)
{
	FILE *file = fopen(path, "re");
	char line[LINE_MAX_BYTES + 160];

	while (file && fgets(line, sizeof(line), file))
		build_line(f, dir, line);
	if (file)
		fclose(file);
}
