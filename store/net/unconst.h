/* Casts const away for libraries whose parameters lack const although they only read. */
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
