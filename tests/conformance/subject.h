/*
 * A store under test, driven synchronously: memkv on virtual time, or a client
 * of a real etcd; the same calls for both, with relative numbers (names.h).
 *
 * A subject that cannot be driven (no answer in time, a promise of kv.h broken
 * by the plumbing) ends the process with a message: there is nothing to compare.
 */
#ifndef TESTS_CONFORMANCE_SUBJECT_H
#define TESTS_CONFORMANCE_SUBJECT_H

#include "store/kv/kv.h"
#include "tests/conformance/names.h"
#include "tests/conformance/stream.h"

enum {
	SUBJECT_WAIT_MS = 10000, /* longest wait for an answer or a note */
	SUBJECT_TXN_OPS = 1024,  /* the limit of the launched etcd */
};

struct subject;

struct subject_opts {
	const char *endpoints; /* endpoints of an etcd; NULL: memkv */
	uint64_t quota_bytes;  /* memkv: as the etcd compared with; 0: none */
	/* Wraps the store, and takes inner. May be NULL. */
	struct kv *(*wrap)(void *ctx, struct kv *inner);
	void *wrap_ctx;
};

struct answer {
	enum pl_code code;
	const struct kv_result *result; /* NULL: failed */
	const char *text;               /* see show.h */
	const char *why;                /* the error's message; "": none */
};

/* From the environment: CONFORMANCE_ETCD holds endpoints; without it, memkv. */
struct subject_opts subject_opts_env(void);

/* Opens the subject and resets it. */
struct subject *subject_new(const struct subject_opts *opts);
/* Closes the kv, runs the loop dry, and checks that all has ended. */
void subject_free(struct subject *subject);

/* Deletes every key, revokes every lease of this subject, ends watches and compacts the
 * history: relative revisions count from here. */
void subject_reset(struct subject *subject);

bool subject_is_etcd(const struct subject *subject);
struct kv *subject_kv(struct subject *subject);
struct names *subject_names(struct subject *subject);

/* The answer is the subject's until the next call. */
const struct answer *subject_call(struct subject *subject, const struct kv_req *req);

/* The stream stays until the reset, ended or not. */
struct stream *subject_watch(struct subject *subject, const struct kv_watch_req *req);
/* Ends the stream and waits for the end. */
void subject_unwatch(struct subject *subject, struct stream *stream);
/* Asks for progress and waits: afterwards the stream has everything that had
 * happened before. Does nothing when it has ended. */
void subject_catch_up(struct subject *subject, struct stream *stream);
/* Syncs several streams at once; some may be NULL. */
void subject_catch_up_all(struct subject *subject, struct stream *const *streams,
                          size_t count);
/* Waits until the stream has so many lines or has ended, SUBJECT_WAIT_MS at most. */
void subject_wait_lines(struct subject *subject, struct stream *stream, size_t count);
/* Waits for the READY note, or the end. */
void subject_wait_ready(struct subject *subject, struct stream *stream);

/* Runs the store until fn says true; false: it took longer than max_ms. */
bool subject_until(struct subject *subject, bool (*fn)(void *ctx), void *ctx,
                   uint64_t max_ms);
/* Lets time pass: virtual time with memkv. */
void subject_pass(struct subject *subject, uint64_t ms);

#endif
