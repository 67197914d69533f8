#!/bin/sh
# Takes the command and the variables MARIADB_DATABASE and MARIADB_ROOT_PASSWORD that the official image takes.
set -eu
if [ "$1" = mariadbd ]; then
  # The server runs it before it accepts connections.
  cat > /tmp/init.sql << END
CREATE DATABASE IF NOT EXISTS $MARIADB_DATABASE;
CREATE OR REPLACE USER root@'%' IDENTIFIED BY '${MARIADB_ROOT_PASSWORD-}';
GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;
END
  set -- "$@" --init-file=/tmp/init.sql
fi
exec "$@"
