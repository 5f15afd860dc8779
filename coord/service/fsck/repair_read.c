/* Reads again what a repair is derived from. */
#include "coord/service/fsck/repair_int.h"
#include "store/keys/partition.h"
#include "store/kv/calls.h"

enum { OPS_DEFAULT = 128 };

static void key_of(enum keys_kind kind, uint32_t partition,
                   const struct fsck_repair *what, struct keys_text *out)
{
	struct keys_id id = {.kind = kind,
	                     .partition = partition,
	                     .scope = what->scope,
	                     .name = what->name};
	enum pl_code code = keys_build(&id, out, NULL);

	PL_ASSERT(code == PL_OK); /* the key was parsed by the core */
}

static bool add_pod(struct repair_job *job, const struct repair_pod *pod)
{
	for (uint32_t i = 0; i < job->pods; i++)
		if (job->pod[i].gang == pod->gang &&
		    alloc_pod_cmp(&job->pod[i].pod, &pod->pod) == 0)
			return true;
	if (job->pods == REPAIR_PODS_MAX)
		return false;
	job->pod[job->pods++] = *pod;
	return true;
}

bool repair_begin_try(struct repair *repair, struct repair_job *job)
{
	struct fsck_pod pod;
	uint32_t cursor = 0;
	bool fits = true;

	pl_arena_reset(&job->arena);
	job->pods = job->asked = job->read = 0;
	job->pod = NULL;
	if (job->what.what == FSCK_REPAIR_POINTER ||
	    job->what.what == FSCK_REPAIR_STATE || job->what.what == FSCK_REPAIR_PLACE)
		return true;
	if (repair_is_of_rules(job))
		return repair_rules_begin_try(repair, job);
	job->pod = pl_arena_zalloc(&job->arena, REPAIR_PODS_MAX, sizeof *job->pod);
	while (job->pod != NULL && fits &&
	       fsck_core_unlisted(repair->opts.core, job->what.number, &cursor, &pod))
		fits = add_pod(job,
		               &(struct repair_pod){.pod = {.partition = pod.partition,
		                                            .namespace = pod.namespace,
		                                            .name = pod.name}});
	return job->pod != NULL;
}

void repair_begin(struct repair *repair, struct repair_job *job)
{
	struct fsck_repair *what = &job->what;
	struct pl_err err = {0};
	uint32_t named;

	job->tries = 0;
	job->step = STEP_READ;
	if (what->what == FSCK_REPAIR_ALLOC) {
		key_of(KEYS_ALLOC, what->partition, what, &job->key);
		key_of(KEYS_NODE, what->partition, what, &job->other);
	} else if (repair_is_of_rules(job)) {
		repair_rules_begin(job);
	} else if (what->what == FSCK_REPAIR_PLACE) {
		repair_place_begin(job);
	} else if (what->what == FSCK_REPAIR_STATE) {
		const struct fsck_repair node = {.scope = what->cluster,
		                                 .name = what->node};

		key_of(KEYS_STATE, what->partition, what, &job->key);
		key_of(KEYS_ALLOC, what->at, &node, &job->other);
	} else if (partition_of_pod(what->scope, what->name, repair->opts.partitions,
	                            &named, &err) == PL_OK) {
		what->partition = named;
		key_of(KEYS_SPEC, named, what, &job->key);
		key_of(KEYS_SPEC, what->at, what, &job->other);
	} else {
		repair_refuse(repair, job, &err);
	}
	if (job->step == STEP_READ && !repair_begin_try(repair, job))
		repair_no_memory(repair);
}

static bool read_both(struct repair_job *job, struct pl_arena *arena, struct kv_req *req)
{
	struct kv_req *gets = pl_arena_alloc(arena, 2 * sizeof *gets);

	if (gets == NULL)
		return false;
	gets[0] = kv_op_get(kv_key(keys_span(&job->key)));
	gets[1] = kv_op_get(kv_key(keys_span(&job->other)));
	*req = (struct kv_req){.op = KV_TXN, .txn = {.then = gets, .then_count = 2}};
	return true;
}

/* Reads the record of a gang, or all keys of a pod. */
static bool get_pod(const struct repair_pod *pod, struct pl_arena *arena,
                    struct kv_req *out)
{
	struct keys_id id = {.kind = pod->gang ? KEYS_GANG : KEYS_STATE,
	                     .partition = pod->pod.partition,
	                     .scope = pod->pod.namespace,
	                     .name = pod->pod.name};
	struct keys_text text;
	struct pl_span key;
	enum pl_code code = pod->gang ? keys_build(&id, &text, NULL)
	                              : keys_prefix(&id, 4, &text, NULL);

	PL_ASSERT(code == PL_OK);
	key = pl_arena_dup(arena, keys_span(&text));
	if (key.at != NULL)
		*out = kv_op_get(pod->gang ? kv_key(key) : kv_prefix(key));
	return key.at != NULL;
}

static bool read_pods(struct repair *repair, struct repair_job *job,
                      struct pl_arena *arena, struct kv_req *req)
{
	uint32_t most = kv_limits(repair->kv).txn_ops, count = job->pods - job->read;
	struct kv_req *gets;

