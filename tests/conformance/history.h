/*
 * A history is the sequence of steps that a run does to both stores.
 *
 * Revisions and compared numbers may be relative to the state of the store when
 * their step comes ("the newest but two", "the key's own and one"). So a history
 * still means something when steps are taken out of it, and stores can be driven
 * to the same edges from any seed.
 */
#ifndef TESTS_CONFORMANCE_HISTORY_H
#define TESTS_CONFORMANCE_HISTORY_H

#include "store/base/arena.h"
#include "store/base/buf.h"
#include "store/kv/types.h"

enum { HISTORY_SLOTS = 6 };

enum step_kind {
	STEP_CALL,
	STEP_WATCH,   /* ends the watch that the slot held */
	STEP_UNWATCH, /* ends the watch after it has caught up */
	STEP_DROP,    /* ends the watch at once */
	STEP_MEET,    /* all watches catch up and are compared, so are all keys */
};

struct step {
	enum step_kind kind;
	unsigned slot;             /* slot of the step's watch */
	struct kv_req req;         /* STEP_CALL */
	struct kv_watch_req watch; /* STEP_WATCH */
};

struct history {
	struct pl_arena *arena; /* holds the steps and all they point to */
	struct step *steps;
	size_t count;
};

/* Numbers in relation: to the newest revision, to the newest compacted one, to
 * what the first of the compared keys has. */
enum relative { RELATIVE_NOT, RELATIVE_NOW, RELATIVE_COMPACTED, RELATIVE_KEY };

int64_t relative_to(enum relative what, int64_t offset);

/* The store's present state, which relative numbers refer to, and how to look up a
 * key. */
struct present {
	int64_t revision;
	int64_t compacted;
	int64_t (*key)(const void *ctx, const struct kv_compare *compare);
	const void *ctx;
};

/* The step with plain numbers; lists in the arena, keys borrowed. */
struct step step_resolve(const struct step *step, const struct present *present,
                         struct pl_arena *arena);

void show_step(struct pl_buf *buf, const struct step *resolved);

/* The which-th way to make the step simpler; false: there are not so many. */
bool step_simplify(const struct step *step, unsigned which, struct pl_arena *arena,
                   struct step *out);

#endif
