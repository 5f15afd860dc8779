#include "coord/cli/eval/eval_writer.h"

#include <stdlib.h>
#include <string.h>

enum { REASON_MAX = 4096 };

struct named_node {
	struct pl_span name;
	uint32_t slot;
};

static int compare_names(const void *a, const void *b)
{
	return pl_span_cmp(((const struct named_node *)a)->name,
	                   ((const struct named_node *)b)->name);
}

int writer_by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct pl_span writer_text(const struct verdict_writer *t, uint32_t id)
{
	return model_text(t->snapshot->model, id);
}

struct pl_span writer_node(const struct verdict_writer *t, uint32_t slot)
{
	return writer_text(t, t->snapshot->row[slot].node.name);
}

const char *writer_plugin(const struct verdict_writer *t, unsigned plugin)
{
	return t->profile->table->row[plugin]->name;
}

void writer_begin(struct verdict_writer *t, const char *name)
{
	pl_json_out_name(&t->out, name);
	pl_json_out_object(&t->out);
}

void writer_end(struct verdict_writer *t)
{
	pl_json_out_end(&t->out);
}

void writer_put_text(struct verdict_writer *t, const char *name, const char *value)
{
	pl_json_out_name(&t->out, name);
	pl_json_out_str(&t->out, value);
}

static const char *reason_message(struct verdict_writer *t, const struct reason *reason)
{
	const char *copy = NULL;
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, REASON_MAX);
	code = reason_print(&t->snapshot->model->strings, reason, &buf);
	if (code == PL_OK) {
		copy = pl_arena_printf(t->arena, PL_SPAN_FMT,
		                       PL_SPAN_ARG(pl_buf_span(&buf)));
		code = copy == NULL ? PL_NOMEM : PL_OK;
	}
	t->code = t->code == PL_OK ? code : t->code;
	pl_buf_done(&buf);
	return copy;
}

void writer_put_reasons(struct verdict_writer *t, const struct verdict *verdict)
{
	const char *reason[VERDICT_REASONS_MAX];
	uint32_t count = 0;

	for (uint32_t i = 0; i < verdict->count; i++) {
		reason[count] = reason_message(t, &verdict->reason[i]);
		count += reason[count] != NULL;
	}
	qsort(reason, count, sizeof *reason, writer_by_text);
	pl_json_out_name(&t->out, "reasons");
	pl_json_out_array(&t->out);
	for (uint32_t i = 0; i < count; i++)
		pl_json_out_str(&t->out, reason[i]);
	writer_end(t);
}

enum pl_code writer_list_nodes(struct verdict_writer *t)
{
	const struct snapshot *snapshot = t->snapshot;
	struct named_node *at =
		pl_arena_zalloc(t->arena, snapshot->nodes + 1, sizeof *at);

	t->slot = pl_arena_zalloc(t->arena, snapshot->nodes + 1, sizeof *t->slot);
	t->zeros = pl_arena_zalloc(t->arena, snapshot->slots + 1U, sizeof *t->zeros);
	if (at == NULL || t->slot == NULL || t->zeros == NULL)
		return PL_NOMEM;
	for (uint32_t slot = 0; slot < snapshot->slots; slot++)
		if (snapshot->row[slot].node.name != 0)
			at[t->nodes++] = (struct named_node){writer_node(t, slot), slot};
	qsort(at, t->nodes, sizeof *at, compare_names);
	for (uint32_t i = 0; i < t->nodes; i++)
		t->slot[i] = at[i].slot;
	return PL_OK;
}

void writer_list_plugins(struct verdict_writer *t)
{
	struct named_node at[PLUGINS_MAX];

	t->plugins = t->profile->table->count;
	for (unsigned i = 0; i < t->plugins; i++)
		at[i] = (struct named_node){pl_span_str(writer_plugin(t, i)), i};
	qsort(at, t->plugins, sizeof *at, compare_names);
	for (unsigned i = 0; i < t->plugins; i++)
		t->plugin[i] = (uint8_t)at[i].slot;
}

enum pl_code writer_finish(struct verdict_writer *t, struct pl_err *err)
{
	enum pl_code code = pl_json_out_done(&t->out);

	code = code == PL_OK ? t->code : code;
	return code == PL_OK ? code : pl_err_set(err, code, "print verdicts");
}
