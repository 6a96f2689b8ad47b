/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "text.h"
#include <sys/types.h>

/* The current tree: built again from the world whenever that has changed, so that no part
 * of the world has to know which files show it. Hold the world's lock for all of this;
 * results are valid until the lock is released. */

struct sy_function;
struct sy_node;

/* 0 or -errno. */
typedef int sy_show_function(struct sy_node *node, struct sy_text *ret);
typedef int sy_store_function(struct sy_node *node, const char *text);

struct sy_node {
	struct sy_node *up, *first, *last, *next;
	char *name;
	mode_t mode; /* including the type */
	sy_show_function *show;
	sy_store_function *store;
	struct sy_function *f; /* NULL for files of no PCI function */
	unsigned index;        /* index among several similar files */
	const void *data;
	char *text; /* its constant content; the target of a link */
};

/* A row of a table of files. */
struct sy_attribute {
	const char *name;
	mode_t permissions;
	sy_show_function *show;
	sy_store_function *store;
	unsigned index;
};

/* Drops the tree; folders are built on demand. */
void sy_tree_clear(void);
struct sy_node *sy_root(void);

struct sy_node *sy_dir(struct sy_node *up, const char *name);
/* Creates a path from the root, with all folders. */
struct sy_node *sy_make(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* NULL if it does not exist. */
struct sy_node *sy_find(const char *path);
/* Removes the node at this path below the folder, if any. */
void sy_remove(struct sy_node *dir, const char *path);
void sy_path(const struct sy_node *node, char *to, size_t size);

struct sy_node *sy_file(
	struct sy_node *dir, const struct sy_attribute *attribute, struct sy_function *f);
void sy_files(struct sy_node *dir, const struct sy_attribute *table, size_t n,
	struct sy_function *f);
void sy_fixed(struct sy_node *dir, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The target is given from the root; the link is relative, as the kernel's are, and ends
 * in the target's own name. */
void sy_link(struct sy_node *dir, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
