/*
 * One TLS connection as a filter of bytes: ciphertext in, plaintext out, and the
 * other way round. No I/O.
 *
 * Internal to store/net. The peer must be who its certificate says, know the
 * host's name or address, speak TLS 1.2 or newer, and choose HTTP/2.
 */
#ifndef STORE_NET_TLS_SESSION_H
#define STORE_NET_TLS_SESSION_H

#include <stdbool.h>

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/span.h"
#include "store/net/tls.h"

struct tls_session;

/* host: what was dialled, checked unless the files name another. */
PL_NODISCARD enum pl_code tls_session_new(struct tls *tls, const char *host,
                                          struct tls_session **out, struct pl_err *err);
void tls_session_free(struct tls_session *session);

/* The next bytes from the network; borrowed until they are used up, which
 * they are when tls_session_read() has nothing more to give. */
void tls_session_feed(struct tls_session *session, struct pl_span data);

/* Goes on with the handshake. True in *done from when it is complete. */
PL_NODISCARD enum pl_code tls_session_handshake(struct tls_session *session, bool *done,
                                                struct pl_err *err);

/* *got 0: nothing more for now. PL_UNAVAIL: the server has closed properly. */
PL_NODISCARD enum pl_code tls_session_read(struct tls_session *session, uint8_t *to,
                                           size_t size, size_t *got, struct pl_err *err);

PL_NODISCARD enum pl_code tls_session_write(struct tls_session *session,
                                            struct pl_span data, struct pl_err *err);

/* Ciphertext to send; whoever sends it empties the buffer. */
struct pl_buf *tls_session_out(struct tls_session *session);

#endif
