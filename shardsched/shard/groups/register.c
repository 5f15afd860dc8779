/*
 * Terms that pods carry and that are not registered yet: those of a few namespaces in one
 * transaction, with their registries compared. The locks are put along, so that
 * everybody's view gets them.
 *
 * A lock that somebody has deleted is made again before anybody is decided under it, in a
 * transaction that finds it missing still, and its term registered as it is known.
 */
#include <stdlib.h>

#include "shardsched/shard/commit/calls.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/tell.h"

enum {
	TERMS_MAX = 64, /* new ones of a namespace in a call */
	SPACES_MAX = 8,
	RETRY_MS = 500,
	HEAD_BYTES = 64, /* of a registry, besides its terms */
	TERM_BYTES = 64, /* of a term, besides its id and its pod */
};

/* A registry as it is going to be. */
struct draft {
	struct sched *sched;
	struct call *call;
	struct pl_arena *arena;
	const struct group_space *space;
	struct registry_term *term;
	uint32_t terms, cap;
	size_t bytes; /* about, and not less than it takes */
	bool crowded; /* some have no place any more; smaller ones may */
	struct keys_text fresh[TERMS_MAX]; /* locks */
	uint32_t news, most;
	enum pl_code code;
	struct pl_err err;
};

static const struct spec *spec_of(struct bonds *bonds)
{
	struct class_more *class = PL_CONTAINER_OF(bonds, struct class_more, bonds);

	return pool_class_of(&class->queue)->spec;
}

static struct registry_term *room(struct draft *to)
{
	uint32_t cap = to->cap == 0 ? TERMS_MAX : to->cap * 2;
	struct registry_term *grown;

	if (to->terms < to->cap)
		return &to->term[to->terms++];
	grown = pl_arena_zalloc(to->arena, cap, sizeof *grown);
	if (grown == NULL) {
		to->code = pl_err_set(&to->err, PL_NOMEM, "write a registry");
		return NULL;
	}
	if (to->terms > 0)
		memcpy(grown, to->term, to->terms * sizeof *grown);
	to->term = grown;
	to->cap = cap;
	return &grown[to->terms++];
}

static size_t bytes_of(const struct group_term *term)
{
	return TERM_BYTES + strlen(term->id) + term->pod.len;
}

static void add(struct draft *to, const struct group_term *term)
{
	struct registry_term *at = room(to);

	if (at == NULL)
		return;
	to->bytes += bytes_of(term);
	*at = (struct registry_term){.id = pl_span_str(term->id), .kind = term->kind};
	at->pod = term->pod;
}

static struct group_terms terms_of(struct draft *to, const struct spec *spec)
{
	struct group_terms terms = {0};

	if (to->code == PL_OK)
		to->code = group_terms_of(&to->sched->model, spec, to->arena, &terms,
		                          &to->err);
	return terms;
}

/* What is there stays. */
static void add_known(struct draft *to)
{
	PL_LIST_EACH (link, &to->space->groups) {
		const struct group *group = PL_LIST_ITEM(link, struct group, of_space);
		struct group_terms terms = terms_of(to, group->carrier);

		if (to->code != PL_OK)
			return;
		PL_ASSERT(terms.count == 1);
		add(to, &terms.term[0]);
	}
}

static bool is_known(const struct draft *to, const struct keys_text *key,
                     const struct spec *spec, const struct group_term *term)
{
	struct strings *strings = &to->sched->model.strings;
	uint32_t id = strings_find(strings, pl_span_str(term->id));
	const struct group *group =
		id == 0 ? NULL : groups_find(to->sched, spec->namespace, id);

	for (uint32_t i = 0; i < to->news; i++)
		if (pl_span_eq(keys_span(&to->fresh[i]), keys_span(key)))
			return true;
	return group != NULL && group->space != NULL;
}

static void add_missing(struct draft *to, const struct spec *spec)
{
	struct group_terms terms = terms_of(to, spec);

	for (uint32_t i = 0; i < terms.count && to->code == PL_OK; i++) {
		const struct group_term *term = &terms.term[i];
		const struct keys_id id = {.kind = KEYS_GROUP,
		                           .scope =
		                                   sched_text(to->sched, spec->namespace),
		                           .name = pl_span_str(term->id)};
		struct keys_text key;

		if (to->news == to->most || term->global != (to->space->name == 0))
			continue;
		if (keys_build(&id, &key, NULL) != PL_OK)
			PL_UNREACHABLE("a term that no key can have");
		if (is_known(to, &key, spec, term))
			continue;
		if (to->bytes + bytes_of(term) > REGISTRY_BYTES_MAX) {
			to->crowded = true;
			continue;
		}
		to->fresh[to->news++] = key;
		add(to, term);
	}
}

