/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* ssh for a move: what ends the command on the terminal does not end it, so that the way
 * back stays open.  libvirt starts ssh by its name: a folder with a link of that name to
 * this program goes before the others in PATH, and this program, run by that name,
 * becomes ssh. */

/* Of mkdtemp(); by its name the folder is left out of PATH again, because libvirt passes
 * on no other variable. */
#define CLV_VM_SSH_FOLDER "/tmp/cleave-ssh-"

/* Puts the link into the folder and the folder into PATH.  Called before libvirt has
 * threads.  Returns 0, or an exit code after printing the error. */
int clv_vm_ssh_begin(const char *folder);
void clv_vm_ssh_end(const char *folder);

/* Whether this program was run as ssh. */
bool clv_vm_ssh_is_wanted(const char *name);

/* Becomes the ssh that PATH has after the folder, with the words after the first one.
 * Returns an exit code if there is none. */
int clv_vm_ssh_become(int argc, char **argv);
