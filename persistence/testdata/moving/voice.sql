CREATE TABLE webhook_logs (id int, provider text, payload text, headers json, status text, attempts int, correlation_id text, created_at timestamp);
CREATE TABLE webhook_deduplication (webhook_log_id int, first_seen_at timestamp, expires_at timestamp);
CREATE TABLE webhook_dead_letters (id int, provider text, payload text, headers json, error_message text, retry_count int, status text, created_at timestamp, updated_at timestamp);
INSERT INTO webhook_logs VALUES
 (1, 'stripe', '{"id":"evt_1","type":"customer.created","data":{"object":{"id":"cus_1","object":"customer"}}}', '{"content-type": ["application/json"]}', 'processed', 1, 'c-1', now() - interval '2 hours'),
 (2, 'cal', '{"triggerEvent":"BOOKING_CREATED","createdAt":"2025-11-20T10:00:00.000Z","payload":{"uid":"b1","bookingId":1}}', NULL, 'completed', 2, NULL, now() - interval '1 day'),
 (3, 'retell', '{"event":"call_ended","call":{"call_id":"call_1","end_timestamp":1763700000000}}', NULL, 'pending', 0, NULL, now());
INSERT INTO webhook_deduplication VALUES (1, now() - interval '2 hours', now() + interval '30 days'), (3, now() - interval '1 hour', now() + interval '7 days');
INSERT INTO webhook_dead_letters VALUES
 (1, 'retell', '{"event":"call_analyzed","call":{"call_id":"call_2"}}', NULL, 'timeout', 3, 'permanently_failed', now() - interval '1 day', now());
