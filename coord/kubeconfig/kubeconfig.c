#include "coord/kubeconfig/kubeconfig.h"

#include <string.h>

#include "coord/kubeconfig/kubeconfig_int.h"
#include "store/base/yaml.h"

enum { VALUES_MAX = 400000, DEPTH_MAX = 32 };

static const struct pl_json_limits limits = {
	.bytes = KUBECONFIG_FILE_MAX, .depth = DEPTH_MAX, .values = VALUES_MAX};

static const char *const list_names[KUBECONFIG_KINDS] = {"clusters", "users", "contexts"};
static const char *const part_names[KUBECONFIG_KINDS] = {"cluster", "user", "context"};

void kubeconfig_init(struct kubeconfig *config)
{
	*config = (struct kubeconfig){.current = NULL};
	pl_arena_init(&config->arena, 16 << 10, 0);
	for (unsigned i = 0; i < KUBECONFIG_KINDS; i++)
		config->last[i] = &config->entries[i];
}

void kubeconfig_done(struct kubeconfig *config)
{
	pl_arena_done(&config->arena);
}

/* -- what a file may have ----------------------------------------------------------- */

/* The members that are read, by the entry that has them; true: a string. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order of reading */
static const struct {
	enum kubeconfig_kind kind;
	const char *name;
	bool text;
} members[] = {
	{KUBECONFIG_CLUSTERS, "server", true},
	{KUBECONFIG_CLUSTERS, "tls-server-name", true},
	{KUBECONFIG_CLUSTERS, "proxy-url", true},
	{KUBECONFIG_CLUSTERS, "certificate-authority", true},
	{KUBECONFIG_CLUSTERS, "certificate-authority-data", true},
	{KUBECONFIG_CLUSTERS, "insecure-skip-tls-verify", false},
	{KUBECONFIG_USERS, "client-certificate", true},
	{KUBECONFIG_USERS, "client-certificate-data", true},
	{KUBECONFIG_USERS, "client-key", true},
	{KUBECONFIG_USERS, "client-key-data", true},
	{KUBECONFIG_USERS, "token", true},
	{KUBECONFIG_USERS, "tokenFile", true},
	{KUBECONFIG_USERS, "username", true},
	{KUBECONFIG_USERS, "password", true},
	{KUBECONFIG_CONTEXTS, "cluster", true},
	{KUBECONFIG_CONTEXTS, "user", true},
	{KUBECONFIG_CONTEXTS, "namespace", true},
};

static enum pl_code check_members(struct pl_json part, enum kubeconfig_kind kind,
                                  struct pl_err *err)
{
	enum pl_code code = PL_OK;

	for (size_t i = 0; i < sizeof members / sizeof members[0] && code == PL_OK; i++) {
		const char *text = NULL;
		bool flag = false;

		if (members[i].kind != kind)
			continue;
		code = members[i].text ? pl_json_string(part, members[i].name,
		                                        PL_JSON_OPTIONAL, &text, err)
		                       : pl_json_bool(part, members[i].name,
		                                      PL_JSON_OPTIONAL, &flag, err);
	}
	return code;
}

/* -- adding ------------------------------------------------------------------------- */

/* The entries of one file, until all of it is known to be valid. */
struct adding {
	struct kubeconfig *config;
	const char *path;
	struct kubeconfig_entry *first[KUBECONFIG_KINDS];
	struct kubeconfig_entry **last[KUBECONFIG_KINDS];
	const char *current;
};

static enum pl_code add_entry(struct adding *adding, enum kubeconfig_kind kind,
                              struct pl_json item, struct pl_err *err)
{
	struct kubeconfig_entry *entry =
		pl_arena_zalloc(&adding->config->arena, 1, sizeof *entry);
	enum pl_code code;

