#include "tests/sim/agenda.h"

static bool item_before(const struct pl_heap_node *a, const struct pl_heap_node *b)
{
	const struct agenda_item *x = PL_CONTAINER_OF_CONST(a, struct agenda_item, node);
	const struct agenda_item *y = PL_CONTAINER_OF_CONST(b, struct agenda_item, node);

	if (x->at_ms != y->at_ms)
		return x->at_ms < y->at_ms;
	return x->tie != y->tie ? x->tie < y->tie : x->seq < y->seq;
}

void agenda_init(struct agenda *agenda, uint64_t seed)
{
	*agenda = (struct agenda){0};
	pl_heap_init(&agenda->heap, item_before);
	pl_rng_init(&agenda->rng, seed);
}

void agenda_done(struct agenda *agenda)
{
	pl_heap_done(&agenda->heap);
}

void agenda_item_init(struct agenda_item *item, agenda_fn *fn, void *ctx)
{
	*item = (struct agenda_item){.fn = fn, .ctx = ctx};
	pl_list_init(&item->parked);
}

void agenda_stop(struct agenda *agenda, struct agenda_item *item)
{
	pl_list_del(&item->parked);
	if (pl_heap_has(&item->node))
		pl_heap_del(&agenda->heap, &item->node);
}

void agenda_set(struct agenda *agenda, struct agenda_item *item, uint64_t at_ms)
{
	enum pl_code code;

	agenda_stop(agenda, item);
	item->at_ms = at_ms < agenda->now_ms ? agenda->now_ms : at_ms;
	item->tie = pl_rng_next(&agenda->rng);
	item->seq = agenda->seq++;
	code = pl_heap_add(&agenda->heap, &item->node);
	PL_ASSERT(code == PL_OK);
}

uint64_t agenda_next_ms(const struct agenda *agenda)
{
	const struct pl_heap_node *top = pl_heap_top(&agenda->heap);

	return top == NULL ? UINT64_MAX
	                   : PL_CONTAINER_OF_CONST(top, struct agenda_item, node)->at_ms;
}

void agenda_mix(struct agenda *agenda, uint64_t value)
{
	agenda->digest = (agenda->digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	agenda->digest ^= agenda->digest >> 29;
}

void agenda_advance(struct agenda *agenda, uint64_t now_ms)
{
	PL_ASSERT(agenda_next_ms(agenda) >= now_ms);
	if (agenda->now_ms < now_ms)
		agenda->now_ms = now_ms;
}

bool agenda_step(struct agenda *agenda, uint64_t until_ms)
{
	struct agenda_item *item;

	if (agenda_next_ms(agenda) > until_ms)
		return false;
	item = PL_CONTAINER_OF(pl_heap_top(&agenda->heap), struct agenda_item, node);
	pl_heap_del(&agenda->heap, &item->node);
	PL_ASSERT(item->at_ms >= agenda->now_ms);
	agenda->now_ms = item->at_ms;
	agenda->done++;
	agenda_mix(agenda, item->at_ms << 20 ^ item->seq);
	item->fn(item->ctx);
	return true;
}
