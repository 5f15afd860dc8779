/*
 * Repairs registries, locks and /groups/nodes.
 *
 * A term is removed only if its lock is as it was when no pod carried the term: a
 * shard that binds a pod under a term of anti-affinity puts the lock, and every shard
 * compares the registry. (A pod that spreads or wants to be near others may be bound
 * meanwhile without a trace, but such terms are not needed once their pods are
 * placed.)
 */
#include <stdlib.h>

#include "coord/service/fsck/repair_int.h"
#include "coord/service/fsck/term_check.h"
#include "store/kv/calls.h"

enum { LOCK_GETS = 3 };

static void build_key(const struct keys_id *id, struct keys_text *out)
{
	enum pl_code code = keys_build(id, out, NULL);

	PL_ASSERT(code == PL_OK); /* the key was parsed or made by the core */
}

static void registry_key(struct pl_span scope, struct keys_text *out)
{
	const struct keys_id id = {.kind = scope.len == 0 ? KEYS_REGISTRY_GLOBAL
	                                                  : KEYS_REGISTRY,
	                           .scope = scope};

	build_key(&id, out);
}

/* -- a job ------------------------------------------------------------------------- */

bool repair_rules_more(struct repair *repair, struct repair_job *job)
{
	uint32_t cursor = job->next_term;
	struct fsck_term term;

	if (job->what.what != FSCK_REPAIR_REGISTRY || cursor == 0 || repair->failed ||
	    !fsck_core_term(repair->opts.core, job->what.number, &cursor, &term))
		return false;
	job->first_term = job->next_term;
	return true;
}

void repair_rules_begin(struct repair_job *job)
{
	if (job->what.what == FSCK_REPAIR_REGISTRY) {
		registry_key(job->what.scope, &job->key);
	} else if (job->what.what == FSCK_REPAIR_SHAPE) {
		build_key(&(struct keys_id){.kind = KEYS_TOPOLOGY}, &job->key);
	} else {
		build_key(&(struct keys_id){.kind = KEYS_GROUP,
		                            .scope = job->what.scope,
		                            .name = job->what.name},
		          &job->key);
		registry_key(job->what.scope, &job->other);
	}
}

bool repair_rules_begin_try(struct repair *repair, struct repair_job *job)
{
	uint32_t cursor = job->first_term;

	job->terms = 0;
	job->term = pl_arena_zalloc(&job->arena, REPAIR_TERMS_MAX, sizeof *job->term);
	if (job->term == NULL || job->what.what != FSCK_REPAIR_REGISTRY)
		return job->term != NULL;
	while (job->terms < REPAIR_TERMS_MAX &&
	       fsck_core_term(repair->opts.core, job->what.number, &cursor,
	                      &job->term[job->terms].is)) {
		struct repair_term *term = &job->term[job->terms++];

		build_key(&(struct keys_id){.kind = KEYS_GROUP,
		                            .scope = term->is.namespace,
		                            .name = term->is.id},
		          &term->lock);
	}
	job->next_term = cursor;
	return true;
}

/* -- reading ----------------------------------------------------------------------- */

bool repair_rules_request(struct repair_job *job, struct pl_arena *arena,
                          struct kv_req *req)
{
	struct kv_req *gets =
		pl_arena_alloc(arena, (LOCK_GETS + job->terms) * sizeof *gets);
	struct keys_text global;
	struct pl_span key;
	size_t count = 0;

	if (gets == NULL)
		return false;
	gets[count++] = kv_op_get(kv_key(keys_span(&job->key)));
	for (uint32_t i = 0; i < job->terms; i++)
		gets[count++] = kv_op_get(kv_key(keys_span(&job->term[i].lock)));
	if (job->what.what == FSCK_REPAIR_LOCK) {
		registry_key((struct pl_span){0}, &global);
		key = pl_arena_dup(arena, keys_span(&global));
		if (key.at == NULL)
			return false;
		gets[count++] = kv_op_get(kv_key(keys_span(&job->other)));
		gets[count++] = kv_op_get(kv_key(key));
	}
	*req = (struct kv_req){.op = KV_TXN, .txn = {.then = gets, .then_count = count}};
	return true;
}

