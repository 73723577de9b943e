CREATE TABLE webhook_queue (
  idwebhook_queue bigint AUTO_INCREMENT PRIMARY KEY, event_id varchar(64) NOT NULL UNIQUE, resource_type varchar(64), action varchar(64),
  payload json, raw_payload text, status enum('pending', 'processing', 'completed', 'failed') DEFAULT 'pending',
  retry_count int DEFAULT 0, max_retries int DEFAULT 3, error_message text,
  created_at timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), processing_at datetime, completed_at datetime, next_retry_at datetime);
