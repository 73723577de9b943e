-- sessions: who has logged in to the console. A row knows the secret of the browser's cookie by its SHA-256, and the token by its
-- name and a fingerprint: once that token is gone, or another one has its name, the session is void. What its holder may do is
-- not kept, since each request asks what the token may do now.
--
-- Rows go at logout, once they have expired, and beyond the youngest 100 of a token.
--
-- Locks: none that anyone could wait for; the table is new.

-- +goose Up
SET LOCAL lock_timeout = '5s';

CREATE TABLE sessions (
    id          bytea       PRIMARY KEY,
    token       text        NOT NULL,
    fingerprint bytea       NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at  timestamptz NOT NULL
);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
CREATE INDEX sessions_by_token ON sessions (token, expires_at);
