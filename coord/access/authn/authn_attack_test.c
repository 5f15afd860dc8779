#include "tests/harness/t.h"
T_CASE(placeholder)
{
}
