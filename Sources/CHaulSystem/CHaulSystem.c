#include "CHaulSystem.h"
