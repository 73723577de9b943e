-- dead_letters.unread_receipt: the bytes of a receipt in the inbox that the version which drained it could not read: one that a newer
-- version wrote before a roll-back, or that somebody wrote by hand. The receipt of such a row says what the inbox knew beside it.
--
-- Locks: dead_letters exclusively, for the moment that the column takes.

-- +goose Up
SET LOCAL lock_timeout = '5s';

ALTER TABLE dead_letters ADD COLUMN unread_receipt bytea;
