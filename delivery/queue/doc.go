// Package queue delivers events to queues: NATS JetStream, RabbitMQ, Kafka, SQS and Google Pub/Sub, and to buckets of S3.
//
//	target, message ──▶ evaluate (body, subject or key) ──▶ the destination's shared connection ──▶ the broker's confirmation
//
// An attempt succeeds only when the broker has confirmed the message by its own definition of durable. All attempts of a delivery
// carry the same ID. A confirmation that doesn't come leaves open whether the message is stored: the next attempt may repeat it.
//
// A connection is made for the first delivery, shared by all attempts at its destination, and closed when it is idle.
//
// The package must not depend on when an attempt is due or where deliveries are stored.
package queue
