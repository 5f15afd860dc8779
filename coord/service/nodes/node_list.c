/*
 *	         names given
 *	start -------------> NAMED: Node, alloc, the next name ...
 *	   |                   | a name is found nowhere
 *	   `----------------> ALL: the Nodes, then the allocs
 *
 * Both kinds of key come by partition, cluster and name, so an alloc is put beside its
 * Node in one walk along the nodes that were found.
 */
#include "coord/service/nodes/node_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coord/service/base/key_list.h"
#include "store/base/alloc.h"
#include "store/keys/partition.h"

enum {
	ARENA_CHUNK = 1 << 20,
	ALL_LEVELS = 1,     /* /nodes/ */
	CLUSTER_LEVELS = 3, /* /nodes/<partition>/<cluster>/ */
};

enum node_list_mode { LIST_NAMED, LIST_ALL };

struct node_list {
	struct node_list_opts opts;
	uint32_t partitions;
	struct key_list *keys; /* NULL: done */
	struct node_reader reader;
	struct pl_arena arena; /* of what was found */
	struct node_info *node;
	size_t count, cap;
	enum node_list_mode mode;
	enum keys_kind kind; /* that is read: KEYS_NODE, KEYS_ALLOC */
	size_t next;         /* NAMED: the name to read next; ALL: the partition */
	size_t first;        /* nodes that stood here before the Nodes being read */
	size_t nodes;        /* that were found before the allocs */
	size_t at;           /* the walk along them */
};

/* -- what is found -------------------------------------------------------- */

static struct node_info *add_node(struct node_list *list, const struct keys_id *id)
{
	struct node_info *node;

	if (list->count == list->cap) {
		size_t cap = list->cap == 0 ? 1024 : list->cap * 2;

		node = cap > NODE_LIST_MAX ? NULL
		                           : pl_realloc(list->node, cap * sizeof *node);
		if (node == NULL)
			return NULL;
		list->node = node;
		list->cap = cap;
	}
	node = &list->node[list->count];
	*node = (struct node_info){.cluster = pl_arena_dup(&list->arena, id->scope),
	                           .name = pl_arena_dup(&list->arena, id->name),
	                           .partition = id->partition};
	if (node->cluster.at == NULL || node->name.at == NULL)
		return NULL;
	list->count++;
	return node;
}

/* Compares as the keys are ordered: a slash stands after the cluster. */
static int compare_key(const struct node_info *node, const struct keys_id *id)
{
	char a[KEYS_SIZE_MAX], b[KEYS_SIZE_MAX];

	if (node->partition != id->partition)
		return node->partition < id->partition ? -1 : 1;
	(void)snprintf(a, sizeof a, PL_SPAN_FMT "/" PL_SPAN_FMT,
	               PL_SPAN_ARG(node->cluster), PL_SPAN_ARG(node->name));
	(void)snprintf(b, sizeof b, PL_SPAN_FMT "/" PL_SPAN_FMT, PL_SPAN_ARG(id->scope),
	               PL_SPAN_ARG(id->name));
	return strcmp(a, b);
}

static struct node_info *node_of_alloc(struct node_list *list, const struct keys_id *id)
{
	while (list->at < list->nodes && compare_key(&list->node[list->at], id) < 0)
		list->at++;
	if (list->at < list->nodes && compare_key(&list->node[list->at], id) == 0)
		return &list->node[list->at];
	return add_node(list, id);
}

static enum pl_code read_value(struct node_list *list, struct node_info *node,
                               struct pl_span value)
{
	bool is_node = list->kind == KEYS_NODE;
	struct pl_span *note = is_node ? &node->node_note : &node->alloc_note;
	struct pl_err why = {0};
	enum pl_code code = is_node ? node_reader_node(&list->reader, value, node, &why)
	                            : node_reader_alloc(&list->reader, value, node, &why);

	if (code == PL_OK || code == PL_NOMEM)
		return code;
	*note = pl_arena_dup(&list->arena, pl_span_str(why.msg));
	return note->at == NULL ? PL_NOMEM : PL_OK;
}

/* A named node's key is read as a prefix: longer names, which may be asked for too, come
 * with it, and are read by themselves. */
static bool is_read_now(const struct node_list *list, const struct keys_id *id)
{
	const struct node_filter *filter = &list->opts.filter;

	if (list->mode == LIST_NAMED)
		return pl_span_eq(filter->names[list->next - 1].name, id->name);
	return node_filter_names(filter, id->scope, id->name);
}

static enum pl_code on_record(void *ctx, const struct kv_record *record,
                              struct pl_err *err)
{
	struct node_list *list = ctx;
	struct node_info *node;
	struct keys_id id;

	if (keys_parse(record->key, &id, NULL) != PL_OK || id.kind != list->kind ||
	    !is_read_now(list, &id))
		return PL_OK;
	node = list->kind == KEYS_NODE ? add_node(list, &id) : node_of_alloc(list, &id);
	if (node == NULL || read_value(list, node, record->value) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "keep the nodes");
	return PL_OK;
}

static int compare_nodes(const void *a, const void *b)
{
	const struct node_info *x = a, *y = b;
	int order = pl_span_cmp(x->cluster, y->cluster);

	return order != 0 ? order : pl_span_cmp(x->name, y->name);
}

/* -- what is read --------------------------------------------------------- */

