/*
 * Promotes labels that stand beside a pod's class (identity.h) into the class, once a
 * selector asks for them. This happens before any judgement, for all pods at once: such
 * selectors are few.
 */
#include "shardsched/engine/engine_int.h"

enum { ARENA_CHUNK = 4 << 10 };

enum pl_code engine_pod_promote_labels(struct engine *engine, struct pod *pod,
                                       struct pl_err *err)
{
	struct pl_arena arena;
	enum pl_code code;

	pl_arena_init(&arena, ARENA_CHUNK, 0);
	code = pod_promote_labels(&engine->model, &arena, pod, err);
	pl_arena_done(&arena);
	return code;
}

/* The pod stays in its place, as a pod of its new class. */
static enum pl_code move_to_class(struct engine *engine, struct engine_pod *entry,
                                  struct pl_err *err)
{
	const struct snapshot *snapshot = &engine->snapshot;
	struct engine_pod old = *entry;
	enum pl_code code = PL_OK;

	if (old.place == ENGINE_PLACED)
		code = engine_pod_place(engine, entry, snapshot->placed[old.number].node,
		                        err);
	else if (old.place == ENGINE_NOMINATED)
		code = engine_pod_place(engine, entry,
		                        snapshot->nomination[old.number].node, err);
	if (code != PL_OK)
		return code;
	if (old.place == ENGINE_PLACED)
		snapshot_pod_remove(&engine->snapshot, old.number);
	else if (old.place == ENGINE_NOMINATED)
		snapshot_nominate_end(&engine->snapshot, old.number);
	return PL_OK;
}

static enum pl_code promote_pod(struct engine *engine, struct pl_arena *arena,
                                struct engine_pod *entry, struct pl_err *err)
{
	const struct identity_labels identity = pod_identity(&entry->pod);
	struct pod was, is;
	enum pl_code code;

	if (identity_due_labels(&engine->model, entry->pod.name, &identity) == 0)
		return PL_OK;
	pl_arena_reset(arena);
	is = pod_copy(&engine->model, &entry->pod);
	code = pod_promote_labels(&engine->model, arena, &is, err);
	was = entry->pod;
	if (code == PL_OK) {
		entry->pod = is;
		code = move_to_class(engine, entry, err);
		entry->pod = was;
	}
	if (code == PL_OK)
		engine_pod_set(engine, entry, &is);
	pod_drop(&engine->model, code == PL_OK ? &was : &is);
	return code;
}

enum pl_code engine_pods_promote_labels(struct engine *engine, struct pl_err *err)
{
	uint64_t named = engine->model.identities.named;
	enum pl_code code = PL_OK;
	struct pl_arena arena;

	if (engine->named == named)
		return PL_OK;
	pl_arena_init(&arena, ARENA_CHUNK, 0);
	if (engine->identity_pods > 0)
		PL_MAP_EACH (node, &engine->pods) {
			struct engine_pod *entry =
				PL_CONTAINER_OF(node, struct engine_pod, by_name);

			code = promote_pod(engine, &arena, entry, err);
			if (code != PL_OK)
				break;
		}
	if (code == PL_OK)
		engine->named = named;
	pl_arena_done(&arena);
	return code;
}
