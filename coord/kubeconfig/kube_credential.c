/* The output of a credential program: {"kind":"ExecCredential","status":{"token":"..."}}. */
#include <string.h>

#include "coord/kubeconfig/kube_exec.h"
#include "coord/kubeconfig/kubeconfig_int.h"
#include "store/base/timestamp.h"

enum { SECONDS_LEN = 19, MINUTE_MS = 60000 }; /* "2026-11-28T13:00:00" */

static const struct pl_json_limits limits = {
	.bytes = KUBE_EXEC_OUTPUT_MAX, .depth = 16, .values = 4096};

/* Two digits; -1: they are none. */
static int64_t two_digits(const uint8_t *at)
{
	if (at[0] < '0' || at[0] > '9' || at[1] < '0' || at[1] > '9')
		return -1;
	return (at[0] - '0') * 10 + (at[1] - '0');
}

/* "+02:00", or "Z": nothing. */
static bool read_offset(struct pl_span text, int64_t *out)
{
	int64_t hours, minutes;

	*out = 0;
	if (pl_span_eq(text, PL_SPAN_LIT("Z")))
		return true;
	if (text.len != 6 || (text.at[0] != '+' && text.at[0] != '-') ||
	    text.at[3] != ':')
		return false;
	hours = two_digits(text.at + 1);
	minutes = two_digits(text.at + 4);
	*out = (hours * 60 + minutes) * MINUTE_MS * (text.at[0] == '-' ? -1 : 1);
	return hours >= 0 && hours < 24 && minutes >= 0 && minutes < 60;
}

/* A time of RFC 3339; what is behind the seconds does not matter. */
static enum pl_code read_time(const char *text, int64_t *out, struct pl_err *err)
{
	char whole[PL_TIMESTAMP_SIZE];
	size_t len = strlen(text), at = SECONDS_LEN;
	int64_t offset;

	if (len > SECONDS_LEN && text[at] == '.')
		at += 1 + strspn(text + at + 1, "0123456789");
	if (len > SECONDS_LEN && read_offset(pl_span(text + at, len - at), &offset)) {
		memcpy(whole, text, SECONDS_LEN);
		memcpy(whole + SECONDS_LEN, ".000Z", sizeof ".000Z");
		if (pl_timestamp_parse(pl_span_str(whole), out, NULL) == PL_OK) {
			*out -= offset;
			return PL_OK;
		}
	}
	return pl_err_set(err, PL_INVALID,
	                  "status.expirationTimestamp: want a time as "
	                  "2026-11-28T13:00:00Z");
}

static enum pl_code read_status(struct pl_json status, struct kube_credential *out,
                                struct pl_err *err)
{
	const char *token = NULL, *cert = NULL, *key = NULL, *expires = NULL;

	if (pl_json_string(status, "token", PL_JSON_OPTIONAL, &token, err) != PL_OK ||
	    pl_json_string(status, "clientCertificateData", PL_JSON_OPTIONAL, &cert,
	                   err) != PL_OK ||
	    pl_json_string(status, "clientKeyData", PL_JSON_OPTIONAL, &key, err) !=
	            PL_OK ||
	    pl_json_string(status, "expirationTimestamp", PL_JSON_OPTIONAL, &expires,
	                   err) != PL_OK)
		return err->code;
	if (token != NULL && *token == 0)
		token = NULL;
	if (token != NULL && !kubeconfig_is_token(token))
		return pl_err_set(err, PL_INVALID, "status.token: is not a token");
	if ((cert == NULL) != (key == NULL))
		return pl_err_set(err, PL_INVALID,
		                  "status: clientCertificateData and clientKeyData go "
		                  "together");
	if (token == NULL && cert == NULL)
		return pl_err_set(err, PL_INVALID,
		                  "status: want a token or a client certificate");
	*out = (struct kube_credential){.token = token};
	if (cert != NULL) {
		out->cert = pl_span_str(cert);
		out->key = pl_span_str(key);
	}
	return expires == NULL ? PL_OK : read_time(expires, &out->expires_ms, err);
}

enum pl_code kube_credential_read(struct pl_arena *arena, struct pl_span text,
                                  const char *api_version, struct kube_credential *out,
                                  struct pl_err *err)
{
	const char *kind = "", *version = "";
	struct pl_json object, status;

	/* The text of an error may hold a secret. */
	if (pl_json_parse(arena, text, &limits, &object, NULL) != PL_OK ||
	    pl_json_type(object) != PL_JSON_OBJECT)
		return pl_err_set(err, PL_INVALID, "what it printed is no JSON object");
	if (pl_json_string(object, "kind", PL_JSON_REQUIRED, &kind, err) != PL_OK ||
	    pl_json_string(object, "apiVersion", PL_JSON_REQUIRED, &version, err) !=
	            PL_OK)
		return err->code;
	if (strcmp(kind, "ExecCredential") != 0)
		return pl_err_set(err, PL_INVALID,
		                  "kind: want ExecCredential, got '%.40s'", kind);
	if (strcmp(version, api_version) != 0)
		return pl_err_set(err, PL_INVALID, "apiVersion: want %s, got '%.60s'",
		                  api_version, version);
	if (pl_json_object(object, "status", PL_JSON_REQUIRED, &status, err) != PL_OK)
		return err->code;
	return read_status(status, out, err);
}
