#include <stdlib.h>

#include "coord/cli/eval/eval_writer.h"

static const char *victim_name(struct verdict_writer *t, uint32_t placed)
{
	const struct placed_pod *pod = &t->snapshot->placed[placed];
	struct pl_span namespace = writer_text(t, pod->view->spec->namespace);
	const char *name = pl_arena_printf(t->arena, "%.*s/%.*s", PL_SPAN_ARG(namespace),
	                                   PL_SPAN_ARG(writer_text(t, pod->name)));

	if (name == NULL)
		t->code = PL_NOMEM;
	return name == NULL ? "" : name;
}

static void put_victims(struct verdict_writer *t, const uint32_t *victim, uint32_t count,
                        bool sorted)
{
	const char **name = pl_arena_zalloc(t->arena, count + 1, sizeof *name);

	if (name == NULL) {
		t->code = PL_NOMEM;
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		name[i] = victim_name(t, victim[i]);
	if (sorted)
		qsort(name, count, sizeof *name, writer_by_text);
	pl_json_out_name(&t->out, "victims");
	pl_json_out_array(&t->out);
	for (uint32_t i = 0; i < count; i++)
		pl_json_out_str(&t->out, name[i]);
	writer_end(t);
}

static const struct preempt_candidate *candidate_of(const struct preempt_outcome *preempt,
                                                    uint32_t slot)
{
	for (uint32_t i = 0; i < preempt->candidates; i++)
		if (preempt->candidate[i].node == slot)
			return &preempt->candidate[i];
	return NULL;
}

static bool is_tied(const struct preempt_outcome *preempt,
                    const struct preempt_candidate *candidate)
{
	for (uint32_t i = 0; i < preempt->tied_count; i++)
		if (&preempt->candidate[preempt->tied[i]] == candidate)
			return true;
	return false;
}

static void put_candidates(struct verdict_writer *t,
                           const struct preempt_outcome *preempt)
{
	writer_begin(t, "candidates");
	for (uint32_t i = 0; i < t->nodes; i++) {
		const struct preempt_candidate *it = candidate_of(preempt, t->slot[i]);

		if (it == NULL)
			continue;
		pl_json_out_name_span(&t->out, writer_node(t, t->slot[i]));
		pl_json_out_object(&t->out);
		if (it->violations != 0) {
			pl_json_out_name(&t->out, "pdbViolations");
			pl_json_out_int(&t->out, it->violations);
		}
		put_victims(t, preempt->all_victims + it->first, it->count, false);
		writer_end(t);
	}
	writer_end(t);
}

static void put_nominated(struct verdict_writer *t, const struct preempt_outcome *preempt)
{
	if (preempt->tied_count == 1) {
		pl_json_out_name(&t->out, "nominatedNode");
		pl_json_out_string(&t->out, writer_node(t, preempt->node));
	}
	pl_json_out_name(&t->out, "nominatedOneOf");
	pl_json_out_array(&t->out);
	for (uint32_t i = 0; i < t->nodes; i++)
		if (is_tied(preempt, candidate_of(preempt, t->slot[i])))
			pl_json_out_string(&t->out, writer_node(t, t->slot[i]));
	writer_end(t);
	if (preempt->tied_count == 1)
		put_victims(t, preempt->victim, preempt->victims, true);
}

void writer_put_post_filter(struct verdict_writer *t)
{
	const struct preempt_outcome *preempt = &t->decision->preempt;

	writer_begin(t, "postFilter");
	if (preempt->code == VERDICT_SUCCESS)
		put_candidates(t, preempt);
	writer_put_text(t, "code", verdict_word(preempt->code));
	if (preempt->code == VERDICT_SUCCESS)
		put_nominated(t, preempt);
	writer_end(t);
}
