// Package client publishes events to Holdfast and verifies its deliveries. Its package operator is a client of the operator API.
// The module must not need anything of Holdfast itself, so that services import it without the product's dependencies.
package client
