/*
 * A slot of writes.h mends one thing after the other:
 *
 *	alloc:    read Node and alloc --> read pods, so many at a time --> write
 *	pointer:  read pod and what stands where the pointer is to be --> write
 *
 * A write whose compares did not hold begins anew, a few times.
 */
#include "coord/fsck/mend.h"

#include <inttypes.h>
#include <stdlib.h>

#include "coord/fsck/derive.h"
#include "coord/writes/writes.h"
#include "shardsched/ledger/book.h"
#include "shardsched/ledger/home.h"
#include "store/base/alloc.h"
#include "store/keys/partition.h"
#include "store/kv/calls.h"

enum {
	SLOTS = 4,
	TRIES_MAX = 5,
	OPS_DEFAULT = 128,
	ARENA_CHUNK = 64 << 10,
	ARENA_MAX = 256 << 20,
	PODS_MAX = 2 * ALLOC_PODS_MAX,
};

struct mend_pod {
	struct alloc_pod pod;
	struct pl_span spec, state;
	int64_t state_rev;
};

enum step { STEP_IDLE, STEP_READ, STEP_READ_PODS, STEP_WRITE };

struct job {
	enum step step;
	struct fsck_mend what;
	unsigned tries;
	struct pl_arena arena;           /* of a try */
	struct keys_text key, other;     /* alloc and Node; pointer and pod */
	struct kv_record target, source; /* as read; a revision of 0: not there */
	struct mend_pod *pod;
	uint32_t pods, asked, read;
	struct pl_span value;
	struct book book;
};

struct mend {
	struct kv *kv;
	struct mend_opts opts;
	struct writes *writes;
	struct model model;
	uint64_t cursor;
	bool failed;
	struct job job[SLOTS];
};

static void mend_free(struct mend *mend)
{
	for (unsigned i = 0; i < SLOTS; i++)
		pl_arena_done(&mend->job[i].arena);
	model_done(&mend->model);
	free(mend);
}

static void on_end(void *ctx, const struct pl_err *err)
{
	struct mend *mend = ctx;
	void (*done)(void *, const struct pl_err *) = mend->opts.done;
	void *user = mend->opts.ctx;

	mend_free(mend);
	done(user, err);
}

static void no_memory(struct mend *mend)
{
	struct pl_err err;

	(void)pl_err_set(&err, PL_NOMEM, "mend");
	mend->failed = true;
	writes_cancel(mend->writes, &err);
}

static void settle(struct mend *mend, struct job *job, enum mend_outcome outcome,
                   const char *why)
{
	struct mend_told told = {.outcome = outcome,
	                         .key = keys_span(&job->key),
	                         .value = outcome == MEND_DONE || outcome == MEND_WOULD
	                                          ? job->value
	                                          : (struct pl_span){0},
	                         .why = why};

	job->step = STEP_IDLE;
	mend->opts.told(mend->opts.ctx, &told);
}

static void refuse(struct mend *mend, struct job *job, const struct pl_err *err)
{
	if (err->code == PL_NOMEM)
		no_memory(mend);
	else
		settle(mend, job, MEND_REFUSED, err->msg);
}

static void key_of(enum keys_kind kind, uint32_t partition, const struct fsck_mend *what,
                   struct keys_text *out)
{
	struct keys_id id = {.kind = kind,
	                     .partition = partition,
	                     .scope = what->scope,
	                     .name = what->name};
	enum pl_code code = keys_build(&id, out, NULL);

	PL_ASSERT(code == PL_OK); /* the core had it from a key */
}

/* -- reading ----------------------------------------------------------------------- */

static bool add_pod(struct job *job, const struct alloc_pod *pod)
{
	for (uint32_t i = 0; i < job->pods; i++)
		if (alloc_pod_cmp(&job->pod[i].pod, pod) == 0)
			return true;
	if (job->pods == PODS_MAX)
		return false;
	job->pod[job->pods++].pod = *pod;
	return true;
}

static bool begin_try(struct mend *mend, struct job *job)
{
	struct fsck_pod pod;
	uint32_t cursor = 0;
	bool fits = true;

	pl_arena_reset(&job->arena);
	job->pods = job->asked = job->read = 0;
	job->pod = NULL;
	if (job->what.what == FSCK_MEND_POINTER)
		return true;
	job->pod = pl_arena_zalloc(&job->arena, PODS_MAX, sizeof *job->pod);
	while (job->pod != NULL && fits &&
	       fsck_core_unlisted(mend->opts.core, job->what.number, &cursor, &pod))
		fits = add_pod(job, &(struct alloc_pod){.partition = pod.partition,
		                                        .space = pod.space,
		                                        .name = pod.name});
	return job->pod != NULL;
}

