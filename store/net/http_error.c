/* Maps libcurl's hundred result codes to the few that a caller can act on. */
#include <string.h>

#include "store/net/http_int.h"

/* libcurl reports some failures of TLS and of the encoding as plain read errors; only the
 * text tells them apart. */
static enum pl_code read_failure(const char *words)
{
	if (strstr(words, "alert") != NULL || strstr(words, "SSL routines") != NULL)
		return PL_TLS;
	if (strstr(words, "chunk") != NULL)
		return PL_PROTO;
	return PL_UNAVAIL;
}

static enum pl_code classify_result(CURLcode result, const char *words)
{
	switch ((int)result) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
	case CURLE_SEND_ERROR:
	case CURLE_SEND_FAIL_REWIND:
		return PL_UNAVAIL;
	case CURLE_RECV_ERROR:
		return read_failure(words);
	case CURLE_OPERATION_TIMEDOUT:
		return PL_TIMEOUT;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_CLIENTCERT:
	case CURLE_SSL_ENGINE_INITFAILED:
		return PL_TLS;
	case CURLE_UNSUPPORTED_PROTOCOL: /* the status line is not HTTP/1 */
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_BAD_CONTENT_ENCODING:
	case CURLE_HTTP2:
		return PL_PROTO;
	case CURLE_URL_MALFORMAT:
		return PL_INVALID;
	case CURLE_OUT_OF_MEMORY:
		return PL_NOMEM;
	default:
		return PL_IO;
	}
}

enum pl_code http_call_error(const struct http_call *call, struct pl_err *err)
{
	const char *words = call->curl_words;

	if (call->err.code != PL_OK) {
		*err = call->err;
		return err->code;
	}
	if (call->result == CURLE_OK)
		return PL_OK;
	if (*words == 0)
		words = curl_easy_strerror(call->result);
	return pl_err_set(err, classify_result(call->result, words), "%s: %s", call->what,
	                  words);
}
