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

static enum pl_code add_item(struct model *model, const char *name, int64_t weight,
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
	/* 0 means the default, as everywhere in this configuration. */
	code = add_item(model, name, weight == 0 ? 1 : weight, out);
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
	code = add_item(model, "cpu", 1, out);
	if (code == PL_OK)
		code = add_item(model, "memory", 1, out);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "resources of scores");
}

void amount_list_drop(struct model *model, struct amount_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		strings_unref(&model->strings, list->at[i].name);
	list->count = 0;
}

static int64_t requested_of(const struct spec *spec, const struct amount_item *item,
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

void amount_requests_make(const struct plugin_call *call, const struct amount_list *list,
                          bool nonzero, struct amount_requests *out)
{
	out->snapshot = call->snapshot;
	out->kernels = amount_kernels();
	out->nonzero = nonzero;
	out->count = 0;
	for (uint32_t i = 0; i < list->count; i++) {
		const struct amount_item *item = &list->at[i];
		struct amount_request request = {
			.kind = item->kind,
			.weight = item->weight,
			.requested = requested_of(call->spec, item, nonzero),
		};

		if (item->kind == AMOUNT_SCALAR) {
			if (request.requested == 0)
				continue;
			request.column = snapshot_scalar(call->snapshot, item->name);
			if (request.column == SNAPSHOT_NONE)
				continue;
		}
		out->at[out->count++] = request;
	}
}

/* The amount that the node has, and the amount that is used without the pod. */
static struct amount read_row(const struct amount_requests *requests,
                              const struct amount_request *request, uint32_t slot)
{
	const struct node_row *row = &requests->snapshot->row[slot];

	switch (request->kind) {
	case AMOUNT_CPU:
		return (struct amount){row->alloc.cpu_milli,
		                       requests->nonzero ? row->nonzero_cpu_milli
		                                         : row->used.cpu_milli};
	case AMOUNT_MEMORY:
		return (struct amount){row->alloc.memory, requests->nonzero
		                                                  ? row->nonzero_memory
		                                                  : row->used.memory};
	case AMOUNT_STORAGE:
		return (struct amount){row->alloc.storage, row->used.storage};
	case AMOUNT_SCALAR: {
		const struct scalar_column *column =
			&requests->snapshot->scalar[request->column];

		return (struct amount){column->alloc[slot], column->used[slot]};
	}
	}
	PL_UNREACHABLE("a kind of amount");
}

struct amount amount_at(const struct amount_requests *requests, uint32_t index,
                        uint32_t slot)
{
	const struct amount_request *request = &requests->at[index];
	struct amount amount = read_row(requests, request, slot);

	amount.requested = resources_sum(amount.requested, request->requested);
	return amount;
}

/* Loads resources that have no column. */
static uint64_t load_rows(const struct amount_requests *requests,
                          const struct amount_request *request, uint32_t slot,
                          struct amount_word *out)
{
	int64_t alloc[64], used[64];

	for (uint32_t i = 0; i < 64; i++) {
		struct amount amount = read_row(requests, request, slot + i);

		alloc[i] = amount.alloc;
		used[i] = amount.requested;
	}
	return requests->kernels->load64(alloc, used, request->requested, out);
}

static uint64_t load_columns(const struct amount_requests *requests,
                             const struct amount_request *request, uint32_t slot,
                             struct amount_word *out)
{
	const struct hot_columns *hot = &requests->snapshot->hot;

	switch (request->kind) {
	case AMOUNT_CPU:
		if (hot->wide != 0)
			break;
		requests->kernels->load32(
			hot->cpu_alloc + slot,
			(requests->nonzero ? hot->cpu_nonzero : hot->cpu_used) + slot,
			request->requested, out);
		return 0;
	case AMOUNT_MEMORY:
		return requests->kernels->load64(
			hot->memory_alloc + slot,
			(requests->nonzero ? hot->memory_nonzero : hot->memory_used) +
				slot,
			request->requested, out);
	case AMOUNT_STORAGE:
		break;
	case AMOUNT_SCALAR: {
		const struct scalar_column *column =
			&requests->snapshot->scalar[request->column];

		return requests->kernels->load64(column->alloc + slot,
		                                 column->used + slot, request->requested,
		                                 out);
	}
	}
	return load_rows(requests, request, slot, out);
}

bool amount_load(const struct amount_requests *requests, uint32_t index, uint32_t slot,
                 struct amount_word *out)
{
	const struct amount_request *request = &requests->at[index];

	return request->requested < AMOUNT_SMALL &&
	       load_columns(requests, request, slot, out) < (uint64_t)AMOUNT_SMALL;
}

/* -- cpu and memory ---------------------------------------------------------------------- */

static bool is_pair(const struct amount_requests *requests, uint32_t cpu)
{
	return requests->at[cpu].kind == AMOUNT_CPU &&
	       requests->at[cpu].requested < INT32_MAX &&
	       requests->at[1 - cpu].kind == AMOUNT_MEMORY &&
	       requests->at[1 - cpu].requested < AMOUNT_SMALL;
}

void amount_pass_make(const struct amount_requests *requests, amount_pair_fn *kernel,
                      struct amount_pass *out)
{
	const struct hot_columns *hot = &requests->snapshot->hot;
	bool nonzero = requests->nonzero;
	uint32_t cpu = 0;

	*out = (struct amount_pass){0};
	if (requests->count != 2 || hot->wide != 0)
		return;
	cpu = is_pair(requests, 0) ? 0 : 1;
	if (!is_pair(requests, cpu))
		return;
	out->kernel = kernel;
	out->large = requests->snapshot->large.word;
	out->from = (struct amount_pair){
		.cpu_alloc = hot->cpu_alloc,
		.cpu_used = nonzero ? hot->cpu_nonzero : hot->cpu_used,
		.cpu_unit = hot->cpu_unit,
		.memory_alloc = hot->memory_alloc,
		.memory_used = nonzero ? hot->memory_nonzero : hot->memory_used,
		.memory_unit = hot->memory_unit,
		.cpu = (int32_t)requests->at[cpu].requested,
		.memory = requests->at[1 - cpu].requested,
		.cpu_weight = requests->at[cpu].weight,
		.memory_weight = requests->at[1 - cpu].weight,
	};
}

/* How many words of the span, from the first one on, the kernel can do. */
static uint32_t count_run(const struct amount_pass *pass, struct node_span span)
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
	uint32_t words = pass->kernel == NULL ? 0 : count_run(pass, span);
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
