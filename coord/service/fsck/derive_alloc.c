#include "coord/service/fsck/derive_alloc.h"

#include <stdlib.h>

#include "coord/service/base/port_word.h"
#include "shardsched/records/pod_location.h"
#include "shardsched/records/pod_state.h"

static enum pl_code no_memory(struct pl_err *err)
{
	return pl_err_set(err, PL_NOMEM, "derive an alloc");
}

static int64_t add_clamped(int64_t a, int64_t b)
{
	return resources_sum(a, b);
}

static enum pl_code add_scalar(struct derive *derive, struct pl_span name, int64_t amount,
                               struct pl_err *err)
{
	struct alloc_amounts *used = &derive->now.used;
	uint32_t at = 0;

	while (at < used->scalars && !pl_span_eq(derive->scalar[at].name, name))
		at++;
	if (at == ALLOC_SCALARS_MAX)
		return pl_err_set(err, PL_LIMIT, "more than %d resources",
		                  ALLOC_SCALARS_MAX);
	if (at == used->scalars) {
		derive->scalar[at].name = pl_arena_dup(derive->arena, name);
		if (derive->scalar[at].name.at == NULL)
			return no_memory(err);
		used->scalars++;
	}
	derive->scalar[at].amount = add_clamped(derive->scalar[at].amount, amount);
	return PL_OK;
}

static enum pl_code add_amounts(struct derive *derive, const struct alloc_amounts *from,
                                struct pl_err *err)
{
	struct alloc_amounts *used = &derive->now.used;
	enum pl_code code = PL_OK;

	used->cpu_milli = add_clamped(used->cpu_milli, from->cpu_milli);
	used->memory = add_clamped(used->memory, from->memory);
	used->storage = add_clamped(used->storage, from->storage);
	used->pods = add_clamped(used->pods, from->pods);
	used->nonzero_cpu_milli =
		add_clamped(used->nonzero_cpu_milli, from->nonzero_cpu_milli);
	used->nonzero_memory = add_clamped(used->nonzero_memory, from->nonzero_memory);
	for (uint32_t i = 0; i < from->scalars && code == PL_OK; i++)
		code = add_scalar(derive, from->scalar[i].name, from->scalar[i].amount,
		                  err);
	return code;
}

static enum pl_code add_holds(struct derive *derive, struct pl_err *err)
{
	uint32_t count = derive->old.holds, kept = 0;
	enum pl_code code = PL_OK;

	derive->hold = pl_arena_zalloc(derive->arena, count + 1, sizeof *derive->hold);
	if (derive->hold == NULL)
		return no_memory(err);
	for (uint32_t i = 0; i < count && code == PL_OK; i++) {
		if (!derive->is_held(derive->ctx, &derive->old.hold[i]))
			continue;
		derive->hold[kept++] = derive->old.hold[i];
		code = add_amounts(derive, &derive->old.hold[i].used, err);
	}
	derive->now.hold = derive->hold;
	derive->now.holds = kept;
	return code;
}

/* -- resources of no listed pod ---------------------------------------------------- */

static enum pl_code begin_rest(struct derive *derive, struct pl_err *err)
{
	const struct alloc_amounts *used = &derive->old.used;

	derive->rest = *used;
	derive->rest_pods = 0;
	derive->rest_scalar = pl_arena_zalloc(derive->arena, ALLOC_SCALARS_MAX,
	                                      sizeof *derive->rest_scalar);
	derive->port_known = pl_arena_zalloc(derive->arena, derive->old.ports + 1u, 1);
	if (derive->rest_scalar == NULL || derive->port_known == NULL)
		return no_memory(err);
	for (uint32_t i = 0; i < used->scalars; i++)
		derive->rest_scalar[i] = used->scalar[i];
	derive->rest.scalar = derive->rest_scalar;
	return PL_OK;
}

static void subtract_to_zero(int64_t *from, int64_t amount)
{
	*from = *from > amount ? *from - amount : 0;
}

