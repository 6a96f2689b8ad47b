/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* Hashes, by which states are recognised: each adds something to the hash. */
uint64_t explore_hash_text(uint64_t hash, const char *text);
uint64_t explore_hash_number(uint64_t hash, uint64_t number);
/* What the agent knows of its operation, of the kept layout, and of devices. */
uint64_t explore_hash_agent(uint64_t hash);
