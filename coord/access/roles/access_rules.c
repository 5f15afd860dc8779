#include "coord/access/roles/access_rules.h"

#define READ "get list watch"
#define WRITE "create update patch delete deletecollection"

#define WORKLOADS                                                                   \
	"configmaps events persistentvolumeclaims pods pods/eviction podtemplates " \
	"replicationcontrollers replicationcontrollers/scale serviceaccounts services"

/* NOLINTBEGIN(bugprone-macro-parentheses): fields of an initialiser */
/* The resources, and what else there is to say. */
#define GIVE(verbs_, groups_, ...)                                           \
	{                                                                    \
		.verbs = verbs_, .groups = groups_, .resources = __VA_ARGS__ \
	}
#define GIVE_PATHS(verbs_, paths_)               \
	{                                        \
		.verbs = verbs_, .paths = paths_ \
	}
#define END                   \
	{                     \
		.verbs = NULL \
	}
/* NOLINTEND(bugprone-macro-parentheses) */

static const struct access_rule basic_rules[] = {
	GIVE_PATHS("get", "/ /api /api/* /apis /apis/* /openapi /openapi/* /version "
                          "/version/ /healthz /healthz/* /livez /livez/* /readyz "
                          "/readyz/*"),
	GIVE("create", "authorization.k8s.io",
             "selfsubjectaccessreviews selfsubjectrulesreviews"),
	GIVE("create", "authentication.k8s.io", "selfsubjectreviews"),
	END,
};

static const struct access_rule viewer_rules[] = {
	GIVE(READ, "*", "* */status */scale pods/log", .except = "tokens.placet.io"),
	END,
};

/* Not bindings: where a pod goes is Placet's to say. Not status: that is for what runs the
 * object. */
static const struct access_rule editor_rules[] = {
	GIVE(WRITE, "core", WORKLOADS),
	GIVE(WRITE, "apps",
             "daemonsets deployments deployments/scale replicasets replicasets/scale "
             "statefulsets statefulsets/scale"),
	GIVE(WRITE, "batch", "cronjobs jobs"),
	GIVE(WRITE, "coordination.k8s.io", "leases"),
	GIVE(WRITE, "events.k8s.io", "events"),
	GIVE(WRITE, "policy", "poddisruptionbudgets"),
	GIVE("create", "placet.io", "plans"),
	END,
};

/* Groups and configurations by name, so that what is added some day is the admin's until
 * a rule gives it. */
static const struct access_rule operator_rules[] = {
	GIVE(WRITE,
             "core apps batch coordination.k8s.io events.k8s.io policy storage.k8s.io "
             "scheduling.k8s.io",
             "* */status */scale */eviction */binding */finalize"),
	GIVE(WRITE, "placet.io", "clusters gangs partitions plans shards"),
	GIVE("update patch", "placet.io", "configs",
             .only = "coord scheduler shards weights"),
	GIVE("create", "authorization.k8s.io",
             "subjectaccessreviews localsubjectaccessreviews"),
	GIVE_PATHS("get put", "/metrics /configz /statusz /debug /debug/*"),
	END,
};

static const struct access_rule admin_rules[] = {
	GIVE("*", "*", "*"),
	GIVE_PATHS("*", "*"),
	END,
};

/* Only for objects of the connector's clusters, each by its name: access_decide.c. */
static const struct access_rule connector_rules[] = {
	GIVE("get", "core", "nodes nodes/status pods pods/status"),
	GIVE("update patch", "core", "nodes/status pods/status"),
	GIVE("create", "core", "pods/binding"),
	END,
};

static const struct access_role_def {
	const char *name;
	const struct access_rule *rules;
	enum access_role includes;
} roles[ACCESS_ROLE_COUNT] = {
	[ACCESS_VIEWER] = {"viewer", viewer_rules, ACCESS_ROLE_COUNT},
	[ACCESS_EDITOR] = {"editor", editor_rules, ACCESS_VIEWER},
	[ACCESS_OPERATOR] = {"operator", operator_rules, ACCESS_EDITOR},
	[ACCESS_ADMIN] = {"admin", admin_rules, ACCESS_ROLE_COUNT},
	[ACCESS_CONNECTOR] = {"connector", connector_rules, ACCESS_ROLE_COUNT},
};

const char *access_role_text(enum access_role role)
{
	return roles[role].name;
}