static void subtract_scalar(struct derive *derive, struct pl_span name, int64_t amount)
{
	for (uint32_t i = 0; i < derive->rest.scalars; i++)
		if (pl_span_eq(derive->rest_scalar[i].name, name))
			subtract_to_zero(&derive->rest_scalar[i].amount, amount);
}

static void subtract_amounts(struct derive *derive, const struct alloc_amounts *amounts)
{
	struct alloc_amounts *rest = &derive->rest;

	subtract_to_zero(&rest->cpu_milli, amounts->cpu_milli);
	subtract_to_zero(&rest->memory, amounts->memory);
	subtract_to_zero(&rest->storage, amounts->storage);
	subtract_to_zero(&rest->nonzero_cpu_milli, amounts->nonzero_cpu_milli);
	subtract_to_zero(&rest->nonzero_memory, amounts->nonzero_memory);
	for (uint32_t i = 0; i < amounts->scalars; i++)
		subtract_scalar(derive, amounts->scalar[i].name,
		                amounts->scalar[i].amount);
}

static enum pl_code add_port(struct derive *derive, const struct alloc_port *port,
                             struct pl_err *err)
{
	for (uint32_t i = 0; i < derive->now.ports; i++)
		if (alloc_port_cmp(&derive->port[i], port) == 0)
			return PL_OK;
	if (derive->now.ports == ALLOC_PORTS_MAX)
		return pl_err_set(err, PL_LIMIT, "more than %d ports", ALLOC_PORTS_MAX);
	derive->port[derive->now.ports++] = *port;
	return PL_OK;
}

static enum pl_code add_rest(struct derive *derive, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	if (derive->rest_pods == 0)
		return PL_OK;
	derive->rest.pods = derive->rest_pods;
	code = add_amounts(derive, &derive->rest, err);
	for (uint32_t i = 0; i < derive->old.ports && code == PL_OK; i++)
		if (!derive->port_known[i])
			code = add_port(derive, &derive->old.port[i], err);
	return code;
}

enum pl_code derive_begin(struct derive *derive, struct pl_span old, struct pl_err *err)
{
	struct pl_err ignored = {0};
	enum pl_code code = PL_OK;

	derive->old = derive->now = (struct alloc){0};
	derive->pod = pl_arena_zalloc(derive->arena, ALLOC_PODS_MAX, sizeof *derive->pod);
	derive->scalar =
		pl_arena_zalloc(derive->arena, ALLOC_SCALARS_MAX, sizeof *derive->scalar);
	derive->port =
		pl_arena_zalloc(derive->arena, ALLOC_PORTS_MAX, sizeof *derive->port);
	if (derive->pod == NULL || derive->scalar == NULL || derive->port == NULL)
		return no_memory(err);
	if (old.len > 0)
		code = alloc_parse(old, derive->arena, &derive->old, &ignored);
	if (code == PL_NOMEM)
		return no_memory(err);
	code = begin_rest(derive, err);
	for (uint32_t i = 0; i < derive->old.holds && code == PL_OK; i++)
		subtract_amounts(derive, &derive->old.hold[i].used);
	return code == PL_OK ? add_holds(derive, err) : code;
}

/* -- a pod ------------------------------------------------------------------------- */

static enum pl_code refuse_unreadable(const struct alloc_pod *pod, struct pl_err *err)
{
	return pl_err_set(err, PL_CORRUPT,
	                  "the spec of " PL_SPAN_FMT "/" PL_SPAN_FMT " can not be read; "
	                  "placet delete pod takes it away, placet submit brings it back",
	                  PL_SPAN_ARG(pod->namespace), PL_SPAN_ARG(pod->name));
}

static int pod_cmp(const void *a, const void *b)
{
	return alloc_pod_cmp(a, b);
}