	if (most == 0)
		most = OPS_DEFAULT;
	if (count > most)
		count = most;
	gets = pl_arena_alloc(arena, count * sizeof *gets);
	for (uint32_t i = 0; i < count && gets != NULL; i++)
		if (!get_pod(&job->pod[job->read + i], arena, &gets[i]))
			return false;
	job->asked = count;
	*req = (struct kv_req){.op = KV_TXN, .txn = {.then = gets, .then_count = count}};
	return gets != NULL;
}

bool repair_keep(struct repair_job *job, const struct kv_result *got,
                 struct kv_record *out)
{
	*out = (struct kv_record){0};
	if (got->get.count == 0)
		return true;
	out->mod_revision = got->get.records[0].mod_revision;
	out->value = pl_arena_dup(&job->arena, got->get.records[0].value);
	return out->value.at != NULL;
}

static bool add_listed(struct repair_job *job, const struct alloc *alloc)
{
	bool fits = true;

	for (uint32_t i = 0; i < alloc->pods && fits; i++)
		fits = add_pod(job, &(struct repair_pod){.pod = alloc->pod[i]});
	for (uint32_t i = 0; i < alloc->holds && fits; i++) {
		const struct alloc_reservation *hold = &alloc->hold[i];
		bool gang = hold->kind == ALLOC_RESERVATION_GANG;

		fits = add_pod(job,
		               &(struct repair_pod){
				       .pod = {.partition = gang ? 0 : hold->partition,
		                               .namespace = hold->namespace,
		                               .name = hold->name},
				       .gang = gang});
	}
	return fits;
}

/* Collects the pods that the alloc lists at present, and those with reservations. */
static bool list_pods(struct repair *repair, struct repair_job *job)
{
	struct pl_err err = {0};
	struct alloc alloc = {0};
	enum pl_code code = PL_OK;

	if (job->target.mod_revision != 0)
		code = alloc_parse(job->target.value, &job->arena, &alloc, &err);
	if (code == PL_OK && !add_listed(job, &alloc))
		code = pl_err_set(&err, PL_LIMIT, "more than %d pods", REPAIR_PODS_MAX);
	if (code == PL_OK || code == PL_INVALID)
		return true;
	repair_refuse(repair, job, &err);
	return false;
}

void repair_apply_both(struct repair *repair, struct repair_job *job,
                       const struct kv_txn_result *txn)
{
	struct pl_err err;

	PL_ASSERT(txn->count == 2);
	if (!repair_keep(job, &txn->results[0], &job->target) ||
	    !repair_keep(job, &txn->results[1], &job->source)) {
		repair_no_memory(repair);
		return;
	}
	if (job->source.mod_revision == 0 && job->what.what == FSCK_REPAIR_POINTER) {
		(void)pl_err_set(&err, PL_NOTFOUND, "what it would follow from is gone");
		repair_refuse(repair, job, &err);
		return;
	}
	job->step = STEP_WRITE;
	if (job->what.what == FSCK_REPAIR_ALLOC && list_pods(repair, job) &&
	    job->pods > 0)
		job->step = STEP_READ_PODS;
}

static bool apply_pod(struct repair_job *job, struct repair_pod *pod,
                      const struct kv_get_result *get)
{
	if (pod->gang && get->count > 0) {
		pod->state = pl_arena_dup(&job->arena, get->records[0].value);
		pod->state_rev = get->records[0].mod_revision;
		return pod->state.at != NULL;
	}
	for (size_t i = 0; i < get->count; i++) {
		const struct kv_record *record = &get->records[i];
		struct keys_id id;
		struct pl_span value;

		if (keys_parse(record->key, &id, NULL) != PL_OK)
			continue;
		value = pl_arena_dup(&job->arena, record->value);
		if (value.at == NULL)
			return false;
		if (id.kind == KEYS_SPEC) {
			pod->spec = value;
			pod->spec_rev = record->mod_revision;
		}
		if (id.kind == KEYS_STATE) {
			pod->state = value;
			pod->state_rev = record->mod_revision;
		}
	}
	return true;
}

void repair_apply_pods(struct repair *repair, struct repair_job *job,
                       const struct kv_txn_result *txn)
{
	PL_ASSERT(txn->count == job->asked);
	for (uint32_t i = 0; i < job->asked; i++)
		if (!apply_pod(job, &job->pod[job->read + i], &txn->results[i].get)) {
			repair_no_memory(repair);
			return;
		}
	job->read += job->asked;
	if (job->read == job->pods)
		job->step = STEP_WRITE;
}

bool repair_request(struct repair *repair, struct repair_job *job, struct pl_arena *arena,
                    struct kv_req *req)
{
	bool memory;

	if (job->step == STEP_READ && repair_is_of_rules(job))
		memory = repair_rules_request(job, arena, req);
	else if (job->step == STEP_READ && job->what.what == FSCK_REPAIR_PLACE)
		memory = repair_place_request(job, arena, req);
	else if (job->step == STEP_READ)
		memory = read_both(job, arena, req);
	else
		memory = read_pods(repair, job, arena, req);
	if (!memory)
		repair_no_memory(repair);
	return memory;
}