bool access_role_parse(struct pl_span text, enum access_role *out)
{
	for (unsigned i = 0; i < ACCESS_ROLE_COUNT; i++) {
		if (pl_span_eq(text, pl_span_str(roles[i].name))) {
			*out = (enum access_role)i;
			return true;
		}
	}
	return false;
}

const struct access_rule *access_role_rules(enum access_role role)
{
	return roles[role].rules;
}

enum access_role access_role_includes(enum access_role role)
{
	return roles[role].includes;
}

const struct access_rule *access_basic_rules(void)
{
	return basic_rules;
}

/* -- words ------------------------------------------------------------------------------ */

struct pl_span access_word_next(const char **words)
{
	const char *from = *words + strspn(*words, " ");
	size_t len = strcspn(from, " ");

	*words = from + len;
	return pl_span(from, len);
}

static bool word_is(struct pl_span word, const char *text)
{
	return pl_span_eq(word, pl_span_str(text));
}

/* Whether one of the words is the text, or "*". */
static bool words_have(const char *words, struct pl_span text)
{
	struct pl_span word;

	while ((word = access_word_next(&words)).len > 0)
		if (word_is(word, "*") || pl_span_eq(word, text))
			return true;
	return false;
}

static bool groups_have(const char *words, struct pl_span group)
{
	return words_have(words, group.len == 0 ? PL_SPAN_LIT("core") : group);
}

/* "pods", "pods/eviction", "*" or star-slash-status. */
static bool resource_matches(struct pl_span word, const struct access_attributes *asked)
{
	const uint8_t *slash = memchr(word.at, '/', word.len);
	size_t len = slash == NULL ? word.len : (size_t)(slash - word.at);
	struct pl_span resource = pl_span(word.at, len), sub = {0};

	if (slash != NULL)
		sub = pl_span(slash + 1, word.len - len - 1);
	return pl_span_eq(sub, asked->subresource) &&
	       (word_is(resource, "*") || pl_span_eq(resource, asked->resource));
}

static bool resources_have(const char *words, const struct access_attributes *asked)
{
	struct pl_span word;

	while ((word = access_word_next(&words)).len > 0)
		if (resource_matches(word, asked))
			return true;
	return false;
}

/* "tokens.placet.io". */
static bool is_excepted(const char *words, const struct access_attributes *asked)
{
	struct pl_span word;

	while (words != NULL && (word = access_word_next(&words)).len > 0) {
		size_t len = asked->resource.len;

		if (word.len == len + 1 + asked->group.len && word.at[len] == '.' &&
		    pl_span_starts(word, asked->resource) &&
		    pl_span_eq(pl_span(word.at + len + 1, word.len - len - 1),
		               asked->group))
			return true;
	}
	return false;
}

/* "/api/" with a star behind it is every path that begins so. */
static bool paths_have(const char *words, struct pl_span path)
{
	struct pl_span word;

	while ((word = access_word_next(&words)).len > 0) {
		if (word.at[word.len - 1] == '*'
		            ? pl_span_starts(path, pl_span(word.at, word.len - 1))
		            : pl_span_eq(path, word))
			return true;
	}
	return false;
}

static bool name_is_given(const struct access_rule *rule, struct pl_span name)
{
	return rule->only == NULL || (name.len > 0 && words_have(rule->only, name));
}

/* Admin's "*" is every subresource, too. */
static bool is_everything(const struct access_rule *rule)
{
	return word_is(pl_span_str(rule->verbs), "*") &&
	       word_is(pl_span_str(rule->resources), "*") &&
	       word_is(pl_span_str(rule->groups), "*");
}

bool access_rule_gives(const struct access_rule *rule,
                       const struct access_attributes *asked)
{
	if (!words_have(rule->verbs, asked->verb) ||
	    asked->is_resource != (rule->paths == NULL))
		return false;
	if (!asked->is_resource)
		return paths_have(rule->paths, asked->path);
	if (is_everything(rule))
		return true;
	return groups_have(rule->groups, asked->group) &&
	       resources_have(rule->resources, asked) &&
	       !is_excepted(rule->except, asked) && name_is_given(rule, asked->name);
}

bool access_rules_give(const struct access_rule *rules,
                       const struct access_attributes *asked)
{
	for (; rules->verbs != NULL; rules++)
		if (access_rule_gives(rules, asked))
			return true;
	return false;
}

bool access_role_gives(enum access_role role, const struct access_attributes *asked)
{
	for (; role != ACCESS_ROLE_COUNT; role = roles[role].includes)
		if (access_rules_give(roles[role].rules, asked))
			return true;
	return false;
}
