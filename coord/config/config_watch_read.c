#include <inttypes.h>
#include <stdlib.h>

#include "coord/config/config_watch_int.h"
#include "store/base/alloc.h"
#include "store/kv/calls.h"

enum { READ_TIMEOUT_MS = 10000 };

/* The arena that the applied value does not use, emptied. */
static struct pl_arena *candidate_arena(struct config_slot *slot)
{
	struct pl_arena *arena = &slot->arena[1 - slot->live];

	pl_arena_reset(arena);
	return arena;
}

enum config_body watch_body_look(struct config_watch *w, enum config_name name,
                                 uint64_t version, struct pl_span json)
{
	struct config_slot *slot = &w->slot[name];

	switch (config_record_value(name, version, json, candidate_arena(slot),
	                            &slot->candidate, &slot->why)) {
	case PL_OK:
		return CONFIG_VALID;
	case PL_NOMEM:
		return CONFIG_UNSEEN;
	default:
		return CONFIG_INVALID;
	}
}

enum config_body watch_body_absent(struct config_watch *w, enum config_name name,
                                   uint64_t version)
{
	(void)pl_err_set(&w->slot[name].why, PL_NOTFOUND,
	                 "version %" PRIu64 ": is not there", version);
	return CONFIG_ABSENT;
}

static struct config_body_read *read_end(struct config_body_read *read)
{
	struct config_watch *w = read->owner;

	if (w->slot[read->name].read == read)
		w->slot[read->name].read = NULL;
	pl_list_del(&read->link);
	return read;
}

static void on_read(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct config_body_read *read = read_end(ctx);
	struct config_watch *w = read->owner;
	struct config_event event = {.type = CONFIG_EV_READ_FAILED,
	                             .name = read->name,
	                             .version = read->version};
	bool dropped = read->dropped;

	free(read);
	if (watch_has_ended(w)) {
		watch_finish(w);
		return;
	}
	if (dropped)
		return;
	if (err == NULL && result->get.count == 0) {
		event.body = watch_body_absent(w, event.name, event.version);
		event.revision = result->header.revision;
	} else if (err == NULL) {
		event.body = watch_body_look(w, event.name, event.version,
		                             result->get.records[0].value);
		event.revision = result->get.records[0].mod_revision;
	}
	if (event.body != CONFIG_UNSEEN)
		event.type = CONFIG_EV_READ;
	else
		w->slot[event.name].failure =
			err != NULL ? *err : w->slot[event.name].why;
	watch_feed(w, event);
	watch_rearm(w);
}

void watch_read(struct config_watch *w, enum config_name name, uint64_t version)
{
	struct config_slot *slot = &w->slot[name];
	struct config_body_read *read = pl_calloc(1, sizeof *read);
	struct keys_text key;

	PL_ASSERT(slot->read == NULL);
	(void)pl_err_set(&slot->failure, PL_NOMEM, "read a version");
	config_version_key(name, version, &key);
	if (read == NULL ||
	    kv_get(w->kv, &(struct kv_get){.keys = kv_key(keys_span(&key))},
	           READ_TIMEOUT_MS, on_read, read, &read->call,
	           &slot->failure) != PL_OK) {
		free(read);
		slot->read_failed = true;
		return;
	}
	read->owner = w;
	read->name = name;
	read->version = version;
	pl_list_add_tail(&w->reads, &read->link);
	slot->read = read;
}

void watch_unread(struct config_watch *w, enum config_name name)
{
	struct config_body_read *read = PL_STEAL(w->slot[name].read);

	w->slot[name].read_failed = false;
	if (read == NULL)
		return;
	read->dropped = true;
	kv_cancel(w->kv, read->call);
}
