#!/bin/sh
# Takes the command and the variable POSTGRES_PASSWORD that the official image takes.
set -eu
# Left by a crash. What has that process number now is something else.
rm -f "$PGDATA/postmaster.pid"
if [ "$1" = postgres ] && [ -n "${POSTGRES_PASSWORD-}" ]; then
  echo "ALTER USER postgres PASSWORD '$POSTGRES_PASSWORD'" | postgres --single -j postgres > /dev/null
fi
exec "$@"
