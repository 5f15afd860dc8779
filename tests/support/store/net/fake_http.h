/*
 * Tests only: an HTTP server on the test's own loop that sends the bytes that the test
 * gives it, over TCP or TLS, on a port of 127.0.0.1.
 *
 * Invariant: a fake_conn is valid until it is cut or the client has left.
 */
#ifndef TESTS_SUPPORT_STORE_NET_FAKE_HTTP_H
#define TESTS_SUPPORT_STORE_NET_FAKE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "store/base/span.h"

struct fake_http;
struct fake_conn;

/* head: request line and headers, NUL-terminated; body as it came, chunked or
 * not. Both are borrowed. */
typedef void fake_http_fn(void *ctx, struct fake_conn *conn, const char *head,
                          struct pl_span body);

/* cert_dir: what certs_make() wrote; NULL: no TLS. want_client: refuses clients
 * without a certificate. */
struct fake_http *fake_http_open(uv_loop_t *loop, const char *cert_dir, bool want_client,
                                 fake_http_fn *fn, void *ctx);
/* Cuts every connection; the memory is freed when the handles are closed. */
void fake_http_close(struct fake_http *fake);

/* "http://127.0.0.1:40123", no slash at the end. */
const char *fake_http_url(const struct fake_http *fake);
/* connections accepted so far */
unsigned fake_http_connections(const struct fake_http *fake);

/* Only while the connection is valid. */
void fake_conn_send(struct fake_conn *conn, const void *bytes, size_t len);
void fake_conn_text(struct fake_conn *conn, const char *text);
void fake_conn_cut(struct fake_conn *conn); /* cuts after everything that was sent */
void fake_conn_read(struct fake_conn *conn, bool on);
size_t fake_conn_unsent(const struct fake_conn *conn);
/* fn is called when the client has left: conn is invalid afterwards. */
void fake_http_on_left(struct fake_http *fake, void (*fn)(void *ctx, struct fake_conn *));

#endif
