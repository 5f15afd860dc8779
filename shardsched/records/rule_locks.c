#include "shardsched/records/rule_locks.h"

#include <stdlib.h>

#include "shardsched/model/parse.h"
#include "store/base/alloc.h"

enum {
	CHUNK = 16 << 10,
	OPS_DEFAULT = 128,
	BYTES_DEFAULT = 3 << 19,
	/* the part of a transaction's entries that locks may take one by one, and of its
	 * bytes that a registry may take: as shards have it */
	LOCK_PARTS = 4,
	BYTE_PARTS = 12,
};

struct locks_term {
	struct rule_registry_term is;
	const struct spec
		*carrier;         /* holds a reference; NULL: malformed, finds nothing */
	struct pl_span namespace; /* of its carriers */
	bool put, fresh;          /* fresh: registered by this transaction */
};

struct locks_registry {
	struct pl_arena arena; /* of what was read */
	struct pl_span namespace, value;
	int64_t rev;
	bool used;     /* by this transaction */
	bool outdated; /* a newer one may stand by now */
	struct locks_term *term;
	uint32_t terms, cap, read; /* read: without fresh ones */
};

void rule_locks_init(struct rule_locks *locks, struct model *model, const char *writer)
{
	*locks = (struct rule_locks){.model = model, .writer = writer};
	pl_arena_init(&locks->arena, CHUNK, 0);
}

static void drop_terms(struct rule_locks *locks, struct locks_registry *registry,
                       uint32_t from)
{
	for (uint32_t i = from; i < registry->terms; i++)
		model_unref(locks->model, MODEL_SPECS, registry->term[i].carrier);
	registry->terms = from;
}

static void registry_free(struct rule_locks *locks, struct locks_registry *registry)
{
	drop_terms(locks, registry, 0);
	pl_arena_done(&registry->arena);
	free(registry->term);
	free(registry);
}

void rule_locks_done(struct rule_locks *locks)
{
	for (uint32_t i = 0; i < locks->count; i++)
		registry_free(locks, locks->at[i]);
	locks->count = 0;
	pl_arena_done(&locks->arena);
}

static struct locks_registry *registry_find(const struct rule_locks *locks,
                                            struct pl_span namespace)
{
	for (uint32_t i = 0; i < locks->count; i++)
		if (pl_span_eq(locks->at[i]->namespace, namespace))
			return locks->at[i];
	return NULL;
}

bool rule_locks_knows(const struct rule_locks *locks, struct pl_span namespace)
{
	const struct locks_registry *registry = registry_find(locks, namespace);

	return registry != NULL && !registry->outdated;
}

void rule_locks_forget(struct rule_locks *locks)
{
	for (uint32_t i = 0; i < locks->count; i++)
		locks->at[i]->outdated = locks->at[i]->outdated || locks->at[i]->used;
}

/* -- reading ----------------------------------------------------------------------- */

static bool grow_terms(struct locks_registry *registry, uint32_t want)
{
	uint32_t cap = registry->cap * 2 > want ? registry->cap * 2 : want;
	struct locks_term *grown;

	if (want <= registry->cap)
		return true;
	grown = pl_realloc(registry->term, cap * sizeof *grown);
	if (grown == NULL)
		return false;
	registry->term = grown;
	registry->cap = cap;
	return true;
}

/* A term that its pod does not carry is ignored, as shards ignore it. */
static bool is_carried(struct rule_locks *locks, const struct locks_registry *registry,
                       const struct rule_registry_term *term, const struct spec *carrier,
                       enum pl_code *code)
{
	struct rule_terms terms = {0};
	struct pl_err err = {0};
	bool global = registry->namespace.len == 0;

	*code = rule_terms_of(locks->model, carrier, &locks->arena, &terms, &err);
	return *code == PL_OK && terms.count == 1 && terms.term[0].kind == term->kind &&
	       pl_span_eq(pl_span_str(terms.term[0].id), term->id) &&
	       terms.term[0].global == global &&
	       (global || pl_span_eq(model_text(locks->model, carrier->namespace),
	                             registry->namespace));
}

