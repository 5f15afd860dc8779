/*
 * A kv that fails on purpose, by rules and a seed.
 *
 * The same seed, rules and calls at the same times give the same faults: the clock is the
 * wrapped store's (kv_timers), so a run over memkv can be repeated exactly. All faults
 * stay within the contract of kv.h: a deadline still holds, and a write that may have
 * been applied ends with PL_UNKNOWN.
 */
#ifndef TESTS_SUPPORT_STORE_KV_FAULTY_H
#define TESTS_SUPPORT_STORE_KV_FAULTY_H

#include "store/kv/kv.h"

enum faulty_what {
	/* faults of calls */
	FAULTY_SLOW_REQUEST, /* the request reaches the store after the delay */
	FAULTY_SLOW_ANSWER,  /* the answer is reported after the delay */
	/* ends with code and never reaches the store; PL_BUSY is given by the start, all
	 * other codes by done */
	FAULTY_REFUSE,
	/* the store acts, but the caller gets PL_UNKNOWN (PL_TIMEOUT for a request that
	 * changes nothing) */
	FAULTY_LOSE_ANSWER,
	/* the caller gets PL_UNKNOWN within the delay; a write reaches the store when the
	 * delay is over */
	FAULTY_APPLY_LATE,
	/* the answer waits for the next note of any watch, at most for the delay */
	FAULTY_AFTER_NOTE,
	/* faults of watches, drawn at each note */
	FAULTY_SLOW_NOTE,   /* this note and all behind it wait for the delay */
	FAULTY_STALL_WATCH, /* the same, and a delay of 0 has no end */
	/* delayed events that are let go at once come as one note of many revisions, as
	 * from an etcd that catches up */
	FAULTY_MERGE_NOTES,
	FAULTY_END_WATCH, /* the watch ends with code instead: PL_COMPACTED, PL_REWOUND */
	FAULTY_WHAT_COUNT,
};

struct faulty_rule {
	enum faulty_what what;
	uint32_t ops;          /* 1u << KV_PUT | ...; 0: every operation */
	struct pl_span prefix; /* only requests of which some key starts so */
	uint32_t per_mille;
	enum pl_code code;
	uint64_t count; /* at most so many times; 0: no limit */
	uint64_t delay_min_ms, delay_max_ms;
};

enum { FAULTY_RULES_MAX = 64 };

/* Copies the rules and their prefixes. From here on kv is closed through *out. */
PL_NODISCARD enum pl_code faulty_open(struct kv *kv, uint64_t seed,
                                      const struct faulty_rule *rules, size_t count,
                                      struct kv **out, struct pl_err *err);

/* A paused kv injects no new faults. Requests and notes that were delayed before still
 * come when they are due, but a stalled watch goes on at once. */
void faulty_pause(struct kv *kv, bool paused);

/* How often faults of this kind were injected. */
uint64_t faulty_count(const struct kv *kv, enum faulty_what what);

#endif
