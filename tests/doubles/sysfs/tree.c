/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"
#include "world.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES 512

static struct sy_node *root;

static void node_free(struct sy_node *node)
{
	struct sy_node *next;

	for (struct sy_node *child = node->first; child; child = next) {
		next = child->next;
		node_free(child);
	}
	free(node->name);
	free(node->text);
	free(node);
}

static char *copy(const char *text)
{
	char *made = sy_alloc(strlen(text) + 1, 1);

	return strcpy(made, text);
}

static struct sy_node *node_new(struct sy_node *up, const char *name, mode_t mode)
{
	struct sy_node *node = sy_alloc(1, sizeof(*node));

	node->name = copy(name);
	node->mode = mode;
	node->up = up;
	if (!up)
		return node;
	if (up->last)
		up->last->next = node;
	else
		up->first = node;
	up->last = node;
	return node;
}

void sy_tree_clear(void)
{
	if (root)
		node_free(root);
	root = node_new(NULL, "", S_IFDIR | 0755);
}

struct sy_node *sy_root(void)
{
	return root;
}

static struct sy_node *child_of(struct sy_node *up, const char *name, size_t length)
{
	for (struct sy_node *child = up->first; child; child = child->next) {
		if (strncmp(child->name, name, length) == 0 && !child->name[length])
			return child;
	}
	return NULL;
}

struct sy_node *sy_dir(struct sy_node *up, const char *name)
{
	struct sy_node *found = child_of(up, name, strlen(name));

	return found ? found : node_new(up, name, S_IFDIR | 0755);
}

struct sy_node *sy_make(const char *format, ...)
{
	char path[PATH_BYTES], *rest = path, *name;
	struct sy_node *node = root;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);
	while ((name = strsep(&rest, "/"))) {
		if (*name)
			node = sy_dir(node, name);
	}
	return node;
}

static struct sy_node *find_below(struct sy_node *node, const char *path)
{
	while (node && *path) {
		size_t length = strcspn(path, "/");

		if (length)
			node = child_of(node, path, length);
		path += length;
		path += *path == '/';
	}
	return node;
}

struct sy_node *sy_find(const char *path)
{
	return find_below(root, path);
}

void sy_remove(struct sy_node *dir, const char *path)
{
	struct sy_node *node = find_below(dir, path), **at;

	if (!node || node == dir)
		return;
	dir = node->up;
	dir->last = NULL;
	for (at = &dir->first; *at;) {
		if (*at == node) {
			*at = node->next;
			continue;
		}
		dir->last = *at;
		at = &(*at)->next;
	}
	node_free(node);
}

void sy_path(const struct sy_node *node, char *to, size_t size)
{
	char rest[PATH_BYTES] = "", whole[PATH_BYTES];

	for (; node && node->up; node = node->up) {
		sy_print(whole, sizeof(whole), "/%s%s", node->name, rest);
		sy_print(rest, sizeof(rest), "%s", whole);
	}
	sy_print(to, size, "%s", rest);
}

struct sy_node *sy_file(
	struct sy_node *dir, const struct sy_attribute *attribute, struct sy_function *f)
{
	struct sy_node *node =
		node_new(dir, attribute->name, S_IFREG | attribute->permissions);

	node->show = attribute->show;
	node->store = attribute->store;
	node->index = attribute->index;
	node->f = f;
	return node;
}

void sy_files(struct sy_node *dir, const struct sy_attribute *table, size_t n,
	struct sy_function *f)
{
	for (size_t i = 0; i < n; i++)
		sy_file(dir, &table[i], f);
}

static int show_text(struct sy_node *node, struct sy_text *ret)
{
	sy_add(ret, "%s", node->text);
	return 0;
}

void sy_fixed(struct sy_node *dir, const char *name, const char *format, ...)
{
	char text[4096];
	va_list arguments;
	struct sy_node *node = node_new(dir, name, S_IFREG | 0444);

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	node->show = show_text;
	node->text = copy(text);
}

/* Length of the common leading folders. */
static size_t shared(const char *from, const char *to)
{
	size_t same = 0;

	for (size_t i = 0;; i++) {
		bool from_ends = from[i] == '/' || !from[i];
		bool to_ends = to[i] == '/';

		if (from_ends && to_ends)
			same = i;
		if (!from[i] || from[i] != to[i])
			return same;
	}
}

void sy_link(struct sy_node *dir, const char *name, const char *format, ...)
{
	char from[PATH_BYTES], to[PATH_BYTES];
	struct sy_text text = {0};
	va_list arguments;
	size_t same;

	va_start(arguments, format);
	vsnprintf(to, sizeof(to), format, arguments);
	va_end(arguments);
	sy_path(dir, from, sizeof(from));
	same = shared(from, to);
	for (const char *p = from + same; *p; p++) {
		if (*p == '/')
			sy_add(&text, "../");
	}
	sy_add(&text, "%s", to + same + 1);
	node_new(dir, name, S_IFLNK | 0777)->text = copy(text.data);
	sy_text_free(&text);
}
