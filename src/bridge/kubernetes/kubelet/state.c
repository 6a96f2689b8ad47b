/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/kubernetes/kubelet/state.h"

#include <stdio.h>

void clv_kube_path(
	const struct clv_kube *kube, const char *name, char ret[CLV_KUBE_SOCKET_MAX])
{
	snprintf(ret, CLV_KUBE_SOCKET_MAX, "%s/%s", kube->settings.kubelet, name);
}
