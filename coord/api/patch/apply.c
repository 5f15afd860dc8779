#include "coord/api/patch/apply.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "coord/api/patch/apply_int.h"

static enum pl_code no_memory(struct pl_err *err)
{
	return pl_err_set(err, PL_NOMEM, "server-side apply: no memory");
}

/* -- the configuration ----------------------------------------------------------------- */

static enum pl_code check_config(struct apply_run *run, struct pl_err *err)
{
	struct pl_json entries = managed_of(run->config);
	const char *version = "", *want = run->options->by.api_version;

	if (pl_json_type(run->config) != PL_JSON_OBJECT)
		return pl_json_fail(run->config, PL_INVALID, err,
		                    "want an object, got %s",
		                    pl_json_type_name(pl_json_type(run->config)));
	if (entries.node != NULL && pl_json_type(entries) != PL_JSON_NULL)
		return pl_err_set(err, PL_INVALID, "metadata.managedFields must be nil");
	if (pl_json_as_string(pl_json_member(run->config, "apiVersion"), &version,
	                      NULL) != PL_OK ||
	    strcmp(version, want) != 0)
		return pl_err_set(err, PL_INVALID,
		                  "Incorrect version specified in apply patch. Specified "
		                  "patch version: %.60s, expected: %s",
		                  version, want);
	return typed_check(&run->maker, run->root, run->config, err);
}

/* -- what the manager gave up ---------------------------------------------------------- */

static struct owned_fields owned_by_all(struct apply_run *run)
{
	struct owned_fields all = {0};

	for (struct managed_entry *entry = run->list.first; entry != NULL;
	     entry = entry->next)
		all = field_set_union(&run->maker, all, managed_set(&run->list, entry));
	return all;
}

static struct owned_fields named_fields(struct apply_run *run, struct json_tree *object)
{
	struct owned_fields fields =
		typed_fields(&run->maker, run->root, json_tree_root(object));

	return typed_named(&run->maker, run->root, fields);
}

/* A copy of the merged object from which fields are taken. */
static bool copy_without(struct apply_run *run, struct owned_fields gone,
                         struct json_tree *out)
{
	struct pl_json merged = json_tree_root(&run->object);

	if (json_tree_copy(run->maker.arena, merged, out) != PL_OK) {
		run->maker.failed = true;
		return false;
	}
	typed_remove(&run->maker, run->root, out->root, gone);
	return !run->maker.failed;
}

/*
 * Removes what the last configuration had, but not
 *   - what any manager owns, this configuration included, and
 *   - what was not the manager's own, below something that it gave up.
 */
static void remove_given_up(struct apply_run *run, struct owned_fields last)
{
	struct field_maker *maker = &run->maker;
	struct json_tree pruned;
	struct owned_fields merged, kept, gone;

	if (field_set_empty(last) || maker->failed)
		return;
	last = typed_named(maker, run->root, last);
	merged = named_fields(run, &run->object);
	if (!copy_without(run, last, &pruned))
		return;
	kept = named_fields(run, &pruned);
	kept = field_set_union(maker, kept,
	                       typed_named(maker, run->root, owned_by_all(run)));
	gone = field_set_minus(maker, merged, kept);
	if (!copy_without(run, gone, &pruned))
		return;
	kept = named_fields(run, &pruned);
	gone = field_set_both(maker, field_set_minus(maker, merged, kept), last);
	typed_remove(maker, run->root, run->object.root, gone);
}

/* -- ownership ------------------------------------------------------------------------- */

/* Takes changed fields from all other managers. With conflicts true nothing is taken, and
 * what would be becomes a conflict unless it is allowed. */
static void take_from_others(struct apply_run *run, const struct managed_entry *mine,
                             struct owned_fields changed, struct owned_fields allowed,
                             bool conflicts)
{
	struct field_maker *maker = &run->maker;

	for (struct managed_entry *entry = run->list.first; entry != NULL;
	     entry = entry->next) {
		struct owned_fields both;

		if (entry == mine)
			continue;
		if (!conflicts) {
			managed_take(&run->list, entry, changed);
			continue;
		}
		both = field_set_both(maker, managed_set(&run->list, entry), changed);
		both = field_set_minus(maker, both, allowed);
		if (!field_set_empty(both))
			apply_add_conflicts(run, entry, both);
	}
}

