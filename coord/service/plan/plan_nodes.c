/*
 * Nodes that are added to a plan: made of a Node or of amounts, and named after it with a
 * number. Names of nodes that are there are passed over.
 */
#include <inttypes.h>
#include <stdio.h>

#include "coord/service/plan/plan_int.h"
#include "store/keys/names.h"

enum {
	SHAPE_MAX = 1 << 10,
	AMOUNTS_MAX = 32,
	TEMPLATE_MAX = 1 << 18,
	NODE_MAX = TEMPLATE_MAX * 2,
	BASE_MAX = 200,
};

#define HOSTNAME "kubernetes.io/hostname"

static const struct pl_json_limits limits = {
	.bytes = TEMPLATE_MAX, .depth = 32, .values = 10000};

/* -- the options -------------------------------------------------------------- */

/* One "cpu=8" of a shape. */
struct amount {
	struct pl_span name, value;
};

static struct pl_span before(struct pl_span text, char mark)
{
	const uint8_t *end = text.len == 0 ? NULL : memchr(text.at, mark, text.len);

	return end == NULL ? text : pl_span(text.at, (size_t)(end - text.at));
}

static struct pl_span after(struct pl_span text, struct pl_span part)
{
	size_t len = part.len < text.len ? part.len + 1 : text.len;

	return pl_span(text.at + len, text.len - len);
}

static enum pl_code shape_parse(struct pl_span shape, struct amount out[AMOUNTS_MAX],
                                unsigned *count, struct pl_err *err)
{
	*count = 0;
	if (shape.len > SHAPE_MAX)
		return pl_err_set(err, PL_LIMIT, "more than %d bytes", SHAPE_MAX);
	while (shape.len > 0) {
		struct pl_span part = before(shape, ',');
		struct pl_span name = before(part, '='), value = after(part, name);

		if (name.len == 0 || value.len == 0)
			return pl_err_set(err, PL_INVALID,
			                  "want RESOURCE=AMOUNT,...: cpu=8,memory=32Gi");
		for (unsigned i = 0; i < *count; i++)
			if (pl_span_eq(out[i].name, name))
				return pl_err_set(err, PL_INVALID,
				                  PL_SPAN_FMT " comes twice",
				                  PL_SPAN_ARG(name));
		if (*count == AMOUNTS_MAX)
			return pl_err_set(err, PL_LIMIT, "more than %d resources",
			                  AMOUNTS_MAX);
		out[(*count)++] = (struct amount){name, value};
		shape = after(shape, part);
	}
	return PL_OK;
}

static enum pl_code check_nodes(const struct plan_nodes *nodes, uint64_t *total,
                                struct pl_err *err)
{
	struct amount amount[AMOUNTS_MAX];
	unsigned count;

	*total += nodes->count;
	if (nodes->count == 0)
		return pl_err_set(err, PL_INVALID, "count: want 1 or more");
	if (*total > PLAN_NODES_MAX)
		return pl_err_set(err, PL_LIMIT, "count: more than %d nodes are added",
		                  PLAN_NODES_MAX);
	if ((nodes->json.len == 0) == (nodes->shape.len == 0))
		return pl_err_set(err, PL_INVALID, "want either a Node or a shape");
	if (nodes->json.len > TEMPLATE_MAX)
		return pl_err_set(err, PL_LIMIT, "template: more than %d bytes",
		                  TEMPLATE_MAX);
	if (nodes->cluster.len > 0 &&
	    names_check(NAMES_CLUSTER, nodes->cluster, err) != PL_OK)
		return pl_err_wrap(err, "cluster");
	if (nodes->shape.len > 0 &&
	    shape_parse(nodes->shape, amount, &count, err) != PL_OK)
		return pl_err_wrap(err, "shape");
	return PL_OK;
}

enum pl_code plan_nodes_check(const struct plan_opts *opts, struct pl_err *err)
{
	uint64_t total = 0;

	if (opts->adds > PLAN_ADDS_MAX)
		return pl_err_set(err, PL_LIMIT, "add: more than %d", PLAN_ADDS_MAX);
	for (unsigned i = 0; i < opts->adds; i++)
		if (check_nodes(&opts->add[i], &total, err) != PL_OK)
			return pl_err_wrap(err, "add[%u]", i);
	return PL_OK;
}

/* -- the JSON of one node ----------------------------------------------------- */

static void put_shape(struct pl_json_out *out, struct pl_span shape)
{
	struct amount amount[AMOUNTS_MAX];
	bool pods = false;
	unsigned count;

	(void)!shape_parse(shape, amount, &count, NULL);
	pl_json_out_name(out, "status");
	pl_json_out_object(out);
	pl_json_out_name(out, "allocatable");
	pl_json_out_object(out);
	for (unsigned i = 0; i < count; i++) {
		pods = pods || pl_span_eq(amount[i].name, PL_SPAN_LIT("pods"));
		pl_json_out_name_span(out, amount[i].name);
		pl_json_out_string(out, amount[i].value);
	}
	if (!pods) {
		pl_json_out_name(out, "pods");
		pl_json_out_str(out, "110");
	}
	pl_json_out_end(out);
	pl_json_out_end(out);
}

static void put_member(struct pl_json_out *out, struct pl_json of, const char *name)
{
	struct pl_json value = pl_json_member(of, name);

	if (value.node == NULL)
		return;
	pl_json_out_name(out, name);
	pl_json_out_value(out, value);
}

