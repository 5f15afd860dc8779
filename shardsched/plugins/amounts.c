#include "shardsched/plugins/amounts.h"

static const struct {
	const char *name;
	enum amount_kind kind;
} kinds[] = {
	{"cpu", AMOUNT_CPU},
	{"memory", AMOUNT_MEMORY},
	{"ephemeral-storage", AMOUNT_STORAGE},
};

static enum amount_kind kind_of(struct pl_span name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (pl_span_eq(name, pl_span_str(kinds[i].name)))
			return kinds[i].kind;
	}
	return AMOUNT_SCALAR;
}

static enum pl_code add(struct model *model, const char *name, int64_t weight,
                        struct amount_list *out)
{
	struct amount_item *item = &out->at[out->count];
	enum pl_code code = strings_add(&model->strings, pl_span_str(name), &item->name);

	if (code != PL_OK)
		return code;
	item->kind = kind_of(pl_span_str(name));
	item->weight = (int32_t)weight;
	out->count++;
	return PL_OK;
}

static enum pl_code parse_item(struct model *model, struct pl_json json,
                               struct amount_list *out, struct pl_err *err)
{
	static const char *const known[] = {"name", "weight", NULL};
	const char *name = NULL;
	int64_t weight = 0;
	enum pl_code code = pl_json_only(json, known, err);

	if (code == PL_OK)
		code = pl_json_string(json, "name", PL_JSON_REQUIRED, &name, err);
	if (code == PL_OK)
		code = pl_json_int_in(json, "weight", PL_JSON_OPTIONAL,
		                      (struct pl_json_range){0, AMOUNT_WEIGHT_MAX},
		                      &weight, err);
	if (code != PL_OK)
		return code;
	if (name[0] == '\0')
		return pl_json_fail(pl_json_member(json, "name"), PL_INVALID, err,
		                    "is empty");
	/* 0 stands for its default, as everywhere in this configuration. */
	code = add(model, name, weight == 0 ? 1 : weight, out);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "resource %s", name);
}

enum pl_code amount_list_parse(struct model *model, struct pl_json json,
                               struct amount_list *out, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	out->count = 0;
	if (pl_json_count(json) > AMOUNTS_MAX)
		return pl_json_fail(json, PL_LIMIT, err, "has more than %d entries",
		                    AMOUNTS_MAX);
	PL_JSON_EACH (item, json) {
		code = parse_item(model, item, out, err);
		if (code != PL_OK)
			return code;
	}
	if (out->count > 0)
		return PL_OK;
	code = add(model, "cpu", 1, out);
	if (code == PL_OK)
		code = add(model, "memory", 1, out);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "resources of scores");
}

void amount_list_drop(struct model *model, struct amount_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		strings_unref(&model->strings, list->at[i].name);
	list->count = 0;
}

static int64_t asked_of(const struct spec *spec, const struct amount_item *item,
                        bool nonzero)
{
	switch (item->kind) {
	case AMOUNT_CPU:
		return nonzero ? spec_nonzero_cpu_milli(spec) : spec->requests->cpu_milli;
	case AMOUNT_MEMORY:
		return nonzero ? spec_nonzero_memory(spec) : spec->requests->memory;
	case AMOUNT_STORAGE:
		return spec->requests->storage;
	case AMOUNT_SCALAR:
		return resources_get(spec->requests, item->name);
	}
	PL_UNREACHABLE("a kind of amount");
}

void amount_asks_make(const struct plugin_call *call, const struct amount_list *list,
                      bool nonzero, struct amount_asks *out)
{
	out->snapshot = call->snapshot;
	out->kernels = amount_kernels();
	out->nonzero = nonzero;
	out->count = 0;
	for (uint32_t i = 0; i < list->count; i++) {
		const struct amount_item *item = &list->at[i];
		struct amount_ask ask = {
			.kind = item->kind,
			.weight = item->weight,
			.asked = asked_of(call->spec, item, nonzero),
		};

		if (item->kind == AMOUNT_SCALAR) {
			if (ask.asked == 0)
				continue;
			ask.column = snapshot_scalar(call->snapshot, item->name);
			if (ask.column == SNAPSHOT_NONE)
				continue;
		}
		out->at[out->count++] = ask;
	}
}

/* alloc, and what is used without the pod. */
static struct amount read(const struct amount_asks *asks, const struct amount_ask *ask,
                          uint32_t slot)
{
	const struct node_row *row = &asks->snapshot->row[slot];

	switch (ask->kind) {
	case AMOUNT_CPU:
		return (struct amount){row->alloc.cpu_milli,
		                       asks->nonzero ? row->nonzero_cpu_milli
		                                     : row->used.cpu_milli};
	case AMOUNT_MEMORY:
		return (struct amount){row->alloc.memory, asks->nonzero
		                                                  ? row->nonzero_memory
		                                                  : row->used.memory};
	case AMOUNT_STORAGE:
		return (struct amount){row->alloc.storage, row->used.storage};
	case AMOUNT_SCALAR: {
		const struct scalar_column *column = &asks->snapshot->scalar[ask->column];

		return (struct amount){column->alloc[slot], column->used[slot]};
	}
	}
	PL_UNREACHABLE("a kind of amount");
}

