/*
 * A pin: while it is held, nothing from its revision on is compacted. So a client can
 * list or check at that revision for longer than one call takes.
 *
 *	/pins/<name>  {"v":1,"by":"who","why":"fsck","until":"2026-...Z"}, leased
 *
 * The pinned revision is the key's create revision. A pin is bounded: after
 * janitor.pin_max_ms it is ignored, and it ends with its lease when its holder dies.
 */
#ifndef COORD_JANITOR_PIN_H
#define COORD_JANITOR_PIN_H

#include "store/kv/kv.h"

struct pin;

enum pin_what {
	PIN_HELD,    /* revision */
	PIN_LOST,    /* err; PL_EXISTS: the name is in use. The pin can only be
	              * released */
	PIN_TROUBLE, /* err: not held yet; what failed is tried again */
	PIN_RELEASED,
};

struct pin_note {
	enum pin_what what;
	int64_t revision; /* HELD: the revision to read at */
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
/* RELEASED follows, and the pin is freed. err of that note: the lease is not known to
 * be revoked; it expires by itself. */
void pin_release(struct pin *pin);

#endif
