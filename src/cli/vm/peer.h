/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/ssh/forward.h"
#include "cli/vm/session.h"

/* Another host: its libvirt and its agent, by ssh unless the settings name others.  Not
 * to be copied after clv_vm_peer_prepare(). */
struct clv_vm_peer {
	const char *host; /* as the user named it; borrowed */
	char uri[256];
	struct clv_vm_settings settings;
	struct clv_vm_forward forward;
	struct clv_vm_session session;
};

/* Both return 0, or an exit code after printing the error; the caller calls
 * clv_vm_peer_end() in all cases.  The first is called before libvirt is used. */
int clv_vm_peer_prepare(const char *host, const struct clv_vm_move_settings *settings,
	struct clv_vm_peer *ret);
int clv_vm_peer_begin(struct clv_vm_peer *peer);
void clv_vm_peer_end(struct clv_vm_peer *peer);
#define _cleanup_peer_ CLV_CLEANUP(clv_vm_peer_end)