void repair_rules_apply(struct repair *repair, struct repair_job *job,
                        const struct kv_txn_result *txn)
{
	bool kept = repair_keep(job, &txn->results[0], &job->target);

	for (uint32_t i = 0; i < job->terms; i++) {
		const struct kv_get_result *get = &txn->results[1 + i].get;

		job->term[i].lock_rev =
			get->count == 0 ? 0 : get->records[0].mod_revision;
	}
	if (job->what.what == FSCK_REPAIR_LOCK)
		kept = kept && repair_keep(job, &txn->results[1], &job->source) &&
		       repair_keep(job, &txn->results[2], &job->third);
	if (!kept)
		repair_no_memory(repair);
	job->step = STEP_WRITE;
}

/* -- registries -------------------------------------------------------------------- */

/* Whether the lock was not put since no pod carried the term. A missing lock may have
 * been put and deleted, so it is made first, and the term goes at the next repair. */
static bool may_go(const struct repair_term *term)
{
	return term->is.pod.len == 0 && term->lock_rev != 0 &&
	       term->lock_rev == term->is.lock_rev;
}

static bool is_leaving_term(const struct repair_job *job,
                            const struct rule_registry_term *term,
                            struct pl_span namespace)
{
	for (uint32_t i = 0; i < job->terms; i++)
		if (may_go(&job->term[i]) && pl_span_eq(job->term[i].is.id, term->id) &&
		    pl_span_eq(job->term[i].is.namespace, namespace))
			return true;
	return false;
}

/* Takes over the terms that parse and stay. */
static enum pl_code apply_known(struct repair *repair, struct repair_job *job,
                                struct rule_registry *registry,
                                struct rule_registry_term *term, struct pl_err *err)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < registry->terms; i++) {
		struct pl_span namespace;
		enum pl_code code =
			term_check(&repair->model, &job->arena, &registry->term[i],
		                   job->what.scope, &namespace, err);

		if (code == PL_NOMEM)
			return code;
		if (code == PL_OK && !is_leaving_term(job, &registry->term[i], namespace))
			term[kept++] = registry->term[i];
	}
	registry->term = term;
	registry->terms = kept;
	return PL_OK;
}

static bool registry_has(const struct rule_registry *registry, struct pl_span id)
{
	for (uint32_t i = 0; i < registry->terms; i++)
		if (pl_span_eq(registry->term[i].id, id))
			return true;
	return false;
}

static int term_cmp(const void *a, const void *b)
{
	const struct rule_registry_term *x = a, *y = b;

	return pl_span_cmp(x->id, y->id);
}

static enum pl_code print_registry(struct repair_job *job,
                                   const struct rule_registry *registry,
                                   struct pl_err *err)
{
	struct pl_buf text;
	enum pl_code code;

	pl_buf_init(&text, 2 * (size_t)RULE_REGISTRY_BYTES_MAX);
	code = rule_registry_print(registry, &text, err);
	if (code == PL_OK)
		code = repair_value(job, &text, err);
	pl_buf_done(&text);
	return code;
}

