#include "shardsched/classes/class_registry.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"

enum { BY_SPEC_FIRST = 64 };

/* The state that plugins have prepared for a class. */
struct ready_class {
	struct registered_class *of;
	struct fw_class *class; /* NULL: not asked for since the class became ready */
	struct fw_class *all;   /* NULL: not asked for since the class became ready */
	struct pl_list order;   /* in registry.ready, or in no list */
};

void class_registry_init(struct class_registry *registry,
                         const struct class_registry_opts *opts)
{
	*registry = (struct class_registry){.opts = *opts};
	pl_list_init(&registry->ready);
}

struct registered_class *class_registry_find(const struct class_registry *registry,
                                             const struct spec *spec)
{
	uint32_t id = spec->item.id;

	if (id >= registry->cap || registry->by_spec[id] == 0)
		return NULL;
	return slab_at(&registry->slab, registry->by_spec[id]);
}

struct registered_class *class_registry_next(const struct class_registry *registry,
                                             uint32_t *at)
{
	while (*at < registry->cap) {
		uint32_t piece = registry->by_spec[(*at)++];

		if (piece != 0)
			return slab_at(&registry->slab, piece);
	}
	return NULL;
}

const struct profile *class_registry_profile(const struct class_registry *registry,
                                             const struct registered_class *open)
{
	const struct profile *profile =
		profiles_find(registry->opts.profiles, open->spec->template->scheduler);

	PL_ASSERT(profile != NULL);
	return profile;
}

/* -- a class, and its end ----------------------------------------------------------- */

static enum pl_code by_spec_reserve(struct class_registry *registry, uint32_t id)
{
	uint32_t cap = registry->cap == 0 ? BY_SPEC_FIRST : registry->cap;
	uint32_t *grown;

	if (id < registry->cap)
		return PL_OK;
	while (cap <= id)
		cap += cap / 8;
	grown = pl_realloc(registry->by_spec, cap * sizeof *grown);
	if (grown == NULL)
		return PL_NOMEM;
	for (uint32_t i = registry->cap; i < cap; i++)
		grown[i] = 0;
	registry->by_spec = grown;
	registry->cap = cap;
	return PL_OK;
}

static void forget_class(struct class_registry *registry, struct registered_class *open)
{
	PL_ASSERT(open->users == 0 && open->ready == NULL);
	if (registry->opts.on_closing != NULL)
		registry->opts.on_closing(registry->opts.ctx, open);
	registry->by_spec[open->spec->item.id] = 0;
	registry->count--;
	model_unref(registry->opts.snapshot->model, MODEL_SPECS, open->spec);
	slab_free(&registry->slab, open->piece);
}

static enum pl_code make_class(struct class_registry *registry, const struct spec *spec,
                               struct registered_class **out, struct pl_err *err)
{
	struct model *model = registry->opts.snapshot->model;
	struct registered_class *open;
	enum pl_code code = PL_OK;
	uint32_t piece;

	if (profiles_find(registry->opts.profiles, spec->template->scheduler) == NULL)
		return pl_err_set(
			err, PL_NOTFOUND, "spec.schedulerName: no profile '%.*s'",
			PL_SPAN_ARG(model_text(model, spec->template->scheduler)));
	if (by_spec_reserve(registry, spec->item.id) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "classes of pods");
	piece = slab_alloc(&registry->slab, sizeof *open + registry->opts.extra_size);
	if (piece == 0)
		return pl_err_set(err, PL_NOMEM, "a class of pods");
	open = slab_at(&registry->slab, piece);
	memset(open, 0, sizeof *open + registry->opts.extra_size);
	open->spec = spec;
	open->piece = piece;
	if (registry->opts.on_opened != NULL)
		code = registry->opts.on_opened(registry->opts.ctx, open, err);
	if (code != PL_OK) {
		slab_free(&registry->slab, piece);
		return code;
	}
	(void)model_ref(model, MODEL_SPECS, spec);
	registry->by_spec[spec->item.id] = piece;
	registry->count++;
	*out = open;
	return PL_OK;
}

/* -- ready ------------------------------------------------------------------------- */

static void fw_close(const struct class_registry *registry, struct fw_class *class)
{
	if (class != NULL && registry->opts.classes != NULL)
		class_cache_forget(registry->opts.classes, class);
	fw_class_close(registry->opts.snapshot, class);
}

