#include "coord/service/pods/alloc_change.h"

#include <stdlib.h>

#include "coord/service/base/port_word.h"

enum pl_code alloc_change_begin(struct alloc_change *change, struct pl_arena *arena,
                                struct pl_span value, struct pl_err *err)
{
	*change = (struct alloc_change){.arena = arena};
	return alloc_parse(value, arena, &change->alloc, err);
}

void alloc_change_edit(struct alloc_change *change)
{
	change->edited = true;
}

/* -- whether it fits --------------------------------------------------------------- */

static bool fits(int64_t used, int64_t asked, int64_t most)
{
	return asked == 0 || resources_sum(used, asked) <= most;
}

static int64_t scalar_used(const struct alloc_amounts *used, struct pl_span name)
{
	for (uint32_t i = 0; i < used->scalars; i++)
		if (pl_span_eq(used->scalar[i].name, name))
			return used->scalar[i].amount;
	return 0;
}

static enum pl_code check_amounts(const struct alloc_amounts *used,
                                  const struct model *model, const struct node *node,
                                  const struct spec *spec, struct pl_err *err)
{
	const struct resources *most = node->allocatable, *asked = spec->requests;

	if (!fits(used->pods, 1, most->pods))
		return pl_err_set(err, PL_CONFLICT, "Too many pods");
	if (!fits(used->cpu_milli, asked->cpu_milli, most->cpu_milli))
		return pl_err_set(err, PL_CONFLICT, "Insufficient cpu");
	if (!fits(used->memory, asked->memory, most->memory))
		return pl_err_set(err, PL_CONFLICT, "Insufficient memory");
	if (!fits(used->storage, asked->storage, most->storage))
		return pl_err_set(err, PL_CONFLICT, "Insufficient ephemeral-storage");
	for (uint64_t i = 0; i < asked->count; i++) {
		struct pl_span name = model_text(model, asked->row[i].name);

		if (!fits(scalar_used(used, name), asked->row[i].amount,
		          resources_get(most, asked->row[i].name)))
			return pl_err_set(err, PL_CONFLICT, "Insufficient " PL_SPAN_FMT,
			                  PL_SPAN_ARG(name));
	}
	return PL_OK;
}

/* 0.0.0.0 stands for every address. */
static bool ips_meet(struct pl_span a, struct pl_span b)
{
	const struct pl_span any = PL_SPAN_LIT("0.0.0.0");

	return pl_span_eq(a, b) || pl_span_eq(a, any) || pl_span_eq(b, any);
}

static enum pl_code check_ports(const struct alloc *alloc, const struct model *model,
                                const struct spec *spec, struct pl_err *err)
{
	for (uint32_t i = 0; i < spec->template->ports.count; i++) {
		const struct spec_port *row = &spec_ports(spec)[i];

		for (uint32_t k = 0; k < alloc->ports; k++)
			if (alloc->port[k].port == row->port &&
			    pl_span_eq(alloc->port[k].protocol,
			               port_word(row->protocol)) &&
			    ips_meet(alloc->port[k].ip, model_text(model, row->ip)))
				return pl_err_set(err, PL_CONFLICT,
				                  "host port %u is in use there",
				                  row->port);
	}
	return PL_OK;
}

static bool is_for(const struct alloc_reservation *hold, const struct alloc_pod *pod)
{
	return hold->kind == ALLOC_RESERVATION_NOMINATED &&
	       hold->partition == pod->partition &&
	       pl_span_eq(hold->namespace, pod->namespace) &&
	       pl_span_eq(hold->name, pod->name);
}

/* Nothing is placed on a node while a gang has a reservation there. */
static enum pl_code check_gangs(const struct alloc *alloc, struct pl_err *err)
{
	for (uint32_t i = 0; i < alloc->holds; i++)
		if (alloc->hold[i].kind == ALLOC_RESERVATION_GANG)
			return pl_err_set(err, PL_CONFLICT,
			                  "room is reserved there for gang " PL_SPAN_FMT
			                  "/" PL_SPAN_FMT,
			                  PL_SPAN_ARG(alloc->hold[i].namespace),
			                  PL_SPAN_ARG(alloc->hold[i].name));
	return PL_OK;
}

/* -- amounts ----------------------------------------------------------------------- */

static int scalar_cmp(const void *a, const void *b)
{
	const struct alloc_scalar *x = a, *y = b;

	return pl_span_cmp(x->name, y->name);
}

/* Adds the amount, or takes it away; a scalar that is used up is left out. PL_LIMIT: there
 * are too many kinds. */
