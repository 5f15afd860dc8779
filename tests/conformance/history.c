#include "tests/conformance/history.h"

#include "tests/conformance/renumber.h"
#include "tests/conformance/show.h"

/* The kind in the upper half, the offset from the middle in the lower one. */
enum { OFFSET_MIDDLE = 1 << 20 };
#define RELATIVE_SHIFT 48

int64_t relative_to(enum relative what, int64_t offset)
{
	PL_ASSERT(offset > -OFFSET_MIDDLE && offset < OFFSET_MIDDLE);
	return ((int64_t)what << RELATIVE_SHIFT) + OFFSET_MIDDLE + offset;
}

static enum relative relative_what(int64_t number)
{
	return number < (int64_t)1 << RELATIVE_SHIFT
	               ? RELATIVE_NOT
	               : (enum relative)(number >> RELATIVE_SHIFT);
}

static int64_t relative_offset(int64_t number)
{
	return (number & (((int64_t)1 << RELATIVE_SHIFT) - 1)) - OFFSET_MIDDLE;
}

/* Back to the first revision at most, so that a history from which steps have
 * been taken still reaches back to its beginning; and, in relation to what is
 * compacted, to one that every store has forgotten. */
static int64_t resolve_revision(const void *ctx, int64_t number)
{
	const struct present *present = ctx;
	int64_t revision = number;

	if (relative_what(number) == RELATIVE_NOW) {
		revision = present->revision + relative_offset(number);
		return revision < 1 ? 1 : revision;
	}
	if (relative_what(number) == RELATIVE_COMPACTED)
		revision = present->compacted + relative_offset(number);
	return revision < -1 ? -1 : revision;
}

static int64_t resolve_compare(const void *ctx, const struct kv_compare *compare)
{
	const struct present *present = ctx;

	if (compare->target == KV_VALUE)
		return 0;
	if (relative_what(compare->number) == RELATIVE_KEY)
		return present->key(present->ctx, compare) +
		       relative_offset(compare->number);
	return compare->number;
}

static int64_t resolve_lease(const void *ctx, int64_t lease)
{
	(void)ctx;
	return lease;
}

struct step step_resolve(const struct step *step, const struct present *present,
                         struct pl_arena *arena)
{
	struct renumber renumber = {.arena = arena,
	                            .revision = resolve_revision,
	                            .compact = resolve_revision,
	                            .compare = resolve_compare,
	                            .lease = resolve_lease,
	                            .ctx = present};
	struct step out = *step;

	if (step->kind == STEP_CALL)
		out.req = renumber_req(&renumber, &step->req);
	if (step->kind == STEP_WATCH && step->watch.from_revision != 0)
		out.watch.from_revision =
			resolve_revision(present, step->watch.from_revision);
	return out;
}

void show_step(struct pl_buf *buf, const struct step *resolved)
{
	switch (resolved->kind) {
	case STEP_CALL:
		show_req(buf, &resolved->req);
		return;
	case STEP_WATCH:
		show_text(buf, "#%u ", resolved->slot);
		show_watch(buf, &resolved->watch);
		return;
	case STEP_UNWATCH:
		show_text(buf, "#%u unwatch", resolved->slot);
		return;
	case STEP_DROP:
		show_text(buf, "#%u unwatch at once", resolved->slot);
		return;
	case STEP_MEET:
		show_text(buf, "compare watches and keys");
		return;
	}
}
