#include "shardsched/classes/pool.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"

enum { BY_SPEC_FIRST = 64 };

/* What is prepared for a class. */
struct pool_ready {
	struct pool_class *of;
	struct fw_class *class; /* NULL: nobody asked for it */
	struct fw_class *all;   /* likewise */
	struct pl_list order;   /* of pool.ready, or alone */
};

void pool_init(struct pool *pool, const struct pool_opts *opts)
{
	*pool = (struct pool){.opts = *opts};
	pl_list_init(&pool->ready);
}

struct pool_class *pool_find(const struct pool *pool, const struct spec *spec)
{
	uint32_t id = spec->item.id;

	if (id >= pool->cap || pool->by_spec[id] == 0)
		return NULL;
	return pages_at(&pool->pages, pool->by_spec[id]);
}

const struct profile *pool_profile(const struct pool *pool, const struct pool_class *open)
{
	const struct profile *profile =
		profiles_find(pool->opts.profiles, open->spec->form->scheduler);

	PL_ASSERT(profile != NULL);
	return profile;
}

/* -- a class, and its end ----------------------------------------------------------- */

static enum pl_code by_spec_room(struct pool *pool, uint32_t id)
{
	uint32_t cap = pool->cap == 0 ? BY_SPEC_FIRST : pool->cap;
	uint32_t *grown;

	if (id < pool->cap)
		return PL_OK;
	while (cap <= id)
		cap += cap / 8;
	grown = pl_realloc(pool->by_spec, cap * sizeof *grown);
	if (grown == NULL)
		return PL_NOMEM;
	for (uint32_t i = pool->cap; i < cap; i++)
		grown[i] = 0;
	pool->by_spec = grown;
	pool->cap = cap;
	return PL_OK;
}

static void forget(struct pool *pool, struct pool_class *open)
{
	PL_ASSERT(open->users == 0 && open->ready == NULL);
	if (pool->opts.closing != NULL)
		pool->opts.closing(pool->opts.ctx, open);
	pool->by_spec[open->spec->item.id] = 0;
	pool->count--;
	model_unref(pool->opts.snapshot->model, MODEL_SPECS, open->spec);
	pages_give(&pool->pages, open->piece);
}

static enum pl_code make(struct pool *pool, const struct spec *spec,
                         struct pool_class **out, struct pl_err *err)
{
	struct model *model = pool->opts.snapshot->model;
	struct pool_class *open;
	enum pl_code code = PL_OK;
	uint32_t piece;

	if (profiles_find(pool->opts.profiles, spec->form->scheduler) == NULL)
		return pl_err_set(err, PL_NOTFOUND,
		                  "spec.schedulerName: no profile '%.*s'",
		                  PL_SPAN_ARG(model_text(model, spec->form->scheduler)));
	if (by_spec_room(pool, spec->item.id) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "classes of pods");
	piece = pages_take(&pool->pages, sizeof *open + pool->opts.extra_size);
	if (piece == 0)
		return pl_err_set(err, PL_NOMEM, "a class of pods");
	open = pages_at(&pool->pages, piece);
	memset(open, 0, sizeof *open + pool->opts.extra_size);
	open->spec = spec;
	open->piece = piece;
	if (pool->opts.opened != NULL)
		code = pool->opts.opened(pool->opts.ctx, open, err);
	if (code != PL_OK) {
		pages_give(&pool->pages, piece);
		return code;
	}
	(void)model_ref(model, MODEL_SPECS, spec);
	pool->by_spec[spec->item.id] = piece;
	pool->count++;
	*out = open;
	return PL_OK;
}

/* -- ready ------------------------------------------------------------------------- */

static void fw_close(const struct pool *pool, struct fw_class *class)
{
	if (class != NULL && pool->opts.classes != NULL)
		classes_forget(pool->opts.classes, class);
	fw_class_close(pool->opts.snapshot, class);
}

static void unready(struct pool *pool, struct pool_ready *ready)
{
	struct pool_class *open = ready->of;

	pl_list_del(&ready->order);
	pool->ready_count--;
	fw_close(pool, ready->class);
	fw_close(pool, ready->all);
	free(ready);
	open->ready = NULL;
	if (open->users == 0)
		forget(pool, open);
}

