// Package intake is how an event becomes durable: it commits the event to Temporal, or to the inbox where Temporal does not
// confirm in time, and later starts what waits there.
//
// It must never know HTTP, a provider's definition, SQL, or how Temporal is spoken to.
package intake