/* A registry that does not parse counts as empty, as it does for shards. */
static enum pl_code derive_registry(struct repair *repair, struct repair_job *job,
                                    bool *same, struct pl_err *err)
{
	struct rule_registry registry = {0};
	struct rule_registry_term *term;
	enum pl_code code = PL_OK;

	if (job->target.mod_revision != 0)
		code = rule_registry_parse(job->target.value, &job->arena, &registry,
		                           err);
	if (code == PL_NOMEM)
		return code;
	if (code != PL_OK)
		registry = (struct rule_registry){0};
	term = pl_arena_zalloc(&job->arena, registry.terms + REPAIR_TERMS_MAX,
	                       sizeof *term);
	if (term == NULL)
		return pl_err_set(err, PL_NOMEM, "repair");
	code = apply_known(repair, job, &registry, term, err);
	if (code != PL_OK)
		return code;
	for (uint32_t i = 0; i < job->terms; i++) {
		const struct fsck_term *is = &job->term[i].is;

		if (is->pod.len > 0 && !registry_has(&registry, is->id))
			term[registry.terms++] = (struct rule_registry_term){
				.id = is->id, .kind = is->kind, .pod = is->pod};
	}
	if (registry.terms > 1)
		qsort(term, registry.terms, sizeof *term, term_cmp);
	code = print_registry(job, &registry, err);
	*same = code == PL_OK && pl_span_eq(job->value, job->target.value);
	return code;
}

static bool build_registry(struct repair_job *job)
{
	bool fits = builder_put(&job->builder, keys_span(&job->key),
	                        job->target.mod_revision, job->value);

	for (uint32_t i = 0; i < job->terms && fits; i++) {
		const struct repair_term *term = &job->term[i];
		struct pl_span lock = keys_span(&term->lock);

		if (term->is.pod.len > 0)
			fits = builder_bump(&job->builder, lock,
			                    PL_SPAN_LIT("{\"v\":1}"));
		else if (may_go(term))
			fits = builder_delete(&job->builder, lock, term->lock_rev);
	}
	return fits;
}

/* -- locks ------------------------------------------------------------------------- */

/* A registry that does not parse has no terms. */
static enum pl_code find_term(struct repair_job *job, const struct kv_record *record,
                              bool *found, struct pl_err *err)
{
	struct rule_registry registry = {0};
	enum pl_code code = PL_OK;

	if (record->mod_revision != 0)
		code = rule_registry_parse(record->value, &job->arena, &registry, err);
	if (code == PL_OK && registry_has(&registry, job->what.name))
		*found = true;
	return code == PL_NOMEM ? code : PL_OK;
}

static enum pl_code derive_lock(struct repair_job *job, bool *same, struct pl_err *err)
{
	bool found = false;
	enum pl_code code = find_term(job, &job->source, &found, err);

	if (code == PL_OK)
		code = find_term(job, &job->third, &found, err);
	if (code != PL_OK)
		return code;
	job->value = found ? PL_SPAN_LIT("{\"v\":1}") : (struct pl_span){0};
	*same = found ? pl_span_eq(job->value, job->target.value)
	              : job->target.mod_revision == 0;
	return PL_OK;
}

static bool build_lock(struct repair_job *job)
{
	struct pl_span key = keys_span(&job->key);
	struct keys_text global;

	registry_key((struct pl_span){0}, &global);
	if (job->value.len > 0
	            ? !builder_put(&job->builder, key, job->target.mod_revision,
	                           job->value)
	            : !builder_delete(&job->builder, key, job->target.mod_revision))
		return false;
	return builder_expect(&job->builder, keys_span(&job->other),
	                      job->source.mod_revision) &&
	       builder_expect(&job->builder, keys_span(&global), job->third.mod_revision);
}

/* -- by kind ----------------------------------------------------------------------- */

enum pl_code repair_rules_derive(struct repair *repair, struct repair_job *job,
                                 bool *same, struct pl_err *err)
{
	if (job->what.what == FSCK_REPAIR_REGISTRY)
		return derive_registry(repair, job, same, err);
	if (job->what.what == FSCK_REPAIR_LOCK)
		return derive_lock(job, same, err);
	job->value = PL_SPAN_LIT("{\"v\":1}");
	*same = job->target.mod_revision > job->what.revision;
	return PL_OK;
}

bool repair_rules_build(struct repair_job *job)
{
	if (job->what.what == FSCK_REPAIR_REGISTRY)
		return build_registry(job);
	if (job->what.what == FSCK_REPAIR_LOCK)
		return build_lock(job);
	return builder_put(&job->builder, keys_span(&job->key), job->target.mod_revision,
	                   job->value);
}
