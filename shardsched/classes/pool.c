#include "shardsched/classes/pool.h"

#include <stdlib.h>

#include "store/base/alloc.h"

void pool_init(struct pool *pool, const struct pool_opts *opts)
{
	*pool = (struct pool){.opts = *opts};
	pl_map_init(&pool->open);
	pl_list_init(&pool->idle);
}

struct pool_class *pool_find(const struct pool *pool, const struct spec *spec)
{
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): the address is the key */
	struct pl_map_node *node = pl_map_get(&pool->open, pl_span(&spec, sizeof spec));

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct pool_class, by_spec);
}

static void class_close(struct pool *pool, struct fw_class *class)
{
	if (pool->opts.classes != NULL)
		classes_forget(pool->opts.classes, class);
	fw_class_close(pool->opts.snapshot, class);
}

static void shut(struct pool *pool, struct pool_class *open)
{
	PL_ASSERT(open->users == 0 && pool->idle_count > 0);
	pool->idle_count--;
	pl_list_del(&open->idle);
	pl_map_del(&pool->open, &open->by_spec);
	if (pool->opts.closing != NULL)
		pool->opts.closing(pool->opts.ctx, open);
	class_close(pool, open->class);
	if (open->all != NULL)
		class_close(pool, open->all);
	free(open);
}

static enum pl_code fill(struct pool *pool, struct pool_class *open,
                         const struct profile *profile, struct pl_err *err)
{
	const struct pool_opts *opts = &pool->opts;
	enum pl_code code =
		fw_class_open(opts->snapshot, profile, open->spec, &open->class, err);

	if (code != PL_OK)
		return code;
	open->class->home = opts->home;
	if (opts->opened == NULL)
		return PL_OK;
	code = opts->opened(opts->ctx, open, err);
	if (code != PL_OK)
		class_close(pool, open->class);
	return code;
}

static enum pl_code make(struct pool *pool, const struct spec *spec,
                         struct pool_class **out, struct pl_err *err)
{
	const struct profile *profile =
		profiles_find(pool->opts.profiles, spec->scheduler);
	struct pool_class *open;
	enum pl_code code;

	if (profile == NULL) {
		struct pl_span name =
			model_text(pool->opts.snapshot->model, spec->scheduler);

		return pl_err_set(err, PL_NOTFOUND,
		                  "spec.schedulerName: no profile '%.*s'",
		                  PL_SPAN_ARG(name));
	}
	open = pl_calloc(1, sizeof *open + pool->opts.extra_size);
	if (open == NULL)
		return pl_err_set(err, PL_NOMEM, "open a class of pods");
	open->spec = spec;
	code = fill(pool, open, profile, err);
	if (code != PL_OK) {
		free(open);
		return code;
	}
	pl_list_init(&open->idle);
	(void)!pl_map_add(&pool->open, &open->by_spec,
	                  pl_span(&open->spec, sizeof(const struct spec *)));
	*out = open;
	return PL_OK;
}

enum pl_code pool_get(struct pool *pool, const struct spec *spec, struct pool_class **out,
                      struct pl_err *err)
{
	struct pool_class *open = pool_find(pool, spec);

	if (open == NULL) {
		enum pl_code code = make(pool, spec, &open, err);

		if (code != PL_OK)
			return code;
	} else if (open->users == 0) {
		pl_list_del(&open->idle);
		pool->idle_count--;
	}
	open->users++;
	*out = open;
	return PL_OK;
}

enum pl_code pool_all(struct pool *pool, struct pool_class *open, struct fw_class **out,
                      struct pl_err *err)
{
	enum pl_code code = PL_OK;

	PL_ASSERT(open->users > 0);
	if (!pool->opts.home) {
		*out = open->class;
		return PL_OK;
	}
	if (open->all == NULL)
		code = fw_class_open(pool->opts.snapshot, open->class->profile,
		                     open->spec, &open->all, err);
	if (code == PL_OK)
		*out = open->all;
	return code;
}

void pool_put(struct pool *pool, struct pool_class *open)
{
	PL_ASSERT(open->users > 0);
	if (--open->users > 0)
		return;
	pl_list_add_tail(&pool->idle, &open->idle);
	pool->idle_count++;
	if (pool->idle_count > pool->opts.idle_max)
		shut(pool, PL_LIST_ITEM(pool->idle.next, struct pool_class, idle));
}

void pool_done(struct pool *pool)
{
	while (!pl_list_empty(&pool->idle))
		shut(pool, PL_LIST_ITEM(pool->idle.next, struct pool_class, idle));
	PL_ASSERT(pl_map_first(&pool->open) == NULL);
	pl_map_done(&pool->open);
}
