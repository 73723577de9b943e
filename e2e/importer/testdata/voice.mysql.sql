CREATE TABLE webhook_events (
  id bigint AUTO_INCREMENT PRIMARY KEY, provider varchar(255), event_type varchar(255), idempotency_key varchar(64) UNIQUE, payload json,
  status varchar(255), result json, created_at timestamp NULL, processed_at timestamp NULL, correlation_id varchar(255));
CREATE TABLE dead_letter_webhooks (
  id bigint AUTO_INCREMENT PRIMARY KEY, provider varchar(255), payload json, idempotency_key varchar(64), correlation_id varchar(255),
  error text, failed_at timestamp NULL, retry_count int, next_retry_at timestamp NULL, last_retry_at timestamp NULL, last_error text,
  permanently_failed boolean, created_at timestamp NULL, updated_at timestamp NULL);
