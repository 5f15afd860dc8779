/*
 * Registers the terms of pods that are not registered yet: those of a few namespaces in
 * one transaction, which compares their registries. Their locks are put along, so that
 * the fleet view of every shard gets them.
 *
 * A lock that was deleted by hand is made again before anything is decided under it, by a
 * transaction that compares that it is missing still, and that its term is registered as
 * it is known.
 */
#include <stdlib.h>

#include "shardsched/shard/inner.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/txn/inflight.h"

enum {
	TERMS_MAX = 64, /* new terms of one namespace in a txn */
	SPACES_MAX = 8,
	RETRY_MS = 500,
	HEAD_BYTES = 64, /* of a registry, besides its terms */
	TERM_BYTES = 64, /* of a term, besides its id and its pod */
};

/* A registry as it is going to be. */
struct registry_draft {
	struct sched *sched;
	struct shard_txn *txn;
	struct pl_arena *arena;
	const struct rule_namespace *namespace;
	struct rule_registry_term *term;
	uint32_t terms, cap;
	size_t bytes; /* estimated, and never too low */
	bool no_room; /* some terms do not fit any more; smaller ones may */
	struct keys_text fresh[TERMS_MAX]; /* keys of the locks to be put */
	uint32_t fresh_count, most;
	enum pl_code code;
	struct pl_err err;
};

static const struct spec *spec_of_class(struct class_rules *class_rules)
{
	struct class_more *class =
		PL_CONTAINER_OF(class_rules, struct class_more, class_rules);

	return pool_class_of(&class->queue)->spec;
}

static struct rule_registry_term *draft_room(struct registry_draft *to)
{
	uint32_t cap = to->cap == 0 ? TERMS_MAX : to->cap * 2;
	struct rule_registry_term *grown;

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

static size_t term_bytes(const struct rule_term *term)
{
	return TERM_BYTES + strlen(term->id) + term->pod.len;
}

static void draft_add(struct registry_draft *to, const struct rule_term *term)
{
	struct rule_registry_term *at = draft_room(to);

	if (at == NULL)
		return;
	to->bytes += term_bytes(term);
	*at = (struct rule_registry_term){.id = pl_span_str(term->id),
	                                  .kind = term->kind};
	at->pod = term->pod;
}

static struct rule_terms terms_of_spec(struct registry_draft *to, const struct spec *spec)
{
	struct rule_terms terms = {0};

	if (to->code == PL_OK)
		to->code = rule_terms_of(&to->sched->model, spec, to->arena, &terms,
		                         &to->err);
	return terms;
}

/* Terms that are registered stay. */
static void draft_add_known(struct registry_draft *to)
{
	PL_LIST_EACH (link, &to->namespace->rules) {
		const struct sched_rule *rule =
			PL_LIST_ITEM(link, struct sched_rule, of_namespace);
		struct rule_terms terms = terms_of_spec(to, rule->carrier);

		if (to->code != PL_OK)
			return;
		PL_ASSERT(terms.count == 1);
		draft_add(to, &terms.term[0]);
	}
}

static bool draft_has(const struct registry_draft *to, const struct keys_text *key,
                      const struct spec *spec, const struct rule_term *term)
{
	struct strings *strings = &to->sched->model.strings;
	uint32_t id = strings_find(strings, pl_span_str(term->id));
	const struct sched_rule *rule =
		id == 0 ? NULL : rules_find(to->sched, spec->namespace, id);

	for (uint32_t i = 0; i < to->fresh_count; i++)
		if (pl_span_eq(keys_span(&to->fresh[i]), keys_span(key)))
			return true;
	return rule != NULL && rule->namespace != NULL;
}

static void draft_add_missing(struct registry_draft *to, const struct spec *spec)
{
	struct rule_terms terms = terms_of_spec(to, spec);

	for (uint32_t i = 0; i < terms.count && to->code == PL_OK; i++) {
		const struct rule_term *term = &terms.term[i];
		const struct keys_id id = {.kind = KEYS_GROUP,
		                           .scope =
		                                   sched_text(to->sched, spec->namespace),
		                           .name = pl_span_str(term->id)};
		struct keys_text key;

		if (to->fresh_count == to->most ||
		    term->global != (to->namespace->name == 0))
			continue;
		if (keys_build(&id, &key, NULL) != PL_OK)
			PL_UNREACHABLE("a term that no key can have");
		if (draft_has(to, &key, spec, term))
			continue;
		if (to->bytes + term_bytes(term) > RULE_REGISTRY_BYTES_MAX) {
			to->no_room = true;
			continue;
		}
		to->fresh[to->fresh_count++] = key;
		draft_add(to, term);
	}
}

static void draft_add_namespace(struct registry_draft *to,
                                const struct rule_namespace *namespace)
{
	PL_LIST_EACH (link, &namespace->classes) {
		struct class_rules *class_rules =
			PL_LIST_ITEM(link, struct class_rules, of_namespace);

		if (to->code != PL_OK || to->fresh_count == to->most)
			return;
		if (class_rule_links_of(class_rules)->missing > 0 &&
		    !class_rules->refused)
			draft_add_missing(to, spec_of_class(class_rules));
	}
}

static int cmp_by_id(const void *a, const void *b)
{
	const struct rule_registry_term *x = a, *y = b;

	return pl_span_cmp(x->id, y->id);
}

/* The order in which a registry lists its terms. */
static void draft_sort_terms(struct registry_draft *to)
{
	struct sched *sched = to->sched;
	struct rule_registry registry = {.term = to->term, .terms = to->terms};

	if (to->code == PL_OK && to->terms > 1)
		qsort(to->term, to->terms, sizeof *to->term, cmp_by_id);
	pl_buf_clear(&sched->buf, sched->buf.cap);
	if (to->code == PL_OK)
		to->code = rule_registry_print(&registry, &sched->buf, &to->err);
}

enum pl_code registration_print(struct sched *sched,
                                const struct rule_namespace *namespace,
                                struct pl_err *err)
{
	struct registry_draft to = {
		.sched = sched, .arena = &sched->rules.arena, .namespace = namespace};

