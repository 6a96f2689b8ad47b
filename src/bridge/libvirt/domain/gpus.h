/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

/* The GPUs of a node as their administrator divides them among virtual machines.
 *
 * node: GET /v1/node; devices: GET /v1/devices; leases: GET /v1/leases.  One that a
 * running machine has as a whole is not in node, or there with another name; it is in the
 * list with the name that its lease has.  Returns an array, which the caller owns;
 * of each GPU "name", "uuid", "model", "pci_address", "status", "why", "memory_bytes",
 * "free_bytes" (of partitions that no holder has), "encoders", "decoders" (null: not
 * known), "counts" (that it may be divided into), "count", "vm" and "vm_name" (that have
 * it as a whole; null: none), and "partitions": of each "name", "profile", "address",
 * "memory_bytes", "encoders", "decoders", "vm" and "vm_name".
 *
 * status and why are the agent's "assignable" and its reason, which is null where a
 * machine has the GPU as a whole. */
json_t *clv_vm_gpus(const json_t *node, const json_t *devices, const json_t *leases);

/* A status as text for people; "" for one of a newer agent. */
const char *clv_vm_gpu_status_text(const char *status);
