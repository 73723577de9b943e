//go:build !linux

package chaos

var powerFaults []scenario