static void drop_ready(struct class_registry *registry, struct ready_class *ready)
{
	struct registered_class *open = ready->of;

	pl_list_del(&ready->order);
	registry->ready_count--;
	fw_close(registry, ready->class);
	fw_close(registry, ready->all);
	free(ready);
	open->ready = NULL;
	if (open->users == 0)
		forget_class(registry, open);
}

/* Drops ready classes beyond the bound, except for one that is to stay. */
static void trim_ready(struct class_registry *registry, const struct ready_class *stays)
{
	PL_LIST_EACH (link, &registry->ready) {
		struct ready_class *first = PL_LIST_ITEM(link, struct ready_class, order);

		if (registry->holds > 0 ||
		    registry->ready_count <= registry->opts.ready_max || first == stays)
			return;
		drop_ready(registry, first);
	}
}

/* Whether the class is in use and stays ready as long as it is. */
static bool is_exempt(const struct class_registry *registry,
                      const struct registered_class *open)
{
	return registry->opts.keep_ready && open->users > 0;
}

/* The last to go. */
static void touch_ready(struct class_registry *registry, struct ready_class *ready)
{
	bool listed = !pl_list_empty(&ready->order);

	pl_list_del(&ready->order);
	registry->ready_count -= listed;
	if (is_exempt(registry, ready->of))
		return;
	pl_list_add_tail(&registry->ready, &ready->order);
	registry->ready_count++;
	if (!listed)
		trim_ready(registry, ready);
}

static struct ready_class *ready_of(struct registered_class *open)
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

static enum pl_code fw_open(struct class_registry *registry,
                            struct registered_class *open, bool local,
                            struct fw_class **to, struct pl_err *err)
{
	enum pl_code code;

	if (*to != NULL)
		return PL_OK;
	code = fw_class_open(registry->opts.snapshot,
	                     class_registry_profile(registry, open), open->spec, to, err);
	if (code == PL_OK)
		(*to)->local = local;
	return code;
}

static enum pl_code fw_get(struct class_registry *registry, struct registered_class *open,
                           bool local, struct fw_class **out, struct pl_err *err)
{
	struct ready_class *ready = ready_of(open);
	struct fw_class **at;
	enum pl_code code;

	PL_ASSERT(open->users > 0);
	if (ready == NULL)
		return pl_err_set(err, PL_NOMEM, "prepare a class of pods");
	at = local == registry->opts.local ? &ready->class : &ready->all;
	code = fw_open(registry, open, local, at, err);
	if (code == PL_OK)
		*out = *at;
	touch_ready(registry, ready);
	return code;
}

enum pl_code class_registry_fw(struct class_registry *registry,
                               struct registered_class *open, struct fw_class **out,
                               struct pl_err *err)
{
	return fw_get(registry, open, registry->opts.local, out, err);
}

enum pl_code class_registry_all(struct class_registry *registry,
                                struct registered_class *open, struct fw_class **out,
                                struct pl_err *err)
{
	return fw_get(registry, open, false, out, err);
}

void class_registry_hold(struct class_registry *registry)
{
	registry->holds++;
}

void class_registry_release(struct class_registry *registry)
{
	PL_ASSERT(registry->holds > 0);
	registry->holds--;
	trim_ready(registry, NULL);
}

/* -- users -------------------------------------------------------------------------- */

enum pl_code class_registry_get(struct class_registry *registry, const struct spec *spec,
                                struct registered_class **out, struct pl_err *err)
{
	struct registered_class *open = class_registry_find(registry, spec);
	enum pl_code code = open == NULL ? make_class(registry, spec, &open, err) : PL_OK;

	if (code != PL_OK)
		return code;
	PL_ASSERT(open != NULL);
	open->users++;
	if (open->users == 1 && open->ready != NULL)
		touch_ready(registry, open->ready);
	*out = open;
	return PL_OK;
}

void class_registry_put(struct class_registry *registry, struct registered_class *open)
{
	PL_ASSERT(open->users > 0);
	if (--open->users > 0)
		return;
	if (open->ready == NULL) {
		forget_class(registry, open);
		return;
	}
	touch_ready(registry, open->ready);
}

void class_registry_done(struct class_registry *registry)
{
	PL_ASSERT(registry->holds == 0);
	PL_LIST_EACH (link, &registry->ready)
		drop_ready(registry, PL_LIST_ITEM(link, struct ready_class, order));
	PL_ASSERT(registry->count == 0);
	slab_done(&registry->slab);
	free(registry->by_spec);
}
