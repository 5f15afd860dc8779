/*
 * Applies what stands at a key now. Facts are compared by mod_revision, so it does not
 * matter where they come from (a list, a watch, an answer) or how often. A malformed
 * value is reported, and its node or pod is left out.
 */
#include "shardsched/model/parse.h"
#include "shardsched/records/pod_location.h"
#include "shardsched/records/rule_term.h"
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/pending_status.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/reservations/preemption.h"
#include "shardsched/shard/reservations/reservation.h"
#include "shardsched/shard/termination/termination.h"
#include "shardsched/shard/txn/inflight.h"
#include "store/keys/partition.h"

/* A record for which there was no memory is listed again. */
static bool was_kept(struct sched *sched, enum pl_code code, const struct pl_err *err)
{
	if (code == PL_OK)
		return true;
	report_trouble(sched, err);
	return false;
}

static bool is_malformed(enum pl_code code)
{
	return code == PL_INVALID || code == PL_LIMIT || code == PL_PROTO;
}

/* -- nodes ------------------------------------------------------------------- */

static void report_node_changes(struct sched *sched, uint32_t slot, const struct node *a,
                                const struct node *b)
{
	if (a->allocatable != b->allocatable)
		emit_queue_event(sched, QUEUE_EV_NODE_ALLOCATABLE, slot);
	if (a->labels != b->labels)
		emit_queue_event(sched, QUEUE_EV_NODE_LABELS, slot);
	if (a->taints != b->taints || a->unschedulable != b->unschedulable)
		emit_queue_event(sched, QUEUE_EV_NODE_TAINTS, slot);
	if (a->images != b->images)
		emit_queue_event(sched, QUEUE_EV_NODE_IMAGES, slot);
}

static bool is_same_node(const struct node *a, const struct node *b)
{
	return a->allocatable == b->allocatable && a->labels == b->labels &&
	       a->taints == b->taints && a->images == b->images &&
	       a->unschedulable == b->unschedulable && a->name == b->name &&
	       a->uid == b->uid;
}

/* Takes over is; name 0: the Node is absent. Pods that wait there were decided by the old
 * Node. */
static void node_set_object(struct sched *sched, struct sched_node *node, struct node *is)
{
	struct node was = node->node;
	struct pl_err err = {0};

	node->node = *is;
	if (was.taints != is->taints || was.tainted != is->tainted)
		taint_eviction_node_changed(sched, node, &was);
	if (!is_same_node(&was, is)) {
		node_redecide_waiting(sched, node);
		if (!node_is_counted(node)) {
			node_leave(sched, node);
		} else if (node->slot != SNAPSHOT_NONE && is->name != 0) {
			if (snapshot_node_change(&sched->snapshot, node->slot, is,
			                         &err) == PL_OK) {
				report_node_changes(sched, node->slot, &was, is);
				reservations_retry_nominated(sched, node);
			} else {
				/* node_reconcile makes it enter again */
				node_leave(sched, node);
			}
		}
	}
	node_reconcile(sched, node);
	node_drop(&sched->model, &was);
}

static bool apply_node(struct sched *sched, struct sched_node *node,
                       const struct keys_id *id, const struct kv_record *record,
                       bool gone)
{
	struct field_errors errors;
	bool refused = false;
	struct parse parse = {.model = &sched->model,
	                      .arena = &sched->arena,
	                      .errors = &errors,
	                      .scope = VALIDATE_STORED};
	struct node is = {0};
	struct pl_err err = {0};
	enum pl_code code = PL_OK;

	if (!gone) {
		errors.count = 0; /* also where the object is not read at all */
		code = node_parse(&parse, record->value, &is, &err);
		refused = is_malformed(code) && errors.count > 0;
		if (refused) {
			struct pl_err reason = err;

			/* rules count the pods there in the domains of its labels */
			parse.errors = NULL;
			code = node_parse(&parse, record->value, &is, &err);
			if (code == PL_OK)
				err = reason;
		}
		if (code == PL_OK && is.name != node->key[1])
			code = pl_err_set(&err, PL_INVALID,
			                  "metadata.name: not what the key says");
	}
	if (code != PL_OK && !is_malformed(code))
		return was_kept(sched, code, &err);
	node->rev[FACT_NODE] = gone ? 0 : record->mod_revision;
	node->refused = refused && code == PL_OK;
	if (code != PL_OK || refused)
		report_malformed(sched, id, &err);
	if (code != PL_OK) {
		node_drop(&sched->model, &is);
		is = (struct node){0};
	}
	node_set_object(sched, node, &is);
	return true;
}

