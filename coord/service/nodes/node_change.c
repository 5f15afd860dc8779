#include "coord/service/nodes/node_change.h"

#include <inttypes.h>

#include "shardsched/model/object.h"
#include "shardsched/records/alloc.h"
#include "store/base/json_scan.h"

/* The value of spec.unschedulable in a Node that any client may have written; empty:
 * absent. */
static struct pl_span unschedulable_of(struct pl_span node)
{
	struct pl_span spec = object_member(node, "spec");

	if (spec.len == 0 || spec.at[0] != '{')
		return (struct pl_span){0};
	return object_member(spec, "unschedulable");
}

static bool is_cordoned(struct pl_span node)
{
	return pl_span_eq(unschedulable_of(node), PL_SPAN_LIT("true"));
}

static bool is_object(struct pl_span node)
{
	return pl_json_scan(node, &pl_json_limits_default, NULL) == PL_OK &&
	       node.at[0] == '{';
}

/* json NULL removes the field. */
static enum pl_code set_cordon(struct pl_span node, const char *json,
                               struct pl_arena *arena, struct pl_span *out,
                               struct pl_err *err)
{
	struct object_change change = {.path = {"spec", "unschedulable"}, .json = json};
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, NODES_JSON_MAX + 64);
	code = object_print(node, &change, 1, &buf, err);
	if (code == PL_OK) {
		*out = pl_arena_dup(arena, pl_buf_span(&buf));
		if (out->at == NULL)
			code = pl_err_set(err, PL_NOMEM, "print the node");
	}
	pl_buf_done(&buf);
	return code;
}

static enum pl_code print_alloc(const struct alloc *alloc, struct pl_arena *arena,
                                struct pl_span *out, struct pl_err *err)
{
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, ALLOC_BYTES_MAX);
	code = alloc_print(alloc, &buf, err);
	if (code == PL_OK) {
		*out = pl_arena_dup(arena, pl_buf_span(&buf));
		if (out->at == NULL)
			code = pl_err_set(err, PL_NOMEM, "print the alloc");
	}
	pl_buf_done(&buf);
	return code;
}

static enum pl_code put_node(struct pl_span node, const struct alloc *alloc,
                             struct pl_arena *arena, struct node_change *out,
                             struct pl_err *err)
{
	struct alloc next = *alloc;

	next.generation++;
	out->what = NODE_PUT;
	out->node = node;
	return print_alloc(&next, arena, &out->alloc, err);
}

static enum pl_code replace_node(struct pl_span node, const struct node_seen *seen,
                                 const struct alloc *alloc, struct pl_arena *arena,
                                 struct node_change *out, struct pl_err *err)
{
	if (seen->node_rev != 0 && pl_span_eq(node, seen->node)) {
		out->what = NODE_SAME;
		return PL_OK;
	}
	return put_node(node, alloc, arena, out, err);
}

static enum pl_code apply_node(struct pl_span wanted, const struct node_seen *seen,
                               const struct alloc *alloc, struct pl_arena *arena,
                               struct node_change *out, struct pl_err *err)
{
	struct pl_span node = wanted;
	enum pl_code code = PL_OK;

	if (seen->node_rev != 0 && is_object(seen->node) && is_cordoned(seen->node) &&
	    unschedulable_of(wanted).len == 0)
		code = set_cordon(wanted, "true", arena, &node, err);
	return code == PL_OK ? replace_node(node, seen, alloc, arena, out, err) : code;
}

static enum pl_code cordon_node(const char *json, const struct node_seen *seen,
                                const struct alloc *alloc, struct pl_arena *arena,
                                struct node_change *out, struct pl_err *err)
{
	struct pl_span node = {0};
	enum pl_code code;

	if (!is_object(seen->node))
		return pl_err_set(err, PL_CORRUPT, "it is not an object; apply it again");
	if (is_cordoned(seen->node) == (json != NULL)) {
		out->what = NODE_SAME;
		return PL_OK;
	}
	code = set_cordon(seen->node, json, arena, &node, err);
	return code == PL_OK ? put_node(node, alloc, arena, out, err) : code;
}

static enum pl_code delete_node(const struct alloc *alloc, struct node_change *out,
                                struct pl_err *err)
{
	if (alloc->pods > 0)
		return pl_err_set(err, PL_CONFLICT,
		                  "%" PRIu32 " pod%s on it; cordon it and delete or move "
		                  "them first",
		                  alloc->pods, alloc->pods == 1 ? " is" : "s are");
	if (alloc->holds > 0)
		return pl_err_set(err, PL_CONFLICT,
		                  "room on it is held for pods that are being placed; "
		                  "cordon it and try again");
	out->what = NODE_DELETE;
	return PL_OK;
}

/* Parses the alloc, which must exist if the Node does. */
static enum pl_code parse_alloc(const struct node_seen *seen, struct pl_arena *arena,
                                struct alloc *alloc, struct pl_err *err)
{
	if (seen->node_rev != 0 && seen->alloc_rev == 0)
		return pl_err_set(err, PL_CORRUPT,
		                  "it has a Node, but no alloc; see placet fsck");
	if (seen->alloc_rev == 0)
		return PL_OK;
	if (alloc_parse(seen->alloc, arena, alloc, err) == PL_OK)
		return PL_OK;
	if (err->code == PL_NOMEM)
		return PL_NOMEM;
	(void)pl_err_wrap(err, "its alloc is malformed");
	err->code = PL_CORRUPT;
	return PL_CORRUPT;
}

/* The Node is missing and its alloc is still there. As in a cordoned node, nothing is
 * placed there. */
static enum pl_code without_node(enum nodes_verb verb, const struct node_seen *seen,
                                 const struct alloc *alloc, struct node_change *out,
                                 struct pl_err *err)
{
	if (seen->alloc_rev == 0)
		return pl_err_set(err, PL_NOTFOUND, "there is no such node");
	if (verb == NODES_DELETE)
		return delete_node(alloc, out, err);
	if (verb == NODES_UNCORDON)
		return pl_err_set(err, PL_CORRUPT,
		                  "it has an alloc, but no Node; apply it again");
	out->what = NODE_SAME;
	return PL_OK;
}

enum pl_code node_change(enum nodes_verb verb, struct pl_span wanted,
                         const struct node_seen *seen, struct pl_arena *arena,
                         struct node_change *out, struct pl_err *err)
{
	struct alloc alloc = {0};
	enum pl_code code = parse_alloc(seen, arena, &alloc, err);

	if (code != PL_OK)
		return code;
	if (seen->node_rev == 0 && verb != NODES_APPLY && verb != NODES_REPLACE)
		return without_node(verb, seen, &alloc, out, err);
	switch (verb) {
	case NODES_APPLY:
		return apply_node(wanted, seen, &alloc, arena, out, err);
	case NODES_REPLACE:
		return replace_node(wanted, seen, &alloc, arena, out, err);
	case NODES_CORDON:
		return cordon_node("true", seen, &alloc, arena, out, err);
	case NODES_UNCORDON:
		return cordon_node(NULL, seen, &alloc, arena, out, err);
	case NODES_DELETE:
		return delete_node(&alloc, out, err);
	}
	PL_UNREACHABLE("verb");
}
