/*
 * Bytes as the configuration "access". What is accepted, printed, is accepted again and prints
 * the same. Whatever it says, a user that it does not make admin of the federation cannot
 * change it, see tokens or impersonate, and a user that it does not name may nothing.
 */
#include "coord/access/roles/access_decide.h"
#include "tests/fuzz/fuzz.h"

static void print(const struct access_document *document, struct pl_buf *out)
{
	struct pl_json_out json;

	pl_buf_init(out, 1 << 24);
	pl_json_out_init(&json, out);
	access_document_print(document, &json);
	PL_ASSERT(pl_json_out_done(&json) == PL_OK);
}

static void check_printed(const struct access_document *document, struct pl_arena *arena)
{
	struct access_document again;
	struct pl_json json = {0};
	struct pl_buf one, two;

	print(document, &one);
	PL_ASSERT(pl_json_parse(arena, pl_buf_span(&one), NULL, &json, NULL) == PL_OK);
	PL_ASSERT(access_document_parse(json, arena, &again, NULL) == PL_OK);
	print(&again, &two);
	PL_ASSERT(pl_span_eq(pl_buf_span(&one), pl_buf_span(&two)));
	pl_buf_done(&two);
	pl_buf_done(&one);
}

static void check_user(const struct access_document *document, struct pl_span user,
                       bool is_admin, bool is_named)
{
	const struct access_attributes great[] = {
		{.is_resource = true,
	         .verb = PL_SPAN_LIT("update"),
	         .group = PL_SPAN_LIT("placet.io"),
	         .resource = PL_SPAN_LIT("configs"),
	         .name = PL_SPAN_LIT("access")},
		{.is_resource = true,
	         .verb = PL_SPAN_LIT("list"),
	         .group = PL_SPAN_LIT("placet.io"),
	         .resource = PL_SPAN_LIT("tokens")},
		{.is_resource = true,
	         .verb = PL_SPAN_LIT("impersonate"),
	         .resource = PL_SPAN_LIT("groups"),
	         .name = PL_SPAN_LIT("system:masters")},
	};
	const struct access_attributes small = {.is_resource = true,
	                                        .verb = PL_SPAN_LIT("get"),
	                                        .resource = PL_SPAN_LIT("pods"),
	                                        .namespace = PL_SPAN_LIT("a"),
	                                        .name = PL_SPAN_LIT("a")};
	const struct pl_span groups[] = {PL_SPAN_LIT(IDENTITY_AUTHENTICATED)};
	const struct identity identity = {.user = user,
	                                  .groups = groups,
	                                  .group_count = 1,
	                                  .via = IDENTITY_TOKEN_FILE};
	const struct identity anonymous = identity_anonymous();

	for (size_t i = 0; i < sizeof great / sizeof *great; i++)
		PL_ASSERT(access_allows(document, &identity, &great[i], NULL) ==
		          is_admin);
	PL_ASSERT(is_named || !access_allows(document, &identity, &small, NULL));
	PL_ASSERT(!access_allows(document, &anonymous, &small, NULL));
}

static void check_rights(const struct access_document *document)
{
	for (uint32_t i = 0; i < document->subject_count && i < 100; i++) {
		struct pl_span name = document->subjects[i].name;
		bool is_admin = false;

		if (document->subjects[i].is_group)
			continue;
		for (uint32_t at = 0; at < document->subject_count; at++) {
			const struct access_subject *subject = &document->subjects[at];
			const struct access_binding *binding =
				&document->bindings[subject->binding];
			/* A group may be that of all users. */
			bool is_it =
				subject->is_group
					? pl_span_eq(subject->name,
			                             PL_SPAN_LIT(IDENTITY_AUTHENTICATED))
					: pl_span_eq(subject->name, name);

			is_admin = is_admin || (is_it && binding->role == ACCESS_ADMIN &&
			                        binding->namespaces.count == 0);
		}
		check_user(document, name, is_admin, true);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct access_document document;
	struct pl_arena arena;
	struct pl_json json = {0};
	struct pl_err err = {0};

	pl_arena_init(&arena, 0, 0);
	if (pl_json_parse(&arena, pl_span(data, size), NULL, &json, &err) == PL_OK &&
	    access_document_parse(json, &arena, &document, &err) == PL_OK) {
		check_printed(&document, &arena);
		check_rights(&document);
		if (document.subject_count == 0)
			check_user(&document, PL_SPAN_LIT("a stranger"), false, false);
	} else {
		PL_ASSERT(err.code == PL_INVALID || err.code == PL_LIMIT);
	}
	pl_arena_done(&arena);
	return 0;
}