static void add_missing_of(struct draft *to, const struct group_space *space)
{
	PL_LIST_EACH (link, &space->classes) {
		struct bonds *bonds = PL_LIST_ITEM(link, struct bonds, of_space);

		if (to->code != PL_OK || to->news == to->most)
			return;
		if (bond_rows_of(bonds)->missing > 0 && !bonds->refused)
			add_missing(to, spec_of(bonds));
	}
}

static int by_id(const void *a, const void *b)
{
	const struct registry_term *x = a, *y = b;

	return pl_span_cmp(x->id, y->id);
}

/* Into sched->buf. */
static void print_terms(struct draft *to)
{
	struct sched *sched = to->sched;
	struct registry registry = {.term = to->term, .terms = to->terms};

	if (to->code == PL_OK && to->terms > 1)
		qsort(to->term, to->terms, sizeof *to->term, by_id);
	pl_buf_clear(&sched->buf, sched->buf.cap);
	if (to->code == PL_OK)
		to->code = registry_print(&registry, &sched->buf, &to->err);
}

enum pl_code register_print(struct sched *sched, const struct group_space *space,
                            struct pl_err *err)
{
	struct draft to = {.sched = sched, .arena = &sched->groups.arena, .space = space};

	pl_arena_reset(to.arena);
	add_known(&to);
	print_terms(&to);
	*err = to.err;
	return to.code;
}

static struct pl_span print(struct draft *to)
{
	struct sched *sched = to->sched;
	struct pl_span value = {0};

	print_terms(to);
	if (to->code != PL_OK)
		return value;
	value = pl_arena_dup(&to->call->arena, pl_buf_span(&sched->buf));
	if (value.at == NULL)
		to->code = pl_err_set(&to->err, PL_NOMEM, "write a registry");
	return value;
}

static void put_registry(struct draft *to, struct pl_span value)
{
	struct call *call = to->call;
	const struct group_space *space = to->space;
	const struct keys_id id = {.kind = space->name == 0 ? KEYS_REGISTRY_GLOBAL
	                                                    : KEYS_REGISTRY,
	                           .scope = sched_text(to->sched, space->name)};
	struct keys_text key;

	if (keys_build(&id, &key, NULL) != PL_OK)
		PL_UNREACHABLE("a namespace that no key can have");
	if (!book_put(&call->book, keys_span(&key), space->rev, value))
		to->code = call->book.code == PL_OK ? PL_BUSY : call->book.code;
	else
		to->code = call_item_of(
			call, &(struct call_item){.value = value, .compared = true},
			keys_span(&key));
}

static void put_locks(struct draft *to)
{
	struct call *call = to->call;
	char text[GROUP_VALUE_SIZE];
	struct pl_span value =
		pl_arena_dup(&call->arena, group_value(to->sched->shard, false, text));

	if (value.at == NULL)
		to->code = PL_NOMEM;
	for (uint32_t i = 0; i < to->news && to->code == PL_OK; i++) {
		struct pl_span key = keys_span(&to->fresh[i]);

		if (!book_bump(&call->book, key, value))
			to->code = call->book.code == PL_OK ? PL_BUSY : call->book.code;
		else
			to->code = call_item_of(call, &(struct call_item){.value = value},
			                        key);
	}
}

/* PL_OK with nothing added: nothing is missing any more. */
static enum pl_code draft(struct draft *to)
{
	struct sched *sched = to->sched;
	struct pl_span value;

	to->terms = to->news = 0;
	to->bytes = HEAD_BYTES;
	to->crowded = false;
	to->code = PL_OK;
	add_known(to);
	if (to->space != sched->groups.global)
		add_missing_of(to, to->space);
	else
		PL_MAP_EACH (at, &sched->groups.spaces)
			add_missing_of(to,
			               PL_CONTAINER_OF(at, struct group_space, by_name));
	if (to->code == PL_OK && to->news == 0 && to->crowded)
		to->code = pl_err_set(&to->err, PL_LIMIT, "a registry is full");
	if (to->code != PL_OK || to->news == 0)
		return to->code;
	value = print(to);
	if (to->code == PL_OK)
		put_registry(to, value);
	if (to->code == PL_OK)
		put_locks(to);
	return to->code;
}

/* What does not fit is tried with fewer terms, as long as the call has nothing else. */
static enum pl_code add_space(struct sched *sched, struct call *call,
                              struct group_space *space, struct pl_err *err)
{
	struct draft to = {
		.sched = sched, .call = call, .arena = &call->arena, .space = space};
	const struct book was = call->book;
	uint32_t items = call->items;
	enum pl_code code = PL_LIMIT;