static void begin(struct mend *mend, struct job *job)
{
	struct fsck_mend *what = &job->what;
	struct pl_err err = {0};
	uint32_t named;

	job->tries = 0;
	job->step = STEP_READ;
	if (what->what == FSCK_MEND_ALLOC) {
		key_of(KEYS_ALLOC, what->partition, what, &job->key);
		key_of(KEYS_NODE, what->partition, what, &job->other);
	} else if (partition_of_pod(what->scope, what->name, mend->opts.partitions,
	                            &named, &err) == PL_OK) {
		what->partition = named;
		key_of(KEYS_SPEC, named, what, &job->key);
		key_of(KEYS_SPEC, what->at, what, &job->other);
	} else {
		refuse(mend, job, &err);
	}
	if (job->step == STEP_READ && !begin_try(mend, job))
		no_memory(mend);
}

static bool ask_both(struct job *job, struct pl_arena *arena, struct kv_req *req)
{
	struct kv_req *gets = pl_arena_alloc(arena, 2 * sizeof *gets);

	if (gets == NULL)
		return false;
	gets[0] = kv_op_get(kv_key(keys_span(&job->key)));
	gets[1] = kv_op_get(kv_key(keys_span(&job->other)));
	*req = (struct kv_req){.op = KV_TXN, .txn = {.then = gets, .then_count = 2}};
	return true;
}

static bool pod_prefix(const struct alloc_pod *pod, struct pl_arena *arena,
                       struct pl_span *out)
{
	struct keys_id id = {.kind = KEYS_STATE,
	                     .partition = pod->partition,
	                     .scope = pod->space,
	                     .name = pod->name};
	struct keys_text text;
	enum pl_code code = keys_prefix(&id, 4, &text, NULL);

	PL_ASSERT(code == PL_OK);
	*out = pl_arena_dup(arena, keys_span(&text));
	return out->at != NULL;
}

static bool ask_pods(struct mend *mend, struct job *job, struct pl_arena *arena,
                     struct kv_req *req)
{
	uint32_t most = kv_limits(mend->kv).txn_ops, count = job->pods - job->read;
	struct kv_req *gets;

	if (most == 0)
		most = OPS_DEFAULT;
	if (count > most)
		count = most;
	gets = pl_arena_alloc(arena, count * sizeof *gets);
	for (uint32_t i = 0; i < count && gets != NULL; i++) {
		struct pl_span prefix;

		if (!pod_prefix(&job->pod[job->read + i].pod, arena, &prefix))
			return false;
		gets[i] = kv_op_get(kv_prefix(prefix));
	}
	job->asked = count;
	*req = (struct kv_req){.op = KV_TXN, .txn = {.then = gets, .then_count = count}};
	return gets != NULL;
}

static bool keep(struct job *job, const struct kv_result *got, struct kv_record *out)
{
	*out = (struct kv_record){0};
	if (got->get.count == 0)
		return true;
	out->mod_revision = got->get.records[0].mod_revision;
	out->value = pl_arena_dup(&job->arena, got->get.records[0].value);
	return out->value.at != NULL;
}

/* Those that the alloc lists now. */
static bool list_pods(struct mend *mend, struct job *job)
{
	struct pl_err err = {0};
	struct alloc alloc = {0};
	enum pl_code code = PL_OK;

	if (job->target.mod_revision != 0)
		code = alloc_parse(job->target.value, &job->arena, &alloc, &err);
	for (uint32_t i = 0; i < alloc.pods && code == PL_OK; i++)
		if (!add_pod(job, &alloc.pod[i]))
			code = pl_err_set(&err, PL_LIMIT, "more than %d pods", PODS_MAX);
	if (code == PL_OK || code == PL_INVALID)
		return true;
	refuse(mend, job, &err);
	return false;
}

static void take_both(struct mend *mend, struct job *job, const struct kv_txn_result *txn)
{
	struct pl_err err;

	PL_ASSERT(txn->count == 2);
	if (!keep(job, &txn->results[0], &job->target) ||
	    !keep(job, &txn->results[1], &job->source)) {
		no_memory(mend);
		return;
	}
	if (job->source.mod_revision == 0) {
		(void)pl_err_set(&err, PL_NOTFOUND, "what it would follow from is gone");
		refuse(mend, job, &err);
		return;
	}
	job->step = STEP_WRITE;
	if (job->what.what == FSCK_MEND_ALLOC && list_pods(mend, job) && job->pods > 0)
		job->step = STEP_READ_PODS;
}

