/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Puts the gate, by its path, in front of the layers in OPENCL_LAYERS and OCL_ICD_LAYERS,
 * which OpenCL's loaders read at the program's first look for a platform.  Other layers
 * stay.  Before that look, and before the program has threads that read the environment.
 */
void clv_layers_switch_on(const char *gate);
