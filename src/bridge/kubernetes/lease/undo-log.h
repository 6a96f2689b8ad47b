/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

#include <stdbool.h>
#include <stdint.h>

struct clv_error;

/* An undo log of things that must be released: a file for each, in folders beside the
 * driver's socket.  An entry is written before the thing is created and removed after it
 * is destroyed, so that nothing is leaked after a crash.  Names may have slashes. */

#define CLV_KUBE_UNDO_MAX 640u /* a name or text, with its NUL */

int clv_kube_undo_write(const struct clv_kube_settings *settings, const char *folder,
	const char *name, const char *text, struct clv_error *err);
/* The entry's text, which the caller frees, or NULL if there is no entry. */
char *clv_kube_undo_read(
	const struct clv_kube_settings *settings, const char *folder, const char *name);
bool clv_kube_undo_exists(
	const struct clv_kube_settings *settings, const char *folder, const char *name);
void clv_kube_undo_remove(
	const struct clv_kube_settings *settings, const char *folder, const char *name);

/* The age of the entry by the node's clock; 0 if there is none.  UINT64_MAX: it is of the
 * future, because the clock was set back; without that it would stay new for as long. */
uint64_t clv_kube_undo_age_ms(
	const struct clv_kube_settings *settings, const char *folder, const char *name);

/* Calls look for each entry; look may remove the entry. */
void clv_kube_undo_each(const struct clv_kube_settings *settings, const char *folder,
	void (*look)(const char *name, const char *text, void *userdata), void *userdata);
