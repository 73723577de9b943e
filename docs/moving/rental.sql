-- The rental backend (RentProg and Umnico): events, dead letters, and what it knows of cars, clients and bookings.
--   psql -AtX -f docs/moving/rental.sql > rental.ndjson
-- It expects the tables below. Where yours have other names, change the three queries behind FROM and nothing else.
--   events        id, source ('rentprog', 'umnico'), body jsonb, headers jsonb, received_at, processed_at
--   dead_letters  id, source, body jsonb, headers jsonb, error, attempts, status ('pending', 'failed', …), created_at, updated_at
--   cars, clients, bookings   id, data jsonb, updated_at
-- RentProg's key is the hash of the bytes, which jsonb does not keep, and means something for 15 minutes. So its events get a key of
-- their own here, from the ID of the old row. Umnico's is found in the body.
SELECT jsonb_build_object(
       'record', 'event', 'status', CASE WHEN processed_at IS NULL THEN 'pending' ELSE 'processed' END, 'provider', source,
       'key', CASE WHEN source = 'rentprog' THEN 'old:' || id END, 'body', body, 'headers', headers,
       'received_at', received_at)
  FROM (SELECT id, source, body, headers, received_at, processed_at FROM events) AS e
 WHERE NOT EXISTS (SELECT FROM dead_letters AS d WHERE d.source = e.source AND d.body = e.body)
UNION ALL
SELECT jsonb_build_object(
       'record', 'dead_letter', 'provider', source, 'key', 'old-dead:' || id, 'body', body, 'headers', headers,
       'received_at', created_at, 'last_failed_at', updated_at, 'attempts', attempts, 'error', left(error, 500),
       'status', CASE WHEN status = 'permanently_failed' THEN status ELSE 'failed' END)
  FROM (SELECT id, source, body, headers, error, attempts, status, created_at, updated_at FROM dead_letters
         WHERE status NOT IN ('processed', 'resolved')) AS d
UNION ALL
SELECT jsonb_build_object('record', 'entity', 'provider', 'rentprog', 'kind', kind, 'id', id, 'state', data, 'as_of', updated_at)
  FROM (SELECT 'car' AS kind, id, data, updated_at FROM cars UNION ALL
        SELECT 'client', id, data, updated_at FROM clients UNION ALL
        SELECT 'booking', id, data, updated_at FROM bookings) AS x;
