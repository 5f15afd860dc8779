/*
 * A server's TLS connection as a filter of bytes: ciphertext in, plaintext out, and back.
 * No I/O. Internal to store/net.
 *
 * Invariants: ciphertext to send goes into a buffer of the caller's, which may serve many
 * connections in turn. An idle connection holds no buffers.
 */
#ifndef STORE_NET_TLS_PEER_H
#define STORE_NET_TLS_PEER_H

#include <openssl/ssl.h>

#include "store/base/buf.h"
#include "store/net/tls_server.h"

struct tls_peer;

/* Borrowed; SSL_new() takes its own reference. */
SSL_CTX *tls_server_ctx(const struct tls_server *tls);
/* How often changed files were loaded. */
uint64_t tls_server_loads(const struct tls_server *tls);

/* out: borrowed for the connection's life. NULL: no memory. */
struct tls_peer *tls_peer_new(struct tls_server *tls, struct pl_buf *out);
void tls_peer_free(struct tls_peer *peer);

/* Gives the next bytes from the network, borrowed until tls_peer_read() has no more. */
void tls_peer_feed(struct tls_peer *peer, struct pl_span data);

enum tls_peer_state {
	TLS_PEER_SHAKING, /* the handshake waits for bytes */
	TLS_PEER_OPEN,
	TLS_PEER_CLOSED, /* the client has ended the connection */
	TLS_PEER_PLAIN,  /* the client speaks HTTP without TLS */
	TLS_PEER_FAILED,
};

enum tls_peer_state tls_peer_handshake(struct tls_peer *peer);
/* *got 0: nothing more for now. */
enum tls_peer_state tls_peer_read(struct tls_peer *peer, uint8_t *to, size_t size,
                                  size_t *got);
/* False: the connection is lost. */
bool tls_peer_write(struct tls_peer *peer, struct pl_span data);
/* Tells the client that nothing more comes. */
void tls_peer_end(struct tls_peer *peer);

/* After the handshake: HTTP/2 was agreed on. */
bool tls_peer_is_h2(const struct tls_peer *peer);
/* The client by its certificate, for free(). True with *client NULL: it showed no certificate. False:
 * no memory. */
bool tls_peer_client(const struct tls_peer *peer, struct tls_client **client);
/* Verifies the client's certificate again, by what the server trusts now. */
void tls_peer_verify(const struct tls_peer *peer, const struct tls_server *tls,
                     struct tls_client *client);

#endif
