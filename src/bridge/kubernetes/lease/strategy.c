/* SPDX-License-Identifier: Apache-2.0 */
/* Where it is not certain that CDI works, all parts of the answer are sent.  A runtime
 * that knows CDI then makes each change twice with the same result, because CDI replaces
 * mounts, variables and nodes of the same name. */
#include "bridge/kubernetes/lease/strategy.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/units.h"
#include "bridge/kubernetes/apiserver/cluster.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ALL_WAYS (CLV_KUBE_BY_CDI | CLV_KUBE_BY_ANNOTATIONS | CLV_KUBE_BY_MOUNTS)
#define AGAIN_NS (600 * CLV_NS_PER_S)
#define RETRY_NS (60 * CLV_NS_PER_S)

#define VERSION(major, minor) (1000 * (major) + (minor))

/* Runtimes, by the prefix of their version: since when they know CDI at all, and since
 * when it is enabled by default for the devices that kubelet names.  containerd's 1.6 has
 * no CDI, 1.7 has it disabled by default. */
static const struct {
	const char *prefix;
	int first, by_default;
} runtimes[] = {
	{"containerd://", VERSION(1, 7), VERSION(2, 0)},
	{"cri-o://", VERSION(1, 23), VERSION(1, 29)},
};

/* Kubelet names CDI devices by default since 1.29. */
#define KUBELET_BY_DEFAULT VERSION(1, 29)

/* "1.29.3" is VERSION(1, 29); 0: no version. */
static int read_version(const char *text)
{
	int major, minor;

	return sscanf(text, "%3d.%3d", &major, &minor) == 2 ? VERSION(major, minor) : 0;
}

unsigned clv_kube_strategy_choose(const char *kubelet, const char *runtime)
{
	int of_kubelet = kubelet && kubelet[0] == 'v' ? read_version(kubelet + 1) : 0;

	for (size_t i = 0; runtime && i < CLV_ARRAY_SIZE(runtimes); i++) {
		size_t n = strlen(runtimes[i].prefix);
		int version = strncmp(runtime, runtimes[i].prefix, n) == 0
				      ? read_version(runtime + n)
				      : 0;

		if (version > 0 && version < runtimes[i].first)
			return CLV_KUBE_BY_MOUNTS;
		if (version >= runtimes[i].by_default && of_kubelet >= KUBELET_BY_DEFAULT)
			return CLV_KUBE_BY_CDI;
	}
	return ALL_WAYS;
}

static int ask_node(const struct clv_kube_settings *settings, unsigned *ret_ways,
	char *ret_why, size_t n_bytes, struct clv_error *err)
{
	const char *kubelet = NULL, *runtime = NULL;
	json_t *node = NULL;
	int r = clv_kube_cluster_get_node(settings, &node, err);

	if (r < 0)
		return r;
	json_unpack(node, "{s:{s:{s?s,s?s}}}", "status", "nodeInfo", "kubeletVersion",
		&kubelet, "containerRuntimeVersion", &runtime);
	*ret_ways = clv_kube_strategy_choose(kubelet, runtime);
	snprintf(ret_why, n_bytes, "kubelet %.40s, %.60s", kubelet ? kubelet : "unknown",
		runtime ? runtime : "unknown runtime");
	json_decref(node);
	return 0;
}

static void tell(unsigned ways, const char *why)
{
	clv_log_info("containers get their leases by %s: %s",
		ways == CLV_KUBE_BY_CDI      ? "CDI"
		: ways == CLV_KUBE_BY_MOUNTS ? "mounts, variables and device nodes"
					     : "CDI and by mounts, variables and device "
					       "nodes",
		why);
}

unsigned clv_kube_strategy_ways(
	struct clv_kube_strategy *strategy, const struct clv_kube_settings *settings)
{
	unsigned ways = ALL_WAYS;
	struct clv_error err = {};
	char why[160];
	int r;

	/* A claim is prepared by the names of CDI devices only. */
	if (settings->has_dra)
		return CLV_KUBE_BY_CDI;
	if (settings->ways != 0)
		return settings->ways;
	if (strategy->ways != 0 && clv_clock_ns() < strategy->next_ns)
		return strategy->ways;
	r = ask_node(settings, &ways, why, sizeof(why), &err);
	if (r < 0)
		snprintf(why, sizeof(why), "%.150s", err.msg);
	if (strategy->ways == 0 || (r >= 0 && ways != strategy->ways)) {
		strategy->ways = ways;
		tell(ways, why);
	}
	strategy->next_ns = clv_clock_ns() + (r < 0 ? RETRY_NS : AGAIN_NS);
	return strategy->ways;
}
