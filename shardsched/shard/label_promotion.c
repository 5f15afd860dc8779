/*
 * One pass over the pods that have labels beside their class, before anything is judged.
 * New selectors that ask for such labels are few, so the pass is rare.
 */
#include "shardsched/shard/label_promotion.h"

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/report.h"

static enum pl_code promote_labels(struct sched *sched, struct sched_pod *pod,
                                   struct pl_err *err)
{
	const struct identity_labels identity = {pod->index, pod->identity_keys};
	uint32_t due = identity_due_labels(&sched->model, pod->key[2], &identity);
	const struct spec *promoted;
	enum pl_code code;

	if (due == 0 || pod->spec == NULL)
		return PL_OK;
	pl_arena_reset(&sched->arena);
	code = spec_promote_labels(&sched->model, &sched->arena, pod->spec, pod->key[2],
	                           &identity, due, &promoted, err);
	if (code != PL_OK)
		return code;
	pod_set_identity(sched, pod, pod->index, pod->identity_keys & ~due);
	pod_change_spec(sched, pod, promoted);
	pod_reconcile(sched, pod);
	return PL_OK;
}

bool label_promotion_run(struct sched *sched)
{
	uint64_t named = sched->model.identities.named;
	struct pl_err err = {0};

	if (sched->named == named)
		return true;
	if (sched->promotion_failed)
		return false;
	if (sched->identity_pods > 0)
		PODS_EACH(pod, sched)
		{
			if (promote_labels(sched, pod, &err) != PL_OK) {
				sched->promotion_failed = true;
				report_repair(sched, &err);
				return false;
			}
		}
	sched->named = named;
	return true;
}
