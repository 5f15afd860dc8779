/* Faults of a label's key or value, in Kubernetes' sentences. */
#include "coord/api/select/label_int.h"
#include "shardsched/model/text.h"

#define NAME_PATTERN "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define NAME_RULE                                                                           \
	"must consist of alphanumeric characters, '-', '_' or '.', and must start and end " \
	"with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "     \
	"regex used for validation is '" NAME_PATTERN "')"
#define DOMAIN_LABEL "[a-z0-9]([-a-z0-9]*[a-z0-9])?"

static const char *const sentences[TEXT_FAULT_COUNT] = {
	[TEXT_KEY_PARTS] = "a qualified name " NAME_RULE
			   " with an optional DNS subdomain prefix and '/' (e.g. "
			   "'example.com/MyName')",
	[TEXT_KEY_PREFIX_EMPTY] = "prefix part must be non-empty",
	[TEXT_KEY_PREFIX_LONG] = "prefix part must be no more than 253 characters",
	[TEXT_KEY_PREFIX_CHARS] =
		"prefix part a lowercase RFC 1123 subdomain must consist of lower case "
		"alphanumeric characters, '-' or '.', and must start and end with an "
		"alphanumeric character (e.g. 'example.com', regex used for validation is "
		"'" DOMAIN_LABEL "(\\." DOMAIN_LABEL ")*')",
	[TEXT_KEY_EMPTY] = "name part must be non-empty",
	[TEXT_KEY_LONG] = "name part must be no more than 63 characters",
	[TEXT_KEY_CHARS] = "name part " NAME_RULE,
	[TEXT_VALUE_LONG] = "must be no more than 63 characters",
	[TEXT_VALUE_CHARS] =
		"a valid label must be an empty string or consist of alphanumeric "
		"characters, '-', '_' or '.', and must start and end with an alphanumeric "
		"character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
		"validation is '(" NAME_PATTERN ")?')",
};

/* Kubernetes' order. */
static const enum text_fault order[] = {
	TEXT_KEY_PARTS,        TEXT_KEY_PREFIX_EMPTY, TEXT_KEY_PREFIX_LONG,
	TEXT_KEY_PREFIX_CHARS, TEXT_KEY_EMPTY,        TEXT_KEY_LONG,
	TEXT_KEY_CHARS,        TEXT_VALUE_LONG,       TEXT_VALUE_CHARS,
};

static const char *join_faults(struct pl_arena *arena, uint32_t faults)
{
	const char *text = "";

	for (size_t i = 0; i < sizeof order / sizeof order[0] && text != NULL; i++)
		if ((faults & UINT32_C(1) << order[i]) != 0)
			text = pl_arena_printf(arena, "%s%s%s", text,
			                       text[0] == 0 ? "" : "; ",
			                       sentences[order[i]]);
	return text;
}

const char *label_key_faults(struct pl_arena *arena, struct pl_span key)
{
	return join_faults(arena, text_key(key));
}

const char *label_value_faults(struct pl_arena *arena, struct pl_span value)
{
	return join_faults(arena, text_value(value));
}
