// Package deliveryapi serves the API's destinations, subscriptions, deliveries and resends. It decides what callers may see of
// them; a secret is shown once and never again.
//
// It doesn't make attempts or store deliveries: it declares the stores and services that it needs as interfaces. It doesn't
// handle received events. Package operator tests its routes through the HTTP server.
package deliveryapi
