/*
 * A pin: while it is held nothing from its revision on is compacted, so that one
 * can list or check at that revision for longer than one call takes.
 *
 *	/pins/<name>  {"v":1,"by":"who","why":"fsck","until":"2026-...Z"}, leased
 *
 * Its create revision is what it holds. Bounded: after janitor.pin_max_ms it is
 * ignored, and its lease ends it when its holder dies.
 */
#ifndef COORD_JANITOR_PIN_H
#define COORD_JANITOR_PIN_H

#include "store/kv/kv.h"

struct pin;

enum pin_what {
	PIN_HELD,    /* revision */
	PIN_LOST,    /* err; PL_EXISTS: another has the name. Only release it */
	PIN_TROUBLE, /* err: not held yet; goes on trying */
	PIN_RELEASED,
};

struct pin_note {
	enum pin_what what;
	int64_t revision; /* HELD: read at this one */
	const struct pl_err *err;
};

typedef void pin_fn(void *ctx, const struct pin_note *note);

struct pin_opts {
	struct pl_span name; /* copied */
	struct pl_span by, why;
	int64_t until_wall_ms;
	uint64_t seed;
};

/* Notes come later, never from inside a call of ours. */
PL_NODISCARD enum pl_code pin_open(struct kv *kv, const struct pin_opts *opts, pin_fn *fn,
                                   void *ctx, struct pin **out, struct pl_err *err);
/* RELEASED follows; then it is gone. err: the store did not say that its lease is
 * revoked; it runs out by itself. */
void pin_release(struct pin *pin);

#endif
