/* Secrets of issued tokens. */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>

#include "coord/service/tokens/token_record.h"
#include "store/base/base64url.h"
#include "store/base/fault.h"
#include "store/keys/names.h"

#define TOKEN_PREFIX "placet."

enum { SECRET_BYTES = 32 };

enum pl_code token_hash(struct pl_span secret, uint8_t hash[TOKEN_HASH_BYTES])
{
	return EVP_Digest(secret.at, secret.len, hash, NULL, EVP_sha256(), NULL) == 1
	               ? PL_OK
	               : PL_NOMEM;
}

enum pl_code token_make(struct pl_span id, char text[TOKEN_TEXT_SIZE],
                        uint8_t hash[TOKEN_HASH_BYTES], struct pl_err *err)
{
	char secret[TOKEN_SECRET_LEN];
	uint8_t bytes[SECRET_BYTES];
	enum pl_code code;

	PL_ASSERT(id.len <= TOKEN_ID_MAX);
	if (pl_fault_hit(PL_FAULT_FILE_READ) || RAND_bytes(bytes, sizeof bytes) != 1)
		return pl_err_set(err, PL_IO, "no random bytes");
	pl_base64url_encode(pl_span(bytes, sizeof bytes), secret);
	OPENSSL_cleanse(bytes, sizeof bytes);
	code = token_hash(pl_span(secret, sizeof secret), hash);
	if (code == PL_OK)
		(void)snprintf(text, TOKEN_TEXT_SIZE, TOKEN_PREFIX PL_SPAN_FMT ".%.*s",
		               PL_SPAN_ARG(id), TOKEN_SECRET_LEN, secret);
	OPENSSL_cleanse(secret, sizeof secret);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "a token");
}

bool token_is_issued(struct pl_span text)
{
	return pl_span_starts(text, PL_SPAN_LIT(TOKEN_PREFIX));
}

bool token_split(struct pl_span text, struct pl_span *id, struct pl_span *secret)
{
	const size_t skip = sizeof TOKEN_PREFIX - 1;
	uint8_t bytes[SECRET_BYTES];
	bool good;

	if (!token_is_issued(text) || text.len < skip + 2 + TOKEN_SECRET_LEN)
		return false;
	*secret = pl_span(text.at + text.len - TOKEN_SECRET_LEN, TOKEN_SECRET_LEN);
	*id = pl_span(text.at + skip, text.len - skip - 1 - TOKEN_SECRET_LEN);
	if (secret->at[-1] != '.' || names_check(NAMES_TOKEN, *id, NULL) != PL_OK)
		return false;
	good = pl_base64url_decode(*secret, bytes);
	OPENSSL_cleanse(bytes, sizeof bytes);
	return good;
}
