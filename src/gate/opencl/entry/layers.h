/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Puts the gate, by its path, in front of the layers in OPENCL_LAYERS and OCL_ICD_LAYERS,
 * which OpenCL's loaders read when the program first looks for a platform.  Other layers
 * stay.  To be called before that, and before the program has threads that read the
 * environment. */
void clv_layers_switch_on(const char *gate);
