/* The message of an Invalid: all causes in one sentence, each once. */
#include "coord/api/base/go_quote.h"
#include "coord/api/reply/status.h"

static bool same_sentence(const struct status_cause *a, const struct status_cause *b)
{
	return pl_span_eq(a->field, b->field) && pl_span_eq(a->message, b->message);
}

/* Whether an earlier cause says the same. A cause list is short (at most some dozens). */
static bool said_before(const struct status_cause *causes, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++)
		if (same_sentence(&causes[i], &causes[at]))
			return true;
	return false;
}

struct sentence_list {
	char *at; /* NULL: only measured */
	size_t len;
	uint32_t count;
};

static void add_text(struct sentence_list *list, struct pl_span text)
{
	if (list->at != NULL && text.len > 0)
		memcpy(list->at + list->len, text.at, text.len);
	list->len += text.len;
}

static void add_causes(struct sentence_list *list, const struct status_cause *causes,
                       uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (said_before(causes, i))
			continue;
		if (list->count++ > 0)
			add_text(list, PL_SPAN_LIT(", "));
		add_text(list, causes[i].field);
		add_text(list, PL_SPAN_LIT(": "));
		add_text(list, causes[i].message);
	}
}

/* "a: x", or "[a: x, b: y]". NULL: no memory. */
static const char *join_causes(struct pl_arena *arena, const struct status_cause *causes,
                               uint32_t count)
{
	struct sentence_list list = {.at = NULL};
	bool several;

	add_causes(&list, causes, count);
	several = list.count > 1;
	list = (struct sentence_list){.at = pl_arena_alloc(arena, list.len + 3)};
	if (list.at == NULL)
		return NULL;
	if (several)
		add_text(&list, PL_SPAN_LIT("["));
	add_causes(&list, causes, count);
	if (several)
		add_text(&list, PL_SPAN_LIT("]"));
	list.at[list.len] = 0;
	return list.at;
}

/* NULL: no memory. */
static const char *invalid_message(struct pl_arena *arena, struct status_about about,
                                   const char *joined)
{
	const char *name = go_quote(arena, about.name);
	bool core = about.group[0] == 0, any = joined != NULL && joined[0] != 0;

	if (name == NULL || joined == NULL)
		return NULL;
	return pl_arena_printf(arena, "%s%s%s %s is invalid%s%s", about.resource,
	                       core ? "" : ".", about.group, name, any ? ": " : "",
	                       joined);
}

struct api_status status_invalid(struct pl_arena *arena, struct status_about about,
                                 const struct status_cause *causes, uint32_t count)
{
	const char *joined = count == 0 ? "" : join_causes(arena, causes, count);
	const char *message = invalid_message(arena, about, joined);

	if (message == NULL)
		return status_internal(arena, PL_SPAN_LIT("out of memory"));
	return (struct api_status){.code = 422,
	                           .reason = "Invalid",
	                           .message = pl_span_str(message),
	                           .has_details = true,
	                           .about = about,
	                           .causes = causes,
	                           .cause_count = count};
}
