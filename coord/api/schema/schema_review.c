/* The schema of authentication.k8s.io and authorization.k8s.io: questions that are asked by a
 * POST and answered in the status; none is stored. */
#include "coord/api/schema/schema_table.h"

#define AUTHENTICATION_V1 "io.k8s.api.authentication.v1."
#define AUTHORIZATION_V1 "io.k8s.api.authorization.v1."

FIELDS(authentication_user_info) = {
	STR(1, "username", DOC("Name of the user.")),
	STR(2, "uid", DOC("An id of the user that is never used again.")),
	STRS(3, "groups", DOC("The user's groups.")),
	ANY_OBJECT(4, "extra", DOC("What the credential says besides.")),
	END,
};
TYPE(authentication_user_info, AUTHENTICATION_V1 "UserInfo",
     "Name and groups of a user.");

FIELDS(authentication_token_review) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, authentication_token_review_spec, "spec", IS(REQUIRED),
            DOC("The token in question.")),
	OBJ(3, authentication_token_review_status, "status", IS(STATUS),
            DOC("Whose it is.")),
	END,
};
TYPE(authentication_token_review, AUTHENTICATION_V1 "TokenReview", "Whose a token is.");

FIELDS(authentication_token_review_spec) = {
	STR(1, "token", DOC("The token.")),
	STRS(2, "audiences", DOC("Not looked at: tokens are for this server.")),
	END,
};
TYPE(authentication_token_review_spec, AUTHENTICATION_V1 "TokenReviewSpec",
     "The token in question.");

FIELDS(authentication_token_review_status) = {
	BOOL(1, "authenticated", DOC("Whether the token is good.")),
	OBJ(2, authentication_user_info, "user", DOC("Whose the token is.")),
	STR(3, "error", DOC("That the token is not good.")),
	STRS(4, "audiences"),
	END,
};
TYPE(authentication_token_review_status, AUTHENTICATION_V1 "TokenReviewStatus",
     "Whose a token is, if it is good.");

FIELDS(authentication_self_subject_review) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, authentication_self_subject_review_status, "status", IS(STATUS),
            DOC("Who asks.")),
	END,
};
TYPE(authentication_self_subject_review, AUTHENTICATION_V1 "SelfSubjectReview",
     "Who the client is that asks.");

FIELDS(authentication_self_subject_review_status) = {
	OBJ(1, authentication_user_info, "userInfo", DOC("Who asks.")),
	END,
};
TYPE(authentication_self_subject_review_status,
     AUTHENTICATION_V1 "SelfSubjectReviewStatus", "Who the client is that asks.");

FIELDS(authorization_resource_attributes) = {
	STR(1, "namespace", DOC("The namespace; empty: all, or the cluster's scope.")),
	STR(2, "verb", DOC("get, list, watch, create, ...")),
	STR(3, "group", DOC("The API's group; empty: core.")),
	STR(4, "version"),
	STR(5, "resource", DOC("The resource, in the plural.")),
	STR(6, "subresource"),
	STR(7, "name", DOC("Name of the object; empty: any.")),
	END,
};
TYPE(authorization_resource_attributes, AUTHORIZATION_V1 "ResourceAttributes",
     "A request about objects.");

FIELDS(authorization_non_resource_attributes) = {
	STR(1, "path", DOC("The path.")),
	STR(2, "verb", DOC("The method, in lower case.")),
	END,
};
TYPE(authorization_non_resource_attributes, AUTHORIZATION_V1 "NonResourceAttributes",
     "A request for a path that is no object.");

FIELDS(authorization_self_subject_access_review) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, authorization_self_subject_access_review_spec, "spec", IS(REQUIRED),
            DOC("The request in question.")),
	OBJ(3, authorization_subject_access_review_status, "status", IS(STATUS),
            DOC("Whether the client may.")),
	END,
};
TYPE(authorization_self_subject_access_review, AUTHORIZATION_V1 "SelfSubjectAccessReview",
     "Whether the client that asks may do something.");

FIELDS(authorization_self_subject_access_review_spec) = {
	OBJ(1, authorization_resource_attributes, "resourceAttributes"),
	OBJ(2, authorization_non_resource_attributes, "nonResourceAttributes"),
	END,
};
TYPE(authorization_self_subject_access_review_spec,
     AUTHORIZATION_V1 "SelfSubjectAccessReviewSpec",
     "The request in question, one of both kinds.");

