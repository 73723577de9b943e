#!/bin/sh
# Brings Temporal's two databases, which deploy/postgres/init.sql has made, to the schema of this version of the tools.
# Runs at each start: where there is nothing to do it does nothing. The connection is in the SQL_* variables.
set -eu

for name in temporal visibility; do
	case $name in
	temporal) database=temporal ;;
	visibility) database=temporal_visibility ;;
	esac
	temporal-sql-tool --db "$database" setup-schema -v 0.0
	temporal-sql-tool --db "$database" update-schema --schema-name "postgresql/v12/$name"
done