static void begin_kind(struct node_list *list, enum keys_kind kind)
{
	list->kind = kind;
	if (kind == KEYS_NODE)
		list->first = list->count;
	list->nodes = list->count;
	list->at = list->first;
}

static void read_all(struct node_list *list)
{
	list->mode = LIST_ALL;
	list->count = list->next = 0;
	begin_kind(list, KEYS_NODE);
}

/* The key serves as the prefix; longer names are passed over. */
static enum pl_code key_of_name(struct node_list *list, size_t at, enum keys_kind kind,
                                struct keys_text *out, struct pl_err *err)
{
	const struct node_name *name = &list->opts.filter.names[at];
	struct keys_id id = {.kind = kind, .scope = name->cluster, .name = name->name};
	enum pl_code code = partition_of_node(id.scope, id.name, list->partitions,
	                                      &id.partition, err);

	begin_kind(list, kind);
	return code == PL_OK ? keys_build(&id, out, err) : code;
}

/* PL_NOTFOUND: all names were read. */
static enum pl_code next_named(struct node_list *list, struct keys_text *out,
                               struct pl_err *err)
{
	const struct node_filter *filter = &list->opts.filter;

	if (list->next > 0 && list->kind == KEYS_NODE)
		return key_of_name(list, list->next - 1, KEYS_ALLOC, out, err);
	if (list->next > 0 && list->count == list->first) {
		read_all(list);
		return PL_OK;
	}
	while (list->next < filter->name_count &&
	       node_filter_is_repeated(filter, list->next))
		list->next++;
	if (list->next == filter->name_count)
		return PL_NOTFOUND;
	return key_of_name(list, list->next++, KEYS_NODE, out, err);
}

/* A single cluster has a prefix in each partition. */
static enum pl_code next_partition(struct node_list *list, struct keys_text *out,
                                   struct pl_err *err)
{
	const struct node_filter *filter = &list->opts.filter;
	bool whole = filter->name_count > 0 || filter->cluster.len == 0;
	uint32_t prefixes = whole ? 1 : list->partitions;
	struct keys_id id = {.scope = filter->cluster};

	if (list->next == prefixes) {
		if (list->kind == KEYS_ALLOC)
			return PL_NOTFOUND;
		list->next = 0;
		begin_kind(list, KEYS_ALLOC);
	}
	id.kind = list->kind;
	id.partition = (uint32_t)list->next++;
	return keys_prefix(&id, whole ? ALL_LEVELS : CLUSTER_LEVELS, out, err);
}

static enum pl_code on_prefix(void *ctx, struct keys_text *out, struct pl_err *err)
{
	struct node_list *list = ctx;
	enum pl_code code = PL_OK;

	if (list->mode == LIST_NAMED)
		code = next_named(list, out, err);
	if (code == PL_OK && list->mode == LIST_ALL)
		code = next_partition(list, out, err);
	return code;
}

/* -- the end -------------------------------------------------------------- */

static void drop_others(struct node_list *list)
{
	size_t count = 0;

	if (!node_filter_has_labels(&list->opts.filter))
		return;
	for (size_t i = 0; i < list->count; i++)
		if (list->node[i].has_node && list->node[i].selected)
			list->node[count++] = list->node[i];
	list->count = count;
}

static void on_done(void *ctx, int64_t revision, const struct pl_err *err)
{
	struct node_list *list = ctx;

	(void)revision;
	list->keys = NULL;
	drop_others(list);
	if (list->count > 1)
		qsort(list->node, list->count, sizeof *list->node, compare_nodes);
	list->opts.done(list->opts.ctx, err);
}

enum pl_code node_list_start(const struct service *service,
                             const struct node_list_opts *opts, struct node_list **out,
                             struct pl_err *err)
{
	struct node_list *list = pl_calloc(1, sizeof *list);
	struct key_list_opts keys = {
		.prefix = on_prefix, .each = on_record, .done = on_done, .ctx = list};

	if (list == NULL)
		return pl_err_set(err, PL_NOMEM, "list the nodes");
	list->opts = *opts;
	list->partitions = service->partitions;
	list->mode = opts->filter.name_count > 0 ? LIST_NAMED : LIST_ALL;
	list->kind = KEYS_NODE;
	if (key_list_start(service, &keys, &list->keys, err) != PL_OK) {
		free(list);
		return err->code;
	}
	node_reader_init(&list->reader, opts->filter.query);
	pl_arena_init(&list->arena, ARENA_CHUNK, 0);
	*out = list;
	return PL_OK;
}

void node_list_cancel(struct node_list *list)
{
	key_list_cancel(list->keys);
}

void node_list_free(struct node_list *list)
{
	if (list == NULL)
		return;
	PL_ASSERT(list->keys == NULL);
	node_reader_done(&list->reader);
	pl_arena_done(&list->arena);
	free(list->node);
	free(list);
}

const struct node_info *node_list_nodes(const struct node_list *list, size_t *count)
{
	*count = list->count;
	return list->node;
}

const struct node_info *node_list_find(const struct node_list *list,
                                       const struct node_name *name)
{
	const struct node_info wanted = {.cluster = name->cluster, .name = name->name};

	return list->count == 0 ? NULL
	                        : bsearch(&wanted, list->node, list->count,
	                                  sizeof *list->node, compare_nodes);
}
