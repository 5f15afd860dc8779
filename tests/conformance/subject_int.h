/* The inside of a subject, shared by the files that make it up. */
#ifndef TESTS_CONFORMANCE_SUBJECT_INT_H
#define TESTS_CONFORMANCE_SUBJECT_INT_H

#include <uv.h>

#include "store/base/buf.h"
#include "store/memkv/memkv.h"
#include "tests/conformance/subject.h"

enum { SUBJECT_GRANTED_MAX = NAMES_CHOSEN_MAX };

struct subject {
	struct kv *kv;    /* the client under test */
	struct kv *inner; /* the store without its wrapper; owned by kv */
	struct memkv *mem;
	uint64_t now_ms; /* memkv's */
	uv_loop_t loop;  /* etcd's */
	uv_timer_t timer;
	bool timer_fired;
	bool closed;
	struct names names;
	struct pl_list streams;
	int64_t *granted; /* leases to revoke at the reset */
	size_t granted_count;
	/* Result of the last call. */
	struct pl_arena arena;
	struct pl_buf text;
	struct kv_result result;
	struct pl_err err;
	struct answer answer;
	bool called_back;
	bool starting;
};

/* Ends the process: the store cannot be driven. */
_Noreturn void subject_die(const char *what, const char *why);
void subject_must(enum pl_code code, const char *what, const struct pl_err *err);

/* A call with the store's own numbers, run to its end; the result is in the
 * subject's arena. */
PL_NODISCARD enum pl_code subject_run(struct subject *subject, struct kv *kv,
                                      const struct kv_req *req);

#endif