	pl_arena_reset(to.arena);
	draft_add_known(&to);
	draft_sort_terms(&to);
	*err = to.err;
	return to.code;
}

static struct pl_span draft_print(struct registry_draft *to)
{
	struct sched *sched = to->sched;
	struct pl_span value = {0};

	draft_sort_terms(to);
	if (to->code != PL_OK)
		return value;
	value = pl_arena_dup(&to->txn->arena, pl_buf_span(&sched->buf));
	if (value.at == NULL)
		to->code = pl_err_set(&to->err, PL_NOMEM, "write a registry");
	return value;
}

static void put_registry(struct registry_draft *to, struct pl_span value)
{
	struct shard_txn *txn = to->txn;
	const struct rule_namespace *namespace = to->namespace;
	const struct keys_id id = {.kind = namespace->name == 0 ? KEYS_REGISTRY_GLOBAL
	                                                        : KEYS_REGISTRY,
	                           .scope = sched_text(to->sched, namespace->name)};
	struct keys_text key;

	if (keys_build(&id, &key, NULL) != PL_OK)
		PL_UNREACHABLE("a namespace that no key can have");
	if (!builder_put(&txn->builder, keys_span(&key), namespace->rev, value))
		to->code = txn->builder.code == PL_OK ? PL_BUSY : txn->builder.code;
	else
		to->code = txn_add_key(
			txn, &(struct txn_entry){.value = value, .compared = true},
			keys_span(&key));
}

static void put_locks(struct registry_draft *to)
{
	struct shard_txn *txn = to->txn;
	char text[RULE_LOCK_SIZE];
	struct pl_span value =
		pl_arena_dup(&txn->arena, rule_lock_value(to->sched->shard, false, text));

	if (value.at == NULL)
		to->code = PL_NOMEM;
	for (uint32_t i = 0; i < to->fresh_count && to->code == PL_OK; i++) {
		struct pl_span key = keys_span(&to->fresh[i]);

		if (!builder_bump(&txn->builder, key, value))
			to->code =
				txn->builder.code == PL_OK ? PL_BUSY : txn->builder.code;
		else
			to->code = txn_add_key(txn, &(struct txn_entry){.value = value},
			                       key);
	}
}

/* PL_OK with nothing added: no term is missing any more. */
static enum pl_code draft_make(struct registry_draft *to)
{
	struct sched *sched = to->sched;
	struct pl_span value;

	to->terms = to->fresh_count = 0;
	to->bytes = HEAD_BYTES;
	to->no_room = false;
	to->code = PL_OK;
	draft_add_known(to);
	if (to->namespace != sched->rules.global)
		draft_add_namespace(to, to->namespace);
	else
		PL_MAP_EACH (at, &sched->rules.namespaces)
			draft_add_namespace(
				to, PL_CONTAINER_OF(at, struct rule_namespace, by_name));
	if (to->code == PL_OK && to->fresh_count == 0 && to->no_room)
		to->code = pl_err_set(&to->err, PL_LIMIT, "a registry is full");
	if (to->code != PL_OK || to->fresh_count == 0)
		return to->code;
	value = draft_print(to);
	if (to->code == PL_OK)
		put_registry(to, value);
	if (to->code == PL_OK)
		put_locks(to);
	return to->code;
}

/* A draft that does not fit is made with fewer terms, as long as the txn has nothing
 * else. */
static enum pl_code txn_add_namespace(struct sched *sched, struct shard_txn *txn,
                                      struct rule_namespace *namespace,
                                      struct pl_err *err)
{
	struct registry_draft to = {
		.sched = sched, .txn = txn, .arena = &txn->arena, .namespace = namespace};
	const struct txn_builder was = txn->builder;
	uint32_t entries = txn->entries;
	enum pl_code code = PL_LIMIT;

