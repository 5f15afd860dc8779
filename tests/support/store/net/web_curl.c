#include "tests/support/store/net/web_curl.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct curl_job {
	const struct web_curl_opts *opts;
	struct web_curl result;
	uint16_t port;
	uv_async_t done;
	bool finished;
};

static size_t on_body(char *at, size_t size, size_t count, void *ctx)
{
	struct web_curl *result = ctx;
	size_t len = size * count;

	if (result->len + len >= result->cap) {
		size_t cap = 2 * (result->len + len) + 1;
		char *got = realloc(result->got, cap);

		if (got == NULL)
			return 0;
		result->got = got;
		result->cap = cap;
	}
	memcpy(result->got + result->len, at, len);
	result->len += len;
	result->got[result->len] = 0;
	return len;
}

static void tls_set(CURL *curl, const struct web_curl_opts *opts)
{
	char path[WEB_TEXT];

	(void)snprintf(path, sizeof path, "%s/ca.pem", opts->cert_dir);
	(void)curl_easy_setopt(curl, CURLOPT_CAINFO, path);
	if (opts->client == NULL)
		return;
	(void)snprintf(path, sizeof path, "%s/%s.pem", opts->cert_dir, opts->client);
	(void)curl_easy_setopt(curl, CURLOPT_SSLCERT, path);
	(void)snprintf(path, sizeof path, "%s/%s-key.pem", opts->cert_dir, opts->client);
	(void)curl_easy_setopt(curl, CURLOPT_SSLKEY, path);
}

static long version_of(const struct web_curl_opts *opts)
{
	if (opts->old)
		return CURL_HTTP_VERSION_1_0;
	if (!opts->http2)
		return CURL_HTTP_VERSION_1_1;
	return opts->cert_dir != NULL ? CURL_HTTP_VERSION_2TLS
	                              : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
}

static void options_set(CURL *curl, struct curl_job *job, struct curl_slist *fields)
{
	const struct web_curl_opts *opts = job->opts;
	char url[WEB_TEXT];

	(void)snprintf(url, sizeof url, "%s://127.0.0.1:%u%s",
	               opts->cert_dir != NULL ? "https" : "http", (unsigned)job->port,
	               opts->path);
	(void)curl_easy_setopt(curl, CURLOPT_URL, url);
	(void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, version_of(opts));
	(void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, &job->result);
	(void)curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, opts->accept);
	(void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields);
	if (opts->body.len > 0) {
		(void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)opts->body.len);
		(void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, opts->body.at);
	}
	if (opts->cert_dir != NULL)
		tls_set(curl, opts);
}

static void *job_run(void *ctx)
{
	struct curl_job *job = ctx;
	struct web_curl *result = &job->result;
	CURL *curl = curl_easy_init();
	struct curl_slist *fields = curl_slist_append(NULL, "Expect:");
	curl_off_t wire = 0;
	long conns = 0;

	if (job->opts->field != NULL)
		fields = curl_slist_append(fields, job->opts->field);
	options_set(curl, job, fields);
	for (unsigned i = 0; i < (job->opts->times == 0 ? 1 : job->opts->times); i++) {
		result->len = 0;
		result->code = (int)curl_easy_perform(curl);
		(void)curl_easy_getinfo(curl, CURLINFO_NUM_CONNECTS, &conns);
		result->conns += conns;
	}
	(void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &result->status);
	(void)curl_easy_getinfo(curl, CURLINFO_HTTP_VERSION, &result->version);
	(void)curl_easy_getinfo(curl, CURLINFO_SIZE_DOWNLOAD_T, &wire);
	result->wire_len = wire;
	curl_slist_free_all(fields);
	curl_easy_cleanup(curl);
	(void)uv_async_send(&job->done);
	return NULL;
}

static void on_done(uv_async_t *async)
{
	struct curl_job *job = PL_CONTAINER_OF(async, struct curl_job, done);

	job->finished = true;
}

struct web_curl web_curl(struct web_rig *rig, const struct web_curl_opts *opts)
{
	struct curl_job job = {.opts = opts, .port = http_server_port(rig->server)};
	pthread_t thread;

	T_EQ(uv_async_init(&rig->loop, &job.done, on_done), 0);
	T_EQ(pthread_create(&thread, NULL, job_run, &job), 0);
	while (!job.finished)
		web_turn(rig);
	T_EQ(pthread_join(thread, NULL), 0);
	uv_close((uv_handle_t *)&job.done, NULL);
	(void)uv_run(&rig->loop, UV_RUN_NOWAIT);
	return job.result;
}
