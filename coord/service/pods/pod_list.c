/*
 *	         names given
 *	start -------------> NAMED: name, its pointer, the next name ...
 *	   |                   | a name is found nowhere
 *	   `----------------> ALL: each partition's keys of the namespace, or all of them
 */
#include "coord/service/pods/pod_list.h"

#include <stdlib.h>

#include "coord/service/base/key_list.h"
#include "coord/service/pods/pod_gates.h"
#include "shardsched/records/pod_location.h"
#include "store/base/alloc.h"
#include "store/base/arena.h"
#include "store/keys/partition.h"

enum {
	ARENA_CHUNK = 1 << 20,
	ALL_LEVELS = 1,       /* /schedules/ */
	NAMESPACE_LEVELS = 3, /* /schedules/<partition>/<namespace>/ */
	NAME_LEVELS = 4,      /* /schedules/<partition>/<namespace>/<name>/ */
};

enum pod_list_mode { LIST_NAMED, LIST_ALL };

struct pod_list {
	struct pod_list_opts opts;
	uint32_t partitions;
	struct key_list *keys; /* NULL: done */
	struct pl_arena arena; /* of what was found */
	struct pod_info *pod;
	size_t count, cap;
	enum pod_list_mode mode;
	size_t next;         /* NAMED: the name to read next; ALL: the partition */
	size_t count_before; /* NAMED: pods that were found before this name */
	bool follows;        /* NAMED: the partition that the pointer names is read now */
	bool has_pointer;    /* NAMED: of the name that was read */
	uint32_t pointer;    /* the partition that it names */
};

/* -- what is found -------------------------------------------------------- */

static struct pod_info *add_pod(struct pod_list *list, const struct keys_id *id)
{
	struct pod_info *pod;

	if (list->count == list->cap) {
		size_t cap = list->cap == 0 ? 1024 : list->cap * 2;

		pod = cap > POD_LIST_MAX ? NULL
		                         : pl_realloc(list->pod, cap * sizeof *pod);
		if (pod == NULL)
			return NULL;
		list->pod = pod;
		list->cap = cap;
	}
	PL_ASSERT(list->pod != NULL);
	pod = &list->pod[list->count];
	*pod = (struct pod_info){.namespace = pl_arena_dup(&list->arena, id->scope),
	                         .name = pl_arena_dup(&list->arena, id->name),
	                         .partition = id->partition};
	if (pod->namespace.at == NULL || pod->name.at == NULL)
		return NULL;
	list->count++;
	return pod;
}

/* The one that the last record was about, or a new one: a pod's keys are neighbours. */
static struct pod_info *pod_of(struct pod_list *list, const struct keys_id *id)
{
	struct pod_info *last = list->count == 0 ? NULL : &list->pod[list->count - 1];

	if (last != NULL && last->partition == id->partition &&
	    pl_span_eq(last->name, id->name) && pl_span_eq(last->namespace, id->scope))
		return last;
	return add_pod(list, id);
}

static void read_spec(const struct pod_list *list, struct pl_span spec,
                      struct pod_info *out)
{
	const struct label_query *query = list->opts.filter.query;

	out->has_spec = true;
	out->gated = pod_has_gates(spec);
	out->selected = query == NULL || label_query_matches(query, spec);
}

static enum pl_code on_record(void *ctx, const struct kv_record *record,
                              struct pl_err *err)
{
	struct pod_list *list = ctx;
	bool is_pointer = false;
	struct pod_info *pod;
	struct keys_id id;
	uint32_t to = 0;

	if (keys_parse(record->key, &id, NULL) != PL_OK ||
	    (id.kind != KEYS_SPEC && id.kind != KEYS_STATE) ||
	    !pod_filter_names(&list->opts.filter, id.scope, id.name))
		return PL_OK;
	if (id.kind == KEYS_SPEC &&
	    (pointer_parse(record->value, &is_pointer, &to, NULL) != PL_OK ||
	     is_pointer)) {
		list->has_pointer = is_pointer;
		list->pointer = to;
		return PL_OK;
	}
	pod = pod_of(list, &id);
	if (pod == NULL)
		return pl_err_set(err, PL_NOMEM,
		                  "keep the pods; ask for less with a namespace");
	if (id.kind == KEYS_SPEC) {
		read_spec(list, record->value, pod);
		return PL_OK;
	}
	if (list->opts.names_only ||
	    (pod_filter_has_labels(&list->opts.filter) && !pod->selected))
		return PL_OK;
	pod->state = pl_arena_dup(&list->arena, record->value);
	pod->has_state = pod->state.at != NULL;
	return pod->has_state ? PL_OK : pl_err_set(err, PL_NOMEM, "keep the pods");
}

static int compare_pods(const void *a, const void *b)
{
	const struct pod_info *x = a, *y = b;
	int order = pl_span_cmp(x->namespace, y->namespace);

	return order != 0 ? order : pl_span_cmp(x->name, y->name);
}

/* -- what is read --------------------------------------------------------- */

static enum pl_code prefix_of_name(struct pod_list *list, size_t at, bool follows,
                                   struct keys_text *out, struct pl_err *err)
{
	const struct pod_name *name = &list->opts.filter.names[at];
	struct keys_id id = {.kind = KEYS_SPEC,
	                     .partition = list->pointer,
	                     .scope = name->namespace,
	                     .name = name->name};
	enum pl_code code = PL_OK;