	for (to.most = TERMS_MAX; to.most > 0; to.most = to.fresh_count / 2) {
		code = draft_make(&to);
		if (code == PL_OK)
			return PL_OK;
		/* no other entry stands in the txn */
		txn->entries = txn->extra_entries = entries;
		txn->builder = was;
		if (entries > 0 || (code != PL_LIMIT && code != PL_BUSY))
			break;
	}
	*err = to.err;
	if (entries > 0)
		return PL_BUSY;
	if (code == PL_BUSY) /* the draft does not fit alone either */
		code = pl_err_set(err, PL_LIMIT,
		                  "a registry does not fit into a transaction");
	return code;
}

static void txn_add_namespaces(struct sched *sched, struct shard_txn *txn)
{
	uint32_t namespaces = 0;

	PL_LIST_EACH (link, &sched->rules.wanting) {
		struct rule_namespace *namespace =
			PL_LIST_ITEM(link, struct rule_namespace, wanting);
		uint32_t entries = txn->entries;
		struct pl_err err = {0};
		enum pl_code code;

		if (namespaces++ == SPACES_MAX)
			return;
		code = txn_add_namespace(sched, txn, namespace, &err);
		if (code == PL_LIMIT) {
			rules_refuse(sched, namespace);
			report_trouble(sched, &err);
		} else if (code != PL_OK) {
			if (code != PL_BUSY)
				sched->rules.retry_ms = sched->now_ms + RETRY_MS;
			return;
		} else if (txn->entries == entries) {
			pl_list_del(&namespace->wanting);
		}
	}
}

/* -- locks that are not there ------------------------------------------------ */

static bool has_lost_locks(const struct sched *sched)
{
	return sched->rules.node_set_lost || !pl_list_empty(&sched->rules.lost);
}

static enum pl_code make_key(struct shard_txn *txn, const struct keys_id *id,
                             struct pl_span value)
{
	struct keys_text key;

	if (keys_build(id, &key, NULL) != PL_OK)
		PL_UNREACHABLE("a lock that no key can have");
	if (!builder_put(&txn->builder, keys_span(&key), 0, value))
		return txn->builder.code == PL_OK ? PL_BUSY : txn->builder.code;
	return txn_add_key(txn, &(struct txn_entry){.value = value, .compared = true},
	                   keys_span(&key));
}

/* If the term was unregistered meanwhile, the lock would be one of nothing. */
static enum pl_code make_lock_again(struct sched *sched, struct shard_txn *txn,
                                    const struct sched_rule *rule, struct pl_span value)
{
	const struct keys_id id = {.kind = KEYS_GROUP,
	                           .scope = sched_text(sched, rule->key[0]),
	                           .name = sched_text(sched, rule->key[1])};
	enum pl_code code = rules_expect_registries(sched, txn, rule->key[0]);

	return code == PL_OK ? make_key(txn, &id, value) : code;
}

/* Adds the missing locks that fit. False: none does. */
static bool txn_add_lost(struct sched *sched, struct shard_txn *txn)
{
	char text[RULE_LOCK_SIZE];
	struct pl_span value =
		pl_arena_dup(&txn->arena, rule_lock_value(sched->shard, false, text));
	enum pl_code code = value.at == NULL ? PL_NOMEM : PL_OK;
	uint32_t made = 0;

	if (code == PL_OK && sched->rules.node_set_lost) {
		code = make_key(txn, &(struct keys_id){.kind = KEYS_TOPOLOGY},
		                RULES_NODE_SET_VALUE);
		made += code == PL_OK;
	}
	PL_LIST_EACH (link, &sched->rules.lost) {
		if (code == PL_OK)
			code = make_lock_again(
				sched, txn, PL_LIST_ITEM(link, struct sched_rule, lost),
				value);
		made += code == PL_OK;
	}
	if (made == 0)
		sched->rules.retry_ms = sched->now_ms + RETRY_MS;
	return made > 0;
}

static bool fill_txn(struct sched *sched, struct shard_txn *txn)
{
	if (txn_reserve(txn, 1) != PL_OK)
		return false;
	if (has_lost_locks(sched))
		return txn_add_lost(sched, txn);
	txn_add_namespaces(sched, txn);
	return txn->entries > 0;
}

static bool is_registration_due(const struct sched *sched)
{
	return has_lost_locks(sched) || !pl_list_empty(&sched->rules.wanting);
}

void registration_run(struct sched *sched)
{
	struct shard_txn *txn;

	if (!is_registration_due(sched) || sched->now_ms < sched->rules.retry_ms)
		return;
	txn = txn_begin(sched, TXN_REGISTER);
	if (txn == NULL)
		return;
	if (fill_txn(sched, txn))
		txn_post(sched, txn);
	else
		txn_end(sched, txn);
}

uint64_t registration_deadline_ms(const struct sched *sched)
{
	if (!is_registration_due(sched) || txn_is_posted(&sched->txn[SCHED_REGISTER_AT]))
		return UINT64_MAX;
	return sched->rules.retry_ms;
}

/* Nothing is known to have changed, so the next try waits. */
void registration_failed(struct sched *sched)
{
	sched->rules.retry_ms = sched->now_ms + RETRY_MS;
}
