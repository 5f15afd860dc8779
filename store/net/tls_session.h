/*
 * A client's TLS connection as a filter of bytes: ciphertext in, plaintext out, and back.
 * No I/O. Internal to store/net.
 *
 * Invariant: a handshake completes only when the server's certificate is trusted and
 * names the host, the version is TLS 1.2 or newer, and the server chose HTTP/2.
 */
#ifndef STORE_NET_TLS_SESSION_H
#define STORE_NET_TLS_SESSION_H

#include <stdbool.h>

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/span.h"
#include "store/net/tls.h"

struct tls_session;

/* host: the dialled name or address; it is checked unless the TLS files name another. */
PL_NODISCARD enum pl_code tls_session_new(struct tls *tls, const char *host,
                                          struct tls_session **out, struct pl_err *err);
void tls_session_free(struct tls_session *session);

/* Gives the next bytes from the network. They are borrowed until tls_session_read() has
 * nothing more to give; then they are consumed. */
void tls_session_feed(struct tls_session *session, struct pl_span data);

/* Continues the handshake. *done becomes true once it is complete. */
PL_NODISCARD enum pl_code tls_session_handshake(struct tls_session *session, bool *done,
                                                struct pl_err *err);

/* *got 0: nothing more for now. PL_UNAVAIL: the server closed the connection properly. */
PL_NODISCARD enum pl_code tls_session_read(struct tls_session *session, uint8_t *to,
                                           size_t size, size_t *got, struct pl_err *err);

PL_NODISCARD enum pl_code tls_session_write(struct tls_session *session,
                                            struct pl_span data, struct pl_err *err);

/* Ciphertext to send; the caller empties the buffer once it is sent. */
struct pl_buf *tls_session_out(struct tls_session *session);

#endif
