#include "shardsched/records/rule_registry.h"

#include <stdlib.h>

#include "shardsched/records/value_reader.h"
#include "store/base/json_out.h"
#include "store/keys/names.h"

/* -- printing ---------------------------------------------------------------------- */

static void put_term(struct pl_json_out *out, const struct rule_registry_term *term)
{
	pl_json_out_name_span(out, term->id);
	pl_json_out_object(out);
	pl_json_out_name(out, "kind");
	pl_json_out_str(out, rule_kind_word(term->kind));
	pl_json_out_name(out, "pod");
	pl_json_out_raw(out, term->pod);
	pl_json_out_end(out);
}

static enum pl_code check_registry(const struct rule_registry *registry,
                                   struct pl_err *err)
{
	enum pl_code code = PL_OK;

	if (registry->terms > RULE_REGISTRY_TERMS_MAX)
		return pl_err_set(err, PL_LIMIT, "more than %d terms",
		                  RULE_REGISTRY_TERMS_MAX);
	for (uint32_t i = 0; code == PL_OK && i < registry->terms; i++) {
		PL_ASSERT(i == 0 || pl_span_cmp(registry->term[i - 1].id,
		                                registry->term[i].id) < 0);
		code = names_check(NAMES_TERM, registry->term[i].id, err);
	}
	return code;
}

enum pl_code rule_registry_print(const struct rule_registry *registry, struct pl_buf *out,
                                 struct pl_err *err)
{
	size_t begun = out->len;
	struct pl_json_out json;
	enum pl_code code = check_registry(registry, err);

	if (code != PL_OK)
		return code;
	pl_json_out_init(&json, out);
	pl_json_out_object(&json);
	pl_json_out_name(&json, "v");
	pl_json_out_int(&json, 1);
	pl_json_out_name(&json, "terms");
	pl_json_out_object(&json);
	for (uint32_t i = 0; i < registry->terms; i++)
		put_term(&json, &registry->term[i]);
	pl_json_out_end(&json);
	pl_json_out_end(&json);
	code = pl_json_out_done(&json);
	if (code == PL_OK && out->len - begun > RULE_REGISTRY_BYTES_MAX)
		code = PL_LIMIT;
	if (code == PL_OK)
		return PL_OK;
	out->len = begun;
	return pl_err_set(err, code, "write a registry");
}

/* -- reading ------------------------------------------------------------------------- */

/* The value as one line, otherwise unchanged. */
static struct pl_span text_of(struct value_reader *in, struct pl_json pod)
{
	struct pl_buf buf = {.max = RULE_REGISTRY_BYTES_MAX};
	struct pl_span text = {0};
	struct pl_json_out out;

	value_reader_type(in, pod, PL_JSON_OBJECT);
	if (in->code != PL_OK)
		return text;
	pl_json_out_init(&out, &buf);
	pl_json_out_value(&out, pod);
	in->code = pl_json_out_done(&out);
	if (in->code == PL_OK) {
		text = pl_arena_dup(in->arena, pl_buf_span(&buf));
		if (text.at == NULL)
			in->code = PL_NOMEM;
	}
	pl_buf_done(&buf);
	if (in->code != PL_OK)
		pl_err_set(in->err, in->code, "copy a term's pod");
	return text;
}

static void read_term(struct value_reader *in, struct pl_json value,
                      struct rule_registry_term *out)
{
	struct pl_err err = {0};

	value_reader_type(in, value, PL_JSON_OBJECT);
	out->id = pl_span_str(pl_json_key(value));
	if (in->code == PL_OK && names_check(NAMES_TERM, out->id, &err) != PL_OK)
		value_reader_refuse(in, value, "%s", err.msg);
	out->kind = rule_kind_of(value_reader_word(in, value, "kind"));
	if (out->kind == RULE_KINDS)
		value_reader_refuse(in, value, "kind: want a known kind of term");
	out->pod = text_of(in, pl_json_member(value, "pod"));
}

static int term_cmp(const void *a, const void *b)
{
	const struct rule_registry_term *x = a, *y = b;

	return pl_span_cmp(x->id, y->id);
}

enum pl_code rule_registry_parse(struct pl_span value, struct pl_arena *arena,
                                 struct rule_registry *out, struct pl_err *err)
{
	struct value_reader in;
	struct pl_json root =
		value_reader_begin(&in, arena, value, RULE_REGISTRY_BYTES_MAX, err);
	struct pl_json terms = value_reader_object(&in, root, "terms");
	struct rule_registry_term *term;
	size_t count = pl_json_count(terms);
	uint32_t i = 0;

	if (in.code == PL_OK && count > RULE_REGISTRY_TERMS_MAX)
		in.code = pl_json_fail(terms, PL_LIMIT, err, "more than %d",
		                       RULE_REGISTRY_TERMS_MAX);
	if (in.code != PL_OK)
		return in.code;
	term = pl_arena_zalloc(arena, count + 1, sizeof *term);
	if (term == NULL)
		return pl_err_set(err, PL_NOMEM, "read a registry");
	PL_JSON_EACH (item, terms)
		read_term(&in, item, &term[i++]);
	if (in.code != PL_OK)
		return in.code;
	if (i > 1)
		qsort(term, i, sizeof *term, term_cmp);
	*out = (struct rule_registry){.term = term, .terms = i};
	return PL_OK;
}
