#include "coord/introspect/health.h"

#include <string.h>

/* A request, read. */
struct health_request {
	enum health_path path;
	const char *word;    /* "livez", "readyz" or "healthz" */
	struct pl_span only; /* one check; at NULL: all */
	bool verbose, reasons;
	struct pl_span excluded[HEALTH_EXCLUDED_MAX];
	unsigned excluded_count;
};

static const struct {
	const char *word;
	enum health_path path;
} words[] = {
	{"livez", HEALTH_LIVEZ}, {"readyz", HEALTH_READYZ}, {"healthz", HEALTH_READYZ}};

enum { WORDS = sizeof words / sizeof words[0] };

/* Takes word off the front of what follows the slash; the rest is empty or "/<check>". */
static bool takes_word(struct pl_span path, const char *word, struct pl_span *rest)
{
	size_t len = strlen(word);

	if (path.len < len + 1 || path.at[0] != '/' ||
	    memcmp(path.at + 1, word, len) != 0)
		return false;
	*rest = pl_span(path.at + 1 + len, path.len - 1 - len);
	return rest->len == 0 || rest->at[0] == '/';
}

bool health_is_path(struct pl_span path)
{
	struct pl_span rest;

	for (unsigned i = 0; i < WORDS; i++)
		if (takes_word(path, words[i].word, &rest))
			return true;
	return false;
}

static void read_parameter(struct health_request *request, struct pl_span text)
{
	static const char exclude[] = "exclude=";
	size_t len = sizeof exclude - 1;

	if (pl_span_eq(text, PL_SPAN_LIT("verbose")) ||
	    (text.len > 8 && memcmp(text.at, "verbose=", 8) == 0))
		request->verbose = true;
	else if (text.len > len && memcmp(text.at, exclude, len) == 0 &&
	         request->excluded_count < HEALTH_EXCLUDED_MAX)
		request->excluded[request->excluded_count++] =
			pl_span(text.at + len, text.len - len);
}

static void read_query(struct health_request *request, struct pl_span query)
{
	while (query.len > 0) {
		const uint8_t *end = memchr(query.at, '&', query.len);
		size_t len = end == NULL ? query.len : (size_t)(end - query.at);

		read_parameter(request, pl_span(query.at, len));
		len += end != NULL;
		query = pl_span(query.at + len, query.len - len);
	}
}

static void read_request(struct health_request *request, struct pl_span path,
                         struct pl_span query)
{
	struct pl_span rest = {0};

	for (unsigned i = 0; i < WORDS; i++)
		if (takes_word(path, words[i].word, &rest)) {
			request->word = words[i].word;
			request->path = words[i].path;
			break;
		}
	if (rest.len > 1)
		request->only = pl_span(rest.at + 1, rest.len - 1);
	read_query(request, query);
}

static bool is_excluded(const struct health_request *request, const char *name)
{
	for (unsigned i = 0; i < request->excluded_count; i++)
		if (pl_span_eq(request->excluded[i], pl_span_str(name)))
			return true;
	return false;
}

struct tally {
	unsigned asked, bad;
};

static enum pl_code add_check(const struct health_request *request,
                              const struct health_check *check, struct pl_buf *out,
                              struct tally *tally)
{
	char why[HEALTH_WHY_SIZE] = "";

	if ((check->paths & request->path) == 0)
		return PL_OK;
	if (request->only.at != NULL &&
	    !pl_span_eq(request->only, pl_span_str(check->name)))
		return PL_OK;
	tally->asked++;
	if (is_excluded(request, check->name))
		return pl_buf_printf(out, "[+]%s excluded: ok\n", check->name);
	if (check->good(check->ctx, why))
		return pl_buf_printf(out, "[+]%s ok\n", check->name);
	tally->bad++;
	return pl_buf_printf(out, "[-]%s failed: %s\n", check->name,
	                     request->reasons ? why : "reason withheld");
}

enum pl_code health_answer(const struct health_checks *checks, size_t lists,
                           const struct health_question *question, struct pl_buf *out,
                           int *status)
{
	struct health_request request = {.reasons = question->reasons};
	struct tally tally = {0};
	enum pl_code code = PL_OK;

	read_request(&request, question->path, question->query);
	for (size_t i = 0; i < lists; i++)
		for (size_t j = 0; j < checks[i].count && code == PL_OK; j++)
			code = add_check(&request, &checks[i].at[j], out, &tally);
	if (code != PL_OK)
		return code;
	if (request.only.at != NULL && tally.asked == 0) {
		*status = 404;
		return pl_buf_add_str(out, "404 page not found\n");
	}
	*status = tally.bad == 0 ? 200 : 500;
	if (tally.bad > 0)
		return pl_buf_printf(out, "%s check failed\n", request.word);
	if (request.verbose)
		return pl_buf_printf(out, "%s check passed\n", request.word);
	out->len = 0;
	return pl_buf_add_str(out, "ok");
}
