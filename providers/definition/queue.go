package definition

// Queue is a queue of a broker, whose messages are events under the definition.
type Queue struct {
	// Broker is nats (JetStream), rabbitmq, kafka, sqs or pubsub (Google).
	Broker string `yaml:"broker"`
	// URL has the hosts, without credentials. For SQS, it is the queue's URL without its name.
	URL string `yaml:"url"`
	// Name is the stream, the queue, the topic, or the subscription of Pub/Sub as projects/PROJECT/subscriptions/NAME.
	Name string `yaml:"name"`
	// Group is the durable consumer of NATS, or the consumer group of Kafka; holdfast-NAME by default.
	Group string `yaml:"group"`
	// Subjects limits what a consumer of NATS reads of the stream.
	Subjects []string `yaml:"subjects"`
	// User is the user's name; Secrets is the variable with the password, or with other credentials, such as the JSON key of a
	// service account for Pub/Sub.
	User    string `yaml:"user"`
	Secrets string `yaml:"secrets"`
	// Mechanism is the SASL mechanism, for Kafka: SCRAM-SHA-512 (default), SCRAM-SHA-256 or PLAIN.
	Mechanism string `yaml:"mechanism"`
	// Authorities is the variable with the certificates (PEM) of a private authority.
	Authorities string `yaml:"authorities"`
	// Certificate and Key are the variables with a client certificate (PEM) and its key; both or none.
	Certificate string `yaml:"certificate"`
	Key         string `yaml:"key"`
	// Proxy is the name of a forward proxy of the installation; by default none is used.
	Proxy string `yaml:"proxy"`
	// Prefetch is how many messages are handled at a time, 1 to 1000; 32 by default.
	Prefetch int `yaml:"prefetch"`
}
