/* Objects that are made when they are asked for, and not stored as they are shown then:
 * explanations, plans, and tokens with their secrets. */
#ifndef COORD_API_VERBS_EXPLANATION_H
#define COORD_API_VERBS_EXPLANATION_H

#include "coord/api/objects/pod_event.h"
#include "coord/api/verbs/request.h"

enum {
	EXPLANATIONS_MAX = 4, /* that are made at once; more get a 429 */
	PLANS_MAX = 2,
	PLAN_REQUEST_PODS_MAX = 5000, /* of one plan */
};

/* GET /apis/placet.io/v1/namespaces/<namespace>/explanations/<pod> */
void request_explain(struct request *request);
/* POST /apis/placet.io/v1/[namespaces/<namespace>/]plans */
void request_plan(struct request *request);

/* POST /apis/placet.io/v1/tokens: the token stands in the answer alone. */
void request_token(struct request *request);

/* Whether of max places, of which so many are taken, the user has all but one: that is for
 * others. abandon: of the requests that have them. */
bool request_has_its_share(struct request *request,
                           void (*abandon)(struct request *request), unsigned taken,
                           unsigned max);

/* Whether the client may also read what the made object would tell of: a resource of the
 * group "". */
bool request_may_read(struct request *request, const char *verb, const char *resource,
                      struct pl_span namespace, struct pl_span name);

/* The object in JSON that was made, as a Table or whole. */
void answer_made(struct request *request, int http_status, struct pl_span json);

#endif