	for (to.most = TERMS_MAX; to.most > 0; to.most = to.news / 2) {
		code = draft(&to);
		if (code == PL_OK)
			return PL_OK;
		call->items = call->extras = items; /* there are no others */
		call->book = was;
		if (items > 0 || (code != PL_LIMIT && code != PL_BUSY))
			break;
	}
	*err = to.err;
	if (items > 0)
		return PL_BUSY;
	if (code == PL_BUSY) /* nor will it with nothing else */
		code = pl_err_set(err, PL_LIMIT,
		                  "a registry does not go into a transaction");
	return code;
}

static void add_spaces(struct sched *sched, struct call *call)
{
	uint32_t spaces = 0;

	PL_LIST_EACH (link, &sched->groups.wanting) {
		struct group_space *space =
			PL_LIST_ITEM(link, struct group_space, wanting);
		uint32_t items = call->items;
		struct pl_err err = {0};
		enum pl_code code;

		if (spaces++ == SPACES_MAX)
			return;
		code = add_space(sched, call, space, &err);
		if (code == PL_LIMIT) {
			groups_refuse(sched, space);
			tell_trouble(sched, &err);
		} else if (code != PL_OK) {
			if (code != PL_BUSY)
				sched->groups.retry_ms = sched->now_ms + RETRY_MS;
			return;
		} else if (call->items == items) {
			pl_list_del(&space->wanting);
		}
	}
}

/* -- locks that are not there ---------------------------------------------------------
 */

static bool is_lost(const struct sched *sched)
{
	return sched->groups.shape_lost || !pl_list_empty(&sched->groups.lost);
}

static enum pl_code make(struct call *call, const struct keys_id *id,
                         struct pl_span value)
{
	struct keys_text key;

	if (keys_build(id, &key, NULL) != PL_OK)
		PL_UNREACHABLE("a lock that no key can have");
	if (!book_put(&call->book, keys_span(&key), 0, value))
		return call->book.code == PL_OK ? PL_BUSY : call->book.code;
	return call_item_of(call, &(struct call_item){.value = value, .compared = true},
	                    keys_span(&key));
}

/* Unregistered meanwhile, it would be a lock of nothing. */
static enum pl_code make_lock(struct sched *sched, struct call *call,
                              const struct group *group, struct pl_span value)
{
	const struct keys_id id = {.kind = KEYS_GROUP,
	                           .scope = sched_text(sched, group->key[0]),
	                           .name = sched_text(sched, group->key[1])};
	enum pl_code code = groups_expect(sched, call, group->key[0]);

	return code == PL_OK ? make(call, &id, value) : code;
}

/* As many as fit. False: none. */
static bool add_lost(struct sched *sched, struct call *call)
{
	char text[GROUP_VALUE_SIZE];
	struct pl_span value =
		pl_arena_dup(&call->arena, group_value(sched->shard, false, text));
	enum pl_code code = value.at == NULL ? PL_NOMEM : PL_OK;
	uint32_t made = 0;

	if (code == PL_OK && sched->groups.shape_lost) {
		code = make(call, &(struct keys_id){.kind = KEYS_SHAPE},
		            GROUPS_SHAPE_VALUE);
		made += code == PL_OK;
	}
	PL_LIST_EACH (link, &sched->groups.lost) {
		if (code == PL_OK)
			code = make_lock(sched, call,
			                 PL_LIST_ITEM(link, struct group, lost), value);
		made += code == PL_OK;
	}
	if (made == 0)
		sched->groups.retry_ms = sched->now_ms + RETRY_MS;
	return made > 0;
}

static bool fill(struct sched *sched, struct call *call)
{
	if (call_room(call, 1) != PL_OK)
		return false;
	if (is_lost(sched))
		return add_lost(sched, call);
	add_spaces(sched, call);
	return call->items > 0;
}

static bool is_due(const struct sched *sched)
{
	return is_lost(sched) || !pl_list_empty(&sched->groups.wanting);
}

void register_run(struct sched *sched)
{
	struct call *call;

	if (!is_due(sched) || sched->now_ms < sched->groups.retry_ms)
		return;
	call = call_begin(sched, CALL_REGISTER);
	if (call == NULL)
		return;
	if (fill(sched, call))
		call_post(sched, call);
	else
		call_end(sched, call);
}

uint64_t register_deadline_ms(const struct sched *sched)
{
	if (!is_due(sched) || sched->call[SCHED_REGISTER_AT].state != CALL_FREE)
		return UINT64_MAX;
	return sched->groups.retry_ms;
}

/* Nothing is known to have changed: not at once again. */
void register_failed(struct sched *sched)
{
	sched->groups.retry_ms = sched->now_ms + RETRY_MS;
}
