/* UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, up to U+10FFFF. */
#ifndef STORE_BASE_UTF8_H
#define STORE_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The number of bytes, 1 to 4, of the well-formed character at the start of at. 0: there
 * is none within len. A NUL byte is a character of 1 byte. */
size_t pl_utf8_char(const uint8_t *at, size_t len);

#endif