struct amount amount_at(const struct amount_asks *asks, uint32_t index, uint32_t slot)
{
	const struct amount_ask *ask = &asks->at[index];
	struct amount amount = read(asks, ask, slot);

	amount.asked = resources_sum(amount.asked, ask->asked);
	return amount;
}

/* What has no column of its own. */
static uint64_t load_rows(const struct amount_asks *asks, const struct amount_ask *ask,
                          uint32_t slot, struct amount_word *out)
{
	int64_t alloc[64], used[64];

	for (uint32_t i = 0; i < 64; i++) {
		struct amount amount = read(asks, ask, slot + i);

		alloc[i] = amount.alloc;
		used[i] = amount.asked;
	}
	return asks->kernels->load64(alloc, used, ask->asked, out);
}

static uint64_t load(const struct amount_asks *asks, const struct amount_ask *ask,
                     uint32_t slot, struct amount_word *out)
{
	const struct hot_columns *hot = &asks->snapshot->hot;

	switch (ask->kind) {
	case AMOUNT_CPU:
		if (hot->wide != 0)
			break;
		asks->kernels->load32(hot->cpu_alloc + slot,
		                      (asks->nonzero ? hot->cpu_nonzero : hot->cpu_used) +
		                              slot,
		                      ask->asked, out);
		return 0;
	case AMOUNT_MEMORY:
		return asks->kernels->load64(
			hot->memory_alloc + slot,
			(asks->nonzero ? hot->memory_nonzero : hot->memory_used) + slot,
			ask->asked, out);
	case AMOUNT_STORAGE:
		break;
	case AMOUNT_SCALAR: {
		const struct scalar_column *column = &asks->snapshot->scalar[ask->column];

		return asks->kernels->load64(column->alloc + slot, column->used + slot,
		                             ask->asked, out);
	}
	}
	return load_rows(asks, ask, slot, out);
}

bool amount_load(const struct amount_asks *asks, uint32_t index, uint32_t slot,
                 struct amount_word *out)
{
	const struct amount_ask *ask = &asks->at[index];

	return ask->asked < AMOUNT_SMALL &&
	       load(asks, ask, slot, out) < (uint64_t)AMOUNT_SMALL;
}

/* -- cpu and memory -------------------------------------------------------------------
 */

static bool is_pair(const struct amount_asks *asks, uint32_t cpu)
{
	return asks->at[cpu].kind == AMOUNT_CPU && asks->at[cpu].asked < INT32_MAX &&
	       asks->at[1 - cpu].kind == AMOUNT_MEMORY &&
	       asks->at[1 - cpu].asked < AMOUNT_SMALL;
}

void amount_pass_make(const struct amount_asks *asks, amount_pair_fn *kernel,
                      struct amount_pass *out)
{
	const struct hot_columns *hot = &asks->snapshot->hot;
	bool nonzero = asks->nonzero;
	uint32_t cpu = 0;

	*out = (struct amount_pass){0};
	if (asks->count != 2 || hot->wide != 0)
		return;
	cpu = is_pair(asks, 0) ? 0 : 1;
	if (!is_pair(asks, cpu))
		return;
	out->kernel = kernel;
	out->large = asks->snapshot->large.word;
	out->from = (struct amount_pair){
		.cpu_alloc = hot->cpu_alloc,
		.cpu_used = nonzero ? hot->cpu_nonzero : hot->cpu_used,
		.cpu_unit = hot->cpu_unit,
		.memory_alloc = hot->memory_alloc,
		.memory_used = nonzero ? hot->memory_nonzero : hot->memory_used,
		.memory_unit = hot->memory_unit,
		.cpu = (int32_t)asks->at[cpu].asked,
		.memory = asks->at[1 - cpu].asked,
		.cpu_weight = asks->at[cpu].weight,
		.memory_weight = asks->at[1 - cpu].weight,
	};
}

/* From the first on, how many of the words are for the kernel. */
static uint32_t run_of(const struct amount_pass *pass, struct node_span span)
{
	const uint64_t *large = pass->large + span.word;
	uint32_t words = 0;

	while (words < span.words && large[words] == 0 &&
	       !amount_is_sparse(span.bits[words]))
		words++;
	return words;
}

uint32_t amount_pass_run(const struct amount_pass *pass, struct node_span span,
                         int64_t *score)
{
	uint32_t words = pass->kernel == NULL ? 0 : run_of(pass, span);
	size_t slot = (size_t)span.word * 64;
	struct amount_pair in = pass->from;

	if (words == 0)
		return 0;
	in.cpu_alloc += slot;
	in.cpu_used += slot;
	in.cpu_unit += slot;
	in.memory_alloc += slot;
	in.memory_used += slot;
	in.memory_unit += slot;
	pass->kernel(&in, words, score);
	return words;
}
