/* The protocol of a host port as it is spelled in allocs. */
#ifndef COORD_SERVICE_BASE_PORT_WORD_H
#define COORD_SERVICE_BASE_PORT_WORD_H

#include "shardsched/model/spec.h"

static inline struct pl_span port_word(uint8_t protocol)
{
	switch ((enum spec_protocol)protocol) {
	case SPEC_UDP:
		return PL_SPAN_LIT("UDP");
	case SPEC_SCTP:
		return PL_SPAN_LIT("SCTP");
	case SPEC_TCP:
	case SPEC_PROTOCOL_OTHER:
		break;
	}
	return PL_SPAN_LIT("TCP");
}

#endif
