#include "shardsched/model/pod_validate.h"

#include "shardsched/model/spec.h"
#include "store/base/num.h"

static void check_operator(struct validate *v, const struct draft_toleration *toleration)
{
	static const char *const words[] = {"Equal", "Exists", NULL};

	if (toleration->op.len == 0 || pl_span_eq(toleration->op, PL_SPAN_LIT("Equal"))) {
		validate_text_once(v, "operator", text_value(toleration->value));
		return;
	}
	if (!pl_span_eq(toleration->op, PL_SPAN_LIT("Exists")))
		validate_word(v, "operator", toleration->op, words);
	else if (toleration->value.len > 0)
		validate_add(v, "operator", FIELD_INVALID, "want no value for Exists");
}

static void check_tolerations(struct validate *v, const struct pod_draft *draft)
{
	for (uint32_t i = 0; i < draft->tolerations.count; i++) {
		const struct draft_toleration *toleration = &draft->tolerations.at[i];
		size_t mark = validate_index(v, "tolerations", i);

		if (toleration->key.len > 0)
			validate_text(v, "key", text_key(toleration->key));
		else if (!pl_span_eq(toleration->op, PL_SPAN_LIT("Exists")))
			validate_add(v, "operator", FIELD_INVALID,
			             "want Exists where there is no key");
		if (toleration->has_seconds &&
		    !pl_span_eq(toleration->effect, PL_SPAN_LIT("NoExecute")))
			validate_add(v, "effect", FIELD_INVALID,
			             "want NoExecute with tolerationSeconds");
		check_operator(v, toleration);
		validate_taint_effect(v, "effect", toleration->effect, true);
		validate_back(v, mark);
	}
}

static void check_gates(struct validate *v, const struct pod_draft *draft)
{
	for (uint32_t i = 0; i < draft->gates.count; i++) {
		size_t mark = validate_index(v, "schedulingGates", i);
		bool seen = false;

		validate_text(v, NULL, text_key(draft->gates.at[i]));
		for (uint32_t j = 0; j < i && !seen; j++)
			seen = pl_span_eq(draft->gates.at[j], draft->gates.at[i]);
		if (seen)
			validate_add(v, NULL, FIELD_DUPLICATE, "comes twice");
		validate_back(v, mark);
	}
	if (draft->node_name.len > 0 && draft->gates.count > 0)
		validate_add(v, "nodeName", FIELD_FORBIDDEN,
		             "want none while there are scheduling gates");
}

static void check_words(struct validate *v, const struct pod_draft *draft)
{
	static const char *const policies[] = {"PreemptLowerPriority", "Never", NULL};

	if (draft->node_name.len > 0)
		validate_text(v, "nodeName", text_subdomain(draft->node_name));
	if (draft->priority_class.len > 0)
		validate_text(v, "priorityClassName",
		              text_subdomain(draft->priority_class));
	if (draft->runtime_class.len > 0)
		validate_text(v, "runtimeClassName",
		              text_subdomain(draft->runtime_class));
	if (draft->has_preemption && draft->preemption.len == 0)
		validate_add(v, "preemptionPolicy", FIELD_REQUIRED, "want a policy");
	else if (draft->has_preemption)
		validate_word(v, "preemptionPolicy", draft->preemption, policies);
}

static void check_overhead(struct validate *v, const struct pod_draft *draft)
{
	static const struct draft_amounts none;
	size_t mark = validate_into(v, "overhead");

	pod_validate_resources(v, &draft->overhead, &none);
	validate_back(v, mark);
}

/* Placet's annotations of gangs. */
static void check_gang(struct validate *v, const struct pod_draft *draft)
{
	struct pl_span gang =
		draft_get(draft->meta.annotations, PL_SPAN_LIT(SPEC_GANG_ANNOTATION));
	struct pl_span min =
		draft_get(draft->meta.annotations, PL_SPAN_LIT(SPEC_GANG_MIN_ANNOTATION));
	struct pl_span domain = draft_get(draft->meta.annotations,
	                                  PL_SPAN_LIT(SPEC_GANG_DOMAIN_ANNOTATION));
	size_t mark = validate_into(v, "metadata"), before;
	int64_t count = 0;

	before = validate_into(v, "annotations");
	if (gang.at != NULL) {
		size_t at = validate_key(v, PL_SPAN_LIT(SPEC_GANG_ANNOTATION));

		validate_text(v, NULL, text_subdomain(gang));
		validate_back(v, at);
	}
	if (min.at != NULL &&
	    (gang.at == NULL || pl_num_i64_in(min, 1, SPEC_GANG_MOST, &count, NULL))) {
		size_t at = validate_key(v, PL_SPAN_LIT(SPEC_GANG_MIN_ANNOTATION));

		validate_add(v, NULL, FIELD_INVALID,
		             gang.at == NULL ? "want " SPEC_GANG_ANNOTATION " with it"
		                             : "want a number from 1 to 1000000");
		validate_back(v, at);
	}
	if (domain.at != NULL) {
		size_t at = validate_key(v, PL_SPAN_LIT(SPEC_GANG_DOMAIN_ANNOTATION));

		if (gang.at == NULL)
			validate_add(v, NULL, FIELD_INVALID,
			             "want " SPEC_GANG_ANNOTATION " with it");
		validate_text(v, NULL, text_key(domain));
		validate_back(v, at);
	}
	validate_back(v, before);
	validate_back(v, mark);
}

void pod_validate(const struct pod_draft *draft, enum validate_scope scope,
                  struct field_errors *out)
{
	struct validate v;
	size_t mark;

	validate_init(&v, scope, out);
	validate_meta(&v, &draft->meta, VALIDATE_SUBDOMAIN, true);
	check_gang(&v, draft);
	mark = validate_into(&v, "spec");
	pod_validate_volumes(&v, draft);
	pod_validate_containers(&v, draft);
	validate_labels(&v, "nodeSelector", draft->node_selector);
	pod_validate_affinity(&v, draft);
	check_gates(&v, draft);
	pod_validate_spreads(&v, draft);
	check_tolerations(&v, draft);
	check_words(&v, draft);
	check_overhead(&v, draft);
	validate_back(&v, mark);
}
