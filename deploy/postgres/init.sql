-- Runs once, when the data directory is made, as the superuser. Each side owns its databases and sees nothing of the
-- other.
\set ON_ERROR_STOP on
\getenv holdfast_password HOLDFAST_DB_PASSWORD
\getenv temporal_password TEMPORAL_DB_PASSWORD

CREATE ROLE holdfast LOGIN PASSWORD :'holdfast_password';
CREATE ROLE temporal LOGIN PASSWORD :'temporal_password';

CREATE DATABASE holdfast OWNER holdfast;
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;

REVOKE CONNECT ON DATABASE holdfast, temporal, temporal_visibility FROM PUBLIC;
