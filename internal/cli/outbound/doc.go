// Package outbound has the commands about what goes out: destinations, subscriptions, deliveries, resends.
//
// It must never know how an attempt is made, nor how a delivery is stored: it asks the desk, and prints.
package outbound
