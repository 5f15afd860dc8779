/*
 * A digest that would be too large says less: first no labels, then nothing of taints
 * either. So it errs on the side on which digests always err: a shard that goes by it
 * looks once too often.
 */
#include "shardsched/shard/inner.h"

static int64_t larger_amount(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

typedef int64_t merge_fn(int64_t a, int64_t b);

/* False: there are too many kinds of resources. */
static bool merge_scalar(struct digest_capacity *to, struct digest_scalar *row,
                         const struct digest_scalar *from, merge_fn *merge)
{
	uint32_t n = 0;

	while (n < to->scalars && !pl_span_eq(row[n].name, from->name))
		n++;
	if (n == DIGEST_SCALARS_MAX)
		return false;
	to->scalars += n == to->scalars;
	row[n].name = from->name;
	row[n].amount = merge(row[n].amount, from->amount);
	return true;
}

static bool merge_room(struct digest_capacity *to, struct digest_scalar *row,
                       const struct digest_capacity *from, merge_fn *merge)
{
	to->cpu_milli = merge(to->cpu_milli, from->cpu_milli);
	to->memory = merge(to->memory, from->memory);
	to->storage = merge(to->storage, from->storage);
	to->pods = merge(to->pods, from->pods);
	to->scalar = row;
	for (uint32_t i = 0; i < from->scalars; i++)
		if (!merge_scalar(to, row, &from->scalar[i], merge))
			return false;
	return true;
}

/* All classes become one whose taints are unknown. */
static enum pl_code merge_classes(struct pl_arena *arena,
                                  const struct digest_partition *part,
                                  struct digest_class *out)
{
	struct digest_scalar *free, *most;
	uint32_t rows = 1;

	for (uint32_t i = 0; i < part->classes; i++)
		rows += part->class[i].free.scalars + part->class[i].most.scalars;
	free = pl_arena_zalloc(arena, rows, sizeof *free);
	most = pl_arena_zalloc(arena, rows, sizeof *most);
	if (free == NULL || most == NULL)
		return PL_NOMEM;
	*out = (struct digest_class){.more = true, .least = DIGEST_NO_PODS};
	for (uint32_t i = 0; i < part->classes; i++) {
		const struct digest_class *from = &part->class[i];

		out->nodes += from->nodes;
		out->other = out->other || from->other || from->taints > 0;
		out->least = from->least < out->least ? from->least : out->least;
		if (!merge_room(&out->free, free, &from->free, resources_sum) ||
		    !merge_room(&out->most, most, &from->most, larger_amount))
			return PL_LIMIT;
	}
	return PL_OK;
}

static enum pl_code shorten_part(struct pl_arena *arena, struct digest_partition *part,
                                 bool merged)
{
	uint32_t classes = merged && part->classes > 0 ? 1 : part->classes;
	struct digest_class *class = pl_arena_zalloc(arena, classes + 1, sizeof *class);
	enum pl_code code = class == NULL ? PL_NOMEM : PL_OK;

	if (code == PL_OK && merged && classes > 0)
		code = merge_classes(arena, part, class);
	for (uint32_t i = 0; code == PL_OK && !merged && i < classes; i++) {
		class[i] = part->class[i];
		class[i].labels = 0;
		class[i].more = true;
	}
	part->class = class;
	part->classes = classes;
	return code;
}

static enum pl_code print_short(struct pl_arena *arena, const struct digest *full,
                                bool merged, struct pl_buf *out, struct pl_err *err)
{
	struct digest_partition *part =
		pl_arena_zalloc(arena, full->parts + 1, sizeof *part);
	const struct digest less = {.part = part, .parts = full->parts};
	enum pl_code code = part == NULL ? PL_NOMEM : PL_OK;

	for (uint32_t i = 0; code == PL_OK && i < full->parts; i++) {
		part[i] = full->part[i];
		code = shorten_part(arena, &part[i], merged);
	}
	pl_buf_clear(out, out->cap);
	return code == PL_OK ? digest_print(&less, out, err)
	                     : pl_err_set(err, code, "shorten the digest");
}

enum pl_code digest_fit(struct pl_arena *arena, const struct digest *digest,
                        struct pl_buf *out, struct pl_err *err)
{
	enum pl_code code;

	pl_buf_clear(out, out->cap);
	code = digest_print(digest, out, err);
	for (unsigned merged = 0; code == PL_LIMIT && merged < 2; merged++)
		code = print_short(arena, digest, merged, out, err);
	return code;
}
