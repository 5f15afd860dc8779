#include "coord/api/verbs/request_turns.h"

static void set_next(struct request_turns *turns)
{
	if (!pl_timer_is_set(&turns->next))
		pl_timer_set(&turns->next, turns->now_ms(turns->ctx));
}

static void on_next(void *ctx)
{
	struct request_turns *turns = ctx;

	turns->begun = 0;
	while (turns->begun < REQUEST_TURN_WRITES && !pl_list_empty(&turns->waiting)) {
		struct pl_list *link = turns->waiting.next;

		turns->begun++;
		pl_list_del(link);
		turns->begin(link);
	}
	if (turns->begun > 0)
		set_next(turns);
}

enum pl_code request_turns_open(struct request_turns *turns, struct pl_timers *timers,
                                void (*begin)(struct pl_list *link),
                                uint64_t (*now_ms)(void *ctx), void *ctx)
{
	*turns = (struct request_turns){.begin = begin, .now_ms = now_ms, .ctx = ctx};
	pl_list_init(&turns->waiting);
	return pl_timer_init(&turns->next, timers, on_next, turns);
}

void request_turns_close(struct request_turns *turns)
{
	pl_timer_done(&turns->next);
}

bool request_turns_may(struct request_turns *turns, struct pl_list *link)
{
	set_next(turns);
	if (turns->begun < REQUEST_TURN_WRITES && pl_list_empty(&turns->waiting)) {
		turns->begun++;
		return true;
	}
	pl_list_add_tail(&turns->waiting, link);
	return false;
}
