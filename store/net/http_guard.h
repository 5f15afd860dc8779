/*
 * Strict checks of the bytes of an HTTP/1 head, one line at a time, before any other
 * parser sees them: what two parsers could read in two ways is refused (RFC 9112).
 *
 * Pure. A line comes without its CR LF. The answers are NULL (fine) or half a sentence
 * that says what is wrong; a sentence never holds bytes of the request.
 */
#ifndef STORE_NET_HTTP_GUARD_H
#define STORE_NET_HTTP_GUARD_H

#include "store/base/span.h"

/* "GET /path HTTP/1.1": three words with one blank between them. *version_ok becomes
 * false for a version other than 1.0 and 1.1. */
const char *http_guard_request_line(struct pl_span line, bool *version_ok);
/* "name: value": no fold, no blank before the colon, no control byte. */
const char *http_guard_field_line(struct pl_span line);

bool http_guard_is_token(struct pl_span text);
/* Visible ASCII without "#". */
bool http_guard_is_target(struct pl_span text);
/* A host with an optional port, or nothing. */
bool http_guard_is_authority(struct pl_span text);
/* A field's value: no control byte but a tab. */
bool http_guard_is_value(struct pl_span text);

/* Compares in any case of letters; lower is in lower case. */
bool http_guard_same(struct pl_span text, const char *lower);
/* Without the blanks and tabs around it. */
struct pl_span http_guard_trim(struct pl_span text);
/* Takes the next element off a list with commas, trimmed. False: the list is at its
 * end. */
bool http_guard_next(struct pl_span *list, struct pl_span *element);

#endif
