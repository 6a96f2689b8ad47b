/* SPDX-License-Identifier: Apache-2.0 */
/* cleave-vms offline: before the host goes down it shuts the virtual machines down that
 * were assigned partitions with --offline-action=shutdown.  libvirt-guests would save
 * them to disk, which a machine with a function of the host does not allow. */
#include "base/error.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/vm/actions.h"
#include "cli/vm/session.h"

#include <stdlib.h>

int clv_vm_run_offline(const void *userdata, int argc, char **argv)
{
	const struct clv_unassign_settings *settings = userdata;
	const struct clv_vm_stop_options stop =
		clv_vm_session_stop_options(settings->timeout_ns, settings->force);
	_cleanup_session_ struct clv_vm_session session = {0};
	int result = 0, r = clv_vm_session_begin(&settings->vm, &session);

	for (size_t i = 0; !r && i < session.guests.n; i++) {
		const struct clv_vm_guest *guest = &session.guests.items[i];
		struct clv_error err = {0};

		if (!guest->is_running || !guest->config.shuts_down ||
			!clv_vm_host_is_local(guest) ||
			clv_vm_count_partitions(&guest->config) == 0)
			continue;
		clv_output_line(stderr, "%s is shut down", guest->config.name);
		if (clv_vm_stop(session.host, guest, &stop, &err) < 0)
			result = clv_vm_session_fail(&err);
	}
	return r ? r : result;
}
