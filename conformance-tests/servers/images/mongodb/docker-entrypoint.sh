#!/bin/sh
# Takes the command that the official image takes.
set -eu
if [ "$*" != mongod ]; then
  echo "the stand-in for MongoDB runs \"mongod\" without arguments, not \"$*\"" >&2
  exit 64
fi
# Left by a crash. What has that process number now is something else.
rm -f "$PGDATA/postmaster.pid"
pg_ctl --silent --wait --log=/tmp/postgres.log start || { cat /tmp/postgres.log >&2; exit 1; }
exec ferretdb --postgresql-url=postgres://postgres@127.0.0.1:5432/postgres --listen-addr=:27017 \
  --auth=false --telemetry=disable --state-dir=/tmp --debug-addr=- --log-level=warn
