#include "coord/service/pods/pod_gates.h"

#include <string.h>

#include "store/base/json.h"

static const char list_name[] = "schedulingGates";

static bool has_list(struct pl_json pod)
{
	struct pl_json spec = pl_json_member(pod, "spec");

	return pl_json_first(pl_json_member(spec, list_name)).node != NULL;
}

bool pod_has_gates(struct pl_span spec)
{
	struct pl_arena arena;
	struct pl_json pod;
	bool stand;

	if (spec.len == 0 ||
	    memmem(spec.at, spec.len, list_name, sizeof list_name - 1) == NULL)
		return false;
	pl_arena_init(&arena, 0, 0);
	stand = pl_json_parse(&arena, spec, NULL, &pod, NULL) == PL_OK && has_list(pod);
	pl_arena_done(&arena);
	return stand;
}