FIELDS(authorization_subject_access_review) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, authorization_subject_access_review_spec, "spec", IS(REQUIRED),
            DOC("The user and the request in question.")),
	OBJ(3, authorization_subject_access_review_status, "status", IS(STATUS),
            DOC("Whether the user may.")),
	END,
};
TYPE(authorization_subject_access_review, AUTHORIZATION_V1 "SubjectAccessReview",
     "Whether a user may do something.");

FIELDS(authorization_local_subject_access_review) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, authorization_subject_access_review_spec, "spec", IS(REQUIRED),
            DOC("The user and the request in question.")),
	OBJ(3, authorization_subject_access_review_status, "status", IS(STATUS),
            DOC("Whether the user may.")),
	END,
};
TYPE(authorization_local_subject_access_review,
     AUTHORIZATION_V1 "LocalSubjectAccessReview",
     "Whether a user may do something in a namespace.");

FIELDS(authorization_subject_access_review_spec) = {
	OBJ(1, authorization_resource_attributes, "resourceAttributes"),
	OBJ(2, authorization_non_resource_attributes, "nonResourceAttributes"),
	STR(3, "user", DOC("Name of the user.")),
	STRS(4, "groups", DOC("The user's groups.")),
	ANY_OBJECT(5, "extra"),
	STR(6, "uid"),
	END,
};
TYPE(authorization_subject_access_review_spec, AUTHORIZATION_V1 "SubjectAccessReviewSpec",
     "The user and the request in question, one of both kinds.");

FIELDS(authorization_subject_access_review_status) = {
	BOOL(1, "allowed", IS(REQUIRED | MAY_LACK), DOC("Whether it is allowed.")),
	STR(2, "reason", DOC("Why it is allowed.")),
	STR(3, "evaluationError"),
	BOOL(4, "denied"),
	END,
};
TYPE(authorization_subject_access_review_status,
     AUTHORIZATION_V1 "SubjectAccessReviewStatus", "Whether something is allowed.");

FIELDS(authorization_self_subject_rules_review) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, authorization_self_subject_rules_review_spec, "spec", IS(REQUIRED),
            DOC("The namespace in question.")),
	OBJ(3, authorization_subject_rules_review_status, "status", IS(STATUS),
            DOC("The rules.")),
	END,
};
TYPE(authorization_self_subject_rules_review, AUTHORIZATION_V1 "SelfSubjectRulesReview",
     "What the client that asks may do in a namespace.");

FIELDS(authorization_self_subject_rules_review_spec) = {
	STR(1, "namespace", DOC("The namespace in question.")),
	END,
};
TYPE(authorization_self_subject_rules_review_spec,
     AUTHORIZATION_V1 "SelfSubjectRulesReviewSpec", "The namespace in question.");

FIELDS(authorization_subject_rules_review_status) = {
	OBJS(1, authorization_resource_rule, "resourceRules", IS(REQUIRED | MAY_LACK)),
	OBJS(2, authorization_non_resource_rule, "nonResourceRules",
             IS(REQUIRED | MAY_LACK)),
	BOOL(3, "incomplete", IS(REQUIRED | MAY_LACK),
             DOC("True: some rights can not be told so.")),
	STR(4, "evaluationError"),
	END,
};
TYPE(authorization_subject_rules_review_status,
     AUTHORIZATION_V1 "SubjectRulesReviewStatus", "What a user may do in a namespace.");

FIELDS(authorization_resource_rule) = {
	STRS(1, "verbs", IS(REQUIRED | MAY_LACK)),
	STRS(2, "apiGroups"),
	STRS(3, "resources"),
	STRS(4, "resourceNames"),
	END,
};
TYPE(authorization_resource_rule, AUTHORIZATION_V1 "ResourceRule",
     "Verbs on resources of groups.");

FIELDS(authorization_non_resource_rule) = {
	STRS(1, "verbs", IS(REQUIRED | MAY_LACK)),
	STRS(2, "nonResourceURLs"),
	END,
};
TYPE(authorization_non_resource_rule, AUTHORIZATION_V1 "NonResourceRule",
     "Methods on paths.");
