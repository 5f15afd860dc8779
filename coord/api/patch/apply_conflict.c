/* Conflicts in Kubernetes' words. */
#include <string.h>

#include "coord/api/patch/apply_int.h"
#include "store/base/json_out.h"

struct conflict_walk {
	struct apply_run *run;
	const char *message;
	struct apply_conflict **end;
};

static void add_conflict(void *context, const char *path)
{
	struct conflict_walk *walk = context;
	struct field_maker *maker = &walk->run->maker;
	struct apply_conflict *conflict =
		pl_arena_zalloc(maker->arena, 1, sizeof *conflict);

	if (conflict != NULL) {
		conflict->message = walk->message;
		conflict->field = pl_arena_printf(maker->arena, "%s", path);
	}
	if (conflict == NULL || conflict->field == NULL) {
		maker->failed = true;
		return;
	}
	*walk->end = conflict;
	walk->end = &conflict->next;
}

static const char *quoted(struct field_maker *maker, const char *text)
{
	struct pl_json_out out;
	struct pl_span copy = {0};

	pl_buf_clear(&maker->text, 4096);
	pl_json_out_init(&out, &maker->text);
	pl_json_out_str(&out, text);
	if (pl_json_out_done(&out) == PL_OK)
		copy = pl_arena_dup(maker->arena, pl_buf_span(&maker->text));
	return (const char *)copy.at;
}

/* The manager as a conflict names it: an updater with its version. */
static const char *describe(struct field_maker *maker, const struct managed_entry *entry)
{
	const char *manager = quoted(maker, entry->manager), *with = "", *sub = "";

	if (entry->subresource[0] != 0) {
		with = " with subresource ";
		sub = quoted(maker, entry->subresource);
	}
	if (manager == NULL || sub == NULL)
		return NULL;
	return pl_arena_printf(maker->arena, "conflict with %s%s%s%s%s", manager, with,
	                       sub, entry->applied ? "" : " using ",
	                       entry->applied ? "" : entry->api_version);
}

void apply_add_conflicts(struct apply_run *run, const struct managed_entry *entry,
                         struct owned_fields fields)
{
	struct conflict_walk walk = {.run = run, .end = &run->out->conflicts};

	walk.message = describe(&run->maker, entry);
	if (walk.message == NULL) {
		run->maker.failed = true;
		return;
	}
	while (*walk.end != NULL)
		walk.end = &(*walk.end)->next;
	field_set_each(&run->maker, fields, add_conflict, &walk);
}

/* The same manager's conflicts stand together, because each entry is added once. */
static enum pl_code write_message(struct pl_buf *buf, const struct apply_conflict *first)
{
	const char *manager = "";
	enum pl_code code;
	size_t count = 0;

	for (const struct apply_conflict *at = first; at != NULL; at = at->next)
		count++;
	if (count == 1)
		return pl_buf_printf(buf, "Apply failed with 1 conflict: %s: %s",
		                     first->message, first->field);
	code = pl_buf_printf(buf, "Apply failed with %zu conflicts:", count);
	for (const struct apply_conflict *at = first; at != NULL && code == PL_OK;
	     at = at->next) {
		if (strcmp(manager, at->message) != 0)
			code = pl_buf_printf(buf,
			                     "%sconflicts%s:", at == first ? " " : "\n",
			                     at->message + strlen("conflict"));
		manager = at->message;
		if (code == PL_OK)
			code = pl_buf_printf(buf, "\n- %s", at->field);
	}
	return code;
}

bool apply_end_conflicts(struct apply_run *run)
{
	struct pl_buf buf;
	struct pl_span copy = {0};

	if (run->maker.failed)
		return false;
	pl_buf_init(&buf, 8 << 20);
	if (write_message(&buf, run->out->conflicts) == PL_OK)
		copy = pl_arena_dup(run->maker.arena, pl_buf_span(&buf));
	pl_buf_done(&buf);
	run->out->message = (const char *)copy.at;
	return copy.at != NULL;
}