/* The pod as the old alloc lists it; NULL: not listed. */
static const struct alloc_pod *find_listed(const struct derive *derive,
                                           const struct alloc_pod *pod)
{
	if (derive->old.pods == 0)
		return NULL;
	return bsearch(pod, derive->old.pod, derive->old.pods, sizeof *pod, pod_cmp);
}

static bool is_left(const struct derive_keys *keys)
{
	bool is_pointer = false;
	uint32_t to;

	if (keys->has_state || !keys->has_spec)
		return keys->has_state;
	return pointer_parse(keys->spec, &is_pointer, &to, NULL) != PL_OK || !is_pointer;
}

static enum pl_code is_here(struct derive *derive, struct alloc_pod *pod,
                            const struct derive_keys *keys, bool *here,
                            struct pl_err *err)
{
	const struct alloc_pod *stated = find_listed(derive, pod);
	struct pod_state state;
	enum pl_code code = PL_INVALID;

	if (keys->has_state)
		code = state_parse(keys->state, derive->arena, &state, NULL);
	if (code == PL_NOMEM)
		return no_memory(err);
	if (code == PL_OK) {
		*here = state_has_place(&state) &&
		        pl_span_eq(state.cluster, derive->cluster) &&
		        pl_span_eq(state.node, derive->node);
		pod->leaving = state.phase == STATE_TERMINATING;
		return PL_OK;
	}
	*here = stated != NULL && is_left(keys);
	pod->leaving = stated != NULL && stated->leaving;
	return PL_OK;
}

static struct pl_span text_of(const struct derive *derive, uint32_t id)
{
	return model_text(derive->model, id);
}

/* Marks the port as one that a readable pod has, so it is not part of the rest. */
static void mark_port_known(struct derive *derive, const struct alloc_port *port)
{
	for (uint32_t i = 0; i < derive->old.ports; i++)
		if (alloc_port_cmp(&derive->old.port[i], port) == 0)
			derive->port_known[i] = true;
}

static enum pl_code add_ports(struct derive *derive, const struct spec *spec, bool old,
                              bool here, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	for (uint32_t i = 0; i < spec->template->ports.count && code == PL_OK; i++) {
		const struct spec_port *row = &spec_ports(spec)[i];
		struct alloc_port port = {
			.protocol = port_word(row->protocol),
			.ip = pl_arena_dup(derive->arena, text_of(derive, row->ip)),
			.port = row->port};

		if (port.ip.at == NULL)
			return no_memory(err);
		if (old)
			mark_port_known(derive, &port);
		if (here)
			code = add_port(derive, &port, err);
	}
	return code;
}

static enum pl_code add_spec(struct derive *derive, const struct spec *spec, bool old,
                             bool here, struct pl_err *err)
{
	const struct resources *asks = spec->requests;
	struct alloc_amounts amounts = {.cpu_milli = asks->cpu_milli,
	                                .memory = asks->memory,
	                                .storage = asks->storage,
	                                .pods = 1,
	                                .nonzero_cpu_milli = spec_nonzero_cpu_milli(spec),
	                                .nonzero_memory = spec_nonzero_memory(spec)};
	enum pl_code code = here ? add_amounts(derive, &amounts, err) : PL_OK;

	if (old)
		subtract_amounts(derive, &amounts);
	for (uint64_t i = 0; i < asks->count && code == PL_OK; i++) {
		struct pl_span name = text_of(derive, asks->row[i].name);

		if (old)
			subtract_scalar(derive, name, asks->row[i].amount);
		if (here)
			code = add_scalar(derive, name, asks->row[i].amount, err);
	}
	return code == PL_OK ? add_ports(derive, spec, old, here, err) : code;
}

/* Whether the value under the pod's key is that pod's own, not a pointer and not
 * another pod's. */
static bool is_its_own(const struct derive *derive, const struct alloc_pod *pod,
                       const struct pod *parsed)
{
	return pl_span_eq(text_of(derive, parsed->name), pod->name) &&
	       pl_span_eq(text_of(derive, parsed->spec->namespace), pod->namespace);
}