	if (entry == NULL)
		return pl_err_set(err, PL_NOMEM, "a kubeconfig");
	if (pl_json_type(item) != PL_JSON_OBJECT)
		return pl_json_fail(item, PL_INVALID, err, "want an object");
	code = pl_json_string(item, "name", PL_JSON_REQUIRED, &entry->name, err);
	if (code == PL_OK)
		code = pl_json_object(item, part_names[kind], PL_JSON_OPTIONAL,
		                      &entry->part, err);
	if (code == PL_OK && entry->part.node != NULL)
		code = check_members(entry->part, kind, err);
	if (code != PL_OK)
		return code;
	entry->path = adding->path;
	*adding->last[kind] = entry;
	adding->last[kind] = &entry->next;
	return PL_OK;
}

static enum pl_code add_list(struct adding *adding, enum kubeconfig_kind kind,
                             struct pl_json document, struct pl_err *err)
{
	struct pl_json list = {0};
	enum pl_code code =
		pl_json_array(document, list_names[kind], PL_JSON_OPTIONAL, &list, err);
	size_t count = 0;

	if (code != PL_OK)
		return code;
	PL_JSON_EACH (item, list) {
		if (++count > KUBECONFIG_ENTRIES_MAX)
			return pl_json_fail(list, PL_LIMIT, err, "more than %d entries",
			                    KUBECONFIG_ENTRIES_MAX);
		code = add_entry(adding, kind, item, err);
		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

static enum pl_code add_document(void *ctx, struct pl_span json, struct pl_err *err)
{
	struct adding *adding = ctx;
	struct pl_json document;
	const char *kind = "Config";
	enum pl_code code =
		pl_json_parse(&adding->config->arena, json, &limits, &document, err);

	if (code != PL_OK)
		return code;
	if (pl_json_type(document) != PL_JSON_OBJECT)
		return pl_err_set(err, PL_INVALID, "not a kubeconfig");
	code = pl_json_string(document, "kind", PL_JSON_OPTIONAL, &kind, err);
	if (code == PL_OK && strcmp(kind, "Config") != 0)
		code = pl_err_set(err, PL_INVALID, "kind: want Config, got %.40s", kind);
	if (code == PL_OK)
		code = pl_json_string(document, "current-context", PL_JSON_OPTIONAL,
		                      &adding->current, err);
	for (unsigned i = 0; i < KUBECONFIG_KINDS && code == PL_OK; i++)
		code = add_list(adding, (enum kubeconfig_kind)i, document, err);
	return code;
}

enum pl_code kubeconfig_add(struct kubeconfig *config, struct pl_span text,
                            const char *path, struct pl_err *err)
{
	struct pl_span kept = pl_arena_dup(&config->arena, pl_span_str(path));
	struct adding adding = {.config = config, .path = (const char *)kept.at};
	enum pl_code code;

	if (kept.at == NULL)
		return pl_err_set(err, PL_NOMEM, "a kubeconfig");
	for (unsigned i = 0; i < KUBECONFIG_KINDS; i++)
		adding.last[i] = &adding.first[i];
	code = pl_yaml_to_json(text, &limits, add_document, &adding, err);
	if (code != PL_OK)
		return pl_err_wrap(err, "%.100s", path);
	for (unsigned i = 0; i < KUBECONFIG_KINDS; i++) {
		if (adding.first[i] == NULL)
			continue;
		*config->last[i] = adding.first[i];
		config->last[i] = adding.last[i];
	}
	if (config->current == NULL && adding.current != NULL && adding.current[0] != 0)
		config->current = adding.current;
	return PL_OK;
}

const struct kubeconfig_entry *kubeconfig_find(const struct kubeconfig *config,
                                               enum kubeconfig_kind kind,
                                               const char *name)
{
	for (const struct kubeconfig_entry *at = config->entries[kind]; at != NULL;
	     at = at->next)
		if (strcmp(at->name, name) == 0)
			return at;
	return NULL;
}

const char *kubeconfig_name(const struct kubeconfig *config, enum kubeconfig_kind kind,
                            size_t nth)
{
	const struct kubeconfig_entry *at = config->entries[kind];

	while (at != NULL && nth-- > 0)
		at = at->next;
	return at == NULL ? NULL : at->name;
}
