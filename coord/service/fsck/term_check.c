#include "coord/service/fsck/term_check.h"

#include "shardsched/model/parse.h"

enum pl_code term_check(struct model *model, struct pl_arena *arena,
                        const struct rule_registry_term *term, struct pl_span scope,
                        struct pl_span *namespace, struct pl_err *err)
{
	struct parse parse = {.model = model, .arena = arena};
	struct rule_terms terms = {0};
	struct pod pod = {0};
	enum pl_code code = pod_parse(&parse, term->pod, &pod, err);
	struct pl_span own = {0};

	if (code == PL_OK) {
		own = pl_arena_dup(arena, model_text(model, pod.spec->namespace));
		code = own.at == NULL
		               ? pl_err_set(err, PL_NOMEM, "read a term")
		               : rule_terms_of(model, pod.spec, arena, &terms, err);
	}
	if (code == PL_OK && (terms.count != 1 || terms.term[0].kind != term->kind ||
	                      !pl_span_eq(pl_span_str(terms.term[0].id), term->id) ||
	                      terms.term[0].global != (scope.len == 0) ||
	                      (scope.len != 0 && !pl_span_eq(own, scope))))
		code = pl_err_set(err, PL_INVALID, "it is not what its pod carries");
	pod_drop(model, &pod);
	*namespace = own;
	return code;
}
