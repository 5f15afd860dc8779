/*
 * Tests only: the fake gRPC server on a port of 127.0.0.1, over TCP or TLS, and servers
 * of other kinds, on the test's own loop.
 *
 * Invariant: its memory is its own, so injected faults do not reach it.
 */
#ifndef TESTS_SUPPORT_STORE_NET_FAKE_NET_H
#define TESTS_SUPPORT_STORE_NET_FAKE_NET_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "tests/support/store/net/fake_h2.h"

enum fake_net_mode {
	FAKE_NET_H2,     /* gRPC */
	FAKE_NET_SILENT, /* accepts, reads, never answers */
	FAKE_NET_BYTES,  /* answers the first bytes with opts.bytes */
	FAKE_NET_CLOSE,  /* accepts and closes */
};

struct fake_net_opts {
	enum fake_net_mode mode;
	struct fake_opts h2;
	const char *bytes;
	const char *cert_dir; /* directory of certs_make(); NULL: no TLS */
	bool want_client;     /* refuses clients without a certificate */
	bool no_alpn;         /* does not offer HTTP/2 */
	int tls_version_max;  /* 0: any */
	uint64_t cut_after;   /* bytes sent on a connection; 0: never */
};

struct fake_net;

struct fake_net *fake_net_open(uv_loop_t *loop, const struct fake_net_opts *opts);
/* Stops listening and cuts every connection. The handles close later; the server's
 * counters stay readable until fake_net_free(). */
void fake_net_close(struct fake_net *fake);
void fake_net_free(struct fake_net *fake);

uint16_t fake_net_port(const struct fake_net *fake);
/* connections accepted so far */
unsigned fake_net_connections(const struct fake_net *fake);
struct fake_h2 *fake_net_h2(struct fake_net *fake, unsigned connection);

void fake_net_reading(struct fake_net *fake, bool on); /* all connections */
void fake_net_cut(struct fake_net *fake);              /* all connections */
void fake_net_flush(struct fake_net *fake); /* sends what fake_h2_goaway() queued */

#endif
