#include "store/etcd/endpoints.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/span.h"

enum { PORT_DEFAULT = 2379 };

static enum pl_code port_parse(struct pl_span text, uint16_t *port)
{
	uint32_t value = 0;

	if (text.len == 0 || text.len > 5)
		return PL_INVALID;
	for (size_t i = 0; i < text.len; i++) {
		if (text.at[i] < '0' || text.at[i] > '9')
			return PL_INVALID;
		value = value * 10 + (uint32_t)(text.at[i] - '0');
	}
	if (value == 0 || value > UINT16_MAX)
		return PL_INVALID;
	*port = (uint16_t)value;
	return PL_OK;
}

static bool host_char(uint8_t c, bool bracketed)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' ||
	       (bracketed && (c == ':' || c == '%'));
}

/* Splits text into host and port; both stay untouched on failure. */
static enum pl_code authority_parse(struct endpoint *endpoint, struct pl_span text)
{
	bool bracketed = text.len > 0 && text.at[0] == '[';
	struct pl_span host = text, port = {0};
	const uint8_t *end = memchr(text.at, bracketed ? ']' : ':', text.len);

	if (bracketed) {
		if (end == NULL)
			return PL_INVALID;
		host = pl_span(text.at + 1, (size_t)(end - text.at) - 1);
		end++;
		if (end == text.at + text.len)
			end = NULL;
		else if (*end != ':')
			return PL_INVALID;
	} else if (end != NULL) {
		host.len = (size_t)(end - text.at);
	}
	endpoint->port = PORT_DEFAULT;
	if (end != NULL) {
		port = pl_span(end + 1, (size_t)(text.at + text.len - end) - 1);
		if (port_parse(port, &endpoint->port) != PL_OK)
			return PL_INVALID;
	}
	if (host.len == 0 || host.len >= sizeof endpoint->host)
		return PL_INVALID;
	for (size_t i = 0; i < host.len; i++)
		if (!host_char(host.at[i], bracketed))
			return PL_INVALID;
	memcpy(endpoint->host, host.at, host.len);
	endpoint->host[host.len] = 0;
	return PL_OK;
}

static enum pl_code endpoint_parse(struct endpoints *list, struct pl_span text,
                                   struct pl_err *err)
{
	struct endpoint *endpoint = &list->at[list->count];
	struct pl_span whole = text;
	bool tls = pl_span_starts(text, PL_SPAN_LIT("https://"));
	size_t scheme = tls ? 8 : pl_span_starts(text, PL_SPAN_LIT("http://")) ? 7 : 0;

	text.at += scheme;
	text.len -= scheme;
	if (text.len > 0 && text.at[text.len - 1] == '/')
		text.len--;
	memset(endpoint, 0, sizeof *endpoint);
	if (text.len == 0 || authority_parse(endpoint, text) != PL_OK)
		return pl_err_set(err, PL_INVALID,
		                  "endpoint '" PL_SPAN_FMT
		                  "': want http://host:port or https://host:port",
		                  whole.len > 100 ? 100 : (int)whole.len,
		                  (const char *)whole.at);
	if (list->count > 0 && tls != list->tls)
		return pl_err_set(err, PL_INVALID,
		                  "endpoints: all must be http or all https");
	list->tls = tls;
	list->count++;
	return PL_OK;
}

enum pl_code endpoints_parse(struct endpoints *list, const char *text, struct pl_err *err)
{
	list->count = 0;
	if (text == NULL || *text == 0)
		return pl_err_set(err, PL_INVALID, "endpoints: none given");
	for (;;) {
		size_t len = strcspn(text, ",");
		enum pl_code code;

		if (list->count == ENDPOINTS_MAX)
			return pl_err_set(err, PL_INVALID, "endpoints: more than %d",
			                  ENDPOINTS_MAX);
		code = endpoint_parse(list, pl_span(text, len), err);
		if (code != PL_OK)
			return code;
		if (text[len] == 0)
			return PL_OK;
		text += len + 1;
	}
}

unsigned endpoints_pick(const struct endpoints *list, int after, uint64_t now_ms,
                        uint64_t *at_ms)
{
	unsigned first = (unsigned)(after + 1) % list->count, best = first;

	PL_ASSERT(list->count > 0);
	for (unsigned i = 0; i < list->count; i++) {
		unsigned which = (first + i) % list->count;

		if (list->at[which].avoid_until_ms <= now_ms) {
			*at_ms = now_ms;
			return which;
		}
		if (list->at[which].avoid_until_ms < list->at[best].avoid_until_ms)
			best = which;
	}
	*at_ms = list->at[best].avoid_until_ms;
	return best;
}

void endpoints_failed(struct endpoints *list, unsigned which, const struct pl_err *err,
                      uint64_t now_ms, struct pl_rng *rng)
{
	struct endpoint *endpoint = &list->at[which];
	unsigned doubled = endpoint->failures < 6 ? endpoint->failures : 6;
	uint64_t avoid = (uint64_t)ENDPOINT_AVOID_FIRST_MS << doubled;

	if (avoid > ENDPOINT_AVOID_MAX_MS)
		avoid = ENDPOINT_AVOID_MAX_MS;
	endpoint->failures++;
	endpoint->err = *err;
	/* Half to all of it, so that many clients do not return at the same time. */
	endpoint->avoid_until_ms = now_ms + pl_rng_between(rng, avoid / 2, avoid);
}

void endpoints_worked(struct endpoints *list, unsigned which)
{
	list->at[which].failures = 0;
	list->at[which].avoid_until_ms = 0;
	list->at[which].err.code = PL_OK;
}

bool endpoints_failed_for_good(const struct endpoints *list, struct pl_err *err)
{
	for (unsigned i = 0; i < list->count; i++) {
		enum pl_code code = list->at[i].err.code;

		if (code != PL_TLS && code != PL_PROTO && code != PL_INVALID)
			return false;
	}
	*err = list->at[0].err;
	return true;
}
