// Package admin implements what operators do with deliveries, for the command line and the API alike: it creates a destination,
// with a secret if it needs one, tries and checks subscriptions, and resends the events of a period.
//
// It must not depend on where destinations and deliveries are stored, nor on how an attempt is made.
package admin