	list->follows = follows;
	if (!follows)
		code = partition_of_pod(name->namespace, name->name, list->partitions,
		                        &id.partition, err);
	return code == PL_OK ? keys_prefix(&id, NAME_LEVELS, out, err) : code;
}

static void read_all(struct pod_list *list)
{
	list->mode = LIST_ALL;
	list->count = 0;
	list->next = 0;
}

/* PL_NOTFOUND: all names were read. */
static enum pl_code next_named(struct pod_list *list, struct keys_text *out,
                               struct pl_err *err)
{
	const struct pod_filter *filter = &list->opts.filter;

	if (list->next > 0 && !list->follows && list->has_pointer &&
	    list->pointer < list->partitions)
		return prefix_of_name(list, list->next - 1, true, out, err);
	if (list->next > 0 && list->count == list->count_before) {
		read_all(list);
		return PL_OK;
	}
	while (list->next < filter->name_count &&
	       pod_filter_is_repeated(filter, list->next))
		list->next++;
	if (list->next == filter->name_count)
		return PL_NOTFOUND;
	list->count_before = list->count;
	list->has_pointer = false;
	return prefix_of_name(list, list->next++, false, out, err);
}

/* A single namespace has a prefix in each partition. */
static enum pl_code next_partition(struct pod_list *list, struct keys_text *out,
                                   struct pl_err *err)
{
	const struct pod_filter *filter = &list->opts.filter;
	bool whole = filter->name_count > 0 || filter->namespace.len == 0;
	const struct keys_id id = {.kind = KEYS_SPEC,
	                           .partition = (uint32_t)list->next,
	                           .scope = filter->namespace};

	if (list->next == (whole ? 1 : list->partitions))
		return PL_NOTFOUND;
	list->next++;
	return keys_prefix(&id, whole ? ALL_LEVELS : NAMESPACE_LEVELS, out, err);
}

static enum pl_code on_prefix(void *ctx, struct keys_text *out, struct pl_err *err)
{
	struct pod_list *list = ctx;
	enum pl_code code = PL_OK;

	if (list->mode == LIST_NAMED)
		code = next_named(list, out, err);
	if (code == PL_OK && list->mode == LIST_ALL)
		code = next_partition(list, out, err);
	return code;
}

/* -- the end -------------------------------------------------------------- */

static enum pl_code drop_others(struct pod_list *list)
{
	struct pl_arena scratch;
	enum pl_code code = PL_OK;
	size_t count = 0;

	pl_arena_init(&scratch, ARENA_CHUNK, 0);
	for (size_t i = 0; i < list->count && code == PL_OK; i++) {
		bool passes;

		pl_arena_reset(&scratch);
		code = pod_filter_passes(&list->opts.filter, &list->pod[i], &scratch,
		                         &passes);
		if (code == PL_OK && passes)
			list->pod[count++] = list->pod[i];
	}
	list->count = count;
	pl_arena_done(&scratch);
	return code;
}

static void on_done(void *ctx, int64_t revision, const struct pl_err *err)
{
	struct pod_list *list = ctx;
	struct pl_err why;

	(void)revision;
	list->keys = NULL;
	if (err == NULL && drop_others(list) != PL_OK) {
		(void)pl_err_set(&why, PL_NOMEM, "keep the pods");
		err = &why;
	}
	if (list->count > 1 && !list->opts.names_only)
		qsort(list->pod, list->count, sizeof *list->pod, compare_pods);
	list->opts.done(list->opts.ctx, err);
}

enum pl_code pod_list_start(const struct service *service,
                            const struct pod_list_opts *opts, struct pod_list **out,
                            struct pl_err *err)
{
	struct pod_list *list = pl_calloc(1, sizeof *list);
	struct key_list_opts keys = {
		.prefix = on_prefix, .each = on_record, .done = on_done, .ctx = list};

	if (list == NULL)
		return pl_err_set(err, PL_NOMEM, "list the pods");
	PL_ASSERT(!opts->names_only || !pod_filter_has_state(&opts->filter));
	list->opts = *opts;
	list->partitions = service->partitions;
	list->mode = opts->filter.name_count > 0 ? LIST_NAMED : LIST_ALL;
	if (key_list_start(service, &keys, &list->keys, err) != PL_OK) {
		free(list);
		return err->code;
	}
	pl_arena_init(&list->arena, ARENA_CHUNK, 0);
	*out = list;
	return PL_OK;
}

void pod_list_cancel(struct pod_list *list)
{
	key_list_cancel(list->keys);
}

void pod_list_free(struct pod_list *list)
{
	if (list == NULL)
		return;
	PL_ASSERT(list->keys == NULL);
	pl_arena_done(&list->arena);
	free(list->pod);
	free(list);
}

const struct pod_info *pod_list_pods(const struct pod_list *list, size_t *count)
{
	*count = list->count;
	return list->pod;
}

const struct pod_info *pod_list_find(const struct pod_list *list,
                                     const struct pod_name *name)
{
	const struct pod_info wanted = {.namespace = name->namespace, .name = name->name};

	return list->count == 0 ? NULL
	                        : bsearch(&wanted, list->pod, list->count,
	                                  sizeof *list->pod, compare_pods);
}