/* PL_NOMEM only. */
static enum pl_code read_term(struct rule_locks *locks, struct locks_registry *registry,
                              const struct rule_registry_term *term)
{
	struct parse parse = {.model = locks->model, .arena = &locks->arena};
	struct locks_term *to = &registry->term[registry->terms];
	struct pod pod = {0};
	struct pl_err err = {0};
	enum pl_code code = pod_parse(&parse, term->pod, &pod, &err);

	*to = (struct locks_term){.is = *term};
	if (code == PL_OK && is_carried(locks, registry, term, pod.spec, &code)) {
		to->namespace = pl_arena_dup(
			&registry->arena, model_text(locks->model, pod.spec->namespace));
		to->carrier = model_ref(locks->model, MODEL_SPECS, pod.spec);
		code = to->namespace.at == NULL ? PL_NOMEM : PL_OK;
	}
	registry->terms++;
	pod_drop(locks->model, &pod);
	return code == PL_NOMEM ? PL_NOMEM : PL_OK;
}

static enum pl_code read_terms(struct rule_locks *locks, struct locks_registry *registry,
                               struct pl_span value)
{
	struct rule_registry read = {0};
	struct pl_err err = {0};
	enum pl_code code;

	drop_terms(locks, registry, 0);
	registry->value = pl_arena_dup(&registry->arena, value);
	if (registry->value.at == NULL)
		return PL_NOMEM;
	if (value.len == 0)
		return PL_OK;
	code = rule_registry_parse(registry->value, &registry->arena, &read, &err);
	if (code != PL_OK)
		return code == PL_NOMEM ? PL_NOMEM : PL_OK;
	if (!grow_terms(registry, read.terms))
		return PL_NOMEM;
	for (uint32_t i = 0; i < read.terms && code == PL_OK; i++) {
		code = read_term(locks, registry, &read.term[i]);
		pl_arena_reset(&locks->arena);
	}
	return code;
}

static struct locks_registry *registry_new(struct rule_locks *locks,
                                           struct pl_span namespace)
{
	struct locks_registry *registry = pl_calloc(1, sizeof *registry);

	if (registry == NULL)
		return NULL;
	pl_arena_init(&registry->arena, CHUNK, 0);
	if (locks->count == RULE_LOCKS_REGISTRIES_MAX) /* all are read again as needed */
		while (locks->count > 0)
			registry_free(locks, locks->at[--locks->count]);
	registry->rev = -1;
	registry->namespace = namespace;
	locks->at[locks->count++] = registry;
	return registry;
}

static void registry_forget(struct rule_locks *locks, struct locks_registry *registry)
{
	for (uint32_t i = 0; i < locks->count; i++)
		if (locks->at[i] == registry)
			locks->at[i] = locks->at[--locks->count];
	registry_free(locks, registry);
}

enum pl_code rule_locks_read(struct rule_locks *locks, struct pl_span namespace,
                             int64_t rev, struct pl_span value, struct pl_err *err)
{
	struct locks_registry *registry = registry_find(locks, namespace);
	enum pl_code code = PL_NOMEM;

	if (registry != NULL)
		registry->outdated = false;
	if (registry != NULL && registry->rev == rev) {
		drop_terms(locks, registry, registry->read);
		return PL_OK;
	}
	if (registry == NULL)
		registry = registry_new(locks, namespace);
	if (registry == NULL)
		return pl_err_set(err, PL_NOMEM, "read a registry");
	drop_terms(locks, registry, 0);
	pl_arena_reset(&registry->arena);
	registry->namespace = pl_arena_dup(&registry->arena, namespace);
	if (registry->namespace.at != NULL)
		code = read_terms(locks, registry, rev == 0 ? PL_SPAN_LIT("") : value);
	registry->rev = rev;
	registry->read = registry->terms;
	if (code == PL_OK)
		return PL_OK;
	registry_forget(locks, registry);
	return pl_err_set(err, code, "read a registry");
}

/* -- pods -------------------------------------------------------------------------- */

void rule_locks_begin(struct rule_locks *locks)
{
	for (uint32_t i = 0; i < locks->count; i++) {
		struct locks_registry *registry = locks->at[i];

		drop_terms(locks, registry, registry->read);
		registry->used = false;
		for (uint32_t k = 0; k < registry->terms; k++)
			registry->term[k].put = false;
	}
	pl_arena_reset(&locks->arena);
}

/* Whichever namespaces the selector of the term finds. */
static bool row_may_find(const struct model *model, const struct spec_term *row,
                         uint32_t count, const struct spec *spec)
{
	for (uint32_t i = 0; i < count; i++)
		if ((row[i].term->namespace_selector->flags & SELECTOR_NOTHING) == 0 &&
		    selector_matches(&model->strings, row[i].term->selector,
		                     spec->labels))
			return true;
	return false;
}

