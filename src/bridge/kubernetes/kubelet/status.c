/* SPDX-License-Identifier: Apache-2.0 */
/* The status file: a line with the time, and a second one with what is not registered. */
#include "bridge/kubernetes/kubelet/status.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "bridge/kubernetes/kubelet/dra.h"
#include "bridge/kubernetes/kubelet/plugin.h"
#include "bridge/kubernetes/kubelet/state.h"
#include "bridge/kubernetes/resource/resource.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (CLV_KUBE_NAME_MAX + 96)
#define OLD_NS (10 * CLV_NS_PER_S)

static void find_missing(const struct clv_kube *kube, char ret[TEXT_MAX])
{
	const char *name = NULL;

	ret[0] = '\0';
	if (!kube->has_inventory || kube->is_agent_missing) {
		snprintf(ret, TEXT_MAX, "the agent does not answer");
		return;
	}
	if (kube->dra && !clv_kube_dra_is_registered(kube->dra))
		name = kube->settings.driver;
	for (size_t i = 0; i < kube->n_plugins && !name; i++) {
		if (!clv_kube_plugin_is_registered(kube->plugins[i]))
			name = kube->resources[i]->name;
	}
	if (name)
		snprintf(ret, TEXT_MAX, "kubelet has not registered %s", name);
}

int clv_kube_status_write(const struct clv_kube *kube, struct clv_error *err)
{
	char missing[TEXT_MAX], text[TEXT_MAX + 32];

	if (kube->settings.status[0] == '\0')
		return 0;
	find_missing(kube, missing);
	snprintf(text, sizeof(text), "%" PRIu64 "\n%s", clv_clock_ns(), missing);
	return clv_file_replace(kube->settings.status, text, err);
}

int clv_kube_status_probe(const struct clv_kube_settings *settings,
	enum clv_kube_probe probe, struct clv_error *err)
{
	_cleanup_free_ char *text = NULL;
	char *missing = NULL;
	uint64_t since_ns;
	int r;

	if (settings->status[0] == '\0')
		return clv_error_set(
			err, -EINVAL, "a probe needs 'status' in the settings");
	r = clv_file_read_all(settings->status, TEXT_MAX + 32, &text, NULL, err);
	if (r < 0)
		return r;
	since_ns = strtoull(text, &missing, 10);
	if (clv_clock_ns() > since_ns + OLD_NS)
		return clv_error_set(err, -ETIMEDOUT,
			"cleave-kubelet has not written %s for %" PRIu64 " s",
			settings->status, (clv_clock_ns() - since_ns) / CLV_NS_PER_S);
	missing += missing[0] == '\n';
	return probe == CLV_KUBE_READY && missing[0] != '\0'
		       ? clv_error_set(err, -EAGAIN, "%s", missing)
		       : 0;
}