static enum pl_code change_scalar(struct alloc_amounts *used, struct alloc_scalar *scalar,
                                  struct pl_span name, int64_t amount)
{
	uint32_t i = 0;

	while (i < used->scalars && !pl_span_eq(scalar[i].name, name))
		i++;
	if (i == ALLOC_SCALARS_MAX)
		return PL_LIMIT;
	if (i == used->scalars)
		scalar[used->scalars++] = (struct alloc_scalar){.name = name};
	if (amount >= 0)
		scalar[i].amount = resources_sum(scalar[i].amount, amount);
	else
		scalar[i].amount =
			scalar[i].amount > -amount ? scalar[i].amount + amount : 0;
	if (scalar[i].amount == 0)
		scalar[i] = scalar[--used->scalars];
	qsort(scalar, used->scalars, sizeof *scalar, scalar_cmp);
	return PL_OK;
}

static void reduce(int64_t *from, int64_t amount)
{
	*from = *from > amount ? *from - amount : 0;
}

static enum pl_code copy_scalars(struct alloc_change *change, struct alloc_amounts *used,
                                 struct alloc_scalar **out)
{
	*out = pl_arena_zalloc(change->arena, ALLOC_SCALARS_MAX + 1, sizeof **out);
	if (*out == NULL)
		return PL_NOMEM;
	if (used->scalars > 0)
		memcpy(*out, used->scalar, used->scalars * sizeof **out);
	used->scalar = *out;
	return PL_OK;
}

/* The reservation's amounts are the pod's own by now. */
static enum pl_code drop_reservation(struct alloc_change *change, struct alloc *alloc,
                                     struct alloc_scalar *scalar, uint32_t at)
{
	const struct alloc_amounts *less = &alloc->hold[at].used;
	struct alloc_amounts *used = &alloc->used;
	struct alloc_reservation *kept =
		pl_arena_zalloc(change->arena, alloc->holds, sizeof *kept);
	enum pl_code code = kept == NULL ? PL_NOMEM : PL_OK;

	reduce(&used->cpu_milli, less->cpu_milli);
	reduce(&used->memory, less->memory);
	reduce(&used->storage, less->storage);
	reduce(&used->pods, less->pods);
	reduce(&used->nonzero_cpu_milli, less->nonzero_cpu_milli);
	reduce(&used->nonzero_memory, less->nonzero_memory);
	for (uint32_t i = 0; code == PL_OK && i < less->scalars; i++)
		code = change_scalar(used, scalar, less->scalar[i].name,
		                     -less->scalar[i].amount);
	if (code != PL_OK)
		return code;
	memcpy(kept, alloc->hold, at * sizeof *kept);
	memcpy(kept + at, alloc->hold + at + 1, (alloc->holds - at - 1) * sizeof *kept);
	alloc->hold = kept;
	alloc->holds--;
	return PL_OK;
}

static enum pl_code add_amounts(struct alloc_change *change, const struct model *model,
                                struct alloc_amounts *used, struct alloc_scalar *scalar,
                                const struct spec *spec)
{
	const struct resources *asked = spec->requests;
	enum pl_code code = PL_OK;

	used->pods = resources_sum(used->pods, 1);
	used->cpu_milli = resources_sum(used->cpu_milli, asked->cpu_milli);
	used->memory = resources_sum(used->memory, asked->memory);
	used->storage = resources_sum(used->storage, asked->storage);
	used->nonzero_cpu_milli =
		resources_sum(used->nonzero_cpu_milli, spec_nonzero_cpu_milli(spec));
	used->nonzero_memory =
		resources_sum(used->nonzero_memory, spec_nonzero_memory(spec));
	for (uint64_t i = 0; code == PL_OK && i < asked->count; i++) {
		struct pl_span name = pl_arena_dup(change->arena,
		                                   model_text(model, asked->row[i].name));

		code = name.at == NULL
		               ? PL_NOMEM
		               : change_scalar(used, scalar, name, asked->row[i].amount);
	}
	return code;
}

/* -- lists ------------------------------------------------------------------------- */

static int port_cmp(const void *a, const void *b)
{
	return alloc_port_cmp(a, b);
}

static enum pl_code add_ports(struct alloc_change *change, const struct model *model,
                              struct alloc *alloc, const struct spec *spec)
{
	uint32_t more = spec->template->ports.count, kept = 0;
	struct alloc_port *port;