static bool may_find(const struct model *model, const struct spec *carrier,
                     const struct spec *spec)
{
	return rule_carrier_finds(model, carrier, spec, NULL) ||
	       row_may_find(model, spec_affinity(carrier),
	                    carrier->template->affinity.count, spec) ||
	       row_may_find(model, spec_anti_affinity(carrier),
	                    carrier->template->anti_affinity.count, spec);
}

static void put_terms_that_find(const struct rule_locks *locks,
                                struct locks_registry *registry, const struct spec *spec)
{
	registry->used = true;
	for (uint32_t i = 0; i < registry->terms; i++) {
		struct locks_term *term = &registry->term[i];

		if (!term->put && term->carrier != NULL)
			term->put = may_find(locks->model, term->carrier, spec);
	}
}

static struct locks_term *term_find(const struct locks_registry *registry,
                                    struct pl_span id)
{
	for (uint32_t i = 0; i < registry->terms; i++)
		if (pl_span_eq(registry->term[i].is.id, id) &&
		    registry->term[i].carrier != NULL)
			return &registry->term[i];
	return NULL;
}

static enum pl_code register_term(struct rule_locks *locks,
                                  struct locks_registry *registry,
                                  const struct rule_term *term, const struct spec *spec,
                                  struct pl_err *err)
{
	struct pl_span id = pl_arena_dup(&locks->arena, pl_span_str(term->id));
	struct pl_span namespace =
		pl_arena_dup(&locks->arena, model_text(locks->model, spec->namespace));

	if (registry->terms == RULE_REGISTRY_TERMS_MAX)
		return pl_err_set(err, PL_LIMIT, "the registry of rules is full");
	if (id.at == NULL || namespace.at == NULL ||
	    !grow_terms(registry, registry->terms + 1))
		return pl_err_set(err, PL_NOMEM, "register a rule");
	registry->term[registry->terms++] = (struct locks_term){
		.is = {.id = id, .kind = term->kind, .pod = term->pod},
		.carrier = model_ref(locks->model, MODEL_SPECS, spec),
		.namespace = namespace,
		.put = true,
		.fresh = true};
	return PL_OK;
}

static enum pl_code put_carried(struct rule_locks *locks, const struct spec *spec,
                                struct locks_registry *own, struct locks_registry *global,
                                struct pl_err *err)
{
	struct rule_terms terms = {0};
	enum pl_code code;

	if (!rule_is_carrier(locks->model, spec))
		return PL_OK;
	code = rule_terms_of(locks->model, spec, &locks->arena, &terms, err);
	for (uint32_t i = 0; code == PL_OK && i < terms.count; i++) {
		struct locks_registry *of = terms.term[i].global ? global : own;
		struct locks_term *term = term_find(of, pl_span_str(terms.term[i].id));

		if (term == NULL)
			code = register_term(locks, of, &terms.term[i], spec, err);
		else
			term->put = term->put || term->is.kind == RULE_KIND_ANTI_AFFINITY;
	}
	return code;
}

enum pl_code rule_locks_add(struct rule_locks *locks, const struct spec *spec,
                            struct pl_err *err)
{
	struct locks_registry *own =
		registry_find(locks, model_text(locks->model, spec->namespace));
	struct locks_registry *global = registry_find(locks, PL_SPAN_LIT(""));
	enum pl_code code;

	PL_ASSERT(own != NULL && global != NULL);
	code = put_carried(locks, spec, own, global, err);
	put_terms_that_find(locks, own, spec);
	put_terms_that_find(locks, global, spec);
	return code;
}

/* -- into the transaction ---------------------------------------------------------- */

static struct pl_span build_key(const struct keys_id *id, struct keys_text *text)
{
	if (keys_build(id, text, NULL) != PL_OK)
		PL_UNREACHABLE("a name that no key can have");
	return keys_span(text);
}

static struct pl_span registry_key(const struct locks_registry *registry,
                                   struct keys_text *text)
{
	const struct keys_id id = {.kind = registry->namespace.len == 0
	                                           ? KEYS_REGISTRY_GLOBAL
	                                           : KEYS_REGISTRY,
	                           .scope = registry->namespace};

	return build_key(&id, text);
}

static int term_cmp(const void *a, const void *b)
{
	const struct rule_registry_term *x = a, *y = b;

	return pl_span_cmp(x->id, y->id);
}

/* The registry with its fresh terms; a term that was malformed goes where a fresh one has
 * its id. */
