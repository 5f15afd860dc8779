#include "coord/service/tokens/token_list.h"

#include <stdlib.h>

#include "coord/service/base/key_list.h"
#include "store/base/alloc.h"

enum { ARENA_MAX = 256 << 20 };

struct token_list {
	struct token_list_opts opts;
	struct key_list *keys; /* NULL: done */
	bool listed;           /* the one prefix was asked for */
	struct pl_arena arena;
	struct token_info *token;
	size_t count, cap;
};

static bool grow_tokens(struct token_list *list)
{
	size_t cap = list->cap == 0 ? 64 : list->cap * 2;
	struct token_info *grown = NULL;

	if (list->count < list->cap)
		return true;
	if (list->count < TOKEN_LIST_MAX)
		grown = pl_realloc(list->token, cap * sizeof *grown);
	if (grown == NULL)
		return false;
	list->token = grown;
	list->cap = cap;
	return true;
}

static enum pl_code on_token(void *ctx, const struct kv_record *record,
                             struct pl_err *err)
{
	struct token_list *list = ctx;
	struct pl_err why = {0};
	struct token_info *out;
	struct keys_id id;
	enum pl_code code;

	if (keys_parse(record->key, &id, NULL) != PL_OK || id.kind != KEYS_TOKEN)
		return PL_OK;
	if (!grow_tokens(list))
		return pl_err_set(err, PL_NOMEM, "keep the tokens");
	out = &list->token[list->count];
	*out = (struct token_info){.id = pl_arena_dup(&list->arena, id.name)};
	code = token_record_parse(record->value, &list->arena, &out->record, &why);
	if (code != PL_OK && code != PL_NOMEM)
		out->note = pl_arena_dup(&list->arena, pl_span_str(why.msg));
	if (code == PL_NOMEM || out->id.at == NULL ||
	    (code != PL_OK && out->note.at == NULL))
		return pl_err_set(err, PL_NOMEM, "keep the tokens");
	list->count++;
	return PL_OK;
}

static enum pl_code on_prefix(void *ctx, struct keys_text *out, struct pl_err *err)
{
	const struct keys_id id = {.kind = KEYS_TOKEN};
	struct token_list *list = ctx;

	if (list->listed)
		return PL_NOTFOUND;
	list->listed = true;
	return keys_prefix(&id, 2, out, err);
}

static void on_done(void *ctx, int64_t revision, const struct pl_err *err)
{
	struct token_list *list = ctx;

	(void)revision;
	list->keys = NULL;
	list->opts.done(list->opts.ctx, err);
}

enum pl_code token_list_start(const struct service *service,
                              const struct token_list_opts *opts, struct token_list **out,
                              struct pl_err *err)
{
	struct token_list *list = pl_calloc(1, sizeof *list);
	const struct key_list_opts keys = {
		.prefix = on_prefix, .each = on_token, .done = on_done, .ctx = list};

	if (list == NULL)
		return pl_err_set(err, PL_NOMEM, "list the tokens");
	list->opts = *opts;
	if (key_list_start(service, &keys, &list->keys, err) != PL_OK) {
		free(list);
		return err->code;
	}
	pl_arena_init(&list->arena, 0, ARENA_MAX);
	*out = list;
	return PL_OK;
}

void token_list_cancel(struct token_list *list)
{
	key_list_cancel(list->keys);
}

void token_list_free(struct token_list *list)
{
	if (list == NULL)
		return;
	PL_ASSERT(list->keys == NULL);
	pl_arena_done(&list->arena);
	free(list->token);
	free(list);
}

const struct token_info *token_list_tokens(const struct token_list *list, size_t *count)
{
	*count = list->count;
	return list->token;
}