static bool apply_alloc(struct sched *sched, struct sched_node *node,
                        const struct keys_id *id, const struct kv_record *record,
                        bool gone)
{
	struct alloc alloc = {0};
	struct pl_err err = {0};
	enum pl_code code =
		gone ? PL_OK : alloc_parse(record->value, &sched->arena, &alloc, &err);

	sched->applied_rev = record->mod_revision;
	sched->applied_new = record->create_revision > node->rev[FACT_ALLOC];
	if (code == PL_OK && !gone)
		code = alloc_entries_set(sched, node, &alloc, &err);
	if (code != PL_OK && !is_malformed(code))
		return was_kept(sched, code, &err);
	if (node->rev[FACT_ALLOC] == 0)
		pending_status_recheck(sched);
	node->rev[FACT_ALLOC] = gone ? 0 : record->mod_revision;
	node->alloc = gone            ? NODE_ALLOC_ABSENT
	              : code != PL_OK ? NODE_ALLOC_MALFORMED
	                              : NODE_ALLOC_READ;
	node_set_sums(node, NODE_SUMS_AGREE);
	node->full = false;
	if (code != PL_OK)
		report_malformed(sched, id, &err);
	if (gone || code != PL_OK) {
		node_leave(sched, node);
		node->alloc_used = (struct sched_sums){0};
		alloc_entries_clear(sched, node);
	}
	if (gone) {
		node_redecide_waiting(sched, node);
		reservations_clear(sched, node);
	}
	/* the spec may have been written by now */
	for (uint32_t i = 0; i < node->count; i++)
		node->listed[i].pod->flags &= (uint16_t)~POD_MISSING;
	node_reconcile(sched, node);
	return true;
}

/* -- pods -------------------------------------------------------------------- */

/* No text up to this length has rules over the limit, however much of it is escaped. */
enum { SHORT_SPEC = (RULE_POD_MAX >> 1) - 1024 };

/* Checks what parsing does not: the rules can be registered, and the gang's name fits a
 * key. */
static enum pl_code check_spec(struct sched *sched, struct pl_span value,
                               const struct pod *pod, struct pl_err *err)
{
	const struct partition_group group = {
		.namespace = sched_text(sched, pod->spec->namespace),
		.gang = sched_text(sched, pod->spec->template->gang)};
	struct rule_terms terms;
	uint32_t partition;
	enum pl_code code = PL_OK;

	if (pod->spec->template->gang != 0)
		code = partition_of_group(&group, sched->opts.partitions, &partition,
		                          err);
	if (code == PL_OK && value.len > SHORT_SPEC &&
	    rule_is_carrier(&sched->model, pod->spec))
		code = rule_terms_of(&sched->model, pod->spec, &sched->arena, &terms,
		                     err);
	return code;
}

/* Sets refused where submission would refuse the spec, with the reason in err: the pod is
 * malformed and not placed. The spec is read all the same, since a pod that is bound takes
 * what it requests from its node, which would be excluded if that were unknown. */
