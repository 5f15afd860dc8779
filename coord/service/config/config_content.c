#include "coord/service/config/config_content.h"

#include "coord/config/config_diff.h"

enum { TEXT_MAX = 4 << 20 };

enum pl_code config_content(enum config_name name, const struct config_found *found,
                            struct pl_arena *arena, struct pl_json *out,
                            struct pl_err *err)
{
	struct config_value value;
	struct pl_buf buf;
	enum pl_code code = PL_OK;

	pl_buf_init(&buf, TEXT_MAX);
	if (found->count > 0 && found->versions[0].config.len > 0) {
		code = pl_buf_add(&buf, found->versions[0].config);
		if (code != PL_OK)
			pl_err_set(err, code, "keep a configuration");
	} else {
		config_default(name, &value);
		code = config_print(&value, &buf, err);
	}
	if (code == PL_OK)
		code = pl_json_parse(arena, pl_buf_span(&buf), NULL, out, err);
	pl_buf_done(&buf);
	return code;
}

/* Adds every field that is left out, unless the content does not pass its schema. */
static enum pl_code complete(enum config_name name, struct pl_arena *arena,
                             struct pl_json *content, struct pl_err *err)
{
	struct config_value value;
	struct pl_err refused;
	struct pl_buf buf;
	enum pl_code code;

	if (config_parse(name, *content, arena, &value, &refused) != PL_OK)
		return PL_OK;
	pl_buf_init(&buf, TEXT_MAX);
	code = config_print(&value, &buf, err);
	if (code == PL_OK)
		code = pl_json_parse(arena, pl_buf_span(&buf), NULL, content, err);
	pl_buf_done(&buf);
	return code;
}

enum pl_code config_content_same(enum config_name name, struct pl_json before,
                                 struct pl_json after, struct pl_arena *arena, bool *out,
                                 struct pl_err *err)
{
	enum pl_code code = complete(name, arena, &before, err);

	if (code == PL_OK)
		code = complete(name, arena, &after, err);
	if (code == PL_OK && config_same(before, after, out) != PL_OK)
		code = pl_err_set(err, PL_NOMEM, "compare");
	return code;
}

enum pl_code config_content_diff(enum config_name name, struct pl_json before,
                                 struct pl_json after, struct pl_arena *arena,
                                 struct pl_buf *out, struct pl_err *err)
{
	enum pl_code code = complete(name, arena, &before, err);

	if (code == PL_OK)
		code = complete(name, arena, &after, err);
	return code == PL_OK ? config_diff_text(before, after, out, err) : code;
}

/* -- versions and shards --------------------------------------------------------- */

enum pl_code config_versions_of(enum config_name name, const struct config_found *history,
                                struct config_versions *out, struct pl_err *err)
{
	if (history->current_err.code != PL_OK) {
		*err = history->current_err;
		return pl_err_wrap(err, "the current version of %s is unknown",
		                   config_name_text(name));
	}
	*out = (struct config_versions){.current = history->current};
	for (size_t i = history->count; i > 0; i--)
		if (history->versions[i - 1].version < history->current)
			out->before = history->versions[i - 1].version;
	return PL_OK;
}

/* A record names only configurations that are not as by default. */
static void count_acceptance(const struct membership *member, enum config_name name,
                             uint64_t version, struct config_acceptance *acceptance)
{
	struct pl_span text = pl_span_str(config_name_text(name));
	struct membership_config is = {0};

	for (uint32_t i = 0; i < member->config_count; i++)
		if (pl_span_eq(member->config[i].name, text))
			is = member->config[i];
	acceptance->applied += is.version == version;
	acceptance->refused += is.refused.len > 0;
}

struct config_acceptance config_acceptance_of(const struct roster *roster,
                                              enum config_name name, uint64_t version)
{
	struct config_acceptance acceptance = {0};

	for (const struct roster_entry *entry = roster_first(roster); entry != NULL;
	     entry = roster_next(roster, entry)) {
		acceptance.shards++;
		if (!entry->malformed)
			count_acceptance(&entry->member, name, version, &acceptance);
	}
	return acceptance;
}
