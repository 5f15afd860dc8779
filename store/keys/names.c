#include "store/keys/names.h"

#include <stdio.h>

#include "store/base/quote.h"

static const struct rule {
	const char *what;
	size_t len_max;
	bool dots;
	const char *reserved;
} rules[NAMES_KIND_COUNT] = {
	[NAMES_CLUSTER] = {"cluster", 63, true, NULL},
	[NAMES_NODE] = {"node", 253, true, NULL},
	[NAMES_NAMESPACE] = {"namespace", 63, false, NULL},
	[NAMES_POD] = {"pod", 253, true, NULL},
	[NAMES_TERM] = {"term", 253, true, "registry"},
	[NAMES_SHARD] = {"shard", 253, true, NULL},
	[NAMES_CONFIG] = {"configuration", 63, true, NULL},
	[NAMES_ROLE] = {"role", 253, true, NULL},
	[NAMES_PIN] = {"pin", 253, true, NULL},
	[NAMES_GANG] = {"gang", 253, true, NULL},
	[NAMES_BUDGET] = {"budget", 253, true, NULL},
	[NAMES_CONTROLLER] = {"controller", 253, true, NULL},
	[NAMES_GROUP] = {"group", 32, true, NULL},
	[NAMES_RESOURCE] = {"resource", 32, false, NULL},
	[NAMES_OBJECT] = {"object", 253, true, NULL},
	[NAMES_TOKEN] = {"token", 63, false, NULL},
};

static bool is_alnum(uint8_t byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
}

/* NULL: the name is valid. */
static const char *complaint(const struct rule *rule, struct pl_span name)
{
	bool edge = true; /* the next byte must be a letter or digit */

	for (size_t i = 0; i < name.len; i++) {
		uint8_t byte = name.at[i];

		if (!is_alnum(byte) && byte != '-' && !(byte == '.' && rule->dots))
			return rule->dots ? "want only a-z, 0-9, - and ."
			                  : "want only a-z, 0-9 and -";
		if (edge && !is_alnum(byte))
			return "want a letter or digit at the start of each part";
		if (byte == '.' && name.at[i - 1] == '-')
			return "want a letter or digit at the end of each part";
		edge = byte == '.';
	}
	if (!is_alnum(name.at[name.len - 1]))
		return "want a letter or digit at the end of each part";
	if (rule->reserved != NULL && pl_span_eq(name, pl_span_str(rule->reserved)))
		return "the name is reserved";
	return NULL;
}

enum pl_code names_check(enum names_kind kind, struct pl_span name, struct pl_err *err)
{
	const struct rule *rule = &rules[kind];
	char quoted[PL_QUOTE_SIZE];
	const char *why;

	PL_ASSERT((unsigned)kind < NAMES_KIND_COUNT);
	if (name.len == 0)
		return pl_err_set(err, PL_INVALID, "%s '': want a name", rule->what);
	if (name.len > rule->len_max)
		return pl_err_set(err, PL_INVALID, "%s %s: want at most %zu bytes",
		                  rule->what, pl_quote(name, quoted), rule->len_max);
	why = complaint(rule, name);
	if (why == NULL)
		return PL_OK;
	return pl_err_set(err, PL_INVALID, "%s %s: %s", rule->what,
	                  pl_quote(name, quoted), why);
}

const char *names_kind_name(enum names_kind kind)
{
	PL_ASSERT((unsigned)kind < NAMES_KIND_COUNT);
	return rules[kind].what;
}
