/*
 * A kv that fails on purpose, by rules and a seed.
 *
 * The same seed, rules and calls at the same times give the same faults: time is
 * the wrapped store's (kv_timers), so a run over memkv can be repeated exactly.
 * What the caller is told stays within the contract of kv.h: a deadline still
 * holds, a write that may have been applied ends with PL_UNKNOWN.
 */
#ifndef TESTS_SUPPORT_STORE_KV_FAULTY_H
#define TESTS_SUPPORT_STORE_KV_FAULTY_H

#include "store/kv/kv.h"

enum faulty_what {
	/* of calls */
	FAULTY_SLOW_REQUEST, /* reaches the store after the delay */
	FAULTY_SLOW_ANSWER,  /* the answer waits for the delay */
	FAULTY_REFUSE,       /* ends with code and never reaches the store; PL_BUSY is
	                      * said by the start, everything else by done */
	FAULTY_LOSE_ANSWER,  /* the store acts, the caller hears PL_UNKNOWN (PL_TIMEOUT
	                      * for what changes nothing) */
	FAULTY_APPLY_LATE,   /* the caller hears PL_UNKNOWN, within the delay; a write
	                      * reaches the store when the delay is over */
	FAULTY_AFTER_NOTE,   /* the answer waits for the next note of any watch, at most
	                      * for the delay */
	/* of watches, asked at each note */
	FAULTY_SLOW_NOTE,   /* this note and what follows wait for the delay */
	FAULTY_STALL_WATCH, /* the same, and a delay of 0 is for ever */
	FAULTY_MERGE_NOTES, /* events that were held up and are let go at once come as one
	                     * note of many revisions, as from an etcd to catch up with */
	FAULTY_END_WATCH, /* the watch ends with code instead: PL_COMPACTED, PL_REWOUND */
	FAULTY_WHAT_COUNT,
};

struct faulty_rule {
	enum faulty_what what;
	uint32_t ops;          /* 1u << KV_PUT | ...; 0: every operation */
	struct pl_span prefix; /* only where some key asked for starts so */
	uint32_t per_mille;
	enum pl_code code;
	uint64_t count; /* so many times at most; 0: no end */
	uint64_t delay_min_ms, delay_max_ms;
};

enum { FAULTY_RULES_MAX = 64 };

/* Copies the rules and their prefixes. From here on kv is closed through *out. */
PL_NODISCARD enum pl_code faulty_open(struct kv *kv, uint64_t seed,
                                      const struct faulty_rule *rules, size_t count,
                                      struct kv **out, struct pl_err *err);

/* No new faults while calm; what was delayed before still comes when it is due,
 * except that a watch that stands still goes on at once. */
void faulty_pause(struct kv *kv, bool paused);

/* How often a fault of this kind was injected. */
uint64_t faulty_count(const struct kv *kv, enum faulty_what what);

#endif
