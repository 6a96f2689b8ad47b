/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tenant.h"

/* The free bytes of the quota that the program sees. */
size_t free_bytes(void);

void async(void);
void behind_work(void);
void pools(void);
void pools_again(void);
void host_pool(void);
void mapped(void);
void imported(void);
void exported(void);
void imported_elsewhere(void);
void outlived(void);

/* The second processes of these cases. */
void exports(int peer);

void arrays(void);
void graphs(void);
void host_nodes(void);
