#!/bin/sh
# Stands in for Debian's program while packages are installed, so that no service starts.
exit 0