static struct pl_span print_registry(struct rule_locks *locks,
                                     const struct locks_registry *registry,
                                     enum pl_code *code)
{
	struct rule_registry_term *term =
		pl_arena_zalloc(&locks->arena, registry->terms + 1u, sizeof *term);
	struct rule_registry to = {.term = term};
	struct pl_span value = {0};
	struct pl_buf buf;

	*code = PL_NOMEM;
	for (uint32_t i = 0; term != NULL && i < registry->terms; i++)
		if (registry->term[i].carrier != NULL ||
		    term_find(registry, registry->term[i].is.id) == NULL)
			term[to.terms++] = registry->term[i].is;
	if (term == NULL)
		return value;
	qsort(term, to.terms, sizeof *term, term_cmp);
	pl_buf_init(&buf, RULE_REGISTRY_BYTES_MAX);
	*code = rule_registry_print(&to, &buf, NULL);
	if (*code == PL_OK)
		value = pl_arena_dup(&locks->arena, pl_buf_span(&buf));
	pl_buf_done(&buf);
	if (*code == PL_OK && value.at == NULL)
		*code = PL_NOMEM;
	return value;
}

static uint32_t count_put(const struct rule_locks *locks)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < locks->count; i++)
		for (uint32_t k = 0; k < locks->at[i]->terms; k++)
			count += locks->at[i]->term[k].put;
	return count;
}

static bool build_lock(struct rule_locks *locks, struct txn_builder *builder,
                       const struct locks_term *term)
{
	const struct keys_id id = {
		.kind = KEYS_GROUP, .scope = term->namespace, .name = term->is.id};
	char text[RULE_LOCK_SIZE];
	struct pl_span value =
		pl_arena_dup(&locks->arena, rule_lock_value(locks->writer, false, text));
	struct keys_text key;

	if (value.at == NULL)
		builder->code = PL_NOMEM;
	return value.at != NULL && builder_bump(builder, build_key(&id, &key), value);
}

static bool build_topology(struct txn_builder *builder)
{
	struct keys_text key;
	const struct keys_id id = {.kind = KEYS_TOPOLOGY};

	if (builder->shape_bumped)
		return true;
	builder->shape_bumped =
		builder_bump(builder, build_key(&id, &key), PL_SPAN_LIT("{\"v\":1}"));
	return builder->shape_bumped;
}

static bool has_put(const struct locks_registry *registry, bool fresh)
{
	for (uint32_t i = 0; i < registry->terms; i++)
		if (registry->term[i].put && (!fresh || registry->term[i].fresh))
			return true;
	return false;
}

/* The compare of the registry; a put where it has fresh terms, or stands for its locks. */
static bool build_compare(struct rule_locks *locks, struct txn_builder *builder,
                          const struct locks_registry *registry, bool coarse)
{
	size_t most = builder->limits.request_bytes / BYTE_PARTS;
	struct keys_text key;
	struct pl_span value = registry->value;
	enum pl_code code = PL_OK;

	registry_key(registry, &key);
	if (has_put(registry, true))
		value = print_registry(locks, registry, &code);
	else if (!coarse || !has_put(registry, false))
		return builder_expect(builder, keys_span(&key), registry->rev);
	else if (value.len > most)
		return builder_expect(builder, keys_span(&key), registry->rev) &&
		       build_topology(builder);
	if (code != PL_OK)
		builder->code = code;
	return code == PL_OK &&
	       builder_put(builder, keys_span(&key), registry->rev, value);
}

bool rule_locks_registers(const struct rule_locks *locks)
{
	for (uint32_t i = 0; i < locks->count; i++)
		if (locks->at[i]->terms > locks->at[i]->read)
			return true;
	return false;
}

bool rule_locks_build(struct rule_locks *locks, struct txn_builder *builder)
{
	bool coarse = count_put(locks) > builder->limits.txn_ops / LOCK_PARTS;
	bool room = true;

	for (uint32_t i = 0; room && i < locks->count; i++) {
		struct locks_registry *registry = locks->at[i];

		if (registry->used)
			room = build_compare(locks, builder, registry, coarse);
		for (uint32_t k = 0; room && k < registry->terms; k++)
			/* A fresh lock is put in any case: no decision compares an
			 * absent one. */
			if (registry->term[k].put && (!coarse || registry->term[k].fresh))
				room = build_lock(locks, builder, &registry->term[k]);
	}
	return room;
}
