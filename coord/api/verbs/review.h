/*
 * Reviews: questions about who a client is and what it may, of authentication.k8s.io and
 * authorization.k8s.io. Each is answered at once, and nothing is stored.
 *
 *	SelfSubjectReview          kubectl auth whoami
 *	SelfSubjectAccessReview    kubectl auth can-i
 *	SelfSubjectRulesReview     kubectl auth can-i --list
 *	SubjectAccessReview, LocalSubjectAccessReview, TokenReview
 *
 * Invariant: an answer says what a request would meet. A namespace that is given for objects
 * of the cluster's scope says nothing, and rules that a namespaced binding does not give are
 * not listed.
 */
#ifndef COORD_API_VERBS_REVIEW_H
#define COORD_API_VERBS_REVIEW_H

#include "coord/api/verbs/request.h"

bool review_is_one(const struct schema_resource *resource);
void request_review(struct request *request);

/* review_rules.c: the rules of the request's client in the namespace, as the status of a
 * SelfSubjectRulesReview. */
void review_write_rules(struct request *request, struct pl_span namespace,
                        struct pl_json_out *out);

#endif
