// Package faulttest has what tests of deployments share: a load with a ledger, the files of stand-in images, and the tables of a
// report. It doesn't depend on what runs Holdfast.
package faulttest
