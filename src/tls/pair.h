/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gnutls/abstract.h>
#include <stdbool.h>

/* The certificate of a server, with those that it depends on, and its key, as PEM texts.
 * Any thread. */
struct clv_tls_pair {
	const char *certificate, *key; /* borrowed */
};

/* Returns 0 if GnuTLS takes the two and they belong together, else an error of GnuTLS. */
int clv_tls_pair_check(const struct clv_tls_pair *pair);

/* Whether the first certificate is no longer valid; false if it cannot be read. */
bool clv_tls_pair_has_expired(const struct clv_tls_pair *pair);

/* What a gnutls_certificate_retrieve_function3 returns: GnuTLS frees it after the
 * handshake.  0, or -1. */
int clv_tls_pair_give(const struct clv_tls_pair *pair, gnutls_pcert_st **ret_chain,
	unsigned int *ret_n_chain, gnutls_ocsp_data_st **ret_ocsp,
	unsigned int *ret_n_ocsp, gnutls_privkey_t *ret_key, unsigned int *ret_flags);