	if (more == 0)
		return PL_OK;
	port = pl_arena_zalloc(change->arena, alloc->ports + more, sizeof *port);
	if (port == NULL)
		return PL_NOMEM;
	if (alloc->ports > 0)
		memcpy(port, alloc->port, alloc->ports * sizeof *port);
	for (uint32_t i = 0; i < more; i++) {
		const struct spec_port *row = &spec_ports(spec)[i];
		struct pl_span ip =
			pl_arena_dup(change->arena, model_text(model, row->ip));

		if (ip.at == NULL)
			return PL_NOMEM;
		port[alloc->ports + i] =
			(struct alloc_port){port_word(row->protocol), ip, row->port};
	}
	qsort(port, alloc->ports + more, sizeof *port, port_cmp);
	for (uint32_t i = 0; i < alloc->ports + more; i++)
		if (kept == 0 || alloc_port_cmp(&port[kept - 1], &port[i]) != 0)
			port[kept++] = port[i];
	alloc->port = port;
	alloc->ports = kept;
	return PL_OK;
}

/* PL_EXISTS: the pod is listed. */
static enum pl_code add_name(struct alloc_change *change, struct alloc *alloc,
                             const struct alloc_pod *name)
{
	struct alloc_pod *pod =
		pl_arena_zalloc(change->arena, alloc->pods + 1u, sizeof *pod);
	uint32_t at = 0;

	if (pod == NULL)
		return PL_NOMEM;
	while (at < alloc->pods && alloc_pod_cmp(&alloc->pod[at], name) < 0)
		at++;
	if (at < alloc->pods && alloc_pod_cmp(&alloc->pod[at], name) == 0)
		return PL_EXISTS;
	if (alloc->pods == ALLOC_PODS_MAX)
		return PL_LIMIT;
	if (at > 0)
		memcpy(pod, alloc->pod, at * sizeof *pod);
	pod[at] = *name;
	if (at < alloc->pods)
		memcpy(pod + at + 1, alloc->pod + at, (alloc->pods - at) * sizeof *pod);
	alloc->pod = pod;
	alloc->pods++;
	return PL_OK;
}

static enum pl_code check_room(const struct alloc *alloc, const struct model *model,
                               const struct node *node, const struct spec *spec,
                               struct pl_err *err)
{
	enum pl_code code = check_gangs(alloc, err);

	if (code == PL_OK)
		code = check_amounts(&alloc->used, model, node, spec, err);
	return code == PL_OK ? check_ports(alloc, model, spec, err) : code;
}

enum pl_code alloc_change_add(struct alloc_change *change, const struct model *model,
                              const struct node *node, const struct alloc_pod *pod,
                              const struct spec *spec, struct pl_err *err)
{
	struct alloc alloc = change->alloc;
	struct alloc_scalar *scalar;
	enum pl_code code = copy_scalars(change, &alloc.used, &scalar);

	for (uint32_t i = 0; code == PL_OK && i < alloc.holds; i++)
		if (is_for(&alloc.hold[i], pod)) {
			code = drop_reservation(change, &alloc, scalar, i);
			break;
		}
	if (code == PL_OK) {
		code = check_room(&alloc, model, node, spec, err);
		if (code != PL_OK)
			return code;
		code = add_amounts(change, model, &alloc.used, scalar, spec);
	}
	if (code == PL_OK)
		code = add_ports(change, model, &alloc, spec);
	if (code == PL_OK)
		code = add_name(change, &alloc, pod);
	if (code != PL_OK)
		return pl_err_set(err, code, "list a pod on its node");
	change->alloc = alloc;
	return PL_OK;
}

enum pl_code alloc_change_print(const struct alloc_change *change, struct pl_span *out,
                                struct pl_err *err)
{
	struct alloc alloc = change->alloc;
	struct pl_span value = {0};
	struct pl_buf buf;
	enum pl_code code;

	alloc.generation += change->edited ? 2 : 1;
	alloc.left += change->edited;
	/* The rest of its bytes is for pods that are marked as leaving. */
	pl_buf_init(&buf, change->edited ? ALLOC_BYTES_MAX
	                                 : ALLOC_BYTES_MAX - ALLOC_LEAVE_BYTES);
	code = alloc_print(&alloc, &buf, err);
	if (code == PL_OK) {
		value = pl_arena_dup(change->arena, pl_buf_span(&buf));
		if (value.at == NULL)
			code = pl_err_set(err, PL_NOMEM, "keep an alloc");
	}
	pl_buf_done(&buf);
	if (code == PL_OK)
		*out = value;
	return code;
}
