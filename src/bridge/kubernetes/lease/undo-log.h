/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

#include <stdbool.h>
#include <stdint.h>

struct clv_error;

/* An undo log: what is to be given back, in folders beside the driver's socket: a file
 * for each, written before the thing is made and removed after it is gone, so that
 * nothing is left over wherever we were stopped.  Names may have slashes. */

#define CLV_KUBE_UNDO_MAX 640u /* a name or text, with its NUL */

int clv_kube_undo_write(const struct clv_kube_settings *settings, const char *folder,
	const char *name, const char *text, struct clv_error *err);
/* Its text, to be freed, or NULL. */
char *clv_kube_undo_read(
	const struct clv_kube_settings *settings, const char *folder, const char *name);
bool clv_kube_undo_is_there(
	const struct clv_kube_settings *settings, const char *folder, const char *name);
void clv_kube_undo_remove(
	const struct clv_kube_settings *settings, const char *folder, const char *name);

/* How long ago it was written. */
uint64_t clv_kube_undo_age_ms(
	const struct clv_kube_settings *settings, const char *folder, const char *name);

/* Each that is there; look may remove it. */
void clv_kube_undo_each(const struct clv_kube_settings *settings, const char *folder,
	void (*look)(const char *name, const char *text, void *userdata), void *userdata);
