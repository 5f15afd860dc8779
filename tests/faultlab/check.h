/*
 * The judge: can a correct store, seen through a correct client, have produced a
 * recorded history?
 *
 * The truth is the stream of the first watcher, which must hold every revision
 * from the first to the last without a hole; everything else is compared with it.
 * The judge is pure: it reads the history, and allocates only its own indexes.
 */
#ifndef TESTS_FAULTLAB_CHECK_H
#define TESTS_FAULTLAB_CHECK_H

#include "tests/faultlab/hist.h"

/* X(rule, name, what is wrong) */
#define CHECK_RULE_MAP(X)                                                            \
	X(TRUTH, "truth", "the full history has a hole, a repetition or no end")     \
	X(CHAIN, "chain", "a key's versions do not follow each other")               \
	X(LIST, "list", "a list is not the one before with one element more")        \
	X(STRANGER, "stranger", "a change that no operation asked for")              \
	X(LOST, "lost", "an acknowledged write is not where it was acknowledged")    \
	X(TWICE, "twice", "a write was applied more than once")                      \
	X(PHANTOM, "phantom", "a write that was reported as not applied shows up")   \
	X(TORN, "torn", "a transaction was applied in part")                         \
	X(CONTENT, "content", "what was written is not what is there")               \
	X(COMPARE, "compare", "a write was applied though its compare did not hold") \
	X(REFUSED, "refused", "a write was refused though all its compares held")    \
	X(TIME, "time", "an answer is older than what was known when it was asked")  \
	X(READ, "read", "a read shows what was not there at its revision")           \
	X(ORDER, "order", "a watcher was told something again, or out of order")     \
	X(GAP, "gap", "a watcher was not told of a change")                          \
	X(FALSE_EVENT, "false-event", "a watcher was told what did not happen")      \
	X(PROMISE, "promise", "a watcher was promised what was not so")              \
	X(BROKEN_OFF, "broken-off", "a watch ended for no good reason")              \
	X(RELIST, "relist", "a new listing is not the state at its revision")        \
	X(FINAL, "final", "the state at the end is not where the history leads")     \
	X(LEASE_EARLY, "lease-early", "a key went while its lease was surely alive") \
	X(LEASE_LATE, "lease-late", "a key outlived its lease")                      \
	X(ODD, "odd", "a call failed in a way that no fault explains")               \
	X(NO_ANSWER, "no-answer", "a call never ended")                              \
	X(STUCK, "stuck", "the client did not work again once the faults were gone")

#define CHECK_RULE_ENUM(name, text, what) CHECK_##name,
enum check_rule { CHECK_RULE_MAP(CHECK_RULE_ENUM) CHECK_RULE_COUNT };

const char *check_rule_name(enum check_rule rule);
const char *check_rule_what(enum check_rule rule);

enum { CHECK_FINDINGS_MAX = 48, CHECK_PER_RULE_MAX = 6, CHECK_TEXT_SIZE = 200 };

struct check_finding {
	enum check_rule rule;
	uint32_t op;      /* operation id; 0: none */
	int64_t revision; /* 0: none */
	uint64_t ms;      /* 0: not known */
	char text[CHECK_TEXT_SIZE];
};

struct check_report {
	unsigned count; /* findings; more than are kept, perhaps */
	unsigned by_rule[CHECK_RULE_COUNT];
	struct check_finding finding[CHECK_FINDINGS_MAX];
	unsigned kept;
	/* How much was judged, so that "nothing found" means something. */
	size_t writes_ok, writes_failed, refused, reads;
	size_t unknown_applied, unknown_not;
	size_t revisions, stream_events, relists, compacted, leases_ended;
	size_t leases_excused; /* leases that ended early by a known fault of the server */
};

/* Adds the findings to the report. The only error is PL_NOMEM. */
PL_NODISCARD enum pl_code check_hist(const struct hist *hist,
                                     struct check_report *report);

PL_PRINTF(5, 6)
struct check_finding *check_add(struct check_report *report, enum check_rule rule,
                                uint32_t op, int64_t revision, const char *fmt, ...);

#endif
