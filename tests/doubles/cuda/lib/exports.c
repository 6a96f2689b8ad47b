/* SPDX-License-Identifier: Apache-2.0 */
#include "exports.h"
#include "call.h"
#include "objects.h"

/* The symbols of the library: every one of them is the function of the table, once it is
 * clear that the call may be made.  Each has a twin that no symbol shows. */

#define EXPORT __attribute__((visibility("default")))

#define MAY_ANYTIME(symbol, is_own) dcu_call_anytime(#symbol)
#define MAY_LATER(symbol, is_own) dcu_call_begin(#symbol, is_own)

#define DEFINE(symbol, function, may, is_own, parameters, arguments) \
	EXPORT int symbol parameters;                                \
	int symbol parameters                                        \
	{                                                            \
		int r = may(symbol, is_own);                         \
                                                                     \
		return r ? r : dcu_##function arguments;             \
	}                                                            \
	static int inner_##symbol parameters                         \
	{                                                            \
		return symbol arguments;                             \
	}

#define DEFINE_NO(symbol, function, may, parameters, arguments) \
	DEFINE(symbol, function, may, false, parameters, arguments)
#define DEFINE_DS(symbol, function, may, parameters, arguments)     \
	DEFINE(symbol, function, may, false, parameters, arguments) \
	DEFINE(symbol##_ptds, function, may, true, parameters, arguments)
#define DEFINE_SZ(symbol, function, may, parameters, arguments)     \
	DEFINE(symbol, function, may, false, parameters, arguments) \
	DEFINE(symbol##_ptsz, function, may, true, parameters, arguments)

#define SYMBOL(symbol, base, function, version, streams, when, parameters, arguments) \
	DEFINE_##streams(symbol, function, MAY_##when, parameters, arguments)
DCU_SINCE_11(SYMBOL)
#if DCU_CUDA >= 12
DCU_SINCE_12(SYMBOL)
#endif

#define OWN_NO(symbol)     \
	{                  \
		NULL, NULL \
	}
#define OWN_DS(symbol)                                               \
	{                                                            \
		(void *)symbol##_ptds, (void *)inner_##symbol##_ptds \
	}
#define OWN_SZ(symbol)                                               \
	{                                                            \
		(void *)symbol##_ptsz, (void *)inner_##symbol##_ptsz \
	}
#define BOTH(symbol)                                   \
	{                                              \
		(void *)symbol, (void *)inner_##symbol \
	}

const struct dcu_export dcu_exports[] = {
#define ROW(symbol, base, function, version, streams, when, parameters, arguments) \
	{#base, version, BOTH(symbol), OWN_##streams(symbol)},
	DCU_SINCE_11(ROW)
#if DCU_CUDA >= 12
		DCU_SINCE_12(ROW)
#endif
};
const size_t dcu_n_exports = sizeof(dcu_exports) / sizeof(dcu_exports[0]);
