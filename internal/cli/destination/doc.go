// Package destination has the commands for destinations, subscriptions, deliveries and resends.
//
// It must not make attempts or access the store itself: it calls package admin and prints.
package destination
