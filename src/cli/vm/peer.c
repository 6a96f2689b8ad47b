/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/vm/peer.h"

#include <stdio.h>

int clv_vm_peer_prepare(const char *host, const struct clv_vm_move_settings *settings,
	struct clv_vm_peer *ret)
{
	*ret = (struct clv_vm_peer){.host = host, .settings = settings->vm};
	snprintf(ret->uri, sizeof(ret->uri), "qemu+ssh://%.200s/system", host);
	ret->settings.connect = settings->to ? settings->to : ret->uri;
	ret->settings.common.socket = settings->to_socket;
	ret->settings.common.sim = NULL;
	return clv_vm_forward_prepare(&ret->forward);
}

int clv_vm_peer_begin(struct clv_vm_peer *peer)
{
	int r = 0;

	if (!peer->settings.common.socket) {
		r = clv_vm_forward_begin(peer->host, &peer->forward);
		peer->settings.common.socket = peer->forward.socket;
	}
	return r ? r : clv_vm_session_begin(&peer->settings, &peer->session);
}

void clv_vm_peer_end(struct clv_vm_peer *peer)
{
	clv_vm_session_end(&peer->session);
	clv_vm_forward_end(&peer->forward);
}
