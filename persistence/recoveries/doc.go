// Package recoveries stores recoveries with the missed events that they have found, and what is known about each list. A missed
// event is staged until it has been started.
//
// It must not depend on the form of a list, on the content of definitions, or on how events are started.
package recoveries
