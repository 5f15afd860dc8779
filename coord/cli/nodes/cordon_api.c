#include "coord/cli/nodes/cordon_api.h"

#include <stdio.h>
#include <string.h>

#include "coord/api/objects/member_name.h"
#include "coord/cli/output/message.h"

/* name: "east/n-7", which the command line has checked. */
static enum pl_code cordon_node(struct api_session *api, const char *name, bool cordon,
                                struct pl_err *err)
{
	const char *slash = strchr(name, '/');
	struct api_request request = {
		.method = "PATCH",
		.content_type = "application/merge-patch+json",
		.body = cordon ? PL_SPAN_LIT("{\"spec\":{\"unschedulable\":true}}")
	                       : PL_SPAN_LIT("{\"spec\":{\"unschedulable\":null}}")};
	char path[API_PATH_MAX], whole[MEMBER_NAME_SIZE];
	size_t len;
	enum pl_code code;

	PL_ASSERT(slash != NULL);
	len = member_name_join(pl_span(name, (size_t)(slash - name)),
	                       pl_span_str(slash + 1), whole);
	code = api_path(path, "/api/v1", (struct pl_span){0}, "nodes",
	                pl_span(whole, len), err);
	if (code == PL_OK && api->options->dry_run)
		(void)strncat(path, "?dryRun=All", sizeof path - strlen(path) - 1);
	request.path = path;
	if (code == PL_OK)
		code = api_session_send(api, &request, NULL, NULL, err);
	if (code == PL_OK)
		(void)printf("%s %s%s\n", name, api->options->dry_run ? "would be " : "",
		             cordon ? "cordoned" : "uncordoned");
	return code;
}

enum pl_code cordon_api(struct api_session *api, bool cordon, struct pl_err *err)
{
	const struct options *options = api->options;
	unsigned refused = 0;

	for (unsigned i = 0; i < options->arg_count; i++) {
		struct pl_err why = {0};
		enum pl_code code = cordon_node(api, options->args[i], cordon, &why);

		if (code == PL_OK)
			continue;
		if (code == PL_UNAVAIL || code == PL_TIMEOUT || code == PL_AUTH ||
		    code == PL_DENIED || code == PL_NOMEM) {
			*err = why;
			return code;
		}
		refused++;
		print_message("%s: %s", options->args[i], why.msg);
	}
	return refused == 0 ? PL_OK : pl_err_set(err, PL_CONFLICT, "%u refused", refused);
}
