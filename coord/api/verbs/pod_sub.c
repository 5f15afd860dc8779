/* Bindings and evictions of pods. */
#include "coord/api/verbs/change.h"

void request_bind(struct request *request)
{
	struct api_status status = status_no_such_method();

	answer_status(request, &status);
}

void request_evict(struct request *request)
{
	struct api_status status = status_no_such_method();

	answer_status(request, &status);
}

void commit_pod_edit(struct change *change)
{
	struct api_status status = status_no_such_method();

	answer_status(change->request, &status);
}