static bool take_pod(struct job *job, struct mend_pod *pod,
                     const struct kv_get_result *get)
{
	for (size_t i = 0; i < get->count; i++) {
		const struct kv_record *record = &get->records[i];
		struct keys_id id;
		struct pl_span value;

		if (keys_parse(record->key, &id, NULL) != PL_OK)
			continue;
		value = pl_arena_dup(&job->arena, record->value);
		if (value.at == NULL)
			return false;
		if (id.kind == KEYS_SPEC)
			pod->spec = value;
		if (id.kind == KEYS_STATE) {
			pod->state = value;
			pod->state_rev = record->mod_revision;
		}
	}
	return true;
}

static void take_pods(struct mend *mend, struct job *job, const struct kv_txn_result *txn)
{
	PL_ASSERT(txn->count == job->asked);
	for (uint32_t i = 0; i < job->asked; i++)
		if (!take_pod(job, &job->pod[job->read + i], &txn->results[i].get)) {
			no_memory(mend);
			return;
		}
	job->read += job->asked;
	if (job->read == job->pods)
		job->step = STEP_WRITE;
}

/* -- writing ----------------------------------------------------------------------- */

static enum pl_code print(struct mend *mend, struct job *job, struct derive *derive,
                          bool *same, struct pl_err *err)
{
	struct pl_buf text;
	enum pl_code code;

	pl_buf_init(&text, ALLOC_BYTES_MAX);
	code = derive_print(derive, (uint64_t)mend->opts.revision, &text, same, err);
	if (code == PL_OK) {
		job->value = pl_arena_dup(&job->arena, pl_buf_span(&text));
		if (job->value.at == NULL)
			code = pl_err_set(err, PL_NOMEM, "mend");
	}
	pl_buf_done(&text);
	return code;
}

static enum pl_code derive_alloc(struct mend *mend, struct job *job, bool *same,
                                 struct pl_err *err)
{
	struct derive derive = {.model = &mend->model,
	                        .arena = &job->arena,
	                        .cluster = job->what.scope,
	                        .node = job->what.name};
	enum pl_code code = derive_begin(&derive, job->target.value, err);

	for (uint32_t i = 0; i < job->pods && code == PL_OK; i++)
		code = derive_add(&derive, &job->pod[i].pod, job->pod[i].spec,
		                  job->pod[i].state, err);
	return code == PL_OK ? print(mend, job, &derive, same, err) : code;
}

/* The pod is there, and its name leads to nothing else. */
static enum pl_code derive_pointer(struct mend *mend, struct job *job, bool *same,
                                   struct pl_err *err)
{
	struct parse parse = {.model = &mend->model, .arena = &job->arena};
	char text[POINTER_TEXT_SIZE];
	struct pl_err ignored = {0};
	struct pod pod = {0};
	struct home home = {0};
	bool is_pointer = true;
	uint32_t to = 0;
	enum pl_code code = pod_parse(&parse, job->source.value, &pod, err);

	if (code == PL_OK)
		code = home_of(&mend->model, &pod, mend->opts.partitions, &home, err);
	pod_drop(&mend->model, &pod);
	if (code != PL_OK)
		return code;
	if (home.partition != job->what.at)
		return pl_err_set(err, PL_CORRUPT, "the pod belongs elsewhere");
	if (job->target.mod_revision != 0 &&
	    pointer_parse(job->target.value, &is_pointer, &to, &ignored) == PL_OK &&
	    !is_pointer)
		return pl_err_set(err, PL_EXISTS, "another pod has the name");
	job->value = pl_arena_dup(&job->arena, pointer_text(job->what.at, text));
	if (job->value.at == NULL)
		return pl_err_set(err, PL_NOMEM, "mend");
	*same = pl_span_eq(job->value, job->target.value);
	return PL_OK;
}

static bool expect_pods(struct job *job)
{
	for (uint32_t i = 0; i < job->pods; i++) {
		const struct alloc_pod *pod = &job->pod[i].pod;
		struct keys_id id = {.kind = KEYS_STATE,
		                     .partition = pod->partition,
		                     .scope = pod->space,
		                     .name = pod->name};
		struct keys_text key;
		enum pl_code code = keys_build(&id, &key, NULL);

		PL_ASSERT(code == PL_OK);
		if (!book_expect(&job->book, keys_span(&key), job->pod[i].state_rev))
			return false;
	}
	return true;
}

static bool make_book(struct mend *mend, struct job *job, struct pl_arena *arena)
{
	struct book_node node = {.partition = job->what.partition,
	                         .cluster = job->what.scope,
	                         .name = job->what.name};
	struct book *book = &job->book;
	bool fits;

	book_begin(book, arena, kv_limits(mend->kv));
	if (job->what.what == FSCK_MEND_ALLOC && job->target.mod_revision != 0)
		fits = book_put_alloc(book, &node, job->target.mod_revision, job->value);
	else
		fits = book_put(book, keys_span(&job->key), job->target.mod_revision,
		                job->value);
	return fits &&
	       book_expect(book, keys_span(&job->other), job->source.mod_revision) &&
	       expect_pods(job);
}