static enum pl_code parse_spec(struct sched *sched, struct pl_span value, struct pod *out,
                               bool *refused, struct pl_err *err)
{
	struct field_errors errors;
	struct parse parse = {.model = &sched->model,
	                      .arena = &sched->arena,
	                      .errors = &errors,
	                      .scope = VALIDATE_STORED};
	enum pl_code code;

	errors.count = 0; /* also where the object is not read at all */
	code = pod_parse(&parse, value, out, err);
	*refused = is_malformed(code) && errors.count > 0;
	if (*refused) {
		struct pl_err reason = *err;

		parse.errors = NULL;
		code = pod_parse(&parse, value, out, err);
		if (code == PL_OK)
			*err = reason;
	}
	if (code != PL_OK)
		return code;
	code = check_spec(sched, value, out, err);
	if (code != PL_OK)
		pod_drop(&sched->model, out);
	return code;
}

static enum pl_code read_spec(struct sched *sched, struct sched_pod *pod,
                              struct pl_span value, struct pod *out, bool *refused,
                              struct pl_err *err)
{
	enum pl_code code = PL_OK;

	/* The spec cache holds valid specs only, and its gaps are in no field that the
	 * validation reads: so a spec is validated once for all of its replicas. */
	if (!spec_cache_find(&sched->spec_cache, &sched->model, value, out)) {
		code = parse_spec(sched, value, out, refused, err);
		if (code != PL_OK)
			return code;
		if (!*refused)
			spec_cache_add(&sched->spec_cache, &sched->model, value, out);
	}
	if (out->name == pod->key[2] && out->spec->namespace == pod->key[1])
		return PL_OK;
	pod_drop(&sched->model, out);
	return pl_err_set(err, PL_INVALID,
	                  "metadata: name and namespace are not what the key says");
}

static void cancel_victim_plan(struct sched *sched, struct sched_pod *victim)
{
	bool pinned = victim->pinned;

	victim->pinned = true; /* the caller still uses the pod */
	preemption_cancel(sched, victim->victim_of);
	victim->pinned = pinned;
}

static bool apply_spec(struct sched *sched, struct sched_pod *pod,
                       const struct keys_id *id, const struct kv_record *record,
                       bool gone)
{
	struct pod is = {0};
	struct pl_err err = {0};
	bool refused = false;
	enum pl_code code =
		gone ? PL_OK : read_spec(sched, pod, record->value, &is, &refused, &err);

	if (code != PL_OK && !is_malformed(code))
		return was_kept(sched, code, &err);
	if (pod->stage == POD_ASSUMED) /* the old spec was decided */
		pod_conflicted(sched, pod);
	/* the old spec was to be evicted, and other budgets may protect the new one */
	if (pod_is_victim(pod))
		cancel_victim_plan(sched, pod);
	pod->rev[FACT_SPEC] = gone ? 0 : record->mod_revision;
	pod->edited = !gone && record->create_revision != record->mod_revision;
	if (code == PL_OK && !gone)
		pod_set_spec(sched, pod, &is);
	if (code != PL_OK || refused) {
		pod->flags |= POD_BAD_SPEC;
		report_malformed(sched, id, &err);
	}
	pod_reconcile(sched, pod);
	return true;
}

/* Where the pod is placed or, if it is not, nominated. */
static enum pl_code read_place(struct strings *strings, const struct pod_state *state,
                               uint32_t at[2])
{
	bool placed = state_has_place(state);
	struct pl_span cluster = placed ? state->cluster : state->nominated_cluster;
	struct pl_span node = placed ? state->node : state->nominated_node;
	enum pl_code code = PL_OK;

	if (node.len > 0)
		code = strings_add(strings, cluster, &at[0]);
	if (code == PL_OK && node.len > 0)
		code = strings_add(strings, node, &at[1]);
	return code;
}

void cache_apply_own_state(struct sched *sched, struct sched_pod *pod,
                           struct pl_span value)
{
	struct strings *strings = &sched->model.strings;
	uint32_t at[2] = {0};
	struct pod_state state;