static void put_metadata(struct pl_json_out *out, struct pl_json metadata,
                         const char *name)
{
	struct pl_json labels = pl_json_member(metadata, "labels");

	pl_json_out_name(out, "metadata");
	pl_json_out_object(out);
	pl_json_out_name(out, "name");
	pl_json_out_str(out, name);
	pl_json_out_name(out, "labels");
	pl_json_out_object(out);
	PL_JSON_EACH (label, labels) {
		if (strcmp(pl_json_key(label), HOSTNAME) == 0)
			continue;
		pl_json_out_name(out, pl_json_key(label));
		pl_json_out_value(out, label);
	}
	pl_json_out_name(out, HOSTNAME);
	pl_json_out_str(out, name);
	pl_json_out_end(out);
	pl_json_out_end(out);
}

static enum pl_code print_node(const struct plan_op *op, const char *name,
                               struct pl_buf *to, struct pl_err *err)
{
	const struct plan_nodes *nodes = &op->opts.add[op->add.at];
	struct pl_json_out out;
	enum pl_code code;

	pl_json_out_init(&out, to);
	pl_json_out_object(&out);
	put_metadata(&out, pl_json_member(op->add.json, "metadata"), name);
	if (nodes->shape.len > 0)
		put_shape(&out, nodes->shape);
	put_member(&out, op->add.json, "spec");
	put_member(&out, op->add.json, "status");
	pl_json_out_end(&out);
	code = pl_json_out_done(&out);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "print a node");
}

/* -- one after another -------------------------------------------------------- */

static struct pl_span cluster_of(const struct plan_nodes *nodes)
{
	return nodes->cluster.len > 0 ? nodes->cluster : PL_SPAN_LIT("added");
}

static uint32_t find_node(const struct plan_op *op, struct pl_span cluster,
                          const char *name)
{
	const struct strings *strings = &engine_model(op->engine)->strings;
	uint32_t of = strings_find(strings, cluster);
	uint32_t called = strings_find(strings, pl_span_str(name));

	return of == 0 || called == 0
	               ? SNAPSHOT_NONE
	               : snapshot_node_find(engine_snapshot(op->engine), of, called);
}

/* The next of these nodes' names that no node has. */
static enum pl_code next_name(struct plan_op *op, char out[BASE_MAX * 2],
                              struct pl_err *err)
{
	const struct plan_nodes *nodes = &op->opts.add[op->add.at];
	struct pl_json metadata = pl_json_member(op->add.json, "metadata");
	const char *base = NULL;

	if (metadata.node != NULL &&
	    pl_json_string(metadata, "name", PL_JSON_OPTIONAL, &base, err) != PL_OK)
		return err->code;
	if (base == NULL)
		base = "added";
	if (strlen(base) > BASE_MAX)
		return pl_err_set(err, PL_LIMIT, "metadata.name: more than %d bytes",
		                  BASE_MAX);
	do
		(void)snprintf(out, (size_t)BASE_MAX * 2, "%s-%" PRIu32, base,
		               op->add.number++);
	while (find_node(op, cluster_of(nodes), out) != SNAPSHOT_NONE);
	return PL_OK;
}

static enum pl_code put_node(struct plan_op *op, struct pl_buf *text, struct pl_err *err)
{
	const struct plan_nodes *nodes = &op->opts.add[op->add.at];
	struct field_errors errors;
	char name[BASE_MAX * 2];
	enum pl_code code = next_name(op, name, err);

	if (code == PL_OK)
		code = print_node(op, name, text, err);
	if (code == PL_OK)
		code = engine_put_in(op->engine, ENGINE_NODE, cluster_of(nodes),
		                     pl_buf_span(text), &errors, err);
	if (code == PL_OK)
		op->add.slot[op->plan.added++] = find_node(op, cluster_of(nodes), name);
	return code;
}

static enum pl_code begin_nodes(struct plan_op *op, struct pl_err *err)
{
	const struct plan_nodes *nodes = &op->opts.add[op->add.at];
	enum pl_code code = PL_OK;
	uint64_t total = 0;

	if (op->add.slot == NULL) {
		for (unsigned i = 0; i < op->opts.adds; i++)
			total += op->opts.add[i].count;
		op->add.slot = pl_arena_zalloc(&op->arena, total, sizeof *op->add.slot);
		if (op->add.slot == NULL)
			return pl_err_set(err, PL_NOMEM, "keep the nodes of a plan");
	}
	op->add.json = (struct pl_json){0};
	op->add.number = 0;
	if (nodes->json.len > 0)
		code = pl_json_parse(&op->arena, nodes->json, &limits, &op->add.json,
		                     err);
	if (code == PL_OK && nodes->json.len > 0 &&
	    pl_json_type(op->add.json) != PL_JSON_OBJECT)
		code = pl_err_set(err, PL_INVALID, "want a Node");
	return code;
}

enum pl_code plan_node_add(struct plan_op *op, struct pl_err *err)
{
	struct pl_buf text;
	enum pl_code code = PL_OK;

	while (op->add.at < op->opts.adds &&
	       op->add.done == op->opts.add[op->add.at].count) {
		op->add.at++;
		op->add.done = 0;
	}
	if (op->add.at == op->opts.adds)
		return PL_NOTFOUND;
	if (op->add.done == 0)
		code = begin_nodes(op, err);
	pl_buf_init(&text, NODE_MAX);
	if (code == PL_OK)
		code = put_node(op, &text, err);
	pl_buf_done(&text);
	if (code == PL_OK)
		op->add.done++;
	else
		pl_err_wrap(err, "add[%u]", op->add.at);
	return code;
}

enum pl_code plan_nodes_mark(struct plan_op *op, struct pl_err *err)
{
	if (op->plan.added == 0)
		return PL_OK;
	op->is_added = pl_arena_zalloc(&op->arena, engine_snapshot(op->engine)->capacity,
	                               sizeof *op->is_added);
	if (op->is_added == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the nodes of a plan");
	for (uint32_t i = 0; i < op->plan.added; i++)
		op->is_added[op->add.slot[i]] = true;
	return PL_OK;
}
