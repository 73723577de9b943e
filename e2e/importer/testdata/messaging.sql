-- The table of the WhatsApp fleet (Evolution API), on PostgreSQL (Supabase).
CREATE TABLE webhook_dlq (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(), instance_name text, event_type text DEFAULT 'unknown', payload jsonb, erro text,
  tentativa int DEFAULT 1, status text DEFAULT 'pending' CHECK (status IN ('pending', 'processing', 'processed', 'failed')),
  created_at timestamptz DEFAULT now(), processed_at timestamptz
);
