// Package broker connects to message brokers: NATS, RabbitMQ, Kafka, SQS and Google Pub/Sub. A Connection has the settings that
// all of them share: hosts, credentials, TLS, and how connections are dialed.
//
// It must not depend on what is sent or read, or on where settings are stored.
package broker
