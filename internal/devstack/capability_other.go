//go:build !linux

package devstack

// searchCapability has nothing to offer where there are no capabilities.
func searchCapability() []uintptr { return nil }