static enum pl_code change_owners(struct apply_run *run, const struct managed_entry *mine,
                                  bool *same, struct pl_err *err)
{
	struct field_maker *maker = &run->maker;
	struct typed_changes changes =
		typed_compare(maker, run->root, run->live, json_tree_root(&run->object));
	const struct field_writer *by = &run->options->by;
	struct owned_fields changed, removed, allowed = {0};

	changed = field_set_union(maker, changes.modified, changes.added);
	changed = managed_seen(maker, changed, by);
	removed = managed_seen(maker, changes.removed, by);
	*same = run->live.node != NULL && field_set_empty(changed) &&
	        field_set_empty(removed);
	if (!run->options->force) {
		allowed = apply_last_applied(run);
		take_from_others(run, mine, changed, allowed, true);
	}
	if (maker->failed)
		return no_memory(err);
	if (run->out->conflicts != NULL)
		return apply_end_conflicts(run)
		               ? pl_err_set(err, PL_CONFLICT, "%.200s", run->out->message)
		               : no_memory(err);
	take_from_others(run, mine, changed, allowed, false);
	take_from_others(run, mine, removed, allowed, false);
	return PL_OK;
}

/* An object whose fields were not tracked: all that it has is owned by a manager of that
 * name, so that the first to apply does not own it by accident. */
static void own_untracked(struct apply_run *run)
{
	struct field_writer before = run->options->by;
	struct typed_changes changes;

	if (run->list.first != NULL || run->live.node == NULL)
		return;
	before.manager = "before-first-apply";
	changes = typed_compare(&run->maker, run->root, (struct pl_json){0}, run->live);
	managed_record(&run->list, &changes, &before);
}

static enum pl_code apply_fields(struct apply_run *run, struct pl_err *err)
{
	const struct field_writer *by = &run->options->by;
	struct managed_entry *mine = managed_find(&run->list, by, true);
	struct owned_fields last = {0}, own;
	enum pl_code code;
	bool same = false, kept;

	if (mine == NULL)
		mine = managed_add(&run->list, by, true);
	if (mine == NULL)
		return no_memory(err);
	last = managed_set(&run->list, mine);
	own = typed_fields(&run->maker, run->root, run->config);
	/* Removal looks at all that the configuration has; names and kinds are not owned
	 * by anybody, but they are not given up either. */
	own = managed_own(&run->maker, own, by);
	managed_put(mine, own);
	mine->api_version = by->api_version;
	remove_given_up(run, last);
	kept = field_set_equal(last, own);
	code = change_owners(run, mine, &same, err);
	if (code != PL_OK)
		return code;
	if (!same || !kept || mine->time == NULL)
		mine->time = by->time;
	managed_drop_empty(&run->list);
	return PL_OK;
}

/* -- the whole ------------------------------------------------------------------------- */

static enum pl_code merge_config(struct apply_run *run, struct pl_err *err)
{
	if (json_tree_copy(run->maker.arena, run->live, &run->object) != PL_OK)
		return no_memory(err);
	if (run->object.root == NULL)
		json_tree_set_root(&run->object, json_new_object(run->maker.arena));
	if (run->object.root == NULL)
		return no_memory(err);
	typed_merge(&run->maker, run->root, run->object.root, run->config);
	return run->maker.failed ? no_memory(err) : PL_OK;
}

/* The struct fields of the root (spec, status) never go, they get empty. */
static bool keep_roots(struct apply_run *run)
{
	struct pl_arena *arena = run->maker.arena;

	PL_JSON_EACH (item, run->live) {
		const char *name = pl_json_key(item);
		struct schema_slot slot = slot_member(run->root, name, NULL);

		if (slot_form(slot, item) != SLOT_STRUCT ||
		    json_get(run->object.root, name) != NULL)
			continue;
		if (!json_add(arena, run->object.root, name, json_new_object(arena)))
			return false;
	}
	return true;
}

static enum pl_code run_apply(struct apply_run *run, struct pl_err *err)
{
	enum pl_code code = check_config(run, err);

	if (code == PL_OK)
		code = managed_read(&run->list, managed_of(run->live), true, err);
	if (code != PL_OK)
		return code;
	own_untracked(run);
	managed_sort(&run->list);
	code = merge_config(run, err);
	if (code == PL_OK)
		code = apply_fields(run, err);
	if (code != PL_OK)
		return code;
	typed_drop_nulls(run->root, run->object.root);
	if (!keep_roots(run) || !apply_update_annotation(run) ||
	    !managed_store(&run->list, run->object.root))
		return no_memory(err);
	run->out->object = run->object;
	return PL_OK;
}

enum pl_code apply_config(struct pl_arena *arena, struct pl_json live,
                          struct pl_json config, const struct apply_options *options,
                          struct apply_result *out, struct pl_err *err)
{
	struct apply_run run = {
		.options = options,
		.root = slot_root(options->by.type),
		.live = live,
		.config = config,
		.out = out,
	};
	enum pl_code code;

	*out = (struct apply_result){0};
	field_maker_init(&run.maker, arena);
	run.list.maker = &run.maker;
	code = run_apply(&run, err);
	field_maker_done(&run.maker);
	return code;
}