	if (pod->at[1] == 0 &&
	    memmem(value.at, value.len, "\"nominated\"", strlen("\"nominated\"")) == NULL)
		return;
	pl_arena_reset(&sched->arena);
	if (state_parse(value, &sched->arena, &state, NULL) == PL_OK &&
	    read_place(strings, &state, at) == PL_OK)
		pod_set_at(sched, pod, at[0], at[1]);
	strings_unref(strings, at[0]);
	strings_unref(strings, at[1]);
}

static enum pl_code pod_set_phase(struct sched *sched, struct sched_pod *pod,
                                  const struct pod_state *state, struct pl_err *err)
{
	struct strings *strings = &sched->model.strings;
	uint32_t at[2] = {0}, why = 0;
	enum pl_code code = read_place(strings, state, at);

	if (code == PL_OK && state->reason.len > 0 &&
	    (state_has_place(state) || state->ask != STATE_ASK_NONE))
		code = strings_add(strings, state->reason, &why);
	if (code == PL_OK) {
		pod_set_at(sched, pod, at[0], at[1]);
		pod_set_reason(sched, pod, why);
	}
	strings_unref(strings, at[0]);
	strings_unref(strings, at[1]);
	strings_unref(strings, why);
	if (code != PL_OK)
		return pl_err_set(err, code, "keep where a pod is");
	pod->phase = (uint8_t)state->phase;
	pod->since_ms = state->since_ms;
	pod->attempts = state->attempts;
	pod->ask = (unsigned)state->ask & 15U;
	pod->ended = (unsigned)state->ended & 15U;
	pod->next_pending = state->next_pending;
	pod->awaits = state->awaits_finalizers;
	return PL_OK;
}

static void mark_entries(struct sched *sched, struct sched_pod *pod)
{
	uint32_t i = pod->node == NULL || pod->listed == 0
	                     ? UINT32_MAX
	                     : alloc_entry_find(pod->node, pod);

	if (i != UINT32_MAX)
		alloc_entry_mark(sched, pod->node, i);
}

static bool apply_state(struct sched *sched, struct sched_pod *pod,
                        const struct keys_id *id, const struct kv_record *record,
                        bool gone)
{
	struct pod_state state = {0};
	struct pl_err err = {0};
	enum pl_code code =
		gone ? PL_OK : state_parse(record->value, &sched->arena, &state, &err);

	if (code == PL_OK && !gone)
		code = pod_set_phase(sched, pod, &state, &err);
	if (code != PL_OK && !is_malformed(code))
		return was_kept(sched, code, &err);
	pod->rev[FACT_STATE] = gone ? 0 : record->mod_revision;
	pod->flags &= (uint16_t) ~(POD_BAD_STATE | POD_NO_STATE);
	if (gone) {
		pod->phase = PHASE_NONE;
		pod->ask = pod->ended = pod->next_pending = pod->awaits = 0;
		pod_set_at(sched, pod, 0, 0);
		pod_set_reason(sched, pod, 0);
		/* The deleted state told why the pod waits: it starts anew, and is
		 * reported anew. */
		if (pod->stage == POD_QUEUED)
			pod_withdraw(sched, pod);
	}
	if (code != PL_OK) {
		pod->flags |= POD_BAD_STATE | POD_NO_STATE;
		report_malformed(sched, id, &err);
	}
	mark_entries(sched, pod);
	pod_reconcile(sched, pod);
	return true;
}

/* -- by key ------------------------------------------------------------------ */

/* The record is newer than what is known of its key. Counts the echoes of this shard's
 * own writes. */
static bool is_newer(struct sched *sched, int64_t known, const struct kv_record *record)
{
	sched->figures.echoes += record->mod_revision == known;
	return record->mod_revision > known;
}

/* The fleet view has passed the record's revision, so the fact is known, deferred for an
 * answer, or deleted. While an answer is applied, the nodes in it are known as they were
 * before: what the view has brought since comes after the answer. */
