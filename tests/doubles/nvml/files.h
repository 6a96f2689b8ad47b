/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdint.h>

/* The device files of the GPUs, `nvidiaMINOR` in the node's folder. A process opens that
 * of a GPU with its first handle, and closes all of them with its last nvmlShutdown. */

void dnv_file_open(int dirfd, unsigned gpu, uint32_t minor);
void dnv_files_close(void);

/* The process that has the file of the number open; 0: none. */
int dnv_file_opener(const char *folder, uint32_t minor);
