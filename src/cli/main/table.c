/* SPDX-License-Identifier: Apache-2.0 */
/* The table of verbs, in the order of the help, and the options before the verb. */
#include "cli/main/table.h"

#include "cli/frame/cli.h"
#include "cli/frame/run.h"
#include "cli/frame/verbs.h"

static const struct clv_verb *const verbs[] = {
	&clv_verb_devices,
	&clv_verb_run,
	&clv_verb_reserve,
	&clv_verb_ps,
	&clv_verb_top,
	&clv_verb_set,
	&clv_verb_release,
	&clv_verb_profiles,
	&clv_verb_partition,
	&clv_verb_plan,
	&clv_verb_apply,
	&clv_verb_diff,
	&clv_verb_export,
	&clv_verb_import,
	&clv_verb_cordon,
	&clv_verb_drain,
	&clv_verb_uncordon,
	&clv_verb_simulate,
	&clv_verb_fit,
	&clv_verb_defrag,
	&clv_verb_serve_plan,
	&clv_verb_models_plan,
	&clv_verb_advise,
	&clv_verb_profile,
	&clv_verb_cdi,
	&clv_verb_compose,
	&clv_verb_systemd,
	&clv_verb_slurm,
	&clv_verb_pool,
	&clv_verb_up,
	&clv_verb_down,
	&clv_verb_services,
	&clv_verb_scale,
	&clv_verb_move,
	&clv_verb_logs,
	&clv_verb_vms,
	&clv_verb_assign,
	&clv_verb_unassign,
	&clv_verb_vm,
	&clv_verb_events,
	&clv_verb_tenants,
	&clv_verb_token,
	&clv_verb_audit,
	&clv_verb_reload,
	&clv_verb_backup,
	&clv_verb_restore,
	&clv_verb_doctor,
	&clv_verb_version,
	&clv_verb_completion,
	&clv_verb_help,
};

static const struct clv_opt root_options[] = {CLV_OPT_ROOT};

static const struct clv_verb root = {
	.name = "",
	.arguments = "VERB [ARGUMENT...]",
	.summary = "divide and share GPUs: hardware partitions, enforced fractions",
	.options = root_options,
	.n_options = CLV_ARRAY_SIZE(root_options),
	.settings_bytes = sizeof(struct clv_root_settings),
	.max_arguments = -1,
	.completes = CLV_COMPLETE_VERB,
	.is_wrapper = true,
};

const struct clv_verb_table clv_cleave_table = {
	.root = &root,
	.items = verbs,
	.n = CLV_ARRAY_SIZE(verbs),
};
