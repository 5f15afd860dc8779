/* For libraries that take what they only read by a pointer to something else
 * than const. */
#ifndef STORE_NET_UNCONST_H
#define STORE_NET_UNCONST_H

static inline void *unconst(const void *at)
{
	union {
		const void *from;
		void *to;
	} both = {.from = at};

	return both.to;
}

#endif
