// Publishes events to Holdfast and verifies its deliveries. The operator API is in holdfast-client/operator.
export { Publisher, PublishError, type Event, type PublisherOptions, type Receipt } from "./publisher.js";
export { VerificationError, Verifier, type Delivery, type VerificationCode } from "./verifier.js";
