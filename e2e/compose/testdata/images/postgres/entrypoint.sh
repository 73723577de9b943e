#!/bin/sh
# Makes the data directory at the first start, as the official image does: the server listens on its socket only until the scripts
# have run.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
	password=$(mktemp)
	echo "$POSTGRES_PASSWORD" >"$password"
	initdb --username=postgres --pwfile="$password" --auth-local=trust --auth-host=scram-sha-256 ${POSTGRES_INITDB_ARGS-}
	rm "$password"
	echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
	pg_ctl start --wait --options="-c listen_addresses='' -c unix_socket_directories=/run/postgresql"
	for script in /docker-entrypoint-initdb.d/*.sql; do
		psql --host=/run/postgresql --username=postgres --no-psqlrc --set=ON_ERROR_STOP=1 --file="$script"
	done
	pg_ctl stop --wait --mode=fast
fi
exec "$@" -c listen_addresses='*' -c unix_socket_directories=/run/postgresql