static bool is_swept(const struct sched *sched, const struct keys_id *id, enum fact fact,
                     const struct kv_record *record)
{
	const struct sched_node *node;

	if (sched->applying_view || sched->catching_up ||
	    record->mod_revision > sched->fleet_view.revision)
		return false;
	if (sched->answered == NULL)
		return true;
	node = node_find(sched, id->scope, id->name);
	return node == NULL || node->txn != 0 || node->rev[fact] == 0;
}

static bool apply_node_key(struct sched *sched, const struct keys_id *id,
                           const struct kv_record *record, bool gone)
{
	const struct sched_partition *part = &sched->partition[id->partition];
	enum fact fact = id->kind == KEYS_NODE ? FACT_NODE : FACT_ALLOC;
	bool past = !gone && is_swept(sched, id, fact, record);
	struct sched_node *node =
		gone || past ? node_find(sched, id->scope, id->name)
			     : node_get(sched, id->partition, id->scope, id->name);

	if (node == NULL)
		return gone || past;
	if (sched->applying_view)
		node->viewed[fact] = sched->fleet_view.generation;
	else
		node->seen[fact] =
			part->generation[fact == FACT_NODE ? SCHED_NODES : SCHED_ALLOCS];
	if (!is_newer(sched, node->rev[fact], record) || past)
		return true;
	if (node->txn != 0)
		return txn_defer(sched, node->txn, record,
		                 sched->fleet_view.revision == 0 ? node->rev[fact] + 1
		                                                 : record->mod_revision,
		                 gone);
	if (fact == FACT_NODE ? !apply_node(sched, node, id, record, gone)
	                      : !apply_alloc(sched, node, id, record, gone))
		return false;
	node_tidy(sched, node);
	return true;
}

/* A pointer record only serves searches by name. */
static bool is_pointer_record(const struct keys_id *id, const struct kv_record *record)
{
	bool is = false;
	uint32_t at;

	return id->kind == KEYS_SPEC &&
	       pointer_parse(record->value, &is, &at, NULL) == PL_OK && is;
}

static bool apply_pod_key(struct sched *sched, const struct keys_id *id,
                          const struct kv_record *record, bool gone)
{
	const struct sched_partition *part = &sched->partition[id->partition];
	enum fact fact = id->kind == KEYS_SPEC ? FACT_SPEC : FACT_STATE;
	bool away = gone || is_pointer_record(id, record);
	struct sched_pod *pod = away ? pod_find(sched, id->partition, id->scope, id->name)
	                             : pod_get(sched, id->partition, id->scope, id->name);

	if (pod == NULL)
		return away;
	pod->seen[fact] = part->generation[SCHED_SCHEDULES];
	if (fact == FACT_SPEC && !away && pod->txn == 0 &&
	    record->mod_revision >= pod->rev[FACT_SPEC])
		incarnation_spec_since(sched, pod, record->create_revision);
	if (!is_newer(sched, pod->rev[fact], record) &&
	    (!gone || record->mod_revision != pod->rev[fact])) /* deleted by this shard */
		return true;
	if (pod->txn != 0)
		return txn_defer(sched, pod->txn, record, record->mod_revision, away);
	return fact == FACT_SPEC ? apply_spec(sched, pod, id, record, away)
	                         : apply_state(sched, pod, id, record, away);
}

bool cache_follows(const struct sched *sched, const struct keys_id *id)
{
	if (sched->partition[id->partition].owned)
		return true;
	return (id->kind == KEYS_NODE || id->kind == KEYS_ALLOC) &&
	       remote_follows(sched, id->partition) &&
	       node_find(sched, id->scope, id->name) != NULL;
}

static enum sched_part part_of_kind(enum keys_kind kind)
{
	if (kind == KEYS_ALLOC)
		return SCHED_ALLOCS;
	return kind == KEYS_NODE ? SCHED_NODES : SCHED_SCHEDULES;
}

