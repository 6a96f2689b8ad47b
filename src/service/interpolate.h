/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_error;
struct clv_variables;

/* Replaces variables in a text, as the Compose specification defines it
 * ("Interpolation"): $NAME, ${NAME}, with :- and - (another text if unset or empty, or
 * unset), :? and ? (an error), :+ and + (another text if set); these texts may have
 * variables too; $$ is a dollar sign.  The caller frees *ret, which is NULL if the text
 * has no '$'.  -EINVAL with *err set.  on_unset is called for each unset variable that
 * becomes an empty text. */
int clv_interpolate(const char *text, const struct clv_variables *variables,
	void (*on_unset)(void *userdata, const char *name), void *userdata, char **ret,
	struct clv_error *err);
