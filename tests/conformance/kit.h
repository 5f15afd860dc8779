/*
 * The notation of a case: macros for requests, and the line (show.h) that every
 * store must answer.
 *
 *	EXPECT(s, PUT("a", "1"), "@1");
 *	EXPECT(s, TXN(IF(CMP(ONE("a"), KV_MOD_REV, KV_EQ, 1)),
 *	              THEN(PUT("a", "2"), GET(PREFIX("a")))),
 *	       "@2 then [put] [get 1/1 a=2(1,2,2)]");
 *
 * Keys and values are string literals, which may hold any byte.
 */
#ifndef TESTS_CONFORMANCE_KIT_H
#define TESTS_CONFORMANCE_KIT_H

#include "tests/conformance/show.h"
#include "tests/conformance/subject.h"
#include "tests/harness/t.h"

#define ONE(key) ((struct kv_keys){.kind = KV_ONE, .from = PL_SPAN_LIT(key)})
#define RANGE(first, end)  \
	((struct kv_keys){ \
		.kind = KV_RANGE, .from = PL_SPAN_LIT(first), .to = PL_SPAN_LIT(end)})
#define PREFIX(key) ((struct kv_keys){.kind = KV_PREFIX, .from = PL_SPAN_LIT(key)})
#define FROM(key) ((struct kv_keys){.kind = KV_FROM, .from = PL_SPAN_LIT(key)})
#define ALL PREFIX("")

/* Options follow as members: GET(ALL, .limit = 2). */
#define GET(...) ((struct kv_req){.op = KV_GET, .get = {.keys = __VA_ARGS__}})
#define DELETE(...) ((struct kv_req){.op = KV_DELETE, .del = {.keys = __VA_ARGS__}})
#define PUT(k, v) PUT_WITH(k, v, .lease = 0)
#define PUT_WITH(k, v, ...)   \
	((struct kv_req){     \
		.op = KV_PUT, \
		.put = {.key = PL_SPAN_LIT(k), .value = PL_SPAN_LIT(v), __VA_ARGS__}})
#define COMPACT(r)                         \
	((struct kv_req){.op = KV_COMPACT, \
	                 .compact = {.revision = (r), .physical = true}})
#define STATUS ((struct kv_req){.op = KV_STATUS})

#define GRANT(n, ttl) LEASE(KV_LEASE_GRANT, .id = (n), .ttl_s = (ttl))
#define REVOKE(n) LEASE(KV_LEASE_REVOKE, .id = (n))
#define KEEP(n) LEASE(KV_LEASE_KEEP, .id = (n))
#define TTL(n) LEASE(KV_LEASE_TTL, .id = (n))
#define TTL_KEYS(n) LEASE(KV_LEASE_TTL, .id = (n), .want_keys = true)
#define LEASE(what, ...) ((struct kv_req){.op = (what), .lease = {__VA_ARGS__}})

#define KIT_COUNT(type, ...) (sizeof((type[]){__VA_ARGS__}) / sizeof(type))
#define TXN(...) ((struct kv_req){.op = KV_TXN, .txn = {__VA_ARGS__}})
#define IF(...)                                         \
	.compares = (struct kv_compare[]){__VA_ARGS__}, \
	.compare_count = KIT_COUNT(struct kv_compare, __VA_ARGS__)
#define THEN(...)                               \
	.then = (struct kv_req[]){__VA_ARGS__}, \
	.then_count = KIT_COUNT(struct kv_req, __VA_ARGS__)
#define ELSE(...)                                    \
	.otherwise = (struct kv_req[]){__VA_ARGS__}, \
	.otherwise_count = KIT_COUNT(struct kv_req, __VA_ARGS__)
#define CMP(which, what, how, n) \
	((struct kv_compare){    \
		.keys = (which), .target = (what), .relation = (how), .number = (n)})
#define CMP_VALUE(which, how, text)              \
	((struct kv_compare){.keys = (which),    \
	                     .target = KV_VALUE, \
	                     .relation = (how),  \
	                     .value = PL_SPAN_LIT(text)})

#define WATCH(...) ((struct kv_watch_req){.keys = __VA_ARGS__})

#define EXPECT(subject, req, want) kit_expect(__FILE__, __LINE__, subject, &(req), want)

/* The lines since the last expectation, after the stream has caught up; with an
 * end among them it is waited for. */
#define EXPECT_STREAM(subject, stream, ...)                    \
	kit_expect_stream(__FILE__, __LINE__, subject, stream, \
	                  (const char *const[]){__VA_ARGS__, NULL})
#define EXPECT_QUIET(subject, stream)                          \
	kit_expect_stream(__FILE__, __LINE__, subject, stream, \
	                  (const char *const[]){NULL})

/* Opens and closes the store of one case. */
struct subject *kit_open(void);
void kit_close(struct subject *subject);

void kit_expect(const char *file, int line, struct subject *subject,
                const struct kv_req *req, const char *want);
void kit_expect_stream(const char *file, int line, struct subject *subject,
                       struct stream *stream, const char *const *want);

/* Opens the watch and waits until it is ready. */
struct stream *kit_watch(struct subject *subject, const struct kv_watch_req *req);

#endif
