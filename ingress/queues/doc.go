// Package queues reads the queues of brokers that definitions name, and acknowledges each message once its events are durable.
//
// It must not depend on what a message means or how it is committed, and must never acknowledge one that isn't.
package queues
