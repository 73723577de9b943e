// Package limits bounds what clients and providers may use: requests by rates, and memory by the bodies that are being received.
//
// It must not depend on HTTP, or on how a refusal is answered.
package limits