/* True: req is to be sent. */
static bool write(struct mend *mend, struct job *job, struct pl_arena *arena,
                  struct kv_req *req)
{
	struct pl_err err = {0};
	bool same = false;
	enum pl_code code = job->what.what == FSCK_MEND_ALLOC
	                            ? derive_alloc(mend, job, &same, &err)
	                            : derive_pointer(mend, job, &same, &err);

	if (code != PL_OK) {
		refuse(mend, job, &err);
		return false;
	}
	if (same || mend->opts.dry_run) {
		settle(mend, job, same ? MEND_RIGHT : MEND_WOULD, NULL);
		return false;
	}
	if (make_book(mend, job, arena)) {
		book_req(&job->book, req);
		return true;
	}
	(void)pl_err_set(&err, job->book.code == PL_NOMEM ? PL_NOMEM : PL_LIMIT,
	                 "%" PRIu32 " pods are more than a transaction of this store "
	                 "compares; raise etcd's --max-txn-ops",
	                 job->pods);
	refuse(mend, job, &err);
	return false;
}

static void take_written(struct mend *mend, struct job *job,
                         const struct kv_result *result, bool again)
{
	struct book_found found = {0};
	struct pl_err err;

	if (result->txn.succeeded ||
	    (again && book_answer(&job->book, result, 0, &found) &&
	     found.verdict == BOOK_OURS)) {
		settle(mend, job, MEND_DONE, NULL);
		return;
	}
	if (++job->tries == TRIES_MAX) {
		(void)pl_err_set(&err, PL_CONFLICT,
		                 "it changes again and again; try it later");
		refuse(mend, job, &err);
		return;
	}
	job->step = STEP_READ;
	if (!begin_try(mend, job))
		no_memory(mend);
}

/* -- slots ------------------------------------------------------------------------- */

static bool ask(struct mend *mend, struct job *job, struct pl_arena *arena,
                struct kv_req *req)
{
	bool memory = job->step == STEP_READ ? ask_both(job, arena, req)
	                                     : ask_pods(mend, job, arena, req);

	if (!memory)
		no_memory(mend);
	return memory;
}

static bool on_next(void *ctx, unsigned slot, struct pl_arena *arena, struct kv_req *req)
{
	struct mend *mend = ctx;
	struct job *job = &mend->job[slot];

	while (!mend->failed) {
		if (job->step == STEP_IDLE) {
			if (!fsck_core_mend(mend->opts.core, &mend->cursor, &job->what))
				return false;
			begin(mend, job);
		} else if (job->step == STEP_WRITE) {
			if (write(mend, job, arena, req))
				return true;
		} else {
			return ask(mend, job, arena, req);
		}
	}
	return false;
}

static void on_answer(void *ctx, unsigned slot, const struct kv_result *result,
                      bool again)
{
	struct mend *mend = ctx;
	struct job *job = &mend->job[slot];

	switch (job->step) {
	case STEP_READ:
		take_both(mend, job, &result->txn);
		return;
	case STEP_READ_PODS:
		take_pods(mend, job, &result->txn);
		return;
	case STEP_WRITE:
		take_written(mend, job, result, again);
		return;
	case STEP_IDLE:
		break;
	}
	PL_UNREACHABLE("nothing was asked");
}

enum pl_code mend_open(struct kv *kv, const struct mend_opts *opts, struct mend **out,
                       struct pl_err *err)
{
	struct mend *mend = pl_calloc(1, sizeof *mend);
	struct writes_opts writes = {.slots = SLOTS,
	                             .timeout_ms = opts->timeout_ms,
	                             .patience_ms = opts->patience_ms,
	                             .next = on_next,
	                             .answer = on_answer,
	                             .done = on_end,
	                             .ctx = mend};
	enum pl_code code;

	if (mend == NULL)
		return pl_err_set(err, PL_NOMEM, "mend");
	mend->kv = kv;
	mend->opts = *opts;
	model_init(&mend->model);
	for (unsigned i = 0; i < SLOTS; i++)
		pl_arena_init(&mend->job[i].arena, ARENA_CHUNK, ARENA_MAX);
	code = writes_open(kv, &writes, &mend->writes, err);
	if (code == PL_OK)
		*out = mend;
	else
		mend_free(mend);
	return code;
}

void mend_cancel(struct mend *mend)
{
	mend->failed = true;
	writes_cancel(mend->writes, NULL);
}
