#include "tests/conformance/kit.h"

struct subject *kit_open(void)
{
	struct subject_opts opts = subject_opts_env();

	return subject_new(&opts);
}

void kit_close(struct subject *subject)
{
	subject_free(subject);
}

void kit_expect(const char *file, int line, struct subject *subject,
                const struct kv_req *req, const char *want)
{
	const struct answer *answer = subject_call(subject, req);

	if (strcmp(answer->text, want) != 0)
		t_fail(file, line, "%s: answer is '%s', want '%s' (%s)",
		       kv_op_name(req->op), answer->text, want, answer->why);
}

struct stream *kit_watch(struct subject *subject, const struct kv_watch_req *req)
{
	struct stream *stream = subject_watch(subject, req);

	subject_wait_ready(subject, stream);
	return stream;
}

static bool is_ended(void *ctx)
{
	return ((struct stream *)ctx)->ended;
}

void kit_expect_stream(const char *file, int line, struct subject *subject,
                       struct stream *stream, const char *const *want)
{
	size_t count = 0, at = stream->checked;

	while (want[count] != NULL)
		count++;
	if (count > 0 && strncmp(want[count - 1], "end ", 4) == 0)
		(void)subject_until(subject, is_ended, stream, SUBJECT_WAIT_MS);
	else
		subject_catch_up(subject, stream);
	for (size_t i = 0; i < count; i++, at++)
		if (at >= stream->line_count || strcmp(stream->lines[at], want[i]) != 0)
			t_fail(file, line, "line %zu of the stream is '%s', want '%s'",
			       i + 1,
			       at < stream->line_count ? stream->lines[at] : "(none)",
			       want[i]);
	if (at < stream->line_count)
		t_fail(file, line, "the stream goes on with '%s'", stream->lines[at]);
	if (stream->fault[0] != 0)
		t_fail(file, line, "the stream: %s", stream->fault);
	stream->checked = at;
}
