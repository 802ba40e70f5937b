#include "fake_xrt.h"