static enum pl_code add_name(struct derive *derive, const struct alloc_pod *name,
                             struct pl_err *err)
{
	if (derive->now.pods == ALLOC_PODS_MAX)
		return pl_err_set(err, PL_LIMIT, "more than %d pods", ALLOC_PODS_MAX);
	derive->pod[derive->now.pods++] = *name;
	return PL_OK;
}

enum pl_code derive_add(struct derive *derive, const struct alloc_pod *pod,
                        const struct derive_keys *keys, struct pl_err *err)
{
	struct parse parse = {.model = derive->model, .arena = derive->arena};
	struct pod parsed = {0};
	struct pl_err ignored = {0};
	struct alloc_pod name = *pod;
	bool here = false, old = find_listed(derive, pod) != NULL, reads = false;
	enum pl_code code = is_here(derive, &name, keys, &here, err);

	if (code != PL_OK || (!here && !old))
		return code;
	if (keys->has_spec)
		code = pod_parse(&parse, keys->spec, &parsed, &ignored);
	if (code == PL_NOMEM)
		return no_memory(err);
	reads = keys->has_spec && code == PL_OK && is_its_own(derive, pod, &parsed);
	code = PL_OK;
	if (reads)
		code = add_spec(derive, parsed.spec, old, here, err);
	else if (here && !old)
		code = refuse_unreadable(pod, err);
	else if (here)
		derive->rest_pods++;
	pod_drop(derive->model, &parsed);
	return code == PL_OK && here ? add_name(derive, &name, err) : code;
}

/* -- the alloc --------------------------------------------------------------------- */

static int port_cmp(const void *a, const void *b)
{
	return alloc_port_cmp(a, b);
}

static int scalar_cmp(const void *a, const void *b)
{
	const struct alloc_scalar *x = a, *y = b;

	return pl_span_cmp(x->name, y->name);
}

/* Leaves out scalars whose sum is 0. */
static void drop_zeros(struct derive *derive)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < derive->now.used.scalars; i++)
		if (derive->scalar[i].amount != 0)
			derive->scalar[kept++] = derive->scalar[i];
	derive->now.used.scalars = kept;
}

static enum pl_code is_same(struct derive *derive, struct pl_span now, bool *same)
{
	struct alloc old = derive->old;
	struct pl_err ignored = {0};
	struct pl_buf text;
	enum pl_code code;

	old.generation = derive->now.generation;
	old.left = derive->now.left;
	pl_buf_init(&text, ALLOC_BYTES_MAX);
	code = alloc_print(&old, &text, &ignored);
	*same = derive->old.generation != 0 && code == PL_OK &&
	        pl_span_eq(pl_buf_span(&text), now);
	pl_buf_done(&text);
	return code == PL_NOMEM ? PL_NOMEM : PL_OK;
}

enum pl_code derive_print(struct derive *derive, uint64_t generation, struct pl_buf *out,
                          bool *same, struct pl_err *err)
{
	struct alloc *now = &derive->now;
	size_t begun = out->len;
	enum pl_code code = add_rest(derive, err);

	if (code != PL_OK)
		return code;
	drop_zeros(derive);
	qsort(derive->pod, now->pods, sizeof *derive->pod, pod_cmp);
	qsort(derive->port, now->ports, sizeof *derive->port, port_cmp);
	qsort(derive->scalar, now->used.scalars, sizeof *derive->scalar, scalar_cmp);
	now->pod = derive->pod;
	now->port = derive->port;
	now->used.scalar = derive->scalar;
	now->generation =
		derive->old.generation == 0 ? generation : derive->old.generation + 1;
	/* The old alloc may have listed other pods, so one more pod counts as having
	 * left. */
	now->left = derive->old.generation == 0 ? generation : derive->old.left + 1;
	code = alloc_print(now, out, err);
	if (code == PL_OK &&
	    is_same(derive, pl_span(out->at + begun, out->len - begun), same) != PL_OK)
		code = no_memory(err);
	return code;
}
