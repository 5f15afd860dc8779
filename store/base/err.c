#include "store/base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PL_ERR_TEXT(name, text, advice) [PL_##name] = (text),
#define PL_ERR_ADVICE(name, text, advice) [PL_##name] = (advice),
static const char *const code_names[PL_CODE_COUNT] = {[PL_OK] = "ok",
                                                      PL_ERR_MAP(PL_ERR_TEXT)};
static const char *const code_advice[PL_CODE_COUNT] = {[PL_OK] = "nothing to do",
                                                       PL_ERR_MAP(PL_ERR_ADVICE)};

const char *pl_code_name(enum pl_code code)
{
	PL_ASSERT((unsigned)code < PL_CODE_COUNT);
	return code_names[code];
}

const char *pl_code_advice(enum pl_code code)
{
	PL_ASSERT((unsigned)code < PL_CODE_COUNT);
	return code_advice[code];
}

enum pl_code pl_err_set(struct pl_err *err, enum pl_code code, const char *fmt, ...)
{
	va_list args;

	PL_ASSERT(code != PL_OK);
	if (err == NULL)
		return code;
	err->code = code;
	err->cause = code;
	va_start(args, fmt);
	(void)vsnprintf(err->msg, sizeof err->msg, fmt, args);
	va_end(args);
	return code;
}

enum pl_code pl_err_wrap(struct pl_err *err, const char *fmt, ...)
{
	char inner[PL_ERR_MSG_SIZE];
	va_list args;
	int len;

	PL_ASSERT(err != NULL);
	PL_ASSERT(err->code != PL_OK);
	memcpy(inner, err->msg, sizeof inner);
	va_start(args, fmt);
	len = vsnprintf(err->msg, sizeof err->msg, fmt, args);
	va_end(args);
	/* A context that fills the buffer wins over the cause: only the context names
	 * what the operator asked for. */
	if (len >= 0 && (size_t)len + 2 < sizeof err->msg) {
		size_t at = (size_t)len;
		size_t room = sizeof err->msg - at;

		(void)snprintf(err->msg + at, room, ": %.*s", (int)(room - 3), inner);
	}
	return err->code;
}

enum pl_code pl_err_unknown(struct pl_err *err)
{
	PL_ASSERT(err != NULL);
	PL_ASSERT(err->code != PL_OK);
	err->code = PL_UNKNOWN;
	return PL_UNKNOWN;
}

_Noreturn void pl_assert_failed(const char *expr, const char *file, int line)
{
	(void)fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expr);
	abort();
}