/* But for one that is to stay anyhow. */
static void trim(struct pool *pool, const struct pool_ready *stays)
{
	PL_LIST_EACH (link, &pool->ready) {
		struct pool_ready *first = PL_LIST_ITEM(link, struct pool_ready, order);

		if (pool->holds > 0 || pool->ready_count <= pool->opts.ready_max ||
		    first == stays)
			return;
		unready(pool, first);
	}
}

/* One that is used, and stays ready as long. */
static bool is_aside(const struct pool *pool, const struct pool_class *open)
{
	return pool->opts.stays && open->users > 0;
}

/* The last to go. */
static void refresh(struct pool *pool, struct pool_ready *ready)
{
	bool listed = !pl_list_empty(&ready->order);

	pl_list_del(&ready->order);
	pool->ready_count -= listed;
	if (is_aside(pool, ready->of))
		return;
	pl_list_add_tail(&pool->ready, &ready->order);
	pool->ready_count++;
	if (!listed)
		trim(pool, ready);
}

static struct pool_ready *ready_of(struct pool_class *open)
{
	if (open->ready != NULL)
		return open->ready;
	open->ready = pl_calloc(1, sizeof *open->ready);
	if (open->ready != NULL) {
		open->ready->of = open;
		pl_list_init(&open->ready->order);
	}
	return open->ready;
}

static enum pl_code fw_open(struct pool *pool, struct pool_class *open, bool home,
                            struct fw_class **to, struct pl_err *err)
{
	enum pl_code code;

	if (*to != NULL)
		return PL_OK;
	code = fw_class_open(pool->opts.snapshot, pool_profile(pool, open), open->spec,
	                     to, err);
	if (code == PL_OK)
		(*to)->home = home;
	return code;
}

static enum pl_code fw_get(struct pool *pool, struct pool_class *open, bool home,
                           struct fw_class **out, struct pl_err *err)
{
	struct pool_ready *ready = ready_of(open);
	struct fw_class **at;
	enum pl_code code;

	PL_ASSERT(open->users > 0);
	if (ready == NULL)
		return pl_err_set(err, PL_NOMEM, "prepare a class of pods");
	at = home == pool->opts.home ? &ready->class : &ready->all;
	code = fw_open(pool, open, home, at, err);
	if (code == PL_OK)
		*out = *at;
	refresh(pool, ready);
	return code;
}

enum pl_code pool_fw(struct pool *pool, struct pool_class *open, struct fw_class **out,
                     struct pl_err *err)
{
	return fw_get(pool, open, pool->opts.home, out, err);
}

enum pl_code pool_all(struct pool *pool, struct pool_class *open, struct fw_class **out,
                      struct pl_err *err)
{
	return fw_get(pool, open, false, out, err);
}

void pool_hold(struct pool *pool)
{
	pool->holds++;
}

void pool_release(struct pool *pool)
{
	PL_ASSERT(pool->holds > 0);
	pool->holds--;
	trim(pool, NULL);
}

/* -- users -------------------------------------------------------------------------- */

enum pl_code pool_get(struct pool *pool, const struct spec *spec, struct pool_class **out,
                      struct pl_err *err)
{
	struct pool_class *open = pool_find(pool, spec);
	enum pl_code code = open == NULL ? make(pool, spec, &open, err) : PL_OK;

	if (code != PL_OK)
		return code;
	PL_ASSERT(open != NULL);
	open->users++;
	if (open->users == 1 && open->ready != NULL)
		refresh(pool, open->ready);
	*out = open;
	return PL_OK;
}

void pool_put(struct pool *pool, struct pool_class *open)
{
	PL_ASSERT(open->users > 0);
	if (--open->users > 0)
		return;
	if (open->ready == NULL) {
		forget(pool, open);
		return;
	}
	refresh(pool, open->ready);
}

void pool_done(struct pool *pool)
{
	PL_ASSERT(pool->holds == 0);
	PL_LIST_EACH (link, &pool->ready)
		unready(pool, PL_LIST_ITEM(link, struct pool_ready, order));
	PL_ASSERT(pool->count == 0);
	pages_done(&pool->pages);
	free(pool->by_spec);
}