bool cache_is_outdated(const struct sched *sched, const struct keys_id *id,
                       const struct kv_record *record)
{
	const struct sched_partition *part = &sched->partition[id->partition];
	enum sched_part of = part_of_kind(id->kind);
	const struct sched_node *node;

	if (of == SCHED_SCHEDULES || !part->owned || !part->ended[of] ||
	    record->mod_revision > part->upto[of])
		return false;
	node = node_find(sched, id->scope, id->name);
	return node == NULL ||
	       (node->txn == 0 &&
	        node->rev[of == SCHED_NODES ? FACT_NODE : FACT_ALLOC] == 0);
}

void cache_missed(struct sched *sched, const struct keys_id *id)
{
	bool owned = sched->partition[id->partition].owned;

	if (owned)
		report_relist(sched, id->partition, part_of_kind(id->kind));
	if (fleet_view_is_on(&sched->fleet_view) &&
	    (!owned || part_of_kind(id->kind) != SCHED_SCHEDULES))
		fleet_view_incomplete(sched);
	else if (!owned)
		remote_list_request(sched, id->partition);
}

bool cache_apply(struct sched *sched, const struct keys_id *id,
                 const struct kv_record *record, bool gone)
{
	pl_arena_reset(&sched->arena);
	if (id->kind == KEYS_NODE || id->kind == KEYS_ALLOC)
		return apply_node_key(sched, id, record, gone);
	PL_ASSERT(id->kind == KEYS_SPEC || id->kind == KEYS_STATE);
	return apply_pod_key(sched, id, record, gone);
}

/* -- absence from a list ----------------------------------------------------- */

/* The absence of a node or pod in a txn is deferred to the answer, which may be older
 * than the list. */
static void defer_absence(struct sched *sched, uint8_t txn, const struct keys_id *id,
                          int64_t known, int64_t revision)
{
	struct kv_record end = {.mod_revision = revision};
	struct keys_text key;

	if (keys_build(id, &key, NULL) != PL_OK)
		PL_UNREACHABLE("a key that has been read");
	end.key = keys_span(&key);
	if (!txn_defer(sched, txn, &end, known + 1, true))
		cache_missed(sched, id);
}

void cache_sweep_node(struct sched *sched, struct sched_node *node, enum fact fact,
                      int64_t revision)
{
	const struct kv_record none = {.mod_revision = INT64_MAX};
	const struct keys_id id = {.kind = fact == FACT_NODE ? KEYS_NODE : KEYS_ALLOC,
	                           .partition = node->partition,
	                           .scope = sched_text(sched, node->key[0]),
	                           .name = sched_text(sched, node->key[1])};

	if (node->rev[fact] == 0)
		return;
	if (node->txn != 0) {
		defer_absence(sched, node->txn, &id, node->rev[fact], revision);
		return;
	}
	if (fact == FACT_NODE)
		(void)apply_node(sched, node, NULL, &none, true);
	else
		(void)apply_alloc(sched, node, NULL, &none, true);
	node_tidy(sched, node);
}

void cache_sweep_pod(struct sched *sched, struct sched_pod *pod, enum fact fact,
                     int64_t revision)
{
	const struct kv_record none = {.mod_revision = INT64_MAX};
	const struct keys_id id = {.kind = fact == FACT_SPEC ? KEYS_SPEC : KEYS_STATE,
	                           .partition = pod->key[0],
	                           .scope = sched_text(sched, pod->key[1]),
	                           .name = sched_text(sched, pod->key[2])};

	if (pod->rev[fact] == 0)
		return;
	if (pod->txn != 0) {
		defer_absence(sched, pod->txn, &id, pod->rev[fact], revision);
		return;
	}
	if (fact == FACT_SPEC)
		(void)apply_spec(sched, pod, NULL, &none, true);
	else
		(void)apply_state(sched, pod, NULL, &none, true);
}
