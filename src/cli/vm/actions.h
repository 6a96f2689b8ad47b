/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_common;
struct clv_vms_settings;
struct clv_vm_move_settings;

/* How long a running virtual machine has to release a function. */
#define CLV_VM_DETACH_MS 10000

/* What cleave-vms runs: settings are those of cli/vm/vm.h.  Each returns an exit code. */
int clv_vm_run_follow(const struct clv_vms_settings *settings);
int clv_vm_run_gpus(const struct clv_common *common);
int clv_vm_run_list(const void *settings, int argc, char **argv);
int clv_vm_run_assign(const void *settings, int argc, char **argv);
int clv_vm_run_unassign(const void *settings, int argc, char **argv);
int clv_vm_run_vm(const void *settings, int argc, char **argv);
int clv_vm_run_move(const struct clv_vm_move_settings *settings, int argc, char **argv);
int clv_vm_run_drain(const struct clv_vm_move_settings *settings, int argc, char **argv);
int clv_vm_run_hook(const void *settings, int argc, char **argv);
int clv_vm_run_offline(const void *settings, int argc, char **argv);
