/* SPDX-License-Identifier: Apache-2.0 */
/* A message of the agent has the facts first, and behind the last colon or semicolon what
 * its reader can do, with options and verbs of the command line. */
#include "bridge/kubernetes/lease/refusal.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <stddef.h>
#include <string.h>

/* The length of the facts. */
static size_t find_advice(const char *msg)
{
	static const char *const of_command_line[] = {" --", " cleave "};
	size_t first = strlen(msg), n;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(of_command_line); i++) {
		const char *at = strstr(msg, of_command_line[i]);

		if (at && (size_t)(at - msg) < first)
			first = (size_t)(at - msg);
	}
	if (msg[first] == '\0')
		return first;
	for (n = first + 1; n-- > 0;) {
		if ((msg[n] == ':' || msg[n] == ';') && msg[n + 1] == ' ')
			return n;
	}
	return strlen(msg);
}

int clv_kube_refuse(int r, const char *agent_msg, struct clv_error *err)
{
	return clv_error_set(err, r, "%.*s", (int)find_advice(agent_msg), agent_msg);
}

int clv_kube_refuse_room(
	int r, const char *agent_msg, bool is_claim, struct clv_error *err)
{
	return clv_error_set(err, r, "%.*s; ask for less, or %s",
		(int)find_advice(agent_msg), agent_msg,
		is_claim ? "wait until others have ended"
			 : "create the pod again when others have ended");
}
