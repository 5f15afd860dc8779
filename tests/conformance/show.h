/*
 * Requests, answers and events as one line of text, with relative numbers (see
 * names.h). Answers of two stores are equal when their lines are, and a case
 * writes down the line it wants:
 *
 *	@5 2/7+ a=1(1,4,2) "b\x00"=2(3,3,1,L1)
 *
 * is the answer to a get at revision 5: two of seven keys, there are more; in
 * brackets create revision, mod revision, version and lease.
 *
 *	@5                          put, compact
 *	@5 prev a=1(1,1,1)          put
 *	@5 deleted 1 prev a=1(..)   delete
 *	@5 then [@ ..] [..]         txn; otherwise: "else"
 *	@5 L1 ttl 60                lease grant, keep
 *	@5 L1 ttl 60 of 60 keys a b lease ttl; 60 for all from 30 to 60
 *	!COMPACTED                  any error
 *
 * Left out is what may differ: ids of cluster and member, term, size.
 */
#ifndef TESTS_CONFORMANCE_SHOW_H
#define TESTS_CONFORMANCE_SHOW_H

#include "store/base/buf.h"
#include "tests/conformance/names.h"

/* "COMPACTED" */
const char *show_code(enum pl_code code);

/* All end the process when the buffer is full. */
void show_span(struct pl_buf *buf, struct pl_span span);
void show_result(struct pl_buf *buf, const struct names *names,
                 const struct kv_result *result);
void show_event(struct pl_buf *buf, const struct names *names,
                const struct kv_event *event);

/* With relative numbers already; as the script of a history shows them. */
void show_req(struct pl_buf *buf, const struct kv_req *req);
void show_watch(struct pl_buf *buf, const struct kv_watch_req *req);

PL_PRINTF(2, 3) void show_text(struct pl_buf *buf, const char *fmt, ...);

#endif
