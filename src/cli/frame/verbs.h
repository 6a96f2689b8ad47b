/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_listing;
struct clv_verb;

/* The verbs, which cli/main/table.c lists. */
extern const struct clv_verb clv_verb_devices;
extern const struct clv_verb clv_verb_run;
extern const struct clv_verb clv_verb_reserve;
extern const struct clv_verb clv_verb_ps;
extern const struct clv_verb clv_verb_top;
extern const struct clv_verb clv_verb_set;
extern const struct clv_verb clv_verb_release;
extern const struct clv_verb clv_verb_profiles;
extern const struct clv_verb clv_verb_partition;
extern const struct clv_verb clv_verb_plan;
extern const struct clv_verb clv_verb_apply;
extern const struct clv_verb clv_verb_diff;
extern const struct clv_verb clv_verb_export;
extern const struct clv_verb clv_verb_import;
extern const struct clv_verb clv_verb_cordon;
extern const struct clv_verb clv_verb_drain;
extern const struct clv_verb clv_verb_uncordon;
extern const struct clv_verb clv_verb_simulate;
extern const struct clv_verb clv_verb_fit;
extern const struct clv_verb clv_verb_defrag;
extern const struct clv_verb clv_verb_advise;
extern const struct clv_verb clv_verb_profile;
extern const struct clv_verb clv_verb_cdi;
extern const struct clv_verb clv_verb_compose;
extern const struct clv_verb clv_verb_systemd;
extern const struct clv_verb clv_verb_slurm;
extern const struct clv_verb clv_verb_pool;
extern const struct clv_verb clv_verb_up;
extern const struct clv_verb clv_verb_down;
extern const struct clv_verb clv_verb_services;
extern const struct clv_verb clv_verb_scale;
extern const struct clv_verb clv_verb_move;
extern const struct clv_verb clv_verb_logs;
extern const struct clv_verb clv_verb_vm;
extern const struct clv_verb clv_verb_vms;
extern const struct clv_verb clv_verb_assign;
extern const struct clv_verb clv_verb_unassign;
extern const struct clv_verb clv_verb_events;
extern const struct clv_verb clv_verb_tenants;
extern const struct clv_verb clv_verb_token;
extern const struct clv_verb clv_verb_audit;
extern const struct clv_verb clv_verb_backup;
extern const struct clv_verb clv_verb_reload;
extern const struct clv_verb clv_verb_restore;
extern const struct clv_verb clv_verb_serve_plan;
extern const struct clv_verb clv_verb_models_plan;
extern const struct clv_verb clv_verb_doctor;
extern const struct clv_verb clv_verb_version;
extern const struct clv_verb clv_verb_completion;
extern const struct clv_verb clv_verb_help;

/* The columns of leases, for `ps`, `set` and `reserve`. */
extern const struct clv_listing clv_listing_leases;
